use std::rc::Rc;

use pointwork_events::Event;
use serde::de::DeserializeOwned;

use super::Answer;
use super::events::{self, read};
use crate::backend::native::Exchange;
use crate::backend::native::delivery::Occasion;
use crate::bindings::types;
use crate::{Failure, Outcome, Payload};

/// What came of a [`TestEvent`](super::TestEvent): the value or failure, the events on the way, and the reply on the
/// context that was handed over.
#[derive(Debug)]
pub struct Reaction {
    occasion: Rc<Occasion>,
    answer: Result<Payload, Failure>,
    reply: Option<Answer>,
}

impl Reaction {
    pub(super) fn new(
        occasion: Rc<Occasion>,
        answer: Result<Payload, Failure>,
        exchange: Option<Rc<Exchange>>,
    ) -> Self {
        Self {
            occasion,
            answer: answer.map_err(as_sent),
            reply: exchange.map(|exchange| Answer::new(exchange, Outcome::Deferred)),
        }
    }

    /// What the listener of event `E` returned.
    ///
    /// # Panics
    ///
    /// The listener failed, or what it returned is not of that type; the message says where.
    #[track_caller]
    pub fn output<E: Event>(&self) -> E::Output {
        self.value()
    }

    /// What the listener returned, read from JSON.
    ///
    /// # Panics
    ///
    /// The listener failed, or what it returned is not of that type; the message says where.
    #[track_caller]
    pub fn value<T: DeserializeOwned>(&self) -> T {
        read("the result", self.payload().data())
    }

    /// What the listener returned, as it crosses the boundary.
    ///
    /// # Panics
    ///
    /// The listener failed.
    #[track_caller]
    pub fn payload(&self) -> &Payload {
        match &self.answer {
            Ok(payload) => payload,
            Err(failure) => panic!("the listener {failure}"),
        }
    }

    /// Why the listener failed; `None` if it did not.
    pub fn failure(&self) -> Option<&Failure> {
        self.answer.as_ref().err()
    }

    /// The payloads of all events `E` that the listener emitted through its delivery, in order. Those of the context are
    /// in [`reply`](Self::reply).
    ///
    /// # Panics
    ///
    /// A payload under that name is not of that type.
    #[track_caller]
    pub fn emitted<E: Event>(&self) -> Vec<E::Payload> {
        events::emitted::<E>(&self.occasion.bus)
    }

    /// What became of the context that was handed over.
    ///
    /// # Panics
    ///
    /// The event came without a context.
    #[track_caller]
    pub fn reply(&self) -> &Answer {
        self.reply
            .as_ref()
            .expect("the event came without a context: hand one over with `with_context`")
    }
}

/// The failure as a caller gets it.
fn as_sent(failure: Failure) -> Failure {
    let sent = types::Failure::from(failure);
    Failure::new(sent.status, sent.message).code(sent.code)
}
