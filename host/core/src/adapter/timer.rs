//! One timer for many deadlines.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Instant;

/// A sleep of the adapter's executor.
type Sleep = Pin<Box<dyn Future<Output = ()> + Send + Sync>>;

/// A timer for a deadline that moves with every request and rarely passes.
///
/// It starts a sleep when the last one fired, or when the deadline is before the end of that: nearly never for a connection
/// whose requests follow each other.
#[derive(derive_more::Debug)]
#[debug("Timer")]
pub struct Timer {
    sleep_until: fn(Instant) -> Sleep,
    sleep: Option<(Instant, Sleep)>,
}

impl Timer {
    /// A timer that sleeps as the function does.
    pub fn new(sleep_until: fn(Instant) -> Sleep) -> Self {
        Self {
            sleep_until,
            sleep: None,
        }
    }

    /// Completes when the deadline is over; `None` never is. Each poll may have another deadline; the last one counts.
    pub fn poll(&mut self, cx: &mut Context<'_>, deadline: Option<Instant>) -> Poll<()> {
        let Some(deadline) = deadline else {
            return Poll::Pending;
        };
        loop {
            let (end, sleep) = match &mut self.sleep {
                Some(sleep) if sleep.0 <= deadline => sleep,
                other => other.insert((deadline, (self.sleep_until)(deadline))),
            };
            let end = *end;
            ready!(sleep.as_mut().poll(cx));
            self.sleep = None;
            if end == deadline {
                return Poll::Ready(());
            }
        }
    }
}
