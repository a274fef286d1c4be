//! The place of a call of an asynchronous module, in a queue or in an instance.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use pointwork_core::{Executor as _, Shard, within};
use tokio::sync::oneshot;

use super::async_instance::GRACE;
use super::async_pool::AsyncPool;
use super::call::{Call, Late, SharedCall};
use super::crashes::Overload;
use super::pool_state::PoolState;
use crate::scheduling::call_history::CallHistory;
use crate::scheduling::threads::{Priority, Threads};

/// A call's place in the queue or in an instance, until its output is there or nobody waits for it.
pub(super) struct Place<'a, C: Call> {
    pub(super) pool: &'a Arc<AsyncPool>,
    pub(super) number: Option<u64>,
    pub(super) deadline: Option<Instant>,
    pub(super) history: Shard<Arc<CallHistory>>,
    /// Not there once it has ended.
    pub(super) output: Option<oneshot::Receiver<C::Output>>,
    pub(super) shared: Arc<SharedCall>,
}

impl<C: Call> Place<'_, C> {
    /// The output; `None` if the call was dropped. If it `waits` for an instance, one has to take it in time.
    pub(super) async fn wait(&mut self, waits: bool) -> Result<Option<C::Output>, Overload> {
        let Some(output) = &mut self.output else {
            return Ok(None);
        };
        let until = waits.then(|| self.pool.threads.now() + self.pool.pre.version.limits.queue_wait);
        if let Some(until) = until {
            let in_time = within(&*self.pool.threads, until, &mut *output).await;
            if let Some(output) = in_time {
                self.output = None;
                return Ok(output.ok());
            }
            let number = self.number;
            let withdraw = |state: &mut PoolState| (state.withdraw(number), state.lacks_room, state.count());
            let (withdrawn, lacks_room, instances) = self.pool.locked(withdraw);
            if withdrawn.is_some() {
                self.output = None;
                return Err(if self.pool.is_taken_by(&self.history, instances) {
                    Overload::Share
                } else if lacks_room {
                    Overload::Pool
                } else {
                    Overload::Instances
                });
            }
        }
        let output = output.await;
        self.output = None;
        Ok(output.ok())
    }
}

impl<C: Call> Drop for Place<'_, C> {
    fn drop(&mut self) {
        let Some(output) = self.output.take() else { return };
        let number = self.number;
        let withdrawn = self.pool.locked(|state| state.withdraw(number));
        // The call is dropped after the lock.
        if withdrawn.is_none() && self.shared.taken_by.get().is_some() {
            self.shared.is_abandoned.store(true, Ordering::Relaxed);
            let (shared, deadline) = (self.shared.clone(), self.deadline);
            let threads = self.pool.threads.clone();
            let watching = async move { watch_abandoned(output, &shared, deadline, &threads).await };
            self.pool.threads.spawn_at(Priority::Normal, watching);
        }
    }
}

/// Waits for the end of a call that nobody waits for any more. If it has not ended by its deadline, the instance is given up.
async fn watch_abandoned<T>(
    output: oneshot::Receiver<T>,
    call: &SharedCall,
    deadline: Option<Instant>,
    threads: &Threads,
) {
    let Some(instance) = call.taken_by.get() else { return };
    let now = threads.now();
    let is_overdue = deadline.is_some_and(|deadline| deadline <= now);
    let late = if is_overdue { Late::Overdue } else { Late::Abandoned };
    if within(threads, deadline.unwrap_or(now + GRACE), output).await.is_none() {
        instance.must_end(call, late);
    }
}
