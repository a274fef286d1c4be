//! What a connection of HTTP/2 and its requests tell each other.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use futures_util::task::AtomicWaker;

use super::frames;
use super::link::Link;
use crate::reply::Below;

/// How many streams are remembered that were reset before their task began.
const EARLY: usize = 256;

/// The requests of one connection.
#[derive(Debug, Default)]
pub(crate) struct Streams {
    open: Mutex<Open>,
    /// How many requests more were taken back than answered.
    taken_back: AtomicUsize,
    /// The frames that are to be put in between trillium's.
    to_send: Mutex<Vec<u8>>,
}

#[derive(Debug, Default)]
struct Open {
    streams: HashMap<u32, Arc<Gone>>,
    early: VecDeque<u32>,
    /// The connection is over.
    ended: bool,
}

/// Whether anybody still waits for a reply.
#[derive(Debug, Default)]
struct Gone {
    is: AtomicBool,
    waker: AtomicWaker,
}

impl Gone {
    fn set(&self) {
        self.is.store(true, Ordering::Release);
        self.waker.wake();
    }
}

impl Streams {
    fn lock(&self) -> MutexGuard<'_, Open> {
        // Nothing panics while it holds the lock.
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a request in flight holds the connection open.
    pub(crate) fn any(&self) -> bool {
        !self.lock().streams.is_empty()
    }

    fn enter(&self, stream: u32) -> Arc<Gone> {
        let gone = Arc::<Gone>::default();
        let mut open = self.lock();
        let early = open.early.iter().position(|known| *known == stream);
        if open.ended || early.and_then(|place| open.early.remove(place)).is_some() {
            gone.set();
        }
        open.streams.insert(stream, gone.clone());
        gone
    }

    /// The client took requests back; the answer is how many more than it let be answered.
    pub(crate) fn took_back(&self, streams: &[u32]) -> usize {
        let mut open = self.lock();
        for stream in streams {
            match open.streams.get(stream) {
                Some(gone) => gone.set(),
                None => {
                    open.early.truncate(EARLY - 1);
                    open.early.push_front(*stream);
                }
            }
        }
        self.taken_back.fetch_add(streams.len(), Ordering::Relaxed) + streams.len()
    }

    /// The connection is over, and with it all its requests.
    pub(crate) fn end(&self) {
        let mut open = self.lock();
        open.ended = true;
        for gone in open.streams.values() {
            gone.set();
        }
    }

    /// Resets a stream: trillium forgets it when its reply breaks off, and tells the client nothing.
    pub(crate) fn reset(&self, stream: u32) {
        let mut to_send = self.to_send.lock().unwrap_or_else(PoisonError::into_inner);
        to_send.extend_from_slice(&frames::reset(stream));
    }

    pub(crate) fn take_frames(&self) -> Vec<u8> {
        std::mem::take(&mut *self.to_send.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn answered(&self) {
        let less = |count: usize| Some(count.saturating_sub(1));
        let _ = self.taken_back.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
    }
}

/// One request of HTTP/2, known to its connection while it lives.
pub(crate) struct OpenStream {
    link: Arc<Link>,
    stream: u32,
    gone: Arc<Gone>,
}

impl OpenStream {
    pub(crate) fn new(link: Arc<Link>, stream: u32) -> Self {
        Self {
            gone: link.streams.enter(stream),
            link,
            stream,
        }
    }

    pub(crate) fn answered(&self) {
        self.link.streams.answered();
    }

    /// Completes when nobody waits for the reply any more.
    pub(crate) fn poll_gone(&self, cx: &Context<'_>) -> Poll<()> {
        self.gone.waker.register(cx.waker());
        if self.gone.is.load(Ordering::Acquire) {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    }

    /// What the reply goes out over.
    pub(crate) fn below(&self) -> Below {
        Below::Stream(self.link.clone(), self.stream)
    }
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        self.link.streams.lock().streams.remove(&self.stream);
        // The time for the next request begins.
        self.link.wake();
    }
}
