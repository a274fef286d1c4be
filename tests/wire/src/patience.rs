//! How long a test waits for what happens at once on a machine with nothing else to do.
//!
//! A wait that comes to its end is a failure: no test passes or fails by the length of a wait. clippy forbids the other functions that
//! wait for a time, see `tests/clippy.toml`.

use std::cell::Cell;
use std::error::Error;
use std::fmt;
use std::future::Future;
use std::io;
use std::time::{Duration, Instant};

/// The time limit of every wait, but for cases that are [to fail](in_vain).
pub const PATIENCE: Duration = Duration::from_secs(60);

/// The time limit of cases that are to fail. Most of them wait for what never happens.
const IN_VAIN: Duration = Duration::from_secs(10);

/// The time between two looks at a condition.
const LOOK: Duration = Duration::from_millis(5);

/// How long a client waits before it takes the silence of a server for an answer.
const SILENCE: Duration = Duration::from_secs(1);

thread_local! {
    static LIMIT: Cell<Duration> = const { Cell::new(PATIENCE) };
}

/// Something did not happen within the time limit.
#[derive(Clone, Copy, Debug)]
pub struct NotInTime(Duration);

impl fmt::Display for NotInTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "waited {} s in vain", self.0.as_secs())
    }
}

impl Error for NotInTime {}

impl From<NotInTime> for io::Error {
    fn from(late: NotInTime) -> Self {
        Self::new(io::ErrorKind::TimedOut, late)
    }
}

/// Runs a case that is to fail, on this thread: its waits end soon.
pub fn in_vain<T>(run: impl FnOnce() -> T) -> T {
    LIMIT.set(IN_VAIN);
    let result = run();
    LIMIT.set(PATIENCE);
    result
}

/// Whether this thread runs a case that is to fail, whose panic is no news.
pub fn is_in_vain() -> bool {
    LIMIT.get() == IN_VAIN
}

/// Waits for a future.
///
/// # Errors
/// If it is not ready within [`PATIENCE`].
#[expect(clippy::disallowed_methods, reason = "the end of this wait is a failure")]
pub async fn in_time<T>(future: impl Future<Output = T>) -> Result<T, NotInTime> {
    let limit = LIMIT.get();
    tokio::time::timeout(limit, future).await.map_err(|_| NotInTime(limit))
}

/// Polls a condition that no event reports, until it holds.
///
/// # Errors
/// If it does not hold within [`PATIENCE`].
pub async fn until(is_so: impl Fn() -> bool) -> Result<(), NotInTime> {
    in_time(async {
        while !is_so() {
            pause(LOOK).await;
        }
    })
    .await
}

/// As [`until`], for a condition that takes an answer.
///
/// # Errors
/// If it does not hold within [`PATIENCE`].
pub async fn until_async(is_so: impl AsyncFn() -> bool) -> Result<(), NotInTime> {
    in_time(async {
        while !is_so().await {
            pause(LOOK).await;
        }
    })
    .await
}

/// As [`until`], on a thread that may block.
///
/// # Errors
/// If it does not hold within [`PATIENCE`].
#[expect(
    clippy::disallowed_methods,
    reason = "a pause between two looks, and the end of the wait is a failure"
)]
pub fn until_blocking(mut is_so: impl FnMut() -> bool) -> Result<(), NotInTime> {
    let (limit, begun) = (LIMIT.get(), Instant::now());
    while !is_so() {
        if begun.elapsed() > limit {
            return Err(NotInTime(limit));
        }
        std::thread::sleep(LOOK);
    }
    Ok(())
}

/// A pause of a client or of a handler. What it delays comes after it in any case, and nothing may depend on its length.
#[expect(
    clippy::disallowed_methods,
    reason = "no test asserts that it was long enough, or not too long"
)]
pub async fn pause(time: Duration) {
    tokio::time::sleep(time).await;
}

/// What a future gives within a second; `None` if nothing by then. A server that is slow by chance must not make the case fail.
#[expect(clippy::disallowed_methods, reason = "silence has no end that a client sees")]
pub async fn unless_silent<T>(future: impl Future<Output = T>) -> Option<T> {
    tokio::time::timeout(SILENCE, future).await.ok()
}
