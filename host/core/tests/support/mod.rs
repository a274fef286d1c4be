//! What more than one test of the core needs.

use std::time::{Duration, Instant};

use pointwork_core::{BoxFuture, Bus, Executor};

/// Runs what outlives a request on tokio.
pub(crate) struct Tokio;

impl Executor for Tokio {
    fn spawn(&self, future: BoxFuture<'static, ()>) {
        tokio::spawn(future);
    }

    fn sleep_until(&self, instant: Instant) -> BoxFuture<'static, ()> {
        Box::pin(tokio::time::sleep_until(instant.into()))
    }
}

/// Completes when every emitted event was delivered.
pub(crate) async fn drained(bus: &Bus) {
    while bus.waiting() > 0 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}
