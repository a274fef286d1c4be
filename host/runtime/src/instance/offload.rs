//! Moves a guest that takes long off the server's threads.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll};
use std::time::Duration;

use pointwork_core::BoxFuture;
use tokio::task::JoinHandle;
use tokio_util::sync::WaitForCancellationFutureOwned;
use tracing::Instrument;

use super::call::Call;
use super::crashes::{cpu_exceeded, drained, panicked};
use crate::component::module_pre::ModulePre;
use crate::scheduling::call_history::CallHistory;
use crate::scheduling::meter::{Metered, Progress, SLICE, take_slice_used};
use crate::scheduling::threads::Threads;

/// Runs a call on the thread that polls it, which costs a short one least, until the guest has used up its time slice. Then
/// the call continues on the scheduler threads, so that it cannot slow down a server's worker.
///
/// It ends with the call, when the call has used up its processor time, or when its version's time to drain is over.
pub(crate) struct Offload<C: Call> {
    here: Option<BoxFuture<'static, C::Output>>,
    there: Option<JoinHandle<Progress<C::Output>>>,
    /// Completes when the version ends; made only for a call that has to wait.
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
            here: Some(here),
            there: None,
            cut: None,
            history,
            pre,
            threads,
        }
    }

    fn poll_call(&mut self, cx: &mut TaskContext<'_>) -> Poll<C::Output> {
        // Calls that crash often have no place on the server's threads.
        let may_run_here = !self.history.crashes_often();
        if let Some(here) = self.here.as_mut().filter(|_| may_run_here) {
            // WASI waits with timers and sockets of tokio; the server's thread may have none.
            let _entered = self.pre.settings.uses_wasi.then(|| self.threads.enter());
            take_slice_used();
            let polled = here.as_mut().poll(cx);
            if polled.is_ready() || !take_slice_used() {
                return polled;
            }
        }
        if let Some(here) = self.here.take() {
            let used = if may_run_here { SLICE } else { Duration::ZERO };
            let (limit, history) = (self.pre.settings.limits.cpu, self.history.clone());
            self.spawn(Metered::new(here, used, limit, history));
        }
        self.poll_there(cx)
    }

    fn spawn(&mut self, metered: Metered<C::Output>) {
        let priority = metered.priority();
        let run = metered.run().instrument(tracing::Span::current());
        self.there = Some(self.threads.spawn_at(priority, run));
    }

    fn poll_there(&mut self, cx: &mut TaskContext<'_>) -> Poll<C::Output> {
        while let Some(there) = &mut self.there {
            let Poll::Ready(progress) = Pin::new(there).poll(cx) else {
                return Poll::Pending;
            };
            self.there = None;
            let history = Some(&*self.history);
            return Poll::Ready(match progress {
                Ok(Progress::Done(output)) => output,
                Ok(Progress::Reschedule(metered)) => {
                    self.spawn(metered);
                    continue;
                }
                Ok(Progress::OverLimit) => C::crashed(cpu_exceeded(&self.pre, history)),
                Err(error) => {
                    let message = format!("the call of the guest did not end: {error}");
                    C::crashed(panicked(&self.pre, history, message))
                }
            });
        }
        Poll::Pending
    }

    fn cancel(&mut self) {
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
            this.cancel();
            return Poll::Ready(C::crashed(drained(&this.pre)));
        }
        Poll::Pending
    }
}

impl<C: Call> Drop for Offload<C> {
    fn drop(&mut self) {
        self.cancel();
    }
}
