//! The events of one test.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt;

use crate::bindings::types::{Failure, Payload};

type TestListener = Box<dyn Fn(&Payload) -> Result<Payload, Failure>>;

/// The listeners of a test, and the events that the code under test emitted.
#[derive(Default)]
pub(crate) struct Bus {
    listeners: HashMap<&'static str, TestListener>,
    emitted: RefCell<Vec<(String, Payload)>>,
}

impl Bus {
    pub(crate) fn listen(
        &mut self,
        event: &'static str,
        listener: impl Fn(&Payload) -> Result<Payload, Failure> + 'static,
    ) {
        self.listeners.insert(event, Box::new(listener));
    }

    pub(crate) fn call(&self, event: &str, payload: &Payload) -> Result<Payload, Failure> {
        match self.listeners.get(event) {
            Some(listener) => listener(payload),
            None => Err(failed("unknown-event", "the test has no listener for the event")),
        }
    }

    pub(crate) fn emit(&self, event: &str, payload: &Payload) {
        self.emitted.borrow_mut().push((event.into(), payload.clone()));
    }

    /// The payloads of all events of that name, in the order in which they were emitted.
    pub(crate) fn emitted(&self, event: &str) -> Vec<Payload> {
        let all = self.emitted.borrow();
        let found = all.iter().filter(|(name, _)| name == event);
        found.map(|(_, payload)| payload.clone()).collect()
    }
}

impl fmt::Debug for Bus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bus")
            .field("listeners", &self.listeners.keys())
            .field("emitted", &self.emitted)
            .finish()
    }
}

/// A failure of the stand-in itself.
pub(crate) fn failed(code: &str, message: &str) -> Failure {
    crate::Failure::with_code(code.to_owned(), 500_u16, message).into()
}
