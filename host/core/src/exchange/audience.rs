//! Who gets what a call does.

use std::sync::{Arc, Weak};

use super::state::Exchange;
use crate::Chain;
use crate::events::chain::WeakLink;

/// Who gets the result of a call of a handler or a listener. It keeps nobody from leaving, and costs nothing until it is asked.
///
/// The default is the audience of an event that was emitted: nobody ever waits for it, so nobody leaves.
#[derive(Clone, Debug, Default)]
pub struct Audience(Kind);

#[derive(Clone, derive_more::Debug)]
enum Kind {
    #[debug("the client")]
    Client(Weak<Exchange>),
    #[debug("the caller")]
    Caller(WeakLink),
}

impl Default for Kind {
    fn default() -> Self {
        Self::Caller(WeakLink::default())
    }
}

impl Audience {
    pub(super) fn of_request(exchange: &Arc<Exchange>) -> Self {
        Self(Kind::Client(Arc::downgrade(exchange)))
    }

    pub(super) fn of_call(chain: &Chain) -> Self {
        Self(Kind::Caller(chain.last_link()))
    }

    /// Whether nobody gets the result any more: the client left or the deadline passed before the reply was whole, or the call was
    /// cancelled.
    pub fn has_left(&self) -> bool {
        match &self.0 {
            Kind::Client(exchange) => exchange.upgrade().is_some_and(|exchange| exchange.is_unread()),
            Kind::Caller(link) => link.is_cancelled(),
        }
    }
}
