//! Values that all threads use in each request.
//!
//! A reference count or a counter that several threads change moves from the cache of one processor to that of another at each
//! change, which costs more than all else that a request does with it. So each thread has a shard of its own.

use std::num::NonZero;
use std::ops::Deref;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::thread;

use crossbeam_utils::CachePadded;
use derive_more::Debug;

/// The most shards. Beyond so many threads some have a shard together.
const MOST: usize = 64;

/// A value in one shard for each processor. Each shard has its own cache lines, and is made when a thread first uses it: an
/// application has a few values for each of its routes.
#[derive(Debug)]
#[debug("Sharded")]
pub struct Sharded<T> {
    shards: Box<[OnceLock<Shard<T>>]>,
    make: Box<dyn Fn() -> T + Send + Sync>,
}

/// One shard, counted by reference. The shards of other threads are not touched when a shard is cloned or dropped.
#[derive(Debug)]
pub struct Shard<T>(Arc<CachePadded<T>>);

/// One shard that is not kept alive.
#[derive(Debug)]
pub(crate) struct WeakShard<T>(Weak<CachePadded<T>>);

impl<T> Sharded<T> {
    /// Shards with the values that the function makes.
    pub fn new(make: impl Fn() -> T + Send + Sync + 'static) -> Self {
        Self {
            shards: (0..count()).map(|_| OnceLock::new()).collect(),
            make: Box::new(make),
        }
    }

    /// Shards with clones of one value, usually of a reference.
    pub fn of(value: T) -> Self
    where
        T: Clone + Send + Sync + 'static,
    {
        Self::new(move || value.clone())
    }

    /// The shard of this thread.
    pub fn local(&self) -> &Shard<T> {
        let shard = &self.shards[thread_number() % self.shards.len()];
        shard.get_or_init(|| Shard(Arc::new(CachePadded::new((self.make)()))))
    }

    /// All shards that a thread has used, that of this thread first.
    pub fn all(&self) -> impl Iterator<Item = &Shard<T>> {
        let (before, after) = self.shards.split_at(thread_number() % self.shards.len());
        after.iter().chain(before).filter_map(OnceLock::get)
    }

    /// The number of references to shards beside this value.
    pub fn references(&self) -> usize {
        self.all().map(|shard| Arc::strong_count(&shard.0) - 1).sum()
    }
}

impl<T: Default + 'static> Default for Sharded<T> {
    fn default() -> Self {
        Self::new(T::default)
    }
}

impl<T> Shard<T> {
    pub(crate) fn downgrade(&self) -> WeakShard<T> {
        WeakShard(Arc::downgrade(&self.0))
    }
}

impl<T> WeakShard<T> {
    /// The shard, as long as somebody keeps it.
    pub(crate) fn upgrade(&self) -> Option<Shard<T>> {
        self.0.upgrade().map(Shard)
    }
}

impl<T> Clone for WeakShard<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T> Clone for Shard<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T> Deref for Shard<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

/// The number of shards.
fn count() -> usize {
    static COUNT: OnceLock<usize> = OnceLock::new();
    *COUNT.get_or_init(|| thread::available_parallelism().map_or(1, NonZero::get).min(MOST))
}

/// The number of this thread: threads count from 0 in the order in which they call this function or use a shard.
fn thread_number() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        static NUMBER: usize = NEXT.fetch_add(1, Ordering::Relaxed);
    }
    // A thread that ends may have lost its number, and any shard will do.
    NUMBER.try_with(|number| *number).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_counted_over_all_threads() {
        let value = Arc::new(Sharded::of(7));
        let held = (0..3).map(|_| {
            let value = value.clone();
            thread::spawn(move || (value.local().clone(), value.local().clone()))
        });
        let held: Vec<_> = held.map(|thread| thread.join().expect("it does not panic")).collect();
        assert_eq!((value.references(), *held[0].0), (6, 7));
        drop(held);
        assert_eq!(value.references(), 0);
        assert!((1..=count()).contains(&value.all().count()));
    }
}
