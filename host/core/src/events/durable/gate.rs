//! The gate of a reply: it waits until a store has confirmed the events that were emitted before it.

use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Instant;

use futures_util::task::AtomicWaker;
use parking_lot::Mutex;

use crate::executor::within;
use crate::{BoxFuture, Executor, Failure, FailureCode};

/// The durable events of one request, or of one delivery, that are not confirmed yet.
#[derive(Debug, Default)]
pub(crate) struct Gate(Mutex<Unconfirmed>);

#[derive(Debug, Default)]
struct Unconfirmed {
    batch: Arc<Batch>,
    /// When the last answer has to be there; `None` without events.
    until: Option<Instant>,
}

/// The events between two waits.
#[derive(Debug, Default)]
struct Batch {
    waiting: AtomicUsize,
    is_refused: AtomicBool,
    waker: AtomicWaker,
}

/// Called with the reason if the event is refused.
type Told = Box<dyn FnOnce(Result<(), String>) + Send>;

/// The answer of a store to one event. Dropped without an answer, it refuses.
#[derive(derive_more::Debug)]
#[debug("Receipt")]
#[must_use = "a receipt that is dropped refuses the event"]
pub struct Receipt {
    batch: Option<Arc<Batch>>,
    told: Option<Told>,
}

impl Receipt {
    pub(super) fn new(told: impl FnOnce(Result<(), String>) + Send + 'static) -> Self {
        let told = Some(Box::new(told) as _);
        Self { batch: None, told }
    }

    /// The event is kept.
    pub fn confirm(mut self) {
        self.answer(Ok(()));
    }

    /// The event is not kept.
    pub fn refuse(mut self, reason: impl Into<String>) {
        self.answer(Err(reason.into()));
    }

    fn answer(&mut self, result: Result<(), String>) {
        let Some(told) = self.told.take() else {
            return;
        };
        if let Some(batch) = self.batch.take() {
            batch.answered(result.is_ok());
        }
        told(result);
    }
}

impl Drop for Receipt {
    fn drop(&mut self) {
        self.answer(Err("the store ended before its answer".to_owned()));
    }
}

impl Gate {
    /// The gate waits for this receipt, no longer than `until`.
    pub(super) fn add(&self, receipt: &mut Receipt, until: Instant) {
        let mut unconfirmed = self.0.lock();
        unconfirmed.until = unconfirmed.until.max(Some(until));
        unconfirmed.batch.waiting.fetch_add(1, Ordering::Relaxed);
        receipt.batch = Some(unconfirmed.batch.clone());
    }

    /// Waits until the store has confirmed every event that was emitted before; `None` if the store has confirmed every event. The
    /// wait fails when the store refuses an event, or does not answer in time.
    pub(crate) fn wait(&self, deadline: Option<Instant>, executor: &Arc<dyn Executor>) -> Option<Recorded> {
        let Unconfirmed { batch, until } = std::mem::take(&mut *self.0.lock());
        let until = until?;
        if batch.waiting.load(Ordering::Acquire) == 0 && !batch.is_refused.load(Ordering::Relaxed) {
            return None;
        }
        let until = deadline.map_or(until, |deadline| deadline.min(until));
        let executor = executor.clone();
        Some(Box::pin(async move {
            let answered = within(&*executor, until, poll_fn(|cx| batch.poll(cx))).await;
            answered.unwrap_or_else(|| Err(unrecorded("the store did not answer in time")))
        }))
    }
}

/// A wait for the answers of a store.
pub(crate) type Recorded = BoxFuture<'static, Result<(), Failure>>;

impl Batch {
    fn answered(&self, kept: bool) {
        if !kept {
            self.is_refused.store(true, Ordering::Relaxed);
        }
        if self.waiting.fetch_sub(1, Ordering::AcqRel) == 1 || !kept {
            self.waker.wake();
        }
    }

    fn poll(&self, cx: &mut Context<'_>) -> Poll<Result<(), Failure>> {
        self.waker.register(cx.waker());
        if self.is_refused.load(Ordering::Relaxed) {
            Poll::Ready(Err(unrecorded("the store refused an event")))
        } else if self.waiting.load(Ordering::Acquire) == 0 {
            Poll::Ready(Ok(()))
        } else {
            Poll::Pending
        }
    }
}

/// 503 for the client: an event that the request emitted may be lost. The reason is for the log.
fn unrecorded(reason: &str) -> Failure {
    tracing::debug!("an event was not recorded: {reason}");
    let message = "an event of the request could not be recorded";
    Failure::of(FailureCode::UNRECORDED, message)
}
