//! All open connections of one server, so that they can be told that it ends.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::task::AtomicWaker;
use tokio::sync::{Notify, OwnedSemaphorePermit};

/// How far the server's end has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum Phase {
    Serving,
    /// Replies in flight end, then each connection closes.
    Draining,
    /// Every connection closes at once.
    Cut,
}

/// The open connections. A connection reads the phase whenever it runs, which costs it one load and no lock.
#[derive(Debug)]
pub(crate) struct Connections {
    phase: AtomicU8,
    open: Mutex<Open>,
    emptied: Notify,
}

#[derive(Debug, Default)]
struct Open {
    next: u64,
    wakers: HashMap<u64, Arc<AtomicWaker>>,
}

impl Connections {
    pub(crate) fn new() -> Self {
        Self {
            phase: AtomicU8::new(Phase::Serving as u8),
            open: Mutex::default(),
            emptied: Notify::new(),
        }
    }

    /// Counts something that has to be woken when the phase changes: a connection with its slot, or a request of HTTP/2.
    pub(crate) fn enter(self: &Arc<Self>, slot: Option<OwnedSemaphorePermit>) -> Entry {
        let waker = Arc::new(AtomicWaker::new());
        let mut open = self.lock();
        let id = open.next;
        open.next += 1;
        open.wakers.insert(id, waker.clone());
        Entry {
            connections: self.clone(),
            id,
            waker,
            _slot: slot,
        }
    }

    /// Goes on to a later phase and tells every connection.
    pub(crate) fn advance(&self, phase: Phase) {
        self.phase.fetch_max(phase as u8, Ordering::SeqCst);
        for waker in self.lock().wakers.values() {
            waker.wake();
        }
    }

    pub(crate) fn count(&self) -> usize {
        self.lock().wakers.len()
    }

    /// Completes when no connection is open.
    pub(crate) async fn emptied(&self) {
        loop {
            let emptied = self.emptied.notified();
            if self.count() == 0 {
                return;
            }
            emptied.await;
        }
    }

    pub(crate) fn phase(&self) -> Phase {
        match self.phase.load(Ordering::SeqCst) {
            0 => Phase::Serving,
            1 => Phase::Draining,
            _ => Phase::Cut,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Open> {
        // Nothing panics while it holds the lock.
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One place among the open connections, which is left when dropped.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) connections: Arc<Connections>,
    id: u64,
    /// Woken when the phase changes.
    pub(crate) waker: Arc<AtomicWaker>,
    _slot: Option<OwnedSemaphorePermit>,
}

impl Drop for Entry {
    fn drop(&mut self) {
        let mut open = self.connections.lock();
        open.wakers.remove(&self.id);
        if open.wakers.is_empty() {
            drop(open);
            self.connections.emptied.notify_waiters();
        }
    }
}
