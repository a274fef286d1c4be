//! InstancePool for modules that are called from within themselves.

use std::sync::{Arc, OnceLock};

use pointwork_core::MAX_DEPTH;

/// Runs the calls of a module, in a bounded number of places.
pub(crate) trait InstancePool: Sized {
    /// The same module with places of its own, none taken.
    fn another(&self) -> Self;

    /// Frees instances that were idle for too long, or all that are idle if the version is retired.
    fn shrink(&self);

    /// What is idle.
    fn idle(&self) -> Idle;
}

/// Instances that wait for a call.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Idle {
    pub(crate) instances: usize,
    /// What they hold of requests that are over.
    pub(crate) held: usize,
}

/// The places of a module, once for each level of re-entrance.
///
/// A call that waits for another call of the same module keeps its place meanwhile. If both drew from the same places,
/// as many requests as there are places would wait for each other for ever. So a call from within a call to the same
/// module takes a place one level further down, where nobody waits for those above.
pub(crate) struct Reentrancy<R> {
    outermost: Arc<R>,
    inner: [OnceLock<Arc<R>>; MAX_DEPTH as usize],
}

impl<R: InstancePool> Reentrancy<R> {
    pub(crate) fn new(outermost: R) -> Self {
        Self {
            outermost: Arc::new(outermost),
            inner: Default::default(),
        }
    }

    fn all(&self) -> impl Iterator<Item = &Arc<R>> {
        std::iter::once(&self.outermost).chain(self.inner.iter().filter_map(OnceLock::get))
    }

    /// See [`InstancePool::shrink`].
    pub(crate) fn shrink(&self) {
        self.all().for_each(|places| places.shrink());
    }

    /// See [`InstancePool::idle`].
    pub(crate) fn idle(&self) -> Idle {
        self.all()
            .map(|places| places.idle())
            .fold(Idle::default(), |sum, idle| Idle {
                instances: sum.instances + idle.instances,
                held: sum.held + idle.held,
            })
    }

    /// The places for calls that as many other calls of the module wait for.
    pub(crate) fn at(&self, reentrance: usize) -> &Arc<R> {
        match reentrance.checked_sub(1) {
            None => &self.outermost,
            // A chain is not longer than that.
            Some(level) => {
                self.inner[level.min(self.inner.len() - 1)].get_or_init(|| Arc::new(self.outermost.another()))
            }
        }
    }
}
