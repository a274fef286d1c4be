//! A stand-in for the host in native builds: one exchange or one delivery that lives in memory.

#![cfg_attr(not(feature = "testing"), allow(dead_code))]

mod bus;
pub(crate) mod delivery;

use std::cell::{Cell, RefCell};
use std::rc::Rc;

pub(crate) use bus::Bus;
pub(crate) use delivery::{Delivery, call_from};

use crate::bindings::types::{Body, Failure, Header, Payload, Reply, Thrown};

/// All that a request is and all that a handler did with it.
#[derive(Default)]
pub(crate) struct Exchange {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) query: Option<String>,
    pub(crate) headers: Vec<Header>,
    pub(crate) params: Vec<(String, String)>,
    pub(crate) route: String,
    pub(crate) body: RefCell<Option<Vec<u8>>>,
    pub(crate) extensions: RefCell<Vec<(String, String)>>,
    pub(crate) bus: Bus,
    pub(crate) handed_over: RefCell<Vec<(String, Payload)>>,
    pub(crate) answer: RefCell<Option<Answer>>,
    pub(crate) finished: Cell<bool>,
}

/// How the exchange was answered.
#[derive(Debug)]
pub(crate) enum Answer {
    Reply(Reply),
    Thrown(Thrown),
}

impl Exchange {
    /// Answers, unless somebody did already.
    pub(crate) fn answer(&self, answer: Answer) -> Result<(), Failure> {
        let mut slot = self.answer.borrow_mut();
        if slot.is_some() {
            return Err(failure(
                "already-replied",
                500,
                "the request has been replied to already",
            ));
        }
        *slot = Some(answer);
        Ok(())
    }

    pub(crate) fn extension(&self, key: &str) -> Option<String> {
        self.extensions
            .borrow()
            .iter()
            .rev()
            .find(|(name, _)| name == key)
            .map(|(_, value)| value.clone())
    }

    fn write(&self, chunk: Vec<u8>) {
        if let Some(Answer::Reply(Reply {
            body: Body::Bytes(bytes),
            ..
        })) = &mut *self.answer.borrow_mut()
        {
            bytes.extend(chunk);
        }
    }
}

fn failure(code: &str, status: u16, message: &str) -> Failure {
    Failure {
        code: code.into(),
        status,
        message: message.into(),
    }
}

#[derive(Debug)]
pub(crate) struct Context(Rc<Exchange>);

impl std::fmt::Debug for Exchange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Exchange")
            .field("method", &self.method)
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

impl Context {
    pub(crate) fn new(exchange: Rc<Exchange>) -> Self {
        Self(exchange)
    }

    pub(crate) fn method(&self) -> String {
        self.0.method.clone()
    }

    pub(crate) fn path(&self) -> String {
        self.0.path.clone()
    }

    pub(crate) fn query(&self) -> Option<String> {
        self.0.query.clone()
    }

    pub(crate) fn param(&self, name: &str) -> Option<String> {
        self.0
            .params
            .iter()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.clone())
    }

    pub(crate) fn params(&self) -> Vec<(String, String)> {
        self.0.params.clone()
    }

    pub(crate) fn header(&self, name: &str) -> Option<Vec<u8>> {
        self.0
            .headers
            .iter()
            .find(|header| header.name.eq_ignore_ascii_case(name))
            .map(|header| header.value.clone())
    }

    pub(crate) fn headers(&self) -> Vec<Header> {
        self.0.headers.clone()
    }

    pub(crate) fn request_id(&self) -> String {
        self.header("x-request-id")
            .and_then(|value| String::from_utf8(value).ok())
            .unwrap_or_else(|| "test-request".into())
    }

    pub(crate) fn route(&self) -> String {
        self.0.route.clone()
    }

    pub(crate) fn extension(&self, key: &str) -> Option<String> {
        self.0.extension(key)
    }

    pub(crate) fn set_extension(&self, key: &str, value: &str) {
        self.0.extensions.borrow_mut().push((key.into(), value.into()));
    }

    pub(crate) fn body(&self) -> Result<Vec<u8>, Failure> {
        self.0
            .body
            .take()
            .ok_or_else(|| failure("gone", 500, "the body has been taken already"))
    }

    pub(crate) fn open_body(&self) -> Result<BodyReader, Failure> {
        self.body().map(|body| BodyReader(RefCell::new(body)))
    }

    pub(crate) fn call(&self, event: &str, payload: &Payload) -> Result<Payload, Failure> {
        self.0.bus.call(event, payload)
    }

    pub(crate) fn emit(&self, event: &str, payload: &Payload) {
        self.0.bus.emit(event, payload);
    }

    pub(crate) fn send(&self, reply: &Reply) -> Result<(), Failure> {
        self.0.answer(Answer::Reply(reply.clone()))
    }

    pub(crate) fn throw(&self, status: u16, message: &str) -> Result<(), Failure> {
        self.0.answer(Answer::Thrown(Thrown {
            status,
            message: message.into(),
        }))
    }

    pub(crate) fn open_reply(&self, status: u16, headers: &[Header]) -> Result<BodyWriter, Failure> {
        self.0.answer(Answer::Reply(Reply {
            status,
            headers: headers.to_vec(),
            body: Body::Bytes(Vec::new()),
        }))?;
        Ok(BodyWriter(Rc::clone(&self.0)))
    }
}

pub(crate) fn hand_over(event: &str, context: Context, payload: &Payload) -> Result<(), Failure> {
    context.0.handed_over.borrow_mut().push((event.into(), payload.clone()));
    Ok(())
}

#[derive(Debug)]
pub(crate) struct BodyReader(RefCell<Vec<u8>>);

impl BodyReader {
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
pub(crate) struct BodyWriter(Rc<Exchange>);

impl BodyWriter {
    pub(crate) fn write(&self, chunk: &[u8]) -> Result<(), Failure> {
        self.0.write(chunk.to_vec());
        Ok(())
    }

    pub(crate) fn finish(&self) -> Result<(), Failure> {
        self.0.finished.set(true);
        Ok(())
    }
}

/// The waiting functions of asynchronous modules. Here nothing ever has to wait.
pub(crate) mod waiting {
    use super::{BodyReader, BodyWriter, Context, Failure, Payload};

    pub(crate) async fn body(context: &Context) -> Result<Vec<u8>, Failure> {
        context.body()
    }

    pub(crate) async fn call(context: &Context, event: String, payload: Payload) -> Result<Payload, Failure> {
        context.call(&event, &payload)
    }

    pub(crate) async fn read(reader: &BodyReader, max: u32) -> Result<Option<Vec<u8>>, Failure> {
        reader.read(max)
    }

    pub(crate) async fn write(writer: &BodyWriter, chunk: Vec<u8>) -> Result<(), Failure> {
        writer.write(&chunk)
    }
}

/// The log goes to standard error, where the test runner captures it per test.
pub(crate) mod log {
    pub(crate) use crate::bindings::imports::pointwork::module::log::Level;

    #[allow(clippy::print_stderr, reason = "captured and shown by the test runner")]
    pub(crate) fn write(level: Level, target: &str, message: &str) {
        eprintln!("{level:?} {target}: {message}");
    }
}
