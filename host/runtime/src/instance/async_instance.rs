//! One instance of an asynchronous module: it serves several calls at a time, in a task of its own.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use pointwork_core::{Crash, CrashKind};
use tokio::sync::{Notify, SetOnce, mpsc};
use tokio::time::{sleep, sleep_until};
use wasmtime::Store;
use wasmtime::component::Accessor;

use super::call::{Call, Exports, Queued, QueuedCall};
use super::crashes::{crash, drained, trapped};
use crate::component::module_pre::ModulePre;
use crate::guest::Guest;

/// The time that the other calls of an instance have to end once it is given up.
pub(crate) const GRACE: Duration = Duration::from_secs(5);

/// The state that an instance shares with its callers.
#[derive(Default)]
pub(crate) struct InstanceState {
    pub(crate) in_flight: AtomicUsize,
    /// Calls that nobody waits for any more, and that the guest has not ended.
    abandoned: AtomicUsize,
    /// Whether it takes no further calls.
    pub(crate) retired: AtomicBool,
    /// Whether it lost handles: it takes no further calls either, but ends those that it has.
    pub(crate) leaks: AtomicBool,
    give_up: Notify,
    /// Set when the instance is gone: the crash of every call that it did not end.
    pub(crate) end: SetOnce<Crash>,
}

impl InstanceState {
    /// Nobody waits for one of its calls any more.
    pub(crate) fn abandoned(&self) {
        self.abandoned.fetch_add(1, Ordering::Relaxed);
    }

    /// Gives the instance up if an abandoned call has not ended by its deadline. A call of the guest is cancelled only by
    /// dropping its store, where its neighbours live too: they have [`GRACE`] to end first.
    pub(crate) async fn give_up_at(&self, deadline: Option<Instant>) {
        sleep_until(deadline.unwrap_or_else(|| Instant::now() + GRACE).into()).await;
        if self.abandoned.load(Ordering::Relaxed) == 0 || self.retired.swap(true, Ordering::Relaxed) {
            return;
        }
        let end = Instant::now() + GRACE;
        while self.in_flight.load(Ordering::Relaxed) > 0 && Instant::now() < end {
            sleep(Duration::from_millis(50)).await;
        }
        self.give_up.notify_one();
    }
}

/// Runs one instance until it traps, is given up, or the pool drops its queue. Returns the crash of the calls that it did
/// not end.
pub(crate) async fn drive(
    pre: Arc<ModulePre>,
    state: Arc<InstanceState>,
    queue: mpsc::UnboundedReceiver<QueuedCall>,
) -> Crash {
    let mut store = match pre.store() {
        Ok(store) => store,
        Err(error) => return trapped(&pre, None, &error, None),
    };
    let result = tokio::select! {
        result = serve(&pre, &state, &mut store, queue) => Some(result),
        () = state.give_up.notified() => None,
        () = pre.cut.cancelled() => return drained(&pre),
    };
    match result {
        Some(Ok(())) => crash(&pre, CrashKind::Trap, "the instance ended"),
        Some(Err(error)) => trapped(&pre, None, &error, Some(store.data_mut())),
        None => {
            let message = "the instance was given up: a call in it did not end by its deadline";
            crash(&pre, CrashKind::Trap, message)
        }
    }
}

async fn serve(
    pre: &ModulePre,
    state: &InstanceState,
    store: &mut Store<Guest>,
    mut queue: mpsc::UnboundedReceiver<QueuedCall>,
) -> wasmtime::Result<()> {
    let instance = pre.instance_pre.instantiate_async(&mut *store).await?;
    let exports = Exports::of(pre, store, &instance)?;
    store
        .run_concurrent(async |accessor| {
            let mut running = FuturesUnordered::new();
            loop {
                tokio::select! {
                    Some(ended) = running.next(), if !running.is_empty() => ended?,
                    call = queue.recv() => match call {
                        Some(call) => running.push(start(accessor, &exports, pre, state, call)),
                        None => break,
                    },
                }
            }
            while let Some(ended) = running.next().await {
                ended?;
            }
            Ok(())
        })
        .await?
}

async fn start(
    accessor: &Accessor<Guest>,
    exports: &Exports,
    pre: &ModulePre,
    state: &InstanceState,
    call: QueuedCall,
) -> wasmtime::Result<()> {
    match call {
        QueuedCall::Request(queued) => run(accessor, exports, pre, state, queued).await,
        QueuedCall::Event(queued) => run(accessor, exports, pre, state, queued).await,
    }
}

async fn run<C: Call>(
    accessor: &Accessor<Guest>,
    exports: &Exports,
    pre: &ModulePre,
    state: &InstanceState,
    queued: Queued<C>,
) -> wasmtime::Result<()> {
    let Queued {
        call,
        slot,
        span,
        output,
    } = queued;
    let export = C::export(exports);
    let (started, _slot) = accessor.with(|mut access| {
        let guest = access.get();
        guest.begin_shared_call();
        let slot = guest.keep_slot(slot, call.history());
        let params = call.lower(guest)?;
        let started = export.start_call_concurrent(&mut access, params)?;
        access.get().task_started(started.task(), span);
        wasmtime::error::Ok((started, slot))
    })?;
    let task = started.task();
    let results = export.finish_call_concurrent(accessor, started).await?;
    accessor.with(|mut access| {
        let guest = access.get();
        let in_flight = guest.task_ended(task);
        guest.free_slot();
        if guest.leaks(in_flight) && !state.leaks.swap(true, Ordering::Relaxed) {
            guest.log_leak();
        }
    });
    if output.send(C::lift(results, &pre.settings)).is_err() {
        state.abandoned.fetch_sub(1, Ordering::Relaxed);
    }
    Ok(())
}
