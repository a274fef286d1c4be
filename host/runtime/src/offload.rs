//! Moving a guest that takes long off the server's threads.

use std::cell::Cell;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll};

use pointwork_core::{BoxFuture, Crash, CrashKind};
use tokio::task::JoinHandle;
use tracing::Instrument;

use crate::call::Call;
use crate::executor::Threads;

thread_local! {
    /// Whether a guest on this thread used up its slice since the last [`Offload::poll`] began.
    static SLICE_USED: Cell<bool> = const { Cell::new(false) };
}

/// Notes that the guest that runs on this thread used up its slice and yields.
pub(crate) fn slice_used() {
    SLICE_USED.set(true);
}

/// Runs a call where it is polled, which is what a short one costs least, until a guest in it uses up its slice. Then
/// it goes on among the guests' own threads, so that it cannot slow a server's worker down.
pub(crate) struct Offload<C: Call> {
    here: Option<BoxFuture<'static, C::Output>>,
    there: Option<JoinHandle<C::Output>>,
    threads: Arc<Threads>,
}

impl<C: Call> Offload<C> {
    pub(crate) fn new(here: BoxFuture<'static, C::Output>, threads: Arc<Threads>) -> Self {
        Self {
            here: Some(here),
            there: None,
            threads,
        }
    }
}

impl<C: Call> Future for Offload<C> {
    type Output = C::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<C::Output> {
        if let Some(here) = &mut self.here {
            SLICE_USED.set(false);
            let polled = here.as_mut().poll(cx);
            if polled.is_ready() || !SLICE_USED.get() {
                return polled;
            }
        }
        // This call moves; the one that waits for it need not.
        SLICE_USED.set(false);
        if let Some(here) = self.here.take() {
            let there = self.threads.spawn_guest(here.instrument(tracing::Span::current()));
            self.there = Some(there);
        }
        let Some(there) = &mut self.there else {
            return Poll::Pending;
        };
        Pin::new(there).poll(cx).map(|joined| {
            joined.unwrap_or_else(|error| {
                let message = format!("the call of the guest did not end: {error}");
                C::crashed(Crash::new(CrashKind::Panic, message))
            })
        })
    }
}

impl<C: Call> Drop for Offload<C> {
    fn drop(&mut self) {
        if let Some(there) = &self.there {
            there.abort();
        }
    }
}
