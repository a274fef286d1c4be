//! A request in memory.

use std::cell::{Cell, RefCell};

use super::bus::{Bus, failed};
use crate::bindings::types::{Failure, Header, Payload, Reply, Thrown};

/// A request, and everything that a handler did with it.
#[derive(Debug, Default)]
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
    pub(crate) reply: RefCell<Option<SentReply>>,
    pub(crate) is_finished: Cell<bool>,
}

/// The reply to a request.
#[derive(Debug)]
pub(crate) enum SentReply {
    Reply(Reply),
    Thrown(Thrown),
}

impl Exchange {
    /// Replies, unless there is a reply already.
    pub(crate) fn reply(&self, sent: SentReply) -> Result<(), Failure> {
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
