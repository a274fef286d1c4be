use std::rc::Rc;

use pointwork_events::{Event, IoEvent};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::events::{self, data, read};
use crate::backend::native::{Exchange, SentReply};
use crate::bindings::types::{Body, Header};
use crate::failure::Failure;
use crate::reply::Outcome;

/// The result of a [`TestRequest`](super::TestRequest): the reply or error, and the events that the handler emitted.
///
/// # Panics
///
/// The functions that read the reply panic if there is none.
#[derive(Debug)]
pub struct Answer {
    exchange: Rc<Exchange>,
    reply: Option<SentReply>,
    replied_twice: bool,
    failure: Option<Failure>,
}

impl Answer {
    pub(super) fn new(exchange: Rc<Exchange>, outcome: Outcome) -> Self {
        let returned = match outcome {
            Outcome::Reply(reply) => Some(reply.into_raw()),
            Outcome::Thrown(failure) => Some(Err(failure)),
            Outcome::Deferred => None,
        };
        let mut failure = match &returned {
            Some(Err(failure)) => Some(failure.clone()),
            _ => None,
        };
        let mut replied = match returned {
            Some(Ok(reply)) => exchange.reply(SentReply::Reply(reply)),
            Some(Err(failure)) => exchange.reply(SentReply::Thrown(failure.into())),
            None => Ok(()),
        };
        if let Err(refused) = &replied
            && refused.code == "invalid-reply"
        {
            let refused = Failure::invalid_reply(refused.message.clone());
            replied = exchange.reply(SentReply::Thrown(refused.clone().into()));
            failure = Some(refused);
        }
        let reply = exchange.reply.take();
        Self {
            exchange,
            reply,
            replied_twice: replied.is_err(),
            failure,
        }
    }

    #[track_caller]
    fn reply(&self) -> &SentReply {
        self.reply
            .as_ref()
            .expect("the handler neither replied nor returned a reply")
    }

    /// Whether there is no reply: the handler handed the context over, or neither sent nor returned a reply. A host
    /// replies with 500 unless another holder of the context replies.
    pub fn is_open(&self) -> bool {
        self.reply.is_none()
    }

    /// Whether the handler returned a reply after it had sent one. A host refuses and logs the second.
    pub fn replied_twice(&self) -> bool {
        self.replied_twice
    }

    /// Whether the handler finished the body that it opened with `open_reply`. A host aborts a reply that is not
    /// finished.
    pub fn is_finished(&self) -> bool {
        self.exchange.is_finished.get()
    }

    /// The status of the reply or error.
    #[track_caller]
    pub fn status(&self) -> u16 {
        match self.reply() {
            SentReply::Reply(reply) => reply.status,
            SentReply::Thrown(thrown) => thrown.status,
        }
    }

    /// The message of the error; `None` if the reply is not an error.
    #[track_caller]
    pub fn message(&self) -> Option<&str> {
        match self.reply() {
            SentReply::Reply(_) => None,
            SentReply::Thrown(thrown) => Some(&thrown.message),
        }
    }

    /// The error that the handler returned, with what the client does not get: the code and the message of a failed call,
    /// and of a reply that is not valid HTTP. `None` if it returned no error.
    pub fn failure(&self) -> Option<&Failure> {
        self.failure.as_ref()
    }

    #[track_caller]
    fn sent_headers(&self) -> &[Header] {
        match self.reply() {
            SentReply::Reply(reply) => &reply.headers,
            SentReply::Thrown(thrown) => &thrown.headers,
        }
    }

    /// The first header of that name that the handler set, in any case. Headers that a host adds are missing.
    #[track_caller]
    pub fn header(&self, name: &str) -> Option<String> {
        let mut headers = self.sent_headers().iter();
        let header = headers.find(|header| header.name.eq_ignore_ascii_case(name))?;
        Some(String::from_utf8_lossy(&header.value).into_owned())
    }

