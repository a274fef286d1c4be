use std::rc::Rc;

use pointwork_events::Event;
use serde::de::DeserializeOwned;

use super::events::{self, read};
use crate::Outcome;
use crate::backend::native::{self, Exchange};
use crate::bindings::types::{Body, Thrown};

/// What came of a [`TestRequest`](super::TestRequest): the reply or error, and the events on the way.
#[derive(Debug)]
pub struct Answer {
    exchange: Rc<Exchange>,
    end: Option<native::Answer>,
    replied_twice: bool,
}

impl Answer {
    pub(super) fn new(exchange: Rc<Exchange>, outcome: Outcome) -> Self {
        let answered = match outcome {
            Outcome::Reply(reply) => exchange.answer(native::Answer::Reply(reply.into())),
            Outcome::Throw(throw) => {
                let (status, message) = throw.into_parts();
                exchange.answer(native::Answer::Thrown(Thrown { status, message }))
            }
            Outcome::Deferred => Ok(()),
        };
        let end = exchange.answer.take();
        Self {
            exchange,
            end,
            replied_twice: answered.is_err(),
        }
    }

    fn end(&self) -> &native::Answer {
        self.end
            .as_ref()
            .expect("nobody replied: the handler left the reply open")
    }

    /// Whether the handler left the reply to somebody else: it handed the context over, or returned nothing and sent
    /// nothing. With a host the client gets 500 unless another holder of the context replies.
    pub fn is_open(&self) -> bool {
        self.end.is_none()
    }

    /// Whether the handler returned a reply after it had sent one, which a host refuses and logs.
    pub fn replied_twice(&self) -> bool {
        self.replied_twice
    }

    /// Whether a reply that the handler wrote piece by piece was finished. A host breaks off one that was not.
    pub fn is_finished(&self) -> bool {
        self.exchange.finished.get()
    }

    /// The status of the reply or error.
    ///
    /// # Panics
    ///
    /// The reply was left open.
    pub fn status(&self) -> u16 {
        match self.end() {
            native::Answer::Reply(reply) => reply.status,
            native::Answer::Thrown(thrown) => thrown.status,
        }
    }

    /// The message of the error; `None` if the handler replied.
    ///
    /// # Panics
    ///
    /// The reply was left open.
    pub fn message(&self) -> Option<&str> {
        match self.end() {
            native::Answer::Reply(_) => None,
            native::Answer::Thrown(thrown) => Some(&thrown.message),
        }
    }

    /// The first header of that name that the handler set, whatever its case. What a host adds is not there.
    ///
    /// # Panics
    ///
    /// The reply was left open.
    pub fn header(&self, name: &str) -> Option<String> {
        let native::Answer::Reply(reply) = self.end() else {
            return None;
        };
        let header = reply
            .headers
            .iter()
            .find(|header| header.name.eq_ignore_ascii_case(name))?;
        Some(String::from_utf8_lossy(&header.value).into_owned())
    }

    /// The body; of an error, the JSON text that the client gets.
    ///
    /// # Panics
    ///
    /// The reply was left open.
    pub fn bytes(&self) -> Vec<u8> {
        match self.end() {
            native::Answer::Reply(reply) => match &reply.body {
                Body::Empty => Vec::new(),
                Body::Text(text) | Body::Json(text) => text.clone().into_bytes(),
                Body::Bytes(bytes) => bytes.clone(),
            },
            native::Answer::Thrown(thrown) => serde_json::json!({ "message": thrown.message })
                .to_string()
                .into_bytes(),
        }
    }

    /// The body as text.
    ///
    /// # Panics
    ///
    /// The reply was left open, or the body is not UTF-8.
    pub fn text(&self) -> String {
        String::from_utf8(self.bytes()).expect("the body is UTF-8")
    }

    /// The body, read from JSON.
    ///
    /// # Panics
    ///
    /// The reply was left open, or the body is not JSON of that type; the message says where.
    pub fn json<T: DeserializeOwned>(&self) -> T {
        read("the body", &self.bytes())
    }

    /// The payloads of all events `E` that the handler emitted, in order.
    ///
    /// # Panics
    ///
    /// A payload under that name is not of that type.
    pub fn emitted<E: Event>(&self) -> Vec<E::Payload> {
        events::emitted::<E>(&self.exchange.bus)
    }

    /// The payload of the event `E` that the handler handed its context over to; `None` if it did not.
    ///
    /// # Panics
    ///
    /// The payload under that name is not of that type.
    pub fn handed_over<E: Event>(&self) -> Option<E::Payload> {
        let all = self.exchange.handed_over.borrow();
        let (name, payload) = all.iter().rfind(|(name, _)| name == E::NAME)?;
        Some(read(name, &payload.data))
    }

    /// A request extension, as the handler left it.
    pub fn extension(&self, key: &str) -> Option<String> {
        self.exchange.extension(key)
    }
}
