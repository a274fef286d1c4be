//! The bus: carries each event to its listener.

use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicBool, AtomicIsize, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use arc_swap::ArcSwap;
use derive_more::Debug;
use event_listener::Event as Changes;
use futures_util::FutureExt;
use parking_lot::{Mutex, MutexGuard};
use tracing::Instrument;

use super::Payload;
use super::bursts::Bursts;
use super::caller::{Caller, Delivery, HandedOver, Subscription};
use super::chain::Chain;
use super::durable::failed::Failed;
use super::options::BusOptions;
use super::queue::Queue;
use super::registry::{Emitted, Listed, ListenerName, Registered, Registry, Target};
use super::starting::Starting;
use crate::crash::panic_message;
use crate::executor::within;
use crate::failure_counts::{self, FailureCount, FailureCounts};
use crate::routing::MAX_NAME_BYTES;
use crate::sharded::WeakShard;
use crate::{Charge, Clock, Crash, CrashKind, Error, ErrorKind, Executor, Failure, FailureCode, Fault, Shard, Sharded};

/// Carries events from controllers and the server to listeners. Cheap to clone; all clones are one bus.
///
/// `call` runs the listener within the caller. `emit` puts the event into a bounded queue: the events of one channel are
/// delivered one after the other, in the order emitted. An event that follows another within a millisecond may wait for as
/// long. One that carries a context is delivered at once, beside the others: its listener may wait for a slow client.
#[derive(Clone, Debug)]
#[debug("Bus {{ waiting: {}, refused: {} }}", self.waiting(), self.refused())]
pub struct Bus(Arc<Sharded<Arc<BusState>>>);

/// A bus that is kept alive by a reference which only its thread counts, as a rule.
#[derive(Clone)]
pub(crate) struct LiveBus(pub(super) Shard<Arc<BusState>>);

/// A bus that is not kept alive.
///
/// Every context and every delivery has one. A guest may keep those in its instance for ever, and the bus has the guest's
/// module among its listeners: a strong reference would be a leak.
#[derive(Clone, Debug)]
#[debug("WeakBus")]
pub(crate) struct WeakBus(WeakShard<Arc<BusState>>);

impl WeakBus {
    pub(crate) fn upgrade(&self) -> Result<LiveBus, Failure> {
        let bus = self.0.upgrade().filter(|bus| !bus.closed.load(Ordering::Relaxed));
        bus.map(LiveBus)
            .ok_or_else(|| Failure::of(FailureCode::GONE, "the application has ended"))
    }

    /// The application's clock. After the end of the application, the real clock.
    /// See [`Caller::payload_limit`](super::caller::Caller::payload_limit).
    pub(crate) fn payload_limit(&self) -> usize {
        self.0.upgrade().map_or(0, |state| state.options.payload_limit)
    }

    pub(crate) fn clock(&self) -> Clock {
        let state = self.0.upgrade();
        state.map_or_else(Clock::real, |state| state.executor.clock().clone())
    }

    /// See [`Bursts::begins`]. Without a bus, nothing counts.
    pub(crate) fn begins_burst(&self, code: &str, of: &str) -> bool {
        let state = self.0.upgrade();
        state.is_none_or(|state| state.bursts.begins(code, of, &state.executor))
    }

    /// See [`Bursts::begins_failing`]. Without a bus, nothing counts.
    pub(crate) fn begins_burst_of_failures(&self, code: &FailureCode, fault: Fault, route: &str) -> bool {
        let begins = |state: &BusState| {
            let code = failure_counts::label(code);
            state.bursts.begins_failing(code, fault, route, &state.executor)
        };
        self.0.upgrade().is_none_or(|state| begins(&state))
    }

    /// Counts a failure that ended a request, or with which an event was dropped. Without a bus, nothing counts.
    pub(crate) fn count_failure(&self, code: &FailureCode, fault: Fault) {
        if let Some(state) = self.0.upgrade() {
            state.failures.count(code, fault);
        }
    }
}

