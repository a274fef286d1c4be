//! A request in memory.

use std::cell::{Cell, RefCell};
use std::time::SystemTime;

use pointwork_events::reply::{check_header_bytes, check_json, check_status, read_details};

use super::bus::{Bus, failed};
use crate::bindings::types::{Body, Failure, Header, Instant, Payload, Property, Reply, Thrown};

/// A request, and everything that a handler did with it.
#[derive(Debug)]
pub(crate) struct Exchange {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) query: Option<String>,
    pub(crate) scheme: String,
    pub(crate) authority: Option<String>,
    pub(crate) http_version: String,
    pub(crate) remote_address: Option<String>,
    pub(crate) received_at: Instant,
    pub(crate) deadline: Option<Instant>,
    pub(crate) cancelled: bool,
    pub(crate) headers: Vec<Header>,
    pub(crate) params: Vec<Property>,
    pub(crate) route: String,
    pub(crate) body: RefCell<Option<Vec<u8>>>,
    pub(crate) extensions: RefCell<Vec<(String, String)>>,
    pub(crate) bus: Bus,
    pub(crate) variables: Vec<Property>,
    pub(crate) handed_over: RefCell<Vec<(String, Payload)>>,
    pub(crate) reply: RefCell<Option<SentReply>>,
    pub(crate) is_finished: Cell<bool>,
}

/// A time in the type of the contract. A time before 1970 becomes 1970.
pub(crate) fn instant(time: SystemTime) -> Instant {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Instant {
        seconds: since.as_secs(),
        nanoseconds: since.subsec_nanos(),
    }
}

/// The reply to a request.
#[derive(Debug)]
pub(crate) enum SentReply {
    Reply(Reply),
    Thrown(Thrown),
}

impl SentReply {
    /// The problem of a reply that the host refuses. The SDK has checked the single headers.
    fn check(&self) -> Result<(), String> {
        let headers = match self {
            Self::Reply(reply) => {
                check_status(reply.status)?;
                if let Body::Json(text) = &reply.body {
                    check_json(text)?;
                }
                &reply.headers
            }
            Self::Thrown(thrown) => {
                thrown.details.as_deref().map(read_details).transpose()?;
                &thrown.headers
            }
        };
        check_header_bytes(headers.iter().map(|header| header.name.len() + header.value.len()))
    }
}

impl Exchange {
    pub(crate) fn new(method: &str, path: &str, query: Option<&str>) -> Self {
        Self {
            method: method.into(),
            path: path.into(),
            query: query.map(str::to_owned),
            scheme: "http".into(),
            authority: Some("localhost".into()),
            http_version: "1.1".into(),
            remote_address: None,
            received_at: instant(SystemTime::now()),
            deadline: None,
            cancelled: false,
            headers: Vec::new(),
            params: Vec::new(),
            route: String::new(),
            body: RefCell::default(),
            extensions: RefCell::default(),
            bus: Bus::default(),
            variables: Vec::new(),
            handed_over: RefCell::default(),
            reply: RefCell::default(),
            is_finished: Cell::default(),
        }
    }

    /// Replies, unless the host refuses the reply or there is one already.
    pub(crate) fn reply(&self, sent: SentReply) -> Result<(), Failure> {
        sent.check().map_err(crate::Failure::invalid_reply)?;
        let mut reply = self.reply.borrow_mut();
        if reply.is_some() {
            return Err(failed("already-replied", "the request has been replied to already"));
        }
        *reply = Some(sent);
        Ok(())
    }

    pub(crate) fn extension(&self, key: &str) -> Option<String> {
        let extensions = self.extensions.borrow();
        let last = extensions.iter().rev().find(|(name, _)| name == key);
        last.map(|(_, value)| value.clone())
    }
}
