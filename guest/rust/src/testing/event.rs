use std::fmt::Write as _;
use std::rc::Rc;

use pointwork_events::{Event, IoEvent};
use serde::Serialize;

use super::{Reaction, TestRequest, block_on, events};
use crate::backend::native;
use crate::backend::native::delivery::Occasion;
use crate::{AsyncDelivery, Channel, Payload};

/// An event to one channel, with the answers to the events that its listener calls in turn; see the
/// [module's docs](super).
#[derive(Debug)]
#[must_use = "an event does nothing until `run`"]
pub struct TestEvent {
    occasion: Occasion,
    payload: Payload,
    context: Option<TestRequest>,
}

impl TestEvent {
    /// An event by its type.
    ///
    /// # Panics
    ///
    /// The payload cannot be written as JSON.
    pub fn new<E: Event>(payload: E::Payload) -> Self {
        Self::named(E::NAME, &payload)
    }

    /// An event by its name, with or without the channel's before it: `db:product:all` or `product:all`.
    ///
    /// # Panics
    ///
    /// The payload cannot be written as JSON.
    pub fn named<T: Serialize + ?Sized>(event: &str, payload: &T) -> Self {
        Self::raw(
            event,
            Payload::json(payload).expect("the payload can be written as JSON"),
        )
    }

    /// An event by its name, with a payload of any content type.
    pub fn raw(event: &str, payload: Payload) -> Self {
        Self {
            occasion: Occasion {
                event: event.into(),
                ..Occasion::default()
            },
            payload,
            context: None,
        }
    }

    /// Sets the id of the request that began the chain of calls. Without this no request did.
    pub fn request_id(mut self, id: &str) -> Self {
        self.occasion.request_id = Some(id.into());
        self
    }

    /// Hands over the context of a request with the event (spec H6). What the listener calls through that context is
    /// answered by the request, not by the event.
    pub fn with_context(mut self, request: TestRequest) -> Self {
        self.context = Some(request);
        self
    }

    /// Answers the event whenever the listener calls it. Without this, a call fails with `unknown-event`.
    pub fn on<E: IoEvent>(mut self, listener: impl Fn(E::Payload) -> E::Output + 'static) -> Self {
        events::answer::<E>(&mut self.occasion.bus, listener);
        self
    }

    /// Fails the event whenever the listener calls it, with a code of [`CallError::code`](crate::CallError::code).
    pub fn fail<E: IoEvent>(mut self, code: &str, status: u16, message: &str) -> Self {
        events::fail::<E>(&mut self.occasion.bus, code, status, message);
        self
    }

    /// Runs the listener of `C` that hears the event.
    ///
    /// # Panics
    ///
    /// No listener of the channel hears it; the message lists the events that there are. An `async` listener waits for
    /// something that is not of this crate, and so would wait for ever.
    pub fn run<C: Channel>(mut self) -> Reaction {
        let (listener, event) = match find::<C>(&self.occasion.event) {
            Ok(found) => found,
            Err(all) => panic!(
                "no listener of channel `{}` hears `{}`, expected one of:\n{all}",
                C::NAME,
                self.occasion.event
            ),
        };
        self.occasion.event = event.into();
        let occasion = Rc::new(self.occasion);
        let exchange = self.context.map(TestRequest::into_exchange);
        let context = exchange.clone().map(native::Context::new);
        let delivery = AsyncDelivery::new(native::Delivery::new(Rc::clone(&occasion), context));
        let answer = block_on(C::deliver_async(listener, delivery, self.payload));
        Reaction::new(occasion, answer, exchange)
    }
}

/// Number and own name of the event's listener, or the list of all events there are.
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
