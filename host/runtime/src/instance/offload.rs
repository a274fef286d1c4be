//! Moving a guest that takes long off the server's threads.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll};
use std::time::Duration;

use pointwork_core::{BoxFuture, Crash, CrashKind};
use tokio::task::JoinHandle;
use tokio_util::sync::WaitForCancellationFutureOwned;
use tracing::Instrument;

use crate::component::module_pre::{ModulePre, drained, spent};
use crate::instance::call::Call;
use crate::scheduling::call_history::CallHistory;
use crate::scheduling::meter::{Metered, Progress, SLICE, take_slice_used};
use crate::scheduling::threads::Threads;

/// Runs a call where it is polled, which is what a short one costs least, until a guest in it uses up its slice. Then
/// it goes on among the guests' own threads, so that it cannot slow a server's worker down.
///
/// It ends with the call, when the call has used up its processor time, or when its version has drained for too long.
pub(crate) struct Offload<C: Call> {
    here: Option<BoxFuture<'static, C::Output>>,
    there: Option<JoinHandle<Progress<C::Output>>>,
    /// Tells that the version is to end; asked for only by a call that has to wait.
    cut: Option<Pin<Box<WaitForCancellationFutureOwned>>>,
    history: Arc<CallHistory>,
    pre: Arc<ModulePre>,
    threads: Arc<Threads>,
}

impl<C: Call> Offload<C> {
    pub(crate) fn new(
        here: BoxFuture<'static, C::Output>,
        history: Arc<CallHistory>,
        pre: Arc<ModulePre>,
        threads: Arc<Threads>,
    ) -> Self {
        Self {
            history,
            here: Some(here),
            there: None,
            cut: None,
            pre,
            threads,
        }
    }

    fn go_on(&mut self, metered: Metered<C::Output>) {
        let priority = metered.priority();
        let run = metered.run().instrument(tracing::Span::current());
        self.there = Some(self.threads.spawn_at(priority, run));
    }

    fn poll_there(&mut self, cx: &mut TaskContext<'_>) -> Poll<C::Output> {
        loop {
            let Some(there) = &mut self.there else {
                return Poll::Pending;
            };
            let turn = match Pin::new(there).poll(cx) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(turn) => turn,
            };
            self.there = None;
            return Poll::Ready(match turn {
                Ok(Progress::Done(output)) => output,
                Ok(Progress::Reschedule(metered)) => {
                    self.go_on(metered);
                    continue;
                }
                Ok(Progress::OverLimit) => C::crashed(spent(&self.pre, Some(&self.history))),
                Err(error) => {
                    self.pre.crashed(Some(&self.history));
                    let message = format!("the call of the guest did not end: {error}");
                    C::crashed(Crash::new(CrashKind::Panic, message))
                }
            });
        }
    }

    fn poll_call(&mut self, cx: &mut TaskContext<'_>) -> Poll<C::Output> {
        // What crashes again and again is not for the server's threads.
        let trusted = !self.history.crashes_often();
        if let Some(here) = self.here.as_mut().filter(|_| trusted) {
            take_slice_used();
            let polled = here.as_mut().poll(cx);
            // This call moves; the one that waits for it need not.
            if polled.is_ready() || !take_slice_used() {
                return polled;
            }
        }
        if let Some(here) = self.here.take() {
            let used = if trusted { SLICE } else { Duration::ZERO };
            let (limit, history) = (self.pre.limits.cpu, self.history.clone());
            self.go_on(Metered::new(here, used, limit, history));
        }
        self.poll_there(cx)
    }

    fn end(&mut self) {
        self.here = None;
        if let Some(there) = self.there.take() {
            there.abort();
        }
    }
}

impl<C: Call> Future for Offload<C> {
    type Output = C::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<C::Output> {
        let this = &mut *self;
        if let Poll::Ready(output) = this.poll_call(cx) {
            return Poll::Ready(output);
        }
        let cut = this
            .cut
            .get_or_insert_with(|| Box::pin(this.pre.cut.clone().cancelled_owned()));
        if cut.as_mut().poll(cx).is_ready() {
            this.end();
            return Poll::Ready(C::crashed(drained(&this.pre)));
        }
        Poll::Pending
    }
}

impl<C: Call> Drop for Offload<C> {
    fn drop(&mut self) {
        self.end();
    }
}