pub(super) struct BusState {
    pub(super) registry: ArcSwap<Registry>,
    changing: Mutex<()>,
    pub(super) executor: Arc<dyn Executor>,
    pub(super) options: BusOptions,
    closed: AtomicBool,
    pub(super) durable: DurableState,
    /// Whether events leave the process, for a store or for another process: their traces go along.
    pub(super) leaves: AtomicBool,
    refused: AtomicU64,
    failures: FailureCounts,
    pub(super) starting: Starting,
    bursts: Bursts,
    /// The emitted events that are not delivered yet: the sum of all shards. The thread that delivers an event may have another
    /// shard than the one that emitted it.
    pub(super) waiting: Sharded<AtomicIsize>,
    /// Counts its own references, each of a request in flight.
    requests: Sharded<()>,
    notice: Mutex<Option<String>>,
}

/// The state that all durable channels of a bus share.
#[derive(Default)]
pub(super) struct DurableState {
    /// Whether there is a durable channel: a request needs a gate then.
    pub(super) exists: AtomicBool,
    /// Whether no event is taken out of a store any more.
    pub(super) stopped: AtomicBool,
    /// Notified when listeners change, and at the stop.
    pub(super) changes: Changes,
}

/// A change of listeners that is ready to be published; see [`Bus::stage`].
#[derive(Debug)]
#[debug("StagedListeners")]
#[must_use = "nothing changes until `publish`"]
pub struct StagedListeners<'a> {
    bus: &'a Bus,
    registry: Registry,
    _changing: MutexGuard<'a, ()>,
}

impl StagedListeners<'_> {
    /// The names of all listeners after the change: `channel:event`.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.registry.names()
    }

    /// The listeners that a name can mean, before and after the change; one of each if it can be called (spec C2).
    pub fn readings(&self, event: &str) -> [Vec<ListenerName>; 2] {
        [&*self.bus.state().registry.load(), &self.registry].map(|registry| registry.listeners(event))
    }

    /// Makes the change visible. Calls and events that are in flight go on with the listeners they found.
    pub fn publish(self) {
        self.bus.state().registry.store(Arc::new(self.registry));
        self.bus.state().durable.changes.notify(usize::MAX);
    }
}

impl Bus {
    /// A bus without listeners.
    pub fn new(executor: Arc<dyn Executor>, options: BusOptions) -> Self {
        let state = BusState {
            registry: ArcSwap::default(),
            changing: Mutex::new(()),
            executor,
            options,
            closed: AtomicBool::new(false),
            durable: DurableState::default(),
            leaves: AtomicBool::new(false),
            refused: AtomicU64::new(0),
            failures: FailureCounts::default(),
            starting: Starting::default(),
            bursts: Bursts::default(),
            waiting: Sharded::default(),
            requests: Sharded::default(),
            notice: Mutex::default(),
        };
        Self(Arc::new(Sharded::of(Arc::new(state))))
    }

    pub(super) fn state(&self) -> &BusState {
        self.0.local()
    }

    pub(super) fn live(&self) -> LiveBus {
        LiveBus(self.0.local().clone())
    }

    /// Sets what a reply that [shows](crate::RouterOptions::show_crashes) crashes says beside them, such as an error in the
    /// configuration.
    pub fn set_notice(&self, notice: Option<String>) {
        *self.state().notice.lock() = notice;
    }

    /// Registers listeners, all or none. Calls that are in flight go on with the listeners they found.
    ///
    /// # Errors
    /// [`EventName`](crate::ErrorKind::EventName) and [`DuplicateListener`](crate::ErrorKind::DuplicateListener). The
    /// channel `server` alone may have several listeners to one event.
    pub fn subscribe(&self, subscriptions: impl IntoIterator<Item = Subscription>) -> Result<(), Error> {
        self.stage(None, subscriptions).map(StagedListeners::publish)
    }

