//! The way of an event to its listener.

use std::fmt;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Instant;

use arc_swap::ArcSwap;
use futures_channel::oneshot;
use futures_util::FutureExt;
use http::StatusCode;
use tracing::Instrument;

use crate::crash::CrashKind;
use crate::events::options::BusOptions;
use crate::events::queue::{Job, Queue, within};
use crate::events::registry::{Caller, Delivery, Entry, Registry, Subscription};
use crate::exchange::context::Counted;
use crate::{Chain, Context, Crash, Error, Executor, Failure, FailureCode, Payload};

/// Carries events from controllers and the server to listeners. Cheap to clone; all clones are one bus.
///
/// `call` runs the listener within the caller. `emit` puts the event into a bounded queue: the events of one channel are
/// heard one after the other, in the order emitted. An event that follows another within a millisecond may wait for as
/// long; one that carries a context never does.
#[derive(Clone)]
pub struct Bus(Arc<Inner>);

/// A bus that is not kept alive.
///
/// Whoever holds a context or a delivery has one of these: a guest may keep it in its instance for ever, and the bus has
/// the guest's module among its listeners.
#[derive(Clone)]
pub(crate) struct WeakBus(Weak<Inner>);

impl WeakBus {
    pub(crate) fn upgrade(&self) -> Result<Bus, Failure> {
        let bus = self.0.upgrade().map(Bus);
        bus.ok_or_else(|| Failure::internal(FailureCode::GONE, "the application has ended"))
    }
}

impl fmt::Debug for WeakBus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WeakBus")
    }
}

struct Inner {
    registry: ArcSwap<Registry>,
    writing: Mutex<()>,
    executor: Arc<dyn Executor>,
    options: BusOptions,
    refused: AtomicU64,
    waiting: AtomicUsize,
    requests: Arc<AtomicUsize>,
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

/// Listeners that are ready to take their places; see [`Bus::stage`].
#[must_use = "listeners take their places with `publish`"]
pub struct StagedListeners<'a> {
    bus: &'a Bus,
    registry: Registry,
    _writing: MutexGuard<'a, ()>,
}

impl StagedListeners<'_> {
    /// Makes the change visible. Calls and events that are under way go on with the listeners they found.
    pub fn publish(self) {
        self.bus.0.registry.store(Arc::new(self.registry));
    }
}

