//! Instance pools for modules that are called from within themselves.

use std::sync::{Arc, OnceLock};

use pointwork_core::{MAX_DEPTH, Shard, Sharded};

use crate::component::pool_account::Freed;

/// Runs the calls of a module in a bounded number of instances.
pub(crate) trait InstancePool: Sized {
    /// A pool for the same module, without instances.
    fn another(&self) -> Self;

    /// Frees instances that were idle for too long, or every idle one if the version is retired.
    fn shrink(&self);

    /// Frees an instance that is idle.
    fn free_idle(&self) -> Freed;

    fn idle(&self) -> Idle;
}

/// Instances that wait for a call.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Idle {
    pub(crate) instances: usize,
    /// The contexts, deliveries, readers and writers that they hold of requests and events that are over.
    pub(crate) held: usize,
}

/// One pool for each level of reentrancy.
///
/// A call that waits for another call of the same module keeps its instance meanwhile. With one pool for both, as many
/// requests as there are instances would wait for each other for ever. So a call from within a call to the same module takes
/// an instance of the next pool, where nobody waits for those above. All levels together hold at most twice the limit
/// `instances` (see [`PoolAccount`](crate::component::pool_account::PoolAccount)).
pub(crate) struct PoolByLevel<P> {
    outermost: Sharded<Arc<P>>,
    inner: [OnceLock<Sharded<Arc<P>>>; MAX_DEPTH as usize],
}

impl<P: InstancePool + Send + Sync + 'static> PoolByLevel<P> {
    pub(crate) fn new(outermost: P) -> Self {
        Self {
            outermost: Sharded::of(Arc::new(outermost)),
            inner: Default::default(),
        }
    }

    /// The pool for calls that as many other calls of the module wait for.
    pub(crate) fn at(&self, reentrance: usize) -> Shard<Arc<P>> {
        let pool = match reentrance.checked_sub(1) {
            None => &self.outermost,
            Some(level) => {
                // A chain is not deeper than the array is long.
                let pool = &self.inner[level.min(self.inner.len() - 1)];
                pool.get_or_init(|| Sharded::of(Arc::new(self.outermost.local().another())))
            }
        };
        pool.local().clone()
    }

    pub(crate) fn shrink(&self) {
        self.all().for_each(|pool| pool.shrink());
    }

    pub(crate) fn free_idle(&self) -> Freed {
        let freed = self.all().map(|pool| pool.free_idle());
        let mut freed = freed.filter(|freed| *freed != Freed::Nothing);
        freed.next().unwrap_or(Freed::Nothing)
    }

    pub(crate) fn idle(&self) -> Idle {
        let idle = self.all().map(|pool| pool.idle());
        idle.fold(Idle::default(), |sum, idle| Idle {
            instances: sum.instances + idle.instances,
            held: sum.held + idle.held,
        })
    }

    fn all(&self) -> impl Iterator<Item = &P> {
        let all = std::iter::once(&self.outermost).chain(self.inner.iter().filter_map(OnceLock::get));
        all.map(|pool| &***pool.local())
    }
}
