//! Moves a guest that takes long off the server's threads.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use tracing::{Instrument, Span};

use super::call::Call;
use super::crashes::{Blame, cpu_exceeded, drained, panicked};
use crate::component::module_pre::ModulePre;
use crate::scheduling::call_history::CallHistory;
use crate::scheduling::fibers::GuestWork;
use crate::scheduling::meter::{Metered, SLICE, run_to_end, take_slice_used, unmetered};
use crate::scheduling::threads::Threads;

/// Runs a call on the thread that polls it, which costs a short one least, until the guest has used up its time slice. Then
/// the call continues on the scheduler threads, so that it cannot slow down a server's worker.
///
/// It ends with the call, when the call has used up its processor time, or when its version's time to drain is over.
pub(crate) async fn offload<C: Call>(
    work: GuestWork<C::Output>,
    history: &Arc<CallHistory>,
    pre: &ModulePre,
    threads: &Threads,
) -> C::Output {
    tokio::select! {
        biased;
        output = run::<C>(work, history, pre, threads) => output,
        () = pre.cut.cancelled() => C::crashed(drained(pre)),
    }
}

async fn run<C: Call>(
    mut work: GuestWork<C::Output>,
    history: &Arc<CallHistory>,
    pre: &ModulePre,
    threads: &Threads,
) -> C::Output {
    let mut used = Duration::ZERO;
    let here = poll_fn(|cx| {
        // The report of a crash takes long.
        if history.crashed_lately() {
            return Poll::Ready(None);
        }
        // WASI waits with timers and sockets of tokio; the server's thread may have none.
        let _entered = pre.version.uses_wasi.then(|| threads.enter());
        take_slice_used();
        let polled = unmetered(|| Pin::new(&mut work).poll(cx));
        if polled.is_pending() && take_slice_used() {
            used = SLICE;
            return Poll::Ready(None);
        }
        polled.map(Some)
    });
    if let Some(output) = here.await {
        return output;
    }
    let there = GuestWork::new(work.instrument(Span::current()));
    let metered = Metered::new(there, used, pre.version.limits.cpu, history.clone());
    match run_to_end(metered, threads).await {
        Ok(Some(output)) => output,
        Ok(None) => C::crashed(cpu_exceeded(pre, Blame::Callee(history))),
        Err(error) => {
            let message = format!("the call of the guest did not end: {error}");
            C::crashed(panicked(pre, Blame::Callee(history), message))
        }
    }
}
