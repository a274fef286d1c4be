//! Modules of the asynchronous form: an instance may have several calls in flight.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use pointwork_core::{BoxFuture, Crash, CrashKind};
use tokio::sync::futures::Notified;
use tokio::sync::{Notify, SetOnce, mpsc, oneshot};
use tokio::time::{sleep, sleep_until, timeout};
use wasmtime::UpdateDeadline;
use wasmtime::component::Accessor;

use crate::component::module_pre::{Full, ModulePre, drained, overloaded, spent, trapped};
use crate::guest::Guest;
use crate::instance::call::{Call, Event, Exports, Request};
use crate::instance::reentrancy::{Idle, InstancePool};
use crate::scheduling::call_history::CallHistory;
use crate::scheduling::meter::{Metered, run_to_end, slice_used};
use crate::scheduling::metrics::Counted;
use crate::scheduling::threads::Threads;

/// How long the other calls of an instance may take to end once it is to be given up.
const GRACE: Duration = Duration::from_secs(5);

/// The instances of a module of the asynchronous form, each driven by a task among the guests' threads.
pub(crate) struct AsyncPool {
    pre: Arc<ModulePre>,
    threads: Arc<Threads>,
    /// What is known of its instances, which call of theirs it was that looped being unknown.
    history: Arc<CallHistory>,
    workers: Mutex<Workers>,
    room: Arc<Room>,
}

/// Tells those who wait for an instance when it is worth another look.
#[derive(Default)]
struct Room {
    /// An instance has room for another call, or ended.
    shared: Notify,
    /// An instance has no call, so that it can give way, or ended.
    alone: Notify,
}

impl Room {
    fn call_ended(&self, left: usize) {
        self.shared.notify_one();
        if left == 0 {
            self.alone.notify_one();
        }
    }

    fn instance_ended(&self) {
        self.shared.notify_waiters();
        self.alone.notify_waiters();
    }

    /// Waits for news that are of use to such a call. One that is alone must not take the news from one that is not.
    fn news(&self, history: &CallHistory) -> Notified<'_> {
        if history.crashes_often() {
            self.alone.notified()
        } else {
            self.shared.notified()
        }
    }
}

#[derive(Default)]
struct Workers {
    /// Those that take calls.
    open: Vec<Arc<Worker>>,
    /// Those that take none any more and end with the calls that they have. They count until they have ended: there are
    /// never more instances than the limit says.
    closing: Vec<Arc<State>>,
}

/// An instance, as those see it who have calls for it. When they are gone, and the module too, it ends.
struct Worker {
    jobs: mpsc::UnboundedSender<Job>,
    state: Arc<State>,
    /// How many calls it took.
    served: AtomicU64,
    /// When its last call ended.
    since: Mutex<Instant>,
}

/// What an instance and those who call it know of each other.
#[derive(Default)]
struct State {
    in_flight: AtomicUsize,
    /// Calls that nobody waits for any more, and that the guest has not ended.
    forsaken: AtomicUsize,
    retired: AtomicBool,
    give_up: Notify,
    /// What the calls come to that the instance did not end, as soon as it is gone.
    fate: SetOnce<Crash>,
}

impl Worker {
    fn in_flight(&self) -> usize {
        self.state.in_flight.load(Ordering::Relaxed)
    }
}

impl Workers {
    /// Stops giving calls to the instances that `unfit` picks.
    fn close(&mut self, mut unfit: impl FnMut(&Worker) -> bool) {
        let closed = self.open.extract_if(.., |worker| unfit(worker));
        self.closing.extend(closed.map(|worker| worker.state.clone()));
    }

    /// Forgets the instances that have ended.
    fn forget_ended(&mut self) {
        self.close(|worker| worker.state.retired.load(Ordering::Relaxed));
        self.closing.retain(|state| !state.fate.initialized());
    }
}

/// A call in the queue of an instance.
pub(crate) enum Job {
    Request(Pending<Request>),
    Event(Pending<Event>),
}

/// A call, and who waits for what it comes to.
pub(crate) struct Pending<C: Call> {
    call: C,
    done: oneshot::Sender<C::Output>,
}

impl AsyncPool {
    pub(crate) fn new(pre: Arc<ModulePre>, threads: Arc<Threads>) -> Self {
        Self {
            pre,
            threads,
            history: Arc::default(),
            workers: Mutex::default(),
            room: Arc::default(),
        }
    }

