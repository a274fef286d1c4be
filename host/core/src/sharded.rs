//! Values that all threads use in each request.
//!
//! A reference count or a counter that several threads change moves from the cache of one processor to that of another at each
//! change, which costs more than all else that a request does with it. So each thread has a shard of its own.

use std::num::NonZero;
use std::ops::Deref;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;

use crossbeam_utils::CachePadded;

/// The most shards. Beyond so many threads some have a shard together.
const MOST: usize = 64;

/// A value in one shard for each processor. Each has its own cache lines.
#[derive(Debug)]
pub struct Sharded<T>(Box<[Shard<T>]>);

/// One shard, counted by reference. The shards of other threads are not touched when it is cloned or dropped.
#[derive(Debug)]
pub struct Shard<T>(Arc<CachePadded<T>>);

impl<T> Sharded<T> {
    /// Makes the value of each shard.
    pub fn new(mut make: impl FnMut() -> T) -> Self {
        let shards = (0..count()).map(|_| Shard(Arc::new(CachePadded::new(make()))));
        Self(shards.collect())
    }

    /// The shard of this thread.
    pub fn local(&self) -> &Shard<T> {
        &self.0[place() % self.0.len()]
    }

    /// All shards, that of this thread first.
    pub fn all(&self) -> impl Iterator<Item = &Shard<T>> {
        let (before, after) = self.0.split_at(place() % self.0.len());
        after.iter().chain(before)
    }

    /// The number of references to shards beside this value.
    pub fn references(&self) -> usize {
        self.0.iter().map(|shard| Arc::strong_count(&shard.0) - 1).sum()
    }
}

/// Shards of which each is made when a thread first uses it, for values of which there are many.
#[derive(Debug)]
pub(crate) struct ShardedOnUse<T>(Box<[OnceLock<Shard<T>>]>);

impl<T: Default> ShardedOnUse<T> {
    /// The shard of this thread.
    pub(crate) fn local(&self) -> &Shard<T> {
        self.0[place() % self.0.len()].get_or_init(|| Shard(Arc::new(CachePadded::new(T::default()))))
    }

    /// The shards that were used.
    pub(crate) fn used(&self) -> impl Iterator<Item = &Shard<T>> {
        self.0.iter().filter_map(OnceLock::get)
    }
}

impl<T> Default for ShardedOnUse<T> {
    fn default() -> Self {
        Self((0..count()).map(|_| OnceLock::new()).collect())
    }
}

impl<T: Default> Default for Sharded<T> {
    fn default() -> Self {
        Self::new(T::default)
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

/// The place of this thread among all that used a shard, in the order of their first use.
fn place() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        static PLACE: usize = NEXT.fetch_add(1, Ordering::Relaxed);
    }
    // A thread that ends uses any.
    PLACE.try_with(|place| *place).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_counted_over_all_threads() {
        let value = Arc::new(Sharded::new(|| 7));
        let held = (0..3).map(|_| {
            let value = value.clone();
            thread::spawn(move || (value.local().clone(), value.local().clone()))
        });
        let held: Vec<_> = held.map(|thread| thread.join().expect("it does not panic")).collect();
        assert_eq!((value.references(), *held[0].0), (6, 7));
        drop(held);
        assert_eq!((value.references(), value.all().count()), (0, count()));
    }
}
