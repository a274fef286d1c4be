//! All open connections of one server, so that they can be told that it ends.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pointwork_core::ServerOptions;
use tokio::sync::Notify;

use crate::link::Link;

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

impl Phase {
    pub(crate) fn of(number: &AtomicU8) -> Self {
        match number.load(Ordering::SeqCst) {
            0 => Self::Serving,
            1 => Self::Draining,
            _ => Self::Cut,
        }
    }
}

/// The open connections. A connection reads the phase whenever it runs, which costs it one load and no lock.
#[derive(Debug)]
pub(crate) struct Connections {
    phase: Arc<AtomicU8>,
    links: Mutex<Links>,
    emptied: Notify,
}

#[derive(Debug, Default)]
struct Links {
    next: u64,
    open: HashMap<u64, Arc<Link>>,
}

impl Connections {
    pub(crate) fn new() -> Self {
        Self {
            phase: Arc::new(AtomicU8::new(Phase::Serving as u8)),
            links: Mutex::default(),
            emptied: Notify::new(),
        }
    }

    pub(crate) fn enter(self: &Arc<Self>, options: &ServerOptions) -> Entry {
        let link = Arc::new(Link::new(options, self.phase.clone()));
        let mut links = self.lock();
        let id = links.next;
        links.next += 1;
        links.open.insert(id, link.clone());
        Entry {
            connections: self.clone(),
            id,
            link,
        }
    }

    /// Goes on to a later phase and tells every connection.
    pub(crate) fn advance(&self, phase: Phase) {
        self.phase.fetch_max(phase as u8, Ordering::SeqCst);
        for link in self.lock().open.values() {
            link.waker.wake();
        }
    }

    pub(crate) fn count(&self) -> usize {
        self.lock().open.len()
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

    fn lock(&self) -> MutexGuard<'_, Links> {
        // Nothing panics while it holds the lock.
        self.links.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One connection's place among the open ones, which it leaves when dropped.
#[derive(Debug)]
pub(crate) struct Entry {
    connections: Arc<Connections>,
    id: u64,
    pub(crate) link: Arc<Link>,
}

impl Drop for Entry {
    fn drop(&mut self) {
        let mut links = self.connections.lock();
        links.open.remove(&self.id);
        if links.open.is_empty() {
            drop(links);
            self.connections.emptied.notify_waiters();
        }
    }
}