    fn workers(&self) -> MutexGuard<'_, Workers> {
        self.workers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An instance with room for such a call, made if need be; `None` when all are full.
    fn worker(self: &Arc<Self>, history: &Arc<CallHistory>) -> Option<Arc<Worker>> {
        if history.crashes_often() {
            return self.worker_alone(history);
        }
        let limits = &self.pre.limits;
        let mut workers = self.workers();
        workers.forget_ended();
        let least = workers.open.iter().min_by_key(|worker| worker.in_flight());
        let worker = match least {
            Some(worker) if worker.in_flight() < limits.in_flight => worker.clone(),
            _ if workers.open.len() + workers.closing.len() < limits.instances => {
                let worker = self.start(self.history.clone());
                workers.open.push(worker.clone());
                worker
            }
            _ => return None,
        };
        worker.state.in_flight.fetch_add(1, Ordering::Relaxed);
        let served = worker.served.fetch_add(1, Ordering::Relaxed) + 1;
        if served >= limits.reuse || self.pre.is_retired() {
            workers.close(|other| std::ptr::eq(other, &*worker));
        }
        Some(worker)
    }

    /// An instance for a call that is likely to crash, which would end the others that it shared one with: it takes no
    /// other call.
    fn worker_alone(&self, history: &Arc<CallHistory>) -> Option<Arc<Worker>> {
        let mut workers = self.workers();
        workers.forget_ended();
        if workers.open.len() + workers.closing.len() >= self.pre.limits.instances {
            // One that is idle gives way, and whoever waits is told when it has ended.
            let mut given_way = false;
            workers.close(|worker| worker.in_flight() == 0 && !std::mem::replace(&mut given_way, true));
            return None;
        }
        let worker = self.start(history.clone());
        worker.state.in_flight.fetch_add(1, Ordering::Relaxed);
        workers.closing.push(worker.state.clone());
        Some(worker)
    }

    async fn wait_for_worker(self: &Arc<Self>, history: &Arc<CallHistory>) -> Result<Arc<Worker>, Full> {
        let limits = &self.pre.limits;
        let _waiting = self.pre.metrics.wait(limits.queue).ok_or(Full::Queue)?;
        let wait = async {
            loop {
                let news = self.room.news(history);
                if let Some(worker) = self.worker(history) {
                    return worker;
                }
                news.await;
            }
        };
        timeout(limits.queue_wait, wait).await.map_err(|_| Full::Instances)
    }

    /// Starts an instance in the lane where that history has its place.
    fn start(&self, history: Arc<CallHistory>) -> Arc<Worker> {
        let (jobs, queue) = mpsc::unbounded_channel();
        let state = Arc::<State>::default();
        let driving = Box::pin(drive(self.pre.clone(), state.clone(), queue));
        let metered = Metered::new(driving, Duration::ZERO, self.pre.limits.cpu, history).per_burst();
        let (pre, state_too, room) = (self.pre.clone(), state.clone(), self.room.clone());
        let threads = self.threads.clone();
        self.threads.spawn_guest(async move {
            let fate = match run_to_end(metered, &threads).await {
                Ok(Some(fate)) => fate,
                Ok(None) => spent(&pre, None),
                Err(error) => {
                    pre.crashed(None);
                    let message = format!("the instance did not end: {error}");
                    Crash::new(CrashKind::Panic, message).in_module(&*pre.name)
                }
            };
            state_too.retired.store(true, Ordering::Relaxed);
            // Nobody else sets it.
            let _ = state_too.fate.set(fate);
            room.instance_ended();
        });
        Arc::new(Worker {
            jobs,
            state,
            served: AtomicU64::new(0),
            since: Mutex::new(Instant::now()),
        })
    }

    /// Runs a call in an instance that has room.
    pub(crate) fn run<C: Call>(self: Arc<Self>, call: C, counted: Counted) -> BoxFuture<'static, C::Output> {
        Box::pin(self.serve(call, counted))
    }

    async fn serve<C: Call>(self: Arc<Self>, call: C, _counted: Counted) -> C::Output {
        let history = call.history().clone();
        let worker = match self.worker(&history) {
            Some(worker) => worker,
            None => match self.wait_for_worker(&history).await {
                Ok(worker) => worker,
                Err(full) => return C::crashed(overloaded(&self.pre, full)),
            },
        };
        let (done, output) = oneshot::channel();
        let mut place = Place {
            owner: self.clone(),
            worker: worker.clone(),
            deadline: call.deadline(),
            ended: false,
        };
        // A worker that is gone drops the job, and with it the sender.
        let _ = worker.jobs.send(C::job(Pending { call, done }));
        let output = output.await;
        place.ended = true;
        match output {
            Ok(output) => {
                self.pre.metrics.succeeded();
                output
            }
            Err(_) => {
                // The job is dropped a moment before the instance's fate is known.
                let fate = timeout(GRACE, worker.state.fate.wait()).await;
                let fate = fate.map_or_else(|_| ended(&self.pre, "the instance ended"), Crash::clone);
                // A limit was hit by all modules together, or by the version's time to drain.
                if fate.kind != CrashKind::Limit {
                    history.crashed();
                }
                C::crashed(fate)
            }
        }
    }
}

/// A call's place in an instance.
struct Place {
    owner: Arc<AsyncPool>,
    worker: Arc<Worker>,
    deadline: Option<Instant>,
    ended: bool,
}

