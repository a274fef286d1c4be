//! What more than one test of the core needs.

use std::time::Instant;

use pointwork_core::{BoxFuture, Executor};

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
