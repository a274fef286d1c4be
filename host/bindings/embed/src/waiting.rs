//! Waits for a future on the calling thread, which belongs to the host's language.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context as TaskContext, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::Duration;

use tokio::runtime::Handle;

/// The way in which a thread of the host's language waits.
#[derive(derive_more::Debug)]
pub struct Waiting<'a>(#[debug(skip)] Kind<'a>);

enum Kind<'a> {
    Forever,
    /// It looks up this often, and asks whether to go on.
    Looking(Duration, &'a mut dyn FnMut() -> bool),
}

impl<'a> Waiting<'a> {
    /// Waits to the end.
    pub fn forever() -> Self {
        Self(Kind::Forever)
    }

    /// Asks `goes_on` every `pause` whether to wait on, so that the language can take a signal, such as Ctrl-C. It is asked
    /// on the calling thread. When it says no, the wait is over without a result, and the work is cancelled.
    pub fn looking_up(pause: Duration, goes_on: &'a mut dyn FnMut() -> bool) -> Self {
        Self(Kind::Looking(pause, goes_on))
    }
}

/// Polls the future on this thread until it is done; `None` if the wait was given up. It may run within another such wait.
pub(crate) fn wait<T>(threads: &Handle, future: impl Future<Output = T>, waiting: Waiting<'_>) -> Option<T> {
    let Waiting(mut kind) = waiting;
    let parked = Arc::new(Parked {
        thread: thread::current(),
        woken: AtomicBool::new(false),
    });
    let waker = Waker::from(parked.clone());
    let mut cx = TaskContext::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        {
            let _entered = threads.enter();
            if let Poll::Ready(output) = future.as_mut().poll(&mut cx) {
                return Some(output);
            }
        }
        while !parked.woken.swap(false, Ordering::Acquire) {
            match &mut kind {
                Kind::Forever => thread::park(),
                Kind::Looking(pause, goes_on) => {
                    thread::park_timeout(*pause);
                    if !goes_on() {
                        return None;
                    }
                }
            }
        }
    }
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
