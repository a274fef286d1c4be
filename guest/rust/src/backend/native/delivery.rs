//! The functions of the interface `events`, and what those of `events-sync` and `events-async` do.

use std::cell::RefCell;
use std::rc::Rc;

use super::bus::Bus;
use super::context::NativeContext;
use crate::bindings::types::{Failure, Instant, Payload, Property};

/// An event without its payload, and everything that a listener did with it.
#[derive(Debug)]
pub(crate) struct TestDelivery {
    pub(crate) id: String,
    pub(crate) attempt: u32,
    pub(crate) event: String,
    pub(crate) request_id: Option<String>,
    pub(crate) deadline: Option<Instant>,
    pub(crate) cancelled: bool,
    pub(crate) bus: Bus,
    pub(crate) variables: Vec<Property>,
}

impl TestDelivery {
    pub(crate) fn new(event: &str) -> Self {
        Self {
            id: "test-event".into(),
            attempt: 1,
            event: event.into(),
            request_id: None,
            deadline: None,
            cancelled: false,
            bus: Bus::default(),
            variables: Vec::new(),
        }
    }
}

#[derive(Debug)]
pub(crate) struct NativeDelivery {
    delivery: Rc<TestDelivery>,
    /// Dropped with the delivery, while the test still holds the rest.
    context: RefCell<Option<NativeContext>>,
}

impl NativeDelivery {
    pub(crate) fn new(delivery: Rc<TestDelivery>, context: Option<NativeContext>) -> Self {
        Self {
            delivery,
            context: RefCell::new(context),
        }
    }

    pub(crate) fn id(&self) -> String {
        self.delivery.id.clone()
    }

    pub(crate) fn attempt(&self) -> u32 {
        self.delivery.attempt
    }

    pub(crate) fn event(&self) -> String {
        self.delivery.event.clone()
    }

    pub(crate) fn request_id(&self) -> Option<String> {
        self.delivery.request_id.clone()
    }

    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.delivery.deadline.clone()
    }

    pub(crate) fn cancelled(&self) -> bool {
        self.delivery.cancelled
    }

    pub(crate) fn take_context(&self) -> Option<NativeContext> {
        self.context.take()
    }

    pub(crate) fn call(&self, event: &str, payload: &Payload) -> Result<Payload, Failure> {
        self.delivery.bus.call(event, payload)
    }

    pub(crate) fn emit(&self, event: &str, payload: &Payload) {
        self.delivery.bus.emit(event, payload);
    }
}
