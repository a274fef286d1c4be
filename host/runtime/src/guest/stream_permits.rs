//! The slots of calls that wait for a client while they have an instance.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use pointwork_core::{Caller, Crash, CrashKind, Executor, Failure, FailureCode, within};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::limits::ModuleLimits;

/// Bounds the calls of a version of a module that wait for their clients: those that read a request body chunk by chunk, and
/// those that write a reply chunk by chunk. Slow clients hold such calls for as long as they like, so one call fewer than
/// the instances can serve has a slot: other calls find an instance.
pub(crate) struct StreamPermits {
    slots: Arc<Semaphore>,
    /// The number of slots.
    pub(crate) count: usize,
    waiting: AtomicUsize,
    /// The number of calls that may wait for a slot.
    queue: usize,
    pub(crate) wait: Duration,
    executor: Arc<dyn Executor>,
}

/// The right to wait for a client, until it is dropped.
pub(crate) type StreamPermit = OwnedSemaphorePermit;

/// No slot is free, and none became free in time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NoPermit;

impl StreamPermits {
    pub(crate) fn new(limits: &ModuleLimits, executor: Arc<dyn Executor>) -> Self {
        let calls = limits.instances.saturating_mul(limits.in_flight);
        let count = (calls - 1).clamp(1, Semaphore::MAX_PERMITS);
        Self {
            slots: Arc::new(Semaphore::new(count)),
            count,
            waiting: AtomicUsize::new(0),
            queue: limits.queue,
            wait: limits.queue_wait,
            executor,
        }
    }

    /// A new semaphore of the same size.
    pub(crate) fn fresh(&self) -> Self {
        Self {
            slots: Arc::new(Semaphore::new(self.count)),
            waiting: AtomicUsize::new(0),
            executor: self.executor.clone(),
            ..*self
        }
    }

    /// A slot, if one is free now.
    ///
    /// # Errors
    /// None is.
    pub(crate) fn try_take(&self) -> Result<StreamPermit, NoPermit> {
        self.slots.clone().try_acquire_owned().map_err(|_| NoPermit)
    }

    /// A slot, waiting for one as long as a call waits for an instance.
    ///
    /// # Errors
    /// None became free, or too many calls wait already.
    ///
    /// # Cancel safety
    /// Cancel safe.
    pub(crate) async fn take(&self) -> Result<StreamPermit, NoPermit> {
        if let Ok(slot) = self.try_take() {
            return Ok(slot);
        }
        let _waits = Waits::begin(&self.waiting, self.queue)?;
        let until = self.executor.now() + self.wait;
        let slot = within(&*self.executor, until, self.slots.clone().acquire_owned()).await;
        slot.and_then(Result::ok).ok_or(NoPermit)
    }

    /// The slot of a call, if it needs one.
    ///
    /// # Errors
    /// As [`take`](Self::take).
    pub(crate) async fn take_if(&self, streams: bool) -> Result<Option<StreamPermit>, NoPermit> {
        if streams { self.take().await.map(Some) } else { Ok(None) }
    }

    /// The message for a call that got no slot.
    pub(crate) fn refusal(&self) -> String {
        let Self { count, wait, .. } = self;
        format!(
            "{count} calls wait for their clients already, the most that may, and none of them ended within {wait:?}"
        )
    }

    /// The failure for a guest that got no slot, which is reported. A client may get its message.
    pub(crate) fn busy(&self, module: &str, caller: &Caller) -> Failure {
        let crash = Crash::new(CrashKind::Limit, self.refusal()).in_module(module);
        caller.report(crash.at_limit("instances"));
        Failure::of(FailureCode::OVERLOADED, "the server is busy")
    }
}

/// Counts a call that waits.
struct Waits<'a>(&'a AtomicUsize);

impl<'a> Waits<'a> {
    fn begin(waiting: &'a AtomicUsize, most: usize) -> Result<Self, NoPermit> {
        let waits = Self(waiting);
        let before = waiting.fetch_add(1, Ordering::Relaxed);
        if before < most { Ok(waits) } else { Err(NoPermit) }
    }
}

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
