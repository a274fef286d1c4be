//! The way of an event to its listener.

use std::collections::VecDeque;
use std::fmt;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use futures_channel::oneshot;
use futures_util::FutureExt;
use futures_util::future::{Either, select};

use crate::channel::{Caller, Delivery, Entry, Registry, Subscription};
use crate::crash::{CrashKind, SERVER_CHANNEL};
use crate::{Chain, Context, Crash, Error, Executor, Failure, FailureCode, Payload, RequestId};

/// How events are carried.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct BusOptions {
    /// How many emitted events may wait for one listener; one more is refused. Default 1,024.
    pub queue: usize,
    /// How long a listener may work on one emitted event. Default 30 s.
    pub deadline: Duration,
}

impl Default for BusOptions {
    fn default() -> Self {
        Self {
            queue: 1024,
            deadline: Duration::from_secs(30),
        }
    }
}

/// Carries events from controllers and the server to listeners. Cheap to clone; all clones are one bus.
///
/// `call` runs the listener within the caller. `emit` puts the event into a bounded queue: the events of one channel are
/// heard one after the other, in the order emitted.
#[derive(Clone)]
pub struct Bus(Arc<Inner>);

struct Inner {
    registry: ArcSwap<Registry>,
    writing: Mutex<()>,
    executor: Arc<dyn Executor>,
    options: BusOptions,
    refused: AtomicU64,
    waiting: AtomicUsize,
    drained: Mutex<Vec<oneshot::Sender<()>>>,
}

impl fmt::Debug for Bus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bus")
            .field("waiting", &self.waiting())
            .field("refused", &self.refused())
            .finish()
    }
}

/// The emitted events of one channel that wait to be heard.
#[derive(Default)]
pub(crate) struct Queue(Mutex<QueueState>);

#[derive(Default)]
struct QueueState {
    jobs: VecDeque<Job>,
    /// Whether a task empties the queue.
    draining: bool,
}