    /// Prepares a change: the listeners of a module are taken out, others put in, all or none. Every other change waits
    /// until the result is published or dropped.
    ///
    /// # Errors
    /// As [`subscribe`](Self::subscribe), and [`Closed`](ErrorKind::Closed).
    pub fn stage(
        &self,
        without: Option<&str>,
        subscriptions: impl IntoIterator<Item = Subscription>,
    ) -> Result<StagedListeners<'_>, Error> {
        self.stage_registry(|registry| {
            if let Some(module) = without {
                registry.remove(module);
            }
            subscriptions.into_iter().try_for_each(|subscription| {
                if subscription.listener.is_remote() {
                    self.state().leaves.store(true, Ordering::Relaxed);
                }
                registry.add(subscription)
            })
        })
    }

    pub(super) fn stage_registry(
        &self,
        change: impl FnOnce(&mut Registry) -> Result<(), Error>,
    ) -> Result<StagedListeners<'_>, Error> {
        let changing = self.state().changing.lock();
        if self.state().closed.load(Ordering::Relaxed) {
            return Err(Error::new(ErrorKind::Closed, "the application is closed"));
        }
        let mut registry = Registry::clone(&self.state().registry.load());
        change(&mut registry)?;
        Ok(StagedListeners {
            bus: self,
            registry,
            _changing: changing,
        })
    }

    /// A caller for code outside any request. It does not keep the bus: when the application is gone, calls fail with
    /// [`GONE`](FailureCode::GONE).
    pub fn caller(&self) -> Caller {
        self.caller_in(Chain::default())
    }

    pub(crate) fn caller_in(&self, chain: Chain) -> Caller {
        Caller {
            bus: WeakBus(self.0.local().downgrade()),
            chain,
        }
    }

    /// The number of emitted events that are not delivered yet.
    pub fn waiting(&self) -> usize {
        let shards = self.state().waiting.all();
        let sum: isize = shards.map(|shard| shard.load(Ordering::Relaxed)).sum();
        sum.try_into().unwrap_or_default()
    }

    /// The number of requests in flight: those that wait for their reply, and those whose context somebody still holds.
    pub fn requests(&self) -> usize {
        self.state().requests.references()
    }

    /// Counts a request until the result is dropped.
    pub(crate) fn count_request(&self) -> Shard<()> {
        self.state().requests.local().clone()
    }

    /// The number of emitted events that were refused since the start, because a queue was full or nobody listens.
    pub fn refused(&self) -> u64 {
        self.state().refused.load(Ordering::Relaxed)
    }

    /// The failures since the start that ended a request, or with which an emitted event was dropped, by code and party at fault. A
    /// failed attempt to deliver a durable event counts too. A failure of a call counts once it ends the request of the caller.
    pub fn failures(&self) -> Vec<FailureCount> {
        self.state().failures.snapshot()
    }

    /// Checks that a call or an event of that name has a listener at this moment.
    ///
    /// # Errors
    /// [`UNKNOWN_EVENT`](FailureCode::UNKNOWN_EVENT) with the nearest known name (spec C4), or
    /// [`AMBIGUOUS_EVENT`](FailureCode::AMBIGUOUS_EVENT).
    pub fn expect_listener(&self, event: &str) -> Result<(), Failure> {
        let registry = self.state().registry.load();
        let found = registry.find(event).map(drop);
        // The listeners of a durable channel may be in another process.
        found.or_else(|failure| registry.durable_by_name(event).map(drop).ok_or(failure))
    }

    /// Ends the bus: every listener is dropped, and from now on calls fail with [`GONE`](FailureCode::GONE). Events that
    /// wait are delivered all the same, for as long as the executor runs.
    pub fn close(&self) {
        let state = self.state();
        let _changing = state.changing.lock();
        state.closed.store(true, Ordering::Relaxed);
        state.registry.store(Arc::default());
        self.stop_durable();
    }
}

impl LiveBus {
    pub(crate) fn notice(&self) -> Option<String> {
        self.0.notice.lock().clone()
    }

    pub(crate) async fn call(&self, caller: &Caller, event: &str, payload: Payload) -> Result<Payload, Failure> {
        let listed = self.0.registry.load().find(event)?.local().clone();
        self.check_size(&payload, || format!("the payload of `{event}`"))?;
        let chain = caller.chain.extend(&listed.names)?;
        let guard = chain.cancel_guard();
        let delivery = self.delivery(chain);
        let result = self.run(&listed.registered, &caller.chain, delivery, payload).await;
        guard.complete();
        let result = result.map_err(|(failure, _)| failure)?;
        self.check_size(&result, || format!("the result of `{event}`"))?;
        Ok(result)
    }

