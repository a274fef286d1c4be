//! The instances of an asynchronous module: each may serve several calls at a time.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use pointwork_core::{BoxFuture, CrashKind, within};
use tokio::sync::futures::Notified;
use tokio::sync::{Notify, mpsc, oneshot};

use super::async_instance::{GRACE, InstanceState, drive};
use super::call::{Call, Queued, QueuedCall};
use super::crashes::{Overload, cpu_exceeded, crash, overloaded, panicked};
use super::reentrancy::{Idle, InstancePool};
use crate::component::module_pre::ModulePre;
use crate::guest::spans::TaskSpan;
use crate::guest::streams::StreamSlot;
use crate::scheduling::call_history::CallHistory;
use crate::scheduling::fibers::GuestWork;
use crate::scheduling::meter::{Metered, run_to_end};
use crate::scheduling::metrics::Counted;
use crate::scheduling::threads::{Priority, Threads};

/// The instances of an asynchronous module, each driven by a task on the scheduler threads.
pub(crate) struct AsyncPool {
    pre: Arc<ModulePre>,
    threads: Arc<Threads>,
    /// The history of shared instances. Which of its calls used the processor is unknown.
    history: Arc<CallHistory>,
    instances: Mutex<AsyncInstances>,
    vacancies: Arc<Vacancies>,
}

#[derive(Default)]
struct AsyncInstances {
    /// Instances that take calls.
    open: Vec<Arc<AsyncInstance>>,
    /// Instances that take no call any more and end with those that they have. They count until they have ended: there are
    /// never more instances than the limit.
    closing: Vec<Arc<InstanceState>>,
}

/// The callers' side of an instance. The instance ends when the last of them and the pool have dropped it.
struct AsyncInstance {
    queue: mpsc::UnboundedSender<QueuedCall>,
    state: Arc<InstanceState>,
    /// The number of calls that it took.
    served: AtomicU64,
    last_call_ended: Mutex<Instant>,
}

impl AsyncInstance {
    fn in_flight(&self) -> usize {
        self.state.in_flight.load(Ordering::Relaxed)
    }
}

impl AsyncInstances {
    fn count(&self) -> usize {
        self.open.len() + self.closing.len()
    }

    fn close(&mut self, mut unfit: impl FnMut(&AsyncInstance) -> bool) {
        let closed = self.open.extract_if(.., |instance| unfit(instance));
        self.closing.extend(closed.map(|instance| instance.state.clone()));
    }

    fn forget_ended(&mut self) {
        self.close(|AsyncInstance { state, .. }| {
            state.retired.load(Ordering::Relaxed) || state.leaks.load(Ordering::Relaxed)
        });
        self.closing.retain(|state| !state.end.initialized());
    }
}

/// Wakes calls that wait for an instance.
#[derive(Default)]
struct Vacancies {
    /// An instance has room for another call, or ended.
    room: Notify,
    /// An instance is idle, so that it can be closed, or ended.
    idle: Notify,
}

impl Vacancies {
    fn call_ended(&self, left: usize) {
        self.room.notify_one();
        if left == 0 {
            self.idle.notify_one();
        }
    }

    fn instance_ended(&self) {
        self.room.notify_waiters();
        self.idle.notify_waiters();
    }

    /// Waits for a vacancy that such a call can use. A call that needs an instance to itself must not consume the
    /// notification of one that shares.
    fn next(&self, history: &CallHistory) -> Notified<'_> {
        if history.crashes_often() {
            self.idle.notified()
        } else {
            self.room.notified()
        }
    }
}

impl AsyncPool {
    pub(crate) fn new(pre: Arc<ModulePre>, threads: Arc<Threads>) -> Self {
        Self {
            pre,
            threads,
            history: Arc::default(),
            instances: Mutex::default(),
            vacancies: Arc::default(),
        }
    }

