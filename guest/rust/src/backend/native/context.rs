//! The functions of the interface `context`, and what those of `context-sync` and `context-async` do.

use std::cell::RefCell;
use std::rc::Rc;

use super::bus::failed;
use super::exchange::{Exchange, SentReply};
use crate::bindings::types::{Body, Failure, Header, Instant, Payload, Property, Reply, Thrown};

#[derive(Debug)]
pub(crate) struct NativeContext(pub(crate) Rc<Exchange>);

/// Declares the functions that copy a field of the request.
macro_rules! fields {
    ($($field:ident: $ty:ty,)*) => {$(
        pub(crate) fn $field(&self) -> $ty {
            self.0.$field.clone()
        }
    )*};
}

impl NativeContext {
    fields! {
        method: String,
        path: String,
        query: Option<String>,
        scheme: String,
        authority: Option<String>,
        http_version: String,
        remote_address: Option<String>,
        received_at: Instant,
        deadline: Option<Instant>,
        cancelled: bool,
        params: Vec<Property>,
        headers: Vec<Header>,
        route: String,
    }

    pub(crate) fn param(&self, name: &str) -> Option<String> {
        let found = self.0.params.iter().find(|param| param.name == name);
        found.map(|param| param.value.clone())
    }

    /// A value that is not UTF-8 has one character for each byte.
    pub(crate) fn header(&self, name: &str) -> Option<String> {
        let mut headers = self.0.headers.iter();
        let value = &headers.find(|header| header.name.eq_ignore_ascii_case(name))?.value;
        let text = String::from_utf8(value.clone());
        Some(text.unwrap_or_else(|_| value.iter().copied().map(char::from).collect()))
    }

    pub(crate) fn request_id(&self) -> String {
        self.header("x-request-id").unwrap_or_else(|| "test-request".into())
    }

    pub(crate) fn extension(&self, key: &str) -> Option<String> {
        self.0.extension(key)
    }

    pub(crate) fn set_extension(&self, key: &str, value: &str) {
        self.0.extensions.borrow_mut().push((key.into(), value.into()));
    }

    pub(crate) fn body(&self) -> Result<Vec<u8>, Failure> {
        let body = self.0.body.take();
        body.ok_or_else(|| {
            failed(
                "gone",
                "the body has been taken already, or the route has `body = \"none\"`",
            )
        })
    }

    pub(crate) fn text(&self) -> Result<String, Failure> {
        String::from_utf8(self.body()?)
            .map_err(|error| crate::Failure::bad_payload(format!("the body is not UTF-8: {error}")).into())
    }

    pub(crate) fn open_body(&self) -> Result<NativeBodyReader, Failure> {
        self.body().map(|body| NativeBodyReader(RefCell::new(body)))
    }

    pub(crate) fn call(&self, event: &str, payload: &Payload) -> Result<Payload, Failure> {
        self.0.bus.call(event, payload)
    }

    pub(crate) fn emit(&self, event: &str, payload: &Payload) {
        self.0.bus.emit(event, payload);
    }

    pub(crate) fn send(&self, reply: &Reply) -> Result<(), Failure> {
        self.0.reply(SentReply::Reply(reply.clone()))
    }

    pub(crate) fn throw(&self, error: &Thrown) -> Result<(), Failure> {
        self.0.reply(SentReply::Thrown(error.clone()))
    }

    pub(crate) fn open_reply(&self, status: u16, headers: &[Header]) -> Result<NativeBodyWriter, Failure> {
        self.0.reply(SentReply::Reply(Reply {
            status,
            headers: headers.to_vec(),
            body: Body::Bytes(Vec::new()),
        }))?;
        Ok(NativeBodyWriter(Rc::clone(&self.0)))
    }
}

pub(crate) fn hand_over(event: &str, context: NativeContext, payload: &Payload) -> Result<(), Failure> {
    context.0.handed_over.borrow_mut().push((event.into(), payload.clone()));
    Ok(())
}

#[derive(Debug)]
pub(crate) struct NativeBodyReader(RefCell<Vec<u8>>);

impl NativeBodyReader {
    pub(crate) fn read(&self, max: u32) -> Result<Option<Vec<u8>>, Failure> {
        let mut rest = self.0.borrow_mut();
        if rest.is_empty() {
            return Ok(None);
        }
        let end = rest.len().min(usize::try_from(max).unwrap_or(usize::MAX).max(1));
        Ok(Some(rest.drain(..end).collect()))
    }
}

#[derive(Debug)]
pub(crate) struct NativeBodyWriter(Rc<Exchange>);

impl NativeBodyWriter {
    pub(crate) fn write(&self, chunk: &[u8]) -> Result<(), Failure> {
        self.check_client()?;
        if let Some(SentReply::Reply(reply)) = &mut *self.0.reply.borrow_mut()
            && let Body::Bytes(bytes) = &mut reply.body
        {
            bytes.extend_from_slice(chunk);
        }
        Ok(())
    }

    /// Whether the client of the test has left.
    pub(crate) fn is_closed(&self) -> bool {
        self.0.cancelled
    }

    pub(crate) fn finish(&self) -> Result<(), Failure> {
        self.check_client()?;
        self.0.is_finished.set(true);
        Ok(())
    }

    fn check_client(&self) -> Result<(), Failure> {
        if self.is_closed() {
            return Err(failed("gone", "nobody reads the reply any more"));
        }
        Ok(())
    }
}
