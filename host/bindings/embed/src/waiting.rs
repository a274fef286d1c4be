//! Waits for a future on the calling thread, which belongs to the host's language.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context as TaskContext, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use tokio::runtime::Handle;

/// The way in which a thread of the host's language waits.
#[derive(derive_more::Debug, Default)]
pub struct Waiting<'a> {
    until: Option<Instant>,
    /// It looks up this often, and asks whether to go on.
    #[debug(skip)]
    looking: Option<(Duration, &'a mut dyn FnMut() -> bool)>,
}

impl<'a> Waiting<'a> {
    /// Waits to the end.
    pub fn forever() -> Self {
        Self::default()
    }

    /// The same, giving up after that time at the latest. `None` changes nothing.
    #[must_use]
    pub fn at_most(mut self, time: Option<Duration>) -> Self {
        // A time that the clock has no room for does not end.
        let until = time.and_then(|time| Instant::now().checked_add(time));
        self.until = [self.until, until].into_iter().flatten().min();
        self
    }

    /// Asks `goes_on` every `pause` whether to wait on, so that the language can take a signal, such as Ctrl-C. It is
    /// asked on the calling thread. When it says no, the wait is over without a result, and the work is cancelled.
    pub fn looking_up(pause: Duration, goes_on: &'a mut dyn FnMut() -> bool) -> Self {
        Self {
            looking: Some((pause, goes_on)),
            ..Self::default()
        }
    }

    /// The time until the next look; `None` for none.
    pub(crate) fn pause(&self) -> Option<Duration> {
        let left = self.until.map(|until| until.saturating_duration_since(Instant::now()));
        let pause = self.looking.as_ref().map(|(pause, _)| *pause);
        [left, pause].into_iter().flatten().min()
    }

    /// Looks whether to wait on.
    pub(crate) fn goes_on(&mut self) -> bool {
        let goes_on = self.looking.as_mut().is_none_or(|(_, goes_on)| goes_on());
        goes_on && !self.is_over()
    }

    fn is_over(&self) -> bool {
        self.until.is_some_and(|until| Instant::now() >= until)
    }
}

/// Polls the future on this thread until it is done; `None` if the wait was given up. It may run within another such
/// wait.
pub(crate) fn wait<T>(threads: &Handle, future: impl Future<Output = T>, mut waiting: Waiting<'_>) -> Option<T> {
    let parked = Arc::new(Parked {
        thread: thread::current(),
        woken: AtomicBool::new(false),
    });
    let waker = Waker::from(parked.clone());
    let mut cx = TaskContext::from_waker(&waker);
    let mut future = pin!(future);
    let mut poll = || {
        let _entered = threads.enter();
        future.as_mut().poll(&mut cx)
    };
    if let Poll::Ready(output) = poll() {
        return Some(output);
    }
    pointwork::blocking(|| {
        loop {
            while !parked.woken.swap(false, Ordering::Acquire) {
                match waiting.pause() {
                    Some(time) => thread::park_timeout(time),
                    None => thread::park(),
                }
                if !waiting.goes_on() {
                    return None;
                }
            }
            // A future that wakes itself in every poll must not go on past its time.
            if waiting.is_over() {
                return None;
            }
            if let Poll::Ready(output) = poll() {
                return Some(output);
            }
        }
    })
}

struct Parked {
    thread: Thread,
    /// Another wait on the same thread may take the token of `park`.
    woken: AtomicBool,
}

impl Wake for Parked {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if !self.woken.swap(true, Ordering::Release) {
            self.thread.unpark();
        }
    }
}