impl Drop for Place {
    fn drop(&mut self) {
        *self.worker.since.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
        let before = self.worker.state.in_flight.fetch_sub(1, Ordering::Relaxed);
        self.owner.room.call_ended(before - 1);
        if !self.ended {
            // A call of the guest is cancelled only by dropping its store. Its neighbours live there too, so it gets
            // until its deadline to end by itself.
            let state = self.worker.state.clone();
            state.forsaken.fetch_add(1, Ordering::Relaxed);
            let by = self.deadline.unwrap_or_else(|| Instant::now() + GRACE);
            self.owner
                .threads
                .spawn_guest(async move { state.give_up_after(by).await });
        }
    }
}

impl State {
    async fn give_up_after(&self, deadline: Instant) {
        sleep_until(deadline.into()).await;
        if self.forsaken.load(Ordering::Relaxed) == 0 || self.retired.swap(true, Ordering::Relaxed) {
            return;
        }
        let patience = Instant::now() + GRACE;
        while self.in_flight.load(Ordering::Relaxed) > 0 && Instant::now() < patience {
            sleep(Duration::from_millis(50)).await;
        }
        self.give_up.notify_one();
    }
}

impl InstancePool for AsyncPool {
    fn another(&self) -> Self {
        Self::new(self.pre.clone(), self.threads.clone())
    }

    fn shrink(&self) {
        let (retired, allowed) = (self.pre.is_retired(), self.pre.limits.idle);
        let now = Instant::now();
        let mut workers = self.workers();
        workers.forget_ended();
        workers.close(|worker| {
            let since = *worker.since.lock().unwrap_or_else(PoisonError::into_inner);
            worker.in_flight() == 0 && (retired || now.saturating_duration_since(since) > allowed)
        });
    }

    /// What an instance holds that lives in a task of its own cannot be told from outside.
    fn idle(&self) -> Idle {
        let workers = self.workers();
        Idle {
            instances: workers.open.iter().filter(|worker| worker.in_flight() == 0).count(),
            held: 0,
        }
    }
}

/// Runs one instance until it traps, is given up, or the module is gone. Tells why it ended.
async fn drive(pre: Arc<ModulePre>, state: Arc<State>, queue: mpsc::UnboundedReceiver<Job>) -> Crash {
    let mut store = match pre.store() {
        Ok(store) => store,
        Err(error) => return trapped(&pre, None, &error, None),
    };
    store.epoch_deadline_callback(|_| {
        slice_used();
        Ok(UpdateDeadline::Yield(1))
    });
    store.set_epoch_deadline(1);
    let result = tokio::select! {
        result = run(&pre, &state, &mut store, queue) => Some(result),
        () = state.give_up.notified() => None,
        () = pre.cut.cancelled() => return drained(&pre),
    };
    match result {
        Some(Ok(())) => ended(&pre, "the instance ended"),
        Some(Err(error)) => trapped(&pre, None, &error, Some(store.data_mut())),
        None => ended(
            &pre,
            "the instance was given up: a call in it did not end by its deadline",
        ),
    }
}

fn ended(pre: &ModulePre, why: &str) -> Crash {
    Crash::new(CrashKind::Trap, why).in_module(&*pre.name)
}

async fn run(
    pre: &ModulePre,
    state: &State,
    store: &mut wasmtime::Store<Guest>,
    mut queue: mpsc::UnboundedReceiver<Job>,
) -> wasmtime::Result<()> {
    let instance = pre.instance_pre.instantiate_async(&mut *store).await?;
    let exports = Exports::of(pre, store, &instance)?;
    store
        .run_concurrent(async |accessor| {
            let mut running = FuturesUnordered::new();
            loop {
                tokio::select! {
                    Some(ended) = running.next(), if !running.is_empty() => ended?,
                    job = queue.recv() => match job {
                        Some(job) => running.push(start(accessor, &exports, state, job)),
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

async fn start(accessor: &Accessor<Guest>, exports: &Exports, state: &State, job: Job) -> wasmtime::Result<()> {
    match job {
        Job::Request(pending) => call(accessor, exports, state, pending).await,
        Job::Event(pending) => call(accessor, exports, state, pending).await,
    }
}

async fn call<C: Call>(
    accessor: &Accessor<Guest>,
    exports: &Exports,
    state: &State,
    pending: Pending<C>,
) -> wasmtime::Result<()> {
    let Pending { call, done } = pending;
    let export = exports.get::<C>()?;
    let params = accessor.with(|mut access| {
        let guest = access.get();
        guest.begin_shared_call();
        call.lower(guest)
    })?;
    let results = export.call_concurrent(accessor, params).await?;
    if done.send(C::lift(results)).is_err() {
        state.forsaken.fetch_sub(1, Ordering::Relaxed);
    }
    Ok(())
}
