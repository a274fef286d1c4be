use std::cell::RefCell;
use std::rc::Rc;

use super::{Bus, Context};
use crate::bindings::types::{Failure, Payload};

/// All that an event is, its payload aside, and all that a listener did with it.
#[derive(Debug, Default)]
pub(crate) struct Occasion {
    pub(crate) event: String,
    pub(crate) request_id: Option<String>,
    pub(crate) bus: Bus,
}

#[derive(Debug)]
pub(crate) struct Delivery {
    occasion: Rc<Occasion>,
    /// Not part of the occasion: it goes with the delivery.
    context: RefCell<Option<Context>>,
}

impl Delivery {
    pub(crate) fn new(occasion: Rc<Occasion>, context: Option<Context>) -> Self {
        Self {
            occasion,
            context: RefCell::new(context),
        }
    }

    pub(crate) fn event(&self) -> String {
        self.occasion.event.clone()
    }

    pub(crate) fn request_id(&self) -> Option<String> {
        self.occasion.request_id.clone()
    }

    pub(crate) fn take_context(&self) -> Option<Context> {
        self.context.take()
    }

    pub(crate) fn call(&self, event: &str, payload: &Payload) -> Result<Payload, Failure> {
        self.occasion.bus.call(event, payload)
    }

    pub(crate) fn emit(&self, event: &str, payload: &Payload) {
        self.occasion.bus.emit(event, payload);
    }
}

/// The waiting function of asynchronous modules. Here nothing ever has to wait.
pub(crate) async fn call_from(delivery: &Delivery, event: String, payload: Payload) -> Result<Payload, Failure> {
    delivery.call(&event, &payload)
}
