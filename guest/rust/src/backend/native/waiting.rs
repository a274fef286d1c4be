//! The interfaces `context-async` and `events-async`. Nothing here waits but for a client that leaves, which it has done before.

use std::future::pending;

use super::{NativeBodyReader, NativeBodyWriter, NativeContext, NativeDelivery};
use crate::bindings::types::{Failure, Payload};

pub(crate) async fn body(context: &NativeContext) -> Result<Vec<u8>, Failure> {
    context.body()
}

pub(crate) async fn text(context: &NativeContext) -> Result<String, Failure> {
    context.text()
}

pub(crate) async fn call(context: &NativeContext, event: String, payload: Payload) -> Result<Payload, Failure> {
    context.call(&event, &payload)
}

pub(crate) async fn read(reader: &NativeBodyReader, max: u32) -> Result<Option<Vec<u8>>, Failure> {
    reader.read(max)
}

pub(crate) async fn write(writer: &NativeBodyWriter, chunk: Vec<u8>) -> Result<(), Failure> {
    writer.write(&chunk)
}

pub(crate) async fn finish(writer: &NativeBodyWriter) -> Result<(), Failure> {
    writer.finish()
}

pub(crate) async fn closed(writer: &NativeBodyWriter) {
    if !writer.is_closed() {
        pending().await
    }
}

pub(crate) async fn call_from(delivery: &NativeDelivery, event: String, payload: Payload) -> Result<Payload, Failure> {
    delivery.call(&event, &payload)
}