struct Job {
    entry: Arc<Entry>,
    delivery: Delivery,
    payload: Payload,
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, QueueState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Bus {
    /// A bus without listeners.
    pub fn new(executor: Arc<dyn Executor>, options: BusOptions) -> Self {
        Self(Arc::new(Inner {
            registry: ArcSwap::default(),
            writing: Mutex::new(()),
            executor,
            options,
            refused: AtomicU64::new(0),
            waiting: AtomicUsize::new(0),
            drained: Mutex::default(),
        }))
    }

    /// Registers listeners, all or none. Calls that are under way go on with the listeners they found.
    ///
    /// # Errors
    /// [`EventName`](crate::ErrorKind::EventName) and [`DuplicateListener`](crate::ErrorKind::DuplicateListener). The
    /// channel `server` alone may have several listeners to one event.
    pub fn subscribe(&self, subscriptions: impl IntoIterator<Item = Subscription>) -> Result<(), Error> {
        let _writing = self.0.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut registry = Registry::clone(&self.0.registry.load());
        for subscription in subscriptions {
            registry.add(subscription)?;
        }
        self.0.registry.store(Arc::new(registry));
        Ok(())
    }

    /// The door to the bus for code outside any request.
    pub fn caller(&self) -> Caller {
        Caller {
            bus: self.clone(),
            chain: Chain::default(),
            request_id: None,
        }
    }

    /// How many emitted events wait to be heard.
    pub fn waiting(&self) -> usize {
        self.0.waiting.load(Ordering::Relaxed)
    }

    /// How many emitted events were refused since the start, because a queue was full or nobody listens.
    pub fn refused(&self) -> u64 {
        self.0.refused.load(Ordering::Relaxed)
    }

    /// Completes when every emitted event was heard.
    ///
    /// # Cancel safety
    /// Cancel safe.
    pub async fn drained(&self) {
        let heard = {
            let mut drained = self.0.drained.lock().unwrap_or_else(PoisonError::into_inner);
            if self.waiting() == 0 {
                return;
            }
            let (sender, receiver) = oneshot::channel();
            drained.push(sender);
            receiver
        };
        // An error means that the bus is gone, and its events with it.
        let _ = heard.await;
    }

    pub(crate) async fn call(&self, caller: &Caller, event: &str, payload: Payload) -> Result<Payload, Failure> {
        let entry = self.0.registry.load().find(event)?.clone();
        let chain = caller.chain.extend(&entry.name)?;
        let delivery = self.delivery(&entry, caller, chain, None);
        self.run(&entry, delivery, payload).await
    }

    /// Queues an event, with a context if it is a hand-over.
    pub(crate) fn emit(
        &self,
        caller: &Caller,
        event: &str,
        payload: Payload,
        context: Option<Context>,
    ) -> Result<(), Failure> {
        let result = self.try_emit(caller, event, payload, context);
        if result.is_err() {
            self.0.refused.fetch_add(1, Ordering::Relaxed);
        }
        result
    }

    fn try_emit(
        &self,
        caller: &Caller,
        event: &str,
        payload: Payload,
        context: Option<Context>,
    ) -> Result<(), Failure> {
        let entry = self.0.registry.load().find(event)?.clone();
        let chain = caller.chain.detach(&entry.name)?;
        let delivery = self.delivery(&entry, caller, chain, context);
        self.push(Job {
            entry,
            delivery,
            payload,
        })
    }

    pub(crate) fn emit_as_server(&self, event: &str, payload: Payload) {
        let registry = self.0.registry.load();
        for entry in registry.server(event) {
            let delivery = self.delivery(entry, &self.caller(), Chain::default(), None);
            if let Err(failure) = self.push(Job {
                entry: entry.clone(),
                delivery,
                payload: payload.clone(),
            }) {
                self.0.refused.fetch_add(1, Ordering::Relaxed);
                tracing::error!(event = &*entry.name, "the event was not emitted: {failure}");
            }
        }
    }

    fn delivery(&self, entry: &Entry, caller: &Caller, chain: Chain, context: Option<Context>) -> Delivery {
        let caller = Caller {
            bus: self.clone(),
            chain,
            request_id: caller.request_id.clone(),
        };
        Delivery {
            event: entry.name.clone(),
            name_at: entry.name_at,
            context,
            caller,
        }
    }

    fn push(&self, job: Job) -> Result<(), Failure> {
        let limit = self.0.options.queue;
        let shared = job.entry.queue.clone();
        let mut queue = shared.lock();
        if job.entry.waiting.load(Ordering::Relaxed) >= limit {
            let message = format!("the queue of `{}` is full with {limit} events", job.entry.name);
            return Err(Failure::with_code(
                FailureCode::OVERLOADED,
                http::StatusCode::SERVICE_UNAVAILABLE,
                message,
            ));
        }
        job.entry.waiting.fetch_add(1, Ordering::Relaxed);
        self.0.waiting.fetch_add(1, Ordering::Relaxed);
        let start = !std::mem::replace(&mut queue.draining, true);
        queue.jobs.push_back(job);
        drop(queue);
        if start {
            self.0.executor.spawn(Box::pin(self.clone().drain(shared)));
        }
        Ok(())
    }

    async fn drain(self, queue: Arc<Queue>) {
        loop {
            let Job {
                entry,
                delivery,
                payload,
            } = {
                let mut state = queue.lock();
                match state.jobs.pop_front() {
                    Some(job) => job,
                    None => {
                        state.draining = false;
                        return;
                    }
                }
            };
            let request_id = delivery.caller.request_id.clone();
            let timer = self.0.executor.sleep_until(Instant::now() + self.0.options.deadline);
            let failed = match select(Box::pin(self.run(&entry, delivery, payload)), timer).await {
                Either::Left((result, _)) => result.err().map(|failure| failure.to_string()),
                Either::Right(_) => Some(format!("it took longer than {:?}", self.0.options.deadline)),
            };
            if let Some(reason) = failed {
                self.listener_failed(&entry, request_id, &reason);
            }
            entry.waiting.fetch_sub(1, Ordering::Relaxed);
            self.heard();
        }
    }

    async fn run(&self, entry: &Entry, delivery: Delivery, payload: Payload) -> Result<Payload, Failure> {
        let request_id = delivery.caller.request_id.clone();
        let work = async { entry.listener.deliver(delivery, payload).await };
        AssertUnwindSafe(work).catch_unwind().await.unwrap_or_else(|panic| {
            let mut crash = Crash::new(
                CrashKind::Panic,
                format!("the listener of `{}` panicked: {}", entry.name, panic_message(&*panic)),
            );
            crash.module.clone_from(&entry.module);
            crash.request_id = request_id.map(|id| id.to_string());
            self.report_unless_server(entry, crash);
            Err(Failure::internal(
                FailureCode::FAILED,
                format!("the listener of `{}` crashed", entry.name),
            ))
        })
    }

    fn listener_failed(&self, entry: &Entry, request_id: Option<RequestId>, reason: &str) {
        let mut crash = Crash::new(
            CrashKind::Listener,
            format!("the listener of `{}` failed: {reason}", entry.name),
        );
        crash.module.clone_from(&entry.module);
        crash.request_id = request_id.map(|id| id.to_string());
        self.report_unless_server(entry, crash);
    }

    /// A subscriber of the server's own events that fails must not set off another such event.
    fn report_unless_server(&self, entry: &Entry, crash: Crash) {
        if entry.name[..entry.name_at].trim_end_matches(':') == SERVER_CHANNEL {
            tracing::error!(module = crash.module, "{}", crash.message);
        } else {
            self.report(crash);
        }
    }

    fn heard(&self) {
        let mut drained = self.0.drained.lock().unwrap_or_else(PoisonError::into_inner);
        if self.0.waiting.fetch_sub(1, Ordering::Relaxed) == 1 {
            for sender in drained.drain(..) {
                // Whoever waited may have given up.
                let _ = sender.send(());
            }
        }
    }
}

/// The text of a panic, if it has one.
pub(crate) fn panic_message(panic: &(dyn std::any::Any + Send)) -> &str {
    panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message")
}