    /// Queues or records an event. What is handed over is queued with the event.
    pub(crate) fn emit(
        &self,
        caller: &Caller,
        event: &str,
        payload: Payload,
        handed_over: Option<HandedOver>,
        charge: Charge,
    ) -> Result<(), Failure> {
        let emitted = || {
            let registry = self.0.registry.load();
            let listed = match registry.target(event)? {
                Target::Listener(listed) if handed_over.is_some() && listed.registered.listener.is_remote() => {
                    let message = format!("`{event}` is heard in another process, and a context cannot leave this one");
                    return Err(Failure::of(FailureCode::NOT_REMOTE, message));
                }
                Target::Listener(listed) => listed,
                Target::Durable(channel, event) if handed_over.is_none() => {
                    let payload = self
                        .check_size(&payload, || format!("the payload of `{event}`"))
                        .map(|()| payload);
                    channel.record(caller, event, payload, charge, self.0.options.queue);
                    return Ok(());
                }
                Target::Durable(channel, _) => {
                    let message = format!(
                        "the channel `{}` is durable, and a context ends with its request",
                        channel.name
                    );
                    return Err(Failure::of(FailureCode::NOT_DURABLE, message));
                }
            };
            self.check_size(&payload, || format!("the payload of `{event}`"))?;
            self.push(listed, &caller.chain, payload, handed_over, charge)
        };
        let result = emitted();
        if result.is_err() {
            self.0.refused.fetch_add(1, Ordering::Relaxed);
        }
        result
    }

    pub(crate) fn emit_as_server(&self, event: &str, payload: Payload) {
        for listed in self.0.registry.load().server(event) {
            let listed = listed.local();
            let (chain, charge) = (Chain::default(), Charge::default());
            if let Err(failure) = self.push(listed, &chain, payload.clone(), None, charge) {
                self.0.refused.fetch_add(1, Ordering::Relaxed);
                if self
                    .0
                    .bursts
                    .begins("event-queue", &listed.names.full, &self.0.executor)
                {
                    tracing::error!(event = &*listed.names.full, "the event was not emitted: {failure}");
                }
            }
        }
    }

    /// See [`Bursts::log`].
    pub(crate) fn log(&self, crash: &Crash) {
        self.0.bursts.log(crash, &self.0.executor);
    }

    pub(super) fn check_size(&self, payload: &Payload, of: impl FnOnce() -> String) -> Result<(), Failure> {
        let (size, limit) = (payload.data().len(), self.0.options.payload_limit);
        let of_type = payload.content_type().len();
        let message = if size > limit {
            format!("{} has {size} bytes; at most {limit} are allowed", of())
        } else if of_type > MAX_NAME_BYTES {
            format!(
                "the content type of {} has {of_type} bytes; at most {MAX_NAME_BYTES} are allowed",
                of()
            )
        } else {
            return Ok(());
        };
        Err(Failure::of(FailureCode::TOO_LARGE, message))
    }

    pub(super) fn delivery(&self, chain: Chain) -> Delivery {
        Delivery {
            handed_over: None,
            caller: Caller {
                bus: WeakBus(self.0.downgrade()),
                chain,
            },
            id: OnceLock::new(),
            attempt: 1,
        }
    }

    fn push(
        &self,
        Listed { names, registered }: &Listed,
        chain: &Chain,
        payload: Payload,
        handed_over: Option<HandedOver>,
        charge: Charge,
    ) -> Result<(), Failure> {
        let mut detached = chain.detach(names)?;
        if handed_over.is_some() {
            // The listener that holds the context works for the request.
            detached.gate.clone_from(&chain.gate);
        }
        registered.reserve(self.0.options.queue)?;
        self.0.waiting.local().fetch_add(1, Ordering::Relaxed);
        // A client waits for the listener that gets its context, and may be slow itself: this event stays out of the queue.
        let waits = handed_over.is_some();
        let mut delivery = self.delivery(detached);
        let until_the_end = handed_over.map(|HandedOver { value, until_the_end }| {
            delivery.handed_over = Some(value);
            until_the_end
        });
        let emitted = Emitted {
            registered: registered.clone(),
            delivery,
            payload,
            until_the_end: (charge, until_the_end),
        };
        if waits {
            let bus = self.clone();
            let task = async move { bus.deliver_and_release(emitted).await };
            self.0.executor.spawn(Box::pin(task));
        } else if registered.queue.push(emitted) {
            let task = self.clone().drain(registered.queue.clone());
            self.0.executor.spawn(Box::pin(task));
        }
        Ok(())
    }