impl fmt::Debug for StagedListeners<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StagedListeners")
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
            requests: Arc::default(),
            drained: Mutex::default(),
        }))
    }

    /// Registers listeners, all or none. Calls that are under way go on with the listeners they found.
    ///
    /// # Errors
    /// [`EventName`](crate::ErrorKind::EventName) and [`DuplicateListener`](crate::ErrorKind::DuplicateListener). The
    /// channel `server` alone may have several listeners to one event.
    pub fn subscribe(&self, subscriptions: impl IntoIterator<Item = Subscription>) -> Result<(), Error> {
        self.stage(None, subscriptions).map(StagedListeners::publish)
    }

    /// Takes the listeners of a module out and puts others in, all or none, and keeps every other change waiting until
    /// the result is published or dropped.
    ///
    /// # Errors
    /// As [`subscribe`](Self::subscribe).
    pub fn stage(
        &self,
        without: Option<&str>,
        subscriptions: impl IntoIterator<Item = Subscription>,
    ) -> Result<StagedListeners<'_>, Error> {
        let writing = self.0.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut registry = Registry::clone(&self.0.registry.load());
        if let Some(module) = without {
            registry.remove(module);
        }
        for subscription in subscriptions {
            registry.add(subscription)?;
        }
        Ok(StagedListeners {
            bus: self,
            registry,
            _writing: writing,
        })
    }

    /// The door to the bus for code outside any request. It does not keep the bus: when the application is gone, calls fail
    /// with [`GONE`](FailureCode::GONE).
    pub fn caller(&self) -> Caller {
        Caller {
            bus: self.downgrade(),
            chain: Chain::default(),
            request_id: None,
        }
    }

    pub(crate) fn downgrade(&self) -> WeakBus {
        WeakBus(Arc::downgrade(&self.0))
    }

    /// How many emitted events wait to be heard.
    pub fn waiting(&self) -> usize {
        self.0.waiting.load(Ordering::Relaxed)
    }

    /// How many requests are under way: those that wait for their reply, and those whose context somebody still holds.
    pub fn requests(&self) -> usize {
        self.0.requests.load(Ordering::Relaxed)
    }

    /// Counts a request in for as long as the result lives.
    pub(crate) fn count_request(&self) -> Counted {
        Counted::new(self.0.requests.clone())
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
        self.check_size(&payload, || format!("the payload of `{event}`"))?;
        let chain = caller.chain.extend(&entry.name, entry.module.as_ref())?;
        let delivery = self.delivery(&entry, caller, chain, None);
        let result = self.run(&entry, caller, delivery, payload).await;
        let result = result.map_err(Ended::into_failure)?;
        self.check_size(&result, || format!("the result of `{event}`"))?;
        Ok(result)
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
        self.check_size(&payload, || format!("the payload of `{event}`"))?;
        let chain = caller.chain.detach(&entry.name, entry.module.as_ref())?;
        let delivery = self.delivery(&entry, caller, chain, context);
        self.push(Job {
            entry,
            delivery,
            payload,
        })
    }

    fn check_size(&self, payload: &Payload, what: impl FnOnce() -> String) -> Result<(), Failure> {
        let (size, limit) = (payload.data().len(), self.0.options.payload_limit);
        if size <= limit {
            return Ok(());
        }
        let message = format!("{} has {size} bytes; at most {limit} are allowed", what());
        let status = StatusCode::PAYLOAD_TOO_LARGE;
        Err(Failure::with_code(FailureCode::TOO_LARGE, status, message))
    }

    pub(crate) fn emit_as_server(&self, event: &str, payload: Payload) {
        let registry = self.0.registry.load();
        for entry in registry.server(event) {
            let emitted = Chain::default()
                .detach(&entry.name, entry.module.as_ref())
                .and_then(|chain| {
                    self.push(Job {
                        entry: entry.clone(),
                        delivery: self.delivery(entry, &self.caller(), chain, None),
                        payload: payload.clone(),
                    })
                });
            if let Err(failure) = emitted {
                self.0.refused.fetch_add(1, Ordering::Relaxed);
                tracing::error!(event = &*entry.name, "the event was not emitted: {failure}");
            }
        }
    }

    fn delivery(&self, entry: &Entry, caller: &Caller, chain: Chain, context: Option<Context>) -> Delivery {
        let caller = Caller {
            bus: self.downgrade(),
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
        let queue = job.entry.queue.clone();
        self.0.waiting.fetch_add(1, Ordering::Relaxed);
        match queue.push(job, self.0.options.queue) {
            Ok(true) => self.0.executor.spawn(Box::pin(self.clone().drain(queue))),
            Ok(false) => {}
            Err(failure) => {
                self.heard();
                return Err(failure);
            }
        }
        Ok(())
    }

    async fn drain(self, queue: Arc<Queue>) {
        while let Some(job) = queue.next(&self.0.executor).await {
            let entry = job.entry.clone();
            let span = tracing::info_span!(
                "event",
                event = &*entry.name,
                module = entry.module.as_deref(),
                request_id = job.delivery.request_id().map(tracing::field::display),
            );
            self.hear(job).instrument(span).await;
            entry.waiting.fetch_sub(1, Ordering::Relaxed);
            self.heard();
        }
    }

    /// Has one emitted event heard. Nobody waits for what it comes to, so that a failure is reported.
    async fn hear(&self, job: Job) {
        let Job {
            entry,
            mut delivery,
            payload,
        } = job;
        let time = self.0.options.deadline;
        let deadline = Instant::now() + time;
        delivery.caller.chain.limit(deadline);
        let caller = delivery.caller.clone();
        let reason = match within(&self.0.executor, deadline, self.run(&entry, &caller, delivery, payload)).await {
            // What crashed is reported already.
            Some(Ok(_) | Err(Ended::Crashed(_))) => return,
            Some(Err(Ended::Failed(failure))) => failure.to_string(),
            None => format!("it took longer than {time:?}"),
        };
        let message = format!("the listener of `{}` failed: {reason}", entry.name);
        self.crashed(&entry, &caller, Crash::new(CrashKind::Listener, message));
    }

    /// Runs a listener; `caller` is whose request its crash is told with.
    async fn run(
        &self,
        entry: &Entry,
        caller: &Caller,
        delivery: Delivery,
        payload: Payload,
    ) -> Result<Payload, Ended> {
        let work = async { entry.listener.deliver(delivery, payload).await };
        let result = AssertUnwindSafe(work).catch_unwind().await.unwrap_or_else(|panic| {
            let message = format!("the listener of `{}` panicked: {}", entry.name, panic_message(&*panic));
            Err(Failure::of_crash(Crash::new(CrashKind::Panic, message)))
        });
        result.map_err(|mut failure| match failure.take_crash(&entry.name) {
            Some(crash) => {
                self.crashed(entry, caller, crash);
                Ended::Crashed(failure)
            }
            None => Ended::Failed(failure),
        })
    }

    fn crashed(&self, entry: &Entry, caller: &Caller, mut crash: Crash) {
        crash.module = entry.module.as_deref().map(str::to_owned);
        self.report_in(&caller.chain, caller.request_id.as_ref(), crash);
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

/// How a listener ended without a result.
enum Ended {
    Failed(Failure),
    /// Its code broke, which was reported.
    Crashed(Failure),
}

impl Ended {
    fn into_failure(self) -> Failure {
        match self {
            Self::Failed(failure) | Self::Crashed(failure) => failure,
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
