//! A timer that is cheap to set anew.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use tokio::time::{Sleep, sleep_until};

/// Sets the runtime's timer only when it fired, or when something is due before it: nearly never for a connection whose
/// requests follow each other. To set that timer for each request would cost more than the routing does.
#[derive(Debug, Default)]
pub(crate) struct Alarm {
    due: Option<Instant>,
    sleep: Option<Pin<Box<Sleep>>>,
}

impl Alarm {
    /// Due after this time, or never.
    pub(crate) fn set(&mut self, wait: Option<Duration>) {
        self.due = wait.map(|wait| Instant::now() + wait);
    }

    pub(crate) fn clear(&mut self) {
        self.due = None;
    }

    /// Completes when it is due; pending for ever while it is not set.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let Some(due) = self.due else {
            return Poll::Pending;
        };
        let sleep = self.sleep.get_or_insert_with(|| Box::pin(sleep_until(due.into())));
        loop {
            if sleep.deadline().into_std() > due {
                sleep.as_mut().reset(due.into());
            }
            ready!(sleep.as_mut().poll(cx));
            if Instant::now() >= due {
                return Poll::Ready(());
            }
            sleep.as_mut().reset(due.into());
        }
    }
}
