use std::rc::Rc;

use pointwork_events::{Event, EventData, IoEvent, Payload};

use super::answer::Answer;
use super::events::{self, data};
use crate::backend::native::{Exchange, TestDelivery};
use crate::bindings::types;
use crate::failure::Failure;
use crate::reply::Outcome;

/// The result of a [`TestEvent`](super::TestEvent): the value or failure of the listener, the events that it emitted,
/// and the reply on the context that was handed over.
#[derive(Debug)]
pub struct Reaction {
    delivery: Rc<TestDelivery>,
    result: Result<Payload, Failure>,
    reply: Option<Answer>,
}

impl Reaction {
    pub(super) fn new(
        delivery: Rc<TestDelivery>,
        result: Result<Payload, Failure>,
        exchange: Option<Rc<Exchange>>,
    ) -> Self {
        Self {
            delivery,
            result: result.map_err(as_sent),
            reply: exchange.map(|exchange| Answer::new(exchange, Outcome::Deferred)),
        }
    }

    /// The result of a listener of event `E`. Panics if the listener failed or the result does not fit the type.
    #[track_caller]
    pub fn output<E: Event>(&self) -> E::Output {
        self.value()
    }

    /// The result as a value. Panics if the listener failed or the result does not fit the type.
    #[track_caller]
    pub fn value<T: EventData>(&self) -> T {
        data("the result", self.payload().clone())
    }

    /// The result as it was returned. Panics if the listener failed.
    #[track_caller]
    pub fn payload(&self) -> &Payload {
        match &self.result {
            Ok(payload) => payload,
            Err(failure) => panic!("the listener failed: {failure}"),
        }
    }

    /// The failure of the listener; `None` if it did not fail.
    pub fn failure(&self) -> Option<&Failure> {
        self.result.as_ref().err()
    }

    /// The payloads of all events `E` that the listener called through its delivery, in order; of calls that failed, too.
    /// Panics if a payload does not fit the type.
    #[track_caller]
    pub fn called<E: IoEvent>(&self) -> Vec<E::Payload> {
        events::payloads::<E>(self.delivery.bus.called(E::NAME))
    }

    /// The payloads of all events `E` that the listener emitted through its delivery, in order. Events emitted through
    /// the context are in [`reply`](Self::reply). Panics if a payload does not fit the type.
    #[track_caller]
    pub fn emitted<E: Event>(&self) -> Vec<E::Payload> {
        events::payloads::<E>(self.delivery.bus.emitted(E::NAME))
    }

    /// The reply on the context that was handed over. Panics if the event came without a context.
    #[track_caller]
    pub fn reply(&self) -> &Answer {
        let reply = self.reply.as_ref();
        reply.expect("the event came without a context: hand one over with `with_context`")
    }
}

/// The failure as the caller of the event gets it.
fn as_sent(failure: Failure) -> Failure {
    types::Failure::from(failure).into()
}