    /// Runs a call in an instance that has room.
    pub(crate) fn run<C: Call>(self: Arc<Self>, call: C, counted: Counted) -> BoxFuture<'static, C::Output> {
        Box::pin(async move {
            let _counted = counted;
            self.serve(call).await
        })
    }

    async fn serve<C: Call>(self: Arc<Self>, call: C) -> C::Output {
        let history = call.history().clone();
        let (slot, instance) = match self.admit(call.streams(), &history).await {
            Ok(admitted) => admitted,
            Err(overload) => return C::crashed(overloaded(&self.pre, overload)),
        };
        let (sender, output) = oneshot::channel();
        let mut in_flight = CallInFlight {
            pool: self.clone(),
            instance: instance.clone(),
            deadline: call.caller().deadline(),
            ended: false,
        };
        // An instance that is gone drops the call, and with it the sender.
        let span = TaskSpan::of(call.caller());
        let _ = instance.queue.send(C::queued(Queued {
            call,
            slot,
            span,
            output: sender,
        }));
        let output = output.await;
        in_flight.ended = true;
        if let Ok(output) = output {
            self.pre.settings.metrics.succeeded();
            return output;
        }
        // The call is dropped a moment before the instance's end is known.
        let end = within(&*self.threads, Instant::now() + GRACE, instance.state.end.wait()).await;
        let end = end.cloned();
        let end = end.unwrap_or_else(|| crash(&self.pre, CrashKind::Trap, "the instance ended"));
        // All modules together reached a limit, or the version's time to drain was over: no fault of this call.
        if end.kind != CrashKind::Limit {
            history.crashed();
        }
        C::crashed(end)
    }

    /// The slot of a call that streams, and an instance with room for it.
    async fn admit(
        &self,
        streams: bool,
        history: &Arc<CallHistory>,
    ) -> Result<(Option<StreamSlot>, Arc<AsyncInstance>), Overload> {
        let slot = self.pre.settings.streams.take_if(streams).await?;
        let instance = match self.instance(history) {
            Some(instance) => instance,
            None => self.wait_for_instance(history).await?,
        };
        Ok((slot, instance))
    }

    /// An instance with room for such a call, made if need be; `None` when all are full.
    fn instance(&self, history: &Arc<CallHistory>) -> Option<Arc<AsyncInstance>> {
        if history.crashes_often() {
            return self.instance_alone(history);
        }
        let limits = &self.pre.settings.limits;
        let mut instances = self.instances.lock();
        instances.forget_ended();
        let least_busy = instances.open.iter().min_by_key(|instance| instance.in_flight());
        let instance = match least_busy {
            Some(instance) if instance.in_flight() < limits.in_flight => instance.clone(),
            _ if instances.count() < limits.instances => {
                let instance = self.start(self.history.clone());
                instances.open.push(instance.clone());
                instance
            }
            _ => return None,
        };
        instance.state.in_flight.fetch_add(1, Ordering::Relaxed);
        let served = instance.served.fetch_add(1, Ordering::Relaxed) + 1;
        if served >= limits.reuse || self.pre.is_retired() {
            instances.close(|other| std::ptr::eq(other, &*instance));
        }
        Some(instance)
    }

    /// An instance for one call only: a call that is likely to crash would end those that it shared an instance with.
    fn instance_alone(&self, history: &Arc<CallHistory>) -> Option<Arc<AsyncInstance>> {
        let mut instances = self.instances.lock();
        instances.forget_ended();
        if instances.count() >= self.pre.settings.limits.instances {
            // An idle one is closed; its end is a vacancy.
            let mut closed = false;
            instances.close(|instance| instance.in_flight() == 0 && !std::mem::replace(&mut closed, true));
            return None;
        }
        let instance = self.start(history.clone());
        instance.state.in_flight.fetch_add(1, Ordering::Relaxed);
        instances.closing.push(instance.state.clone());
        Some(instance)
    }

    async fn wait_for_instance(&self, history: &Arc<CallHistory>) -> Result<Arc<AsyncInstance>, Overload> {
        let limits = &self.pre.settings.limits;
        let _waiting = self.pre.settings.metrics.wait(limits.queue).ok_or(Overload::Queue)?;
        let wait = async {
            loop {
                let vacancy = self.vacancies.next(history);
                if let Some(instance) = self.instance(history) {
                    return instance;
                }
                vacancy.await;
            }
        };
        let until = Instant::now() + limits.queue_wait;
        within(&*self.threads, until, wait).await.ok_or(Overload::Instances)
    }

    /// Starts an instance on the threads for calls of that history.
    fn start(&self, history: Arc<CallHistory>) -> Arc<AsyncInstance> {
        let (sender, queue) = mpsc::unbounded_channel();
        let state = Arc::<InstanceState>::default();
        let driving = GuestWork::new(drive(self.pre.clone(), state.clone(), queue));
        let metered = Metered::new(driving, Duration::ZERO, self.pre.settings.limits.cpu, history).per_burst();
        let (pre, threads) = (self.pre.clone(), self.threads.clone());
        let (ending, vacancies) = (state.clone(), self.vacancies.clone());
        self.threads.spawn_at(Priority::Normal, async move {
            let end = match run_to_end(metered, &threads).await {
                Ok(Some(end)) => end,
                Ok(None) => cpu_exceeded(&pre, None),
                Err(error) => panicked(&pre, None, format!("the instance did not end: {error}")),
            };
            ending.retired.store(true, Ordering::Relaxed);
            // Nobody else sets it.
            let _ = ending.end.set(end);
            vacancies.instance_ended();
        });
        Arc::new(AsyncInstance {
            queue: sender,
            state,
            served: AtomicU64::new(0),
            last_call_ended: Mutex::new(Instant::now()),
        })
    }
}

/// A call's place in an instance, until its output is there or nobody waits for it.
struct CallInFlight {
    pool: Arc<AsyncPool>,
    instance: Arc<AsyncInstance>,
    deadline: Option<Instant>,
    ended: bool,
}

impl Drop for CallInFlight {
    fn drop(&mut self) {
        *self.instance.last_call_ended.lock() = Instant::now();
        let before = self.instance.state.in_flight.fetch_sub(1, Ordering::Relaxed);
        self.pool.vacancies.call_ended(before - 1);
        if !self.ended {
            let (state, deadline) = (self.instance.state.clone(), self.deadline);
            state.abandoned();
            let watch = async move { state.give_up_at(deadline).await };
            self.pool.threads.spawn_at(Priority::Normal, watch);
        }
    }
}

impl InstancePool for AsyncPool {
    fn another(&self) -> Self {
        Self::new(self.pre.clone(), self.threads.clone())
    }

    fn shrink(&self) {
        let (retired, allowed) = (self.pre.is_retired(), self.pre.settings.limits.idle);
        let now = Instant::now();
        let mut instances = self.instances.lock();
        instances.forget_ended();
        instances.close(|instance| {
            let last = *instance.last_call_ended.lock();
            instance.in_flight() == 0 && (retired || now.saturating_duration_since(last) > allowed)
        });
    }

    /// An instance is in a task of its own, so what it holds is not known here.
    fn idle(&self) -> Idle {
        let instances = self.instances.lock();
        let idle = instances.open.iter().filter(|instance| instance.in_flight() == 0);
        Idle {
            instances: idle.count(),
            held: 0,
        }
    }
}
