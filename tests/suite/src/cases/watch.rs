//! Native listeners through which a case observes an application, and holds calls at a gate.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result};
use pointwork_core::{Delivery, Payload};
use pointwork_test_clock::TestClock;
use pointwork_test_clock::real::within;
use tokio::sync::{Semaphore, mpsc};

use crate::subject::AppSpec;

/// Holds every call until the case opens the gate.
#[derive(Clone)]
pub(super) struct Gate {
    arrived: Arc<Semaphore>,
    passes: Arc<Semaphore>,
}

impl Gate {
    pub(super) fn new() -> Self {
        Self {
            arrived: Arc::new(Semaphore::new(0)),
            passes: Arc::new(Semaphore::new(0)),
        }
    }

    /// Waits until that many more calls have arrived.
    pub(super) async fn arrived(&self, count: u32) -> Result<()> {
        let arrived = within("the arrival of the calls", self.arrived.acquire_many(count)).await;
        arrived.context("nobody came to the gate")??.forget();
        Ok(())
    }

    /// Reports the arrival, and waits until the gate is open.
    pub(super) async fn pass(&self) {
        self.arrived.add_permits(1);
        // An open gate returns an error.
        let _ = self.passes.acquire().await;
    }

    /// Lets all calls pass from now on.
    pub(super) fn open(&self) {
        self.passes.close();
    }
}

/// The payloads that a listener received, as text.
pub(super) struct Heard(mpsc::UnboundedReceiver<String>);

impl Heard {
    /// Waits for the next payload.
    pub(super) async fn next(&mut self) -> Result<String> {
        let next = within("the arrival of the event", self.0.recv()).await;
        next.context("the event was lost")?.context("the listener is gone")
    }

    /// All payloads that have arrived and were not read yet.
    pub(super) fn so_far(&mut self) -> Vec<String> {
        std::iter::from_fn(|| self.0.try_recv().ok()).collect()
    }
}

/// Lets time pass on the clock of the application until a condition holds.
pub(super) async fn advance_until(time: &TestClock, what: &str, holds: impl Fn() -> bool) -> Result<()> {
    let advancing = async {
        while !holds() {
            time.advance(Duration::from_millis(500)).await;
        }
    };
    within(&format!("the wait until {what}"), advancing).await
}

impl AppSpec {
    /// Adds a gate at an event of the native channel `app`, which returns its payload.
    pub(super) fn gate(self, event: &str, gate: &Gate) -> Self {
        let gate = gate.clone();
        self.listen("app", event, move |_: Delivery, payload: Payload| {
            let gate = gate.clone();
            async move {
                gate.pass().await;
                Ok(payload)
            }
        })
    }

    /// Records the payloads of an event of the native channel `app`.
    pub(super) fn hearing(self, event: &str) -> (Self, Heard) {
        let (told, heard) = mpsc::unbounded_channel();
        let app = self.answers("app", event, move |payload| {
            // The receiver is gone after the end of the case.
            let _ = told.send(String::from_utf8_lossy(payload.data()).into_owned());
            Ok(Payload::null())
        });
        (app, Heard(heard))
    }
}
