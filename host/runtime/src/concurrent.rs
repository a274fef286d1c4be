//! Modules of the asynchronous form: an instance may have several calls in flight.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use pointwork_core::{BoxFuture, Crash, CrashKind};
use tokio::sync::{Notify, SetOnce, mpsc, oneshot};
use tokio::time::{sleep, sleep_until, timeout};
use wasmtime::component::Accessor;

use crate::call::{Call, Event, Exports, Request};
use crate::executor::Threads;
use crate::guest::Guest;
use crate::levels::Places;
use crate::template::{Template, overloaded, trapped};

/// How long the other calls of an instance may take to end once it is to be given up.
const GRACE: Duration = Duration::from_secs(5);

/// The instances of a module of the asynchronous form, each driven by a task among the guests' threads.
pub(crate) struct Concurrent {
    template: Arc<Template>,
    threads: Arc<Threads>,
    workers: Mutex<Vec<Arc<Worker>>>,
    /// Tells those who wait for an instance that one has room, or ended.
    room: Arc<Notify>,
}

/// An instance, as those see it who have calls for it. When they are gone, and the module too, it ends.
struct Worker {
    jobs: mpsc::UnboundedSender<Job>,
    state: Arc<State>,
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

impl Concurrent {
    pub(crate) fn new(template: Arc<Template>, threads: Arc<Threads>) -> Self {
        Self {
            template,
            threads,
            workers: Mutex::default(),
            room: Arc::default(),
        }
    }

    /// An instance with room, made if need be; `None` when all are full.
    fn worker(self: &Arc<Self>) -> Option<Arc<Worker>> {
        let limits = &self.template.limits;
        let mut workers = self.workers.lock().unwrap_or_else(PoisonError::into_inner);
        // An instance that is to end counts until it has ended: there are never more of them than the limit says.
        workers.retain(|worker| !worker.state.fate.initialized());
        let least = workers
            .iter()
            .filter(|worker| !worker.state.retired.load(Ordering::Relaxed))
            .min_by_key(|worker| worker.state.in_flight.load(Ordering::Relaxed));
        let worker = match least {
            Some(worker) if worker.state.in_flight.load(Ordering::Relaxed) < limits.in_flight => worker.clone(),
            _ if workers.len() < limits.instances => {
                let worker = self.start();
                workers.push(worker.clone());
                worker
            }
            _ => return None,
        };
        worker.state.in_flight.fetch_add(1, Ordering::Relaxed);
        Some(worker)
    }

    async fn wait_for_worker(self: &Arc<Self>) -> Option<Arc<Worker>> {
        let wait = async {
            loop {
                let room = self.room.notified();
                if let Some(worker) = self.worker() {
                    return worker;
                }
                room.await;
            }
        };
        timeout(self.template.limits.queue_wait, wait).await.ok()
    }

    fn start(&self) -> Arc<Worker> {
        let (jobs, queue) = mpsc::unbounded_channel();
        let state = Arc::<State>::default();
        let driving = drive(self.template.clone(), state.clone(), queue, self.room.clone());
        self.threads.spawn_guest(driving);
        Arc::new(Worker { jobs, state })
    }

    /// Runs a call in an instance that has room.
    pub(crate) fn run<C: Call>(self: Arc<Self>, call: C) -> BoxFuture<'static, C::Output> {
        Box::pin(self.serve(call))
    }

    async fn serve<C: Call>(self: Arc<Self>, call: C) -> C::Output {
        let worker = match self.worker() {
            Some(worker) => worker,
            None => match self.wait_for_worker().await {
                Some(worker) => worker,
                None => return C::crashed(overloaded(&self.template)),
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
            Ok(output) => output,
            Err(_) => {
                // The job is dropped a moment before the instance's fate is known.
                let fate = timeout(GRACE, worker.state.fate.wait()).await;
                C::crashed(fate.map_or_else(|_| ended(&self.template, "the instance ended"), Crash::clone))
            }
        }
    }
}

/// A call's place in an instance.
struct Place {
    owner: Arc<Concurrent>,
    worker: Arc<Worker>,
    deadline: Option<Instant>,
    ended: bool,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.worker.state.in_flight.fetch_sub(1, Ordering::Relaxed);
        self.owner.room.notify_one();
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

impl Places for Concurrent {
    fn another(&self) -> Self {
        Self::new(self.template.clone(), self.threads.clone())
    }
}

/// Runs one instance until it traps, is given up, or the module is gone.
async fn drive(template: Arc<Template>, state: Arc<State>, queue: mpsc::UnboundedReceiver<Job>, room: Arc<Notify>) {
    let fate = match template.store() {
        Ok(mut store) => {
            store.epoch_deadline_async_yield_and_update(1);
            let given_up = state.give_up.notified();
            let result = tokio::select! {
                result = run(&template, &state, &mut store, queue) => Some(result),
                () = given_up => None,
            };
            match result {
                Some(Ok(())) => ended(&template, "the instance ended"),
                Some(Err(error)) => trapped(&template, &error, store.data_mut().take_panic()),
                None => ended(
                    &template,
                    "the instance was given up: a call in it did not end by its deadline",
                ),
            }
        }
        Err(error) => trapped(&template, &error, None),
    };
    state.retired.store(true, Ordering::Relaxed);
    // Nobody else sets it.
    let _ = state.fate.set(fate);
    room.notify_waiters();
}

fn ended(template: &Template, why: &str) -> Crash {
    Crash::new(CrashKind::Trap, why).in_module(&*template.name)
}

async fn run(
    template: &Template,
    state: &State,
    store: &mut wasmtime::Store<Guest>,
    mut queue: mpsc::UnboundedReceiver<Job>,
) -> wasmtime::Result<()> {
    let instance = template.pre.instantiate_async(&mut *store).await?;
    let exports = Exports::of(template, store, &instance)?;
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
    let params = accessor.with(|mut access| call.lower(access.get()))?;
    let results = export.call_concurrent(accessor, params).await?;
    if done.send(C::lift(results)).is_err() {
        state.forsaken.fetch_sub(1, Ordering::Relaxed);
    }
    Ok(())
}
