//! The interfaces `context-sync` and `events-sync`.

use super::{NativeBodyReader, NativeBodyWriter, NativeContext, NativeDelivery};
use crate::bindings::types::{Failure, Payload};

pub(crate) fn body(context: &NativeContext) -> Result<Vec<u8>, Failure> {
    context.body()
}

pub(crate) fn text(context: &NativeContext) -> Result<String, Failure> {
    context.text()
}

pub(crate) fn call(context: &NativeContext, event: &str, payload: &Payload) -> Result<Payload, Failure> {
    context.call(event, payload)
}

pub(crate) fn read(reader: &NativeBodyReader, max: u32) -> Result<Option<Vec<u8>>, Failure> {
    reader.read(max)
}

pub(crate) fn write(writer: &NativeBodyWriter, chunk: &[u8]) -> Result<(), Failure> {
    writer.write(chunk)
}

pub(crate) fn finish(writer: &NativeBodyWriter) -> Result<(), Failure> {
    writer.finish()
}

pub(crate) fn call_from(delivery: &NativeDelivery, event: &str, payload: &Payload) -> Result<Payload, Failure> {
    delivery.call(event, payload)
}
