//! What more than one test of the core needs.

use std::time::{Duration, Instant};

use pointwork_core::{BoxFuture, Bus, Clock, Executor};

/// Runs what outlives a request on tokio.
#[derive(Default)]
pub(crate) struct Tokio(pub(crate) Clock);

impl Executor for Tokio {
    fn spawn(&self, future: BoxFuture<'static, ()>) {
        tokio::spawn(future);
    }

    fn clock(&self) -> &Clock {
        &self.0
    }

    fn sleep_until(&self, instant: Instant) -> BoxFuture<'static, ()> {
        if let Some(sleep) = self.0.sleep_until(instant) {
            return sleep;
        }
        Box::pin(tokio::time::sleep_until(instant.into()))
    }
}

/// Completes when every emitted event was delivered.
pub(crate) async fn drained(bus: &Bus) {
    while bus.waiting() > 0 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}
