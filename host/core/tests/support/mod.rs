//! What more than one test of the core needs.

use std::time::Instant;

use pointwork_core::{BoxFuture, Bus, Clock, Executor};
use pointwork_test_clock::real::until;

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

    #[expect(clippy::disallowed_methods, reason = "the real clock takes its timers from tokio")]
    fn sleep_until(&self, instant: Instant) -> BoxFuture<'static, ()> {
        if let Some(sleep) = self.0.sleep_until(instant) {
            return sleep;
        }
        Box::pin(tokio::time::sleep_until(instant.into()))
    }
}

/// Completes when every emitted event was delivered.
pub(crate) async fn drained(bus: &Bus) {
    let delivered = until("every emitted event is delivered", || bus.waiting() == 0);
    delivered.await.expect("the listeners end");
}
