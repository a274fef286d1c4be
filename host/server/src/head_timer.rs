//! hyper's timer for the heads of requests, at the price of one small allocation each.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use hyper::rt::{Sleep, Timer};

use crate::link::Link;

/// hyper starts a sleep when it begins to wait for a head, and drops it when the head is there. Both are only noted in
/// the [`Link`]; the connection's own timer does the waiting.
pub(crate) struct HeadTimer(pub(crate) Arc<Link>);

struct HeadSleep(Arc<Link>);

impl Timer for HeadTimer {
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Sleep>> {
        self.sleep_until(Instant::now() + duration)
    }

    fn sleep_until(&self, deadline: Instant) -> Pin<Box<dyn Sleep>> {
        self.0.await_head_by(deadline);
        Box::pin(HeadSleep(self.0.clone()))
    }
}

impl Sleep for HeadSleep {}

impl Future for HeadSleep {
    type Output = ();

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        // Whoever sets it polls the connection afterwards, so there is no waker to keep.
        if self.0.is_head_late() {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    }
}

impl Drop for HeadSleep {
    fn drop(&mut self) {
        self.0.await_nothing();
    }
}
