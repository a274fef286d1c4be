//! hyper's timer for the heads of HTTP/1, at the cost of one small allocation each.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use hyper::rt::{Sleep, Timer};

use crate::state::ConnectionState;

/// hyper starts a sleep when it begins to wait for a head, and drops it when the head is complete. Both only set the
/// deadline in the [`ConnectionState`], past which the connection is cut.
pub(crate) struct HeadTimer(pub(crate) Arc<ConnectionState>);

struct HeadSleep(Arc<ConnectionState>);

impl Timer for HeadTimer {
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Sleep>> {
        self.sleep_until(Instant::now() + duration)
    }

    fn sleep_until(&self, deadline: Instant) -> Pin<Box<dyn Sleep>> {
        self.0.deadlines.await_head_by(deadline);
        Box::pin(HeadSleep(self.0.clone()))
    }
}

impl Sleep for HeadSleep {}

impl Future for HeadSleep {
    type Output = ();

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        Poll::Pending
    }
}

impl Drop for HeadSleep {
    fn drop(&mut self) {
        self.0.deadlines.await_nothing();
    }
}
