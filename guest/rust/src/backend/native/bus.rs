use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt;

use super::failure;
use crate::bindings::types::{Failure, Payload};

pub(crate) type Listener = Box<dyn Fn(&Payload) -> Result<Payload, Failure>>;

/// The events of one test: who answers which, and which were emitted.
#[derive(Default)]
pub(crate) struct Bus {
    listeners: HashMap<&'static str, Listener>,
    emitted: RefCell<Vec<(String, Payload)>>,
}

impl Bus {
    pub(crate) fn listen(&mut self, event: &'static str, listener: Listener) {
        self.listeners.insert(event, listener);
    }

    pub(crate) fn call(&self, event: &str, payload: &Payload) -> Result<Payload, Failure> {
        match self.listeners.get(event) {
            Some(listener) => listener(payload),
            None => Err(failure("unknown-event", 500, "the test set no listener for it")),
        }
    }

    pub(crate) fn emit(&self, event: &str, payload: &Payload) {
        self.emitted.borrow_mut().push((event.into(), payload.clone()));
    }

    /// What was emitted under that name, in order.
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
