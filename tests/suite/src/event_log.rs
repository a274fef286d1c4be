//! The events of the server, as a native listener receives them.

use std::fmt::Debug;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Result, anyhow, bail};
use pointwork_core::events::Event;
use pointwork_test_clock::real::within;
use tokio::sync::Notify;

/// The events of one kind, such as `server:crashed`, that an application emitted, in order.
#[derive(Debug)]
pub struct EventLog<E: Event>(Arc<Inner<E::Payload>>);

#[derive(Debug)]
struct Inner<T> {
    seen: Mutex<Vec<T>>,
    changed: Notify,
}

impl<E: Event> Default for EventLog<E> {
    fn default() -> Self {
        Self(Arc::new(Inner {
            seen: Mutex::default(),
            changed: Notify::new(),
        }))
    }
}

impl<E: Event> Clone for EventLog<E> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<E: Event> EventLog<E>
where
    E::Payload: Clone + Debug,
{
    pub(crate) fn record(&self, event: E::Payload) {
        self.0.seen.lock().unwrap_or_else(PoisonError::into_inner).push(event);
        self.0.changed.notify_waiters();
    }

    /// All events so far.
    pub fn all(&self) -> Vec<E::Payload> {
        self.0.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Waits until an event matches, and returns it.
    ///
    /// # Errors
    /// If no event matches in time; the error lists the events.
    pub async fn expect(&self, what: &str, wanted: impl Fn(&E::Payload) -> bool) -> Result<E::Payload> {
        let found = async {
            loop {
                // Registered before the events are read, so that an event in between is not missed.
                let changed = self.0.changed.notified();
                tokio::pin!(changed);
                changed.as_mut().enable();
                if let Some(event) = self.all().into_iter().find(&wanted) {
                    return event;
                }
                changed.await;
            }
        };
        let event = within(what, found).await;
        event.map_err(|_| anyhow!("`{}` did not tell of {what}; it told of {:#?}", E::NAME, self.all()))
    }

    /// Fails if there was any event. The list is complete only after the application has ended; see
    /// [`Live::ends_without_a_crash`](crate::case::Live::ends_without_a_crash).
    ///
    /// # Errors
    /// If there was an event.
    pub fn expect_none(&self) -> Result<()> {
        match self.all().as_slice() {
            [] => Ok(()),
            events => bail!("`{}` told of {events:#?}, expected nothing", E::NAME),
        }
    }
}
