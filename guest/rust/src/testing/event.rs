use std::fmt::Write as _;
use std::rc::Rc;
use std::time::SystemTime;

use pointwork_events::{Event, EventData as _, Payload};
use serde::Serialize;

use super::block_on;
use super::events::listeners;
use super::reaction::Reaction;
use super::request::TestRequest;
use crate::backend::native::environment::with_variables;
use crate::backend::native::{NativeContext, NativeDelivery, TestDelivery, instant};
use crate::channel::Channel;
use crate::delivery::AsyncDelivery;

/// An event for one channel, with closures as listeners of the events that it calls; see the [module docs](super).
#[derive(Debug)]
#[must_use = "an event does nothing until `run`"]
pub struct TestEvent {
    delivery: TestDelivery,
    payload: Payload,
    context: Option<TestRequest>,
}

impl TestEvent {
    /// An event by its type. Panics if the payload cannot be written as JSON.
    pub fn new<E: Event>(payload: E::Payload) -> Self {
        let payload = payload.into_payload().expect("the payload can be written as JSON");
        Self::raw(E::NAME, payload)
    }

    /// An event by its name, with or without the channel's name before it: `db:product:all` or `product:all`. Panics if
    /// the payload cannot be written as JSON.
    pub fn named<T: Serialize + ?Sized>(event: &str, payload: &T) -> Self {
        Self::raw(
            event,
            Payload::json(payload).expect("the payload can be written as JSON"),
        )
    }

    /// An event by its name, with a payload of any content type.
    pub fn raw(event: &str, payload: Payload) -> Self {
        Self {
            delivery: TestDelivery::new(event),
            payload,
            context: None,
        }
    }

    /// Sets the id of the event; the default is `test-event`.
    pub fn id(mut self, id: &str) -> Self {
        self.delivery.id = id.into();
        self
    }

    /// Sets the number of the attempt to deliver the event; the default is 1.
    pub fn attempt(mut self, attempt: u32) -> Self {
        self.delivery.attempt = attempt;
        self
    }

    /// Sets the id of the request that started the chain of calls; without it, no request did.
    pub fn request_id(mut self, id: &str) -> Self {
        self.delivery.request_id = Some(id.into());
        self
    }

    /// Sets the deadline of the call that the event belongs to.
    pub fn deadline(mut self, time: SystemTime) -> Self {
        self.delivery.deadline = Some(instant(time));
        self
    }

    /// Makes an event whose result nobody waits for any more.
    pub fn cancelled(mut self) -> Self {
        self.delivery.cancelled = true;
        self
    }

    /// Hands over the context of a request with the event. The listeners of the request, not those of the
    /// event, answer calls through that context.
    pub fn with_context(mut self, request: TestRequest) -> Self {
        self.context = Some(request);
        self
    }

    listeners! { delivery bus }

    /// Runs the listener of `C` for the event.
    ///
    /// # Panics
    ///
    /// The channel has no listener for the event; the message lists its events. An `async` listener awaits a future
    /// that is not of this crate, which nothing would wake.
    pub fn run<C: Channel>(mut self) -> Reaction {
        let (listener, event) = match find::<C>(&self.delivery.event) {
            Ok(found) => found,
            Err(all) => panic!(
                "channel `{}` has no listener for `{}`, expected one of:\n{all}",
                C::NAME,
                self.delivery.event
            ),
        };
        self.delivery.event = event.into();
        let delivery = Rc::new(self.delivery);
        let exchange = self.context.map(TestRequest::into_exchange);
        let context = exchange.clone().map(NativeContext);
        let argument = AsyncDelivery::new(NativeDelivery::new(Rc::clone(&delivery), context));
        let delivering = C::deliver_async(listener, argument, self.payload);
        let result = with_variables(&delivery.variables, || block_on(delivering));
        Reaction::new(delivery, result, exchange)
    }
}

/// The number of the event's listener and the event's own name, or the list of all events.
fn find<C: Channel>(name: &str) -> Result<(u32, &'static str), String> {
    let own = name.strip_prefix(C::NAME).and_then(|rest| rest.strip_prefix(':'));
    let mut all = String::new();
    for listener in C::EVENTS {
        if Some(listener.event) == own || listener.event == name {
            return Ok((listener.listener, listener.event));
        }
        let _ = writeln!(all, "  {}:{}", C::NAME, listener.event);
    }
    Err(all)
}