    /// The value of the cookie of that name that the reply sets last, as it is; `None` if it sets none.
    #[track_caller]
    pub fn cookie(&self, name: &str) -> Option<String> {
        let mut headers = self.sent_headers().iter().rev();
        headers.find_map(|header| {
            let text = String::from_utf8_lossy(&header.value);
            let (found, value) = text.split(';').next()?.split_once('=')?;
            (header.name.eq_ignore_ascii_case("set-cookie") && found.trim() == name).then(|| value.trim().to_owned())
        })
    }

    /// Name and value of each cookie that the reply sets, and whether it removes it.
    pub(super) fn set_cookies(&self) -> Vec<(String, String, bool)> {
        let headers = match &self.reply {
            Some(SentReply::Reply(reply)) => &reply.headers,
            Some(SentReply::Thrown(thrown)) => &thrown.headers,
            None => return Vec::new(),
        };
        let set = headers
            .iter()
            .filter(|header| header.name.eq_ignore_ascii_case("set-cookie"));
        let read = set.filter_map(|header| {
            let text = String::from_utf8_lossy(&header.value);
            let mut parts = text.split(';').map(str::trim);
            let (name, value) = parts.next()?.split_once('=')?;
            let is_removed = parts.any(|attribute| attribute.eq_ignore_ascii_case("max-age=0"));
            Some((name.to_owned(), value.to_owned(), is_removed))
        });
        read.collect()
    }

    /// All headers that the handler set, in order: a header that was set twice, such as `set-cookie`, occurs twice.
    #[track_caller]
    pub fn headers(&self) -> Vec<(String, Vec<u8>)> {
        let headers = self.sent_headers().iter();
        headers
            .map(|header| (header.name.clone(), header.value.clone()))
            .collect()
    }

    /// The body; for an error the JSON text that the client gets, with `message` and the details.
    #[track_caller]
    pub fn bytes(&self) -> Vec<u8> {
        match self.reply() {
            SentReply::Reply(reply) => match &reply.body {
                Body::Empty => Vec::new(),
                Body::Text(text) | Body::Json(text) => text.clone().into_bytes(),
                Body::Bytes(bytes) => bytes.clone(),
            },
            SentReply::Thrown(thrown) => {
                let mut body = thrown
                    .details
                    .as_deref()
                    .map_or_else(Map::new, |text| read("the details", text.as_bytes()));
                body.insert("message".into(), thrown.message.as_str().into());
                Value::Object(body).to_string().into_bytes()
            }
        }
    }

    /// The body as text. Panics if it is not UTF-8.
    #[track_caller]
    pub fn text(&self) -> String {
        String::from_utf8(self.bytes()).expect("the body is UTF-8")
    }

    /// The body, read from JSON. Panics if it does not fit the type.
    #[track_caller]
    pub fn json<T: DeserializeOwned>(&self) -> T {
        read("the body", &self.bytes())
    }

    /// The payloads of all events `E` that the handler called, in order; of calls that failed, too. Panics if one does not
    /// fit the type.
    #[track_caller]
    pub fn called<E: IoEvent>(&self) -> Vec<E::Payload> {
        events::payloads::<E>(self.exchange.bus.called(E::NAME))
    }

    /// The payloads of all events `E` that the handler emitted, in order. Panics if one does not fit the type.
    #[track_caller]
    pub fn emitted<E: Event>(&self) -> Vec<E::Payload> {
        events::payloads::<E>(self.exchange.bus.emitted(E::NAME))
    }

    /// The payload of the event `E` with which the handler handed its context over; `None` if it did not. Panics if the
    /// payload does not fit the type.
    #[track_caller]
    pub fn handed_over<E: Event>(&self) -> Option<E::Payload> {
        let all = self.exchange.handed_over.borrow();
        let (name, payload) = all.iter().rfind(|(name, _)| name == E::NAME)?;
        Some(data(name, payload.clone().into()))
    }

    /// A request extension after the handler ran.
    pub fn extension(&self, key: &str) -> Option<String> {
        self.exchange.extension(key)
    }
}
