//! The events of one test.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt;

use crate::bindings::types::{Failure, Payload};

type TestListener = Box<dyn Fn(&Payload) -> Result<Payload, Failure>>;

/// The listeners of a test, and the events that the code under test called and emitted.
#[derive(Default)]
pub(crate) struct Bus {
    listeners: HashMap<&'static str, TestListener>,
    called: Record,
    emitted: Record,
}

/// Events in the order in which they were sent.
#[derive(Debug, Default)]
struct Record(RefCell<Vec<(String, Payload)>>);

impl Record {
    fn add(&self, event: &str, payload: &Payload) {
        self.0.borrow_mut().push((event.into(), payload.clone()));
    }

    /// The payloads of all events of that name.
    fn payloads(&self, event: &str) -> Vec<Payload> {
        let all = self.0.borrow();
        let found = all.iter().filter(|(name, _)| name == event);
        found.map(|(_, payload)| payload.clone()).collect()
    }
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
        self.called.add(event, payload);
        match self.listeners.get(event) {
            Some(listener) => listener(payload),
            None => Err(failed("unknown-event", "the test has no listener for the event")),
        }
    }

    pub(crate) fn emit(&self, event: &str, payload: &Payload) {
        self.emitted.add(event, payload);
    }

    pub(crate) fn called(&self, event: &str) -> Vec<Payload> {
        self.called.payloads(event)
    }

    pub(crate) fn emitted(&self, event: &str) -> Vec<Payload> {
        self.emitted.payloads(event)
    }
}

impl fmt::Debug for Bus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bus")
            .field("listeners", &self.listeners.keys())
            .field("called", &self.called)
            .field("emitted", &self.emitted)
            .finish()
    }
}

/// A failure of the stand-in itself.
pub(crate) fn failed(code: &str, message: &str) -> Failure {
    crate::Failure::with_code(code.to_owned(), 500_u16, message).into()
}