    /// Delivers the events of a queue until it has been empty for a while.
    async fn drain(self, queue: Arc<Queue<Emitted>>) {
        while let Some(emitted) = queue.next(&*self.0.executor).await {
            self.deliver_and_release(emitted).await;
        }
    }

    /// Delivers one emitted event, and gives its place back.
    async fn deliver_and_release(&self, emitted: Emitted) {
        let registered = emitted.registered.clone();
        let span = tracing::info_span!(
            "event",
            event = registered.names.full,
            module = registered.names.module,
            request_id = emitted.delivery.request_id().map(tracing::field::display),
        );
        self.deliver(emitted).instrument(span).await;
        registered.release();
        self.0.waiting.local().fetch_sub(1, Ordering::Relaxed);
    }

    /// Delivers one emitted event. Nobody waits for its result, so a failure is reported.
    async fn deliver(&self, emitted: Emitted) {
        let Emitted {
            registered,
            delivery,
            payload,
            until_the_end: _until_the_end,
        } = emitted;
        let chain = delivery.caller.chain.clone();
        if let Err(failed) = self.run_emitted(&registered, delivery, payload).await
            && !failed.is_reported
        {
            let message = format!("the listener of `{}` failed: {}", registered.names.full, failed.message);
            self.crashed(&registered, &chain, Crash::new(CrashKind::Listener, message));
        }
    }

    /// Runs the listener of an emitted event, within the time for it.
    pub(super) async fn run_emitted(
        &self,
        registered: &Registered,
        mut delivery: Delivery,
        payload: Payload,
    ) -> Result<(), Failed> {
        let time = self.0.options.deadline;
        let deadline = self.0.executor.now() + time;
        delivery.caller.chain.deadline = Some(deadline);
        let chain = delivery.caller.chain.clone();
        let run = self.run(registered, &chain, delivery, payload);
        match within(&*self.0.executor, deadline, run).await {
            Some(Ok(_)) => Ok(()),
            Some(Err((failure, Reported(is_reported)))) => {
                // No client waits for an event: a payload that does not fit is a mistake of the code that emitted it.
                let fault = failure.fault_of_event();
                self.0.failures.count(failure.code(), fault);
                Err(Failed::of(&failure, is_reported))
            }
            None => {
                self.0.failures.count(&FailureCode::DEADLINE, Fault::Host);
                Err(Failed::once(format!("it took longer than {time:?}")))
            }
        }
    }

    /// Runs a listener. A crash of it is reported with the request that began `chain`.
    pub(super) async fn run(
        &self,
        registered: &Registered,
        chain: &Chain,
        delivery: Delivery,
        payload: Payload,
    ) -> Result<Payload, (Failure, Reported)> {
        let work = async { registered.listener.deliver(delivery, payload).await };
        let result = AssertUnwindSafe(work).catch_unwind().await.unwrap_or_else(|panic| {
            let panic = panic_message(&*panic);
            let message = format!("the listener of `{}` panicked: {panic}", registered.names.full);
            Err(Failure::of_crash(Crash::new(CrashKind::Panic, message)))
        });
        result.map_err(|mut failure| {
            let crash = failure.take_crash(&registered.names.full);
            let reported = Reported(crash.is_some());
            if let Some(crash) = crash {
                self.crashed(registered, chain, crash);
            }
            (failure, reported)
        })
    }

    fn crashed(&self, registered: &Registered, chain: &Chain, mut crash: Crash) {
        crash.module.clone_from(&registered.names.module);
        self.report_in(chain, Some(&registered.names.full), crash);
    }
}

/// Whether a listener's failure was reported as a crash.
pub(super) struct Reported(bool);
