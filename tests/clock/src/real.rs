//! The waits of tests in real time.
//!
//! The result of a test must not depend on the load of the machine, so `clippy.toml` forbids the methods of real time. The
//! functions of this module are the exceptions. They decide the result of a test only if the test fails:
//!
//! - [`within`] ends a wait for an event that does not come. A test that hangs thus becomes a failure with a name.
//! - [`until`] and its variants poll a condition that no event reports, and end in the same way.
//!
//! A test that needs time to pass moves a `TestClock`. A test that needs real time to pass is in the lane `clock`; `tests/lanes.toml`
//! has the reason.

#![expect(clippy::disallowed_methods, reason = "this module holds the waits in real time")]

use std::cell::Cell;
use std::future::{Future, ready};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow};
use tokio::time::{sleep, timeout};

/// The longest wait for an event or a condition: far longer than a loaded machine needs.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// The longest wait for a condition that follows a build.
const BUILD: Duration = Duration::from_secs(600);

/// The longest wait in a case that is to fail. Most of these cases wait for what never happens.
const IN_VAIN: Duration = Duration::from_secs(3);

thread_local! {
    static LIMIT: Cell<Duration> = const { Cell::new(PATIENCE) };
}

/// Runs a case that is to fail, on this thread: its waits end soon.
pub fn in_vain<T>(run: impl FnOnce() -> T) -> T {
    LIMIT.set(IN_VAIN);
    let result = run();
    LIMIT.set(PATIENCE);
    result
}

/// Whether this thread runs a case that is to fail. The panic of such a case is expected.
pub fn is_in_vain() -> bool {
    LIMIT.get() == IN_VAIN
}

/// The longest pause between two polls.
const LONGEST_PAUSE: Duration = Duration::from_millis(16);

/// Waits for a future on a runtime of tokio.
///
/// # Errors
/// If the future does not complete within [`PATIENCE`], or within a shorter limit in a case that is [to fail](in_vain). The error
/// begins with `what`.
pub async fn within<T>(what: &str, future: impl Future<Output = T>) -> Result<T> {
    let limit = LIMIT.get();
    let in_time = timeout(limit, future).await;
    in_time.map_err(|_| anyhow!("{what} took more than {} s", limit.as_secs()))
}

/// Polls a condition on a runtime of tokio, until the condition holds.
///
/// # Errors
/// If the condition does not hold within [`PATIENCE`]. The error ends with `what`.
pub async fn until(what: &str, mut holds: impl FnMut() -> bool) -> Result<()> {
    until_async(what, || ready(holds())).await
}

/// [`until`] for a condition that is asynchronous.
///
/// # Errors
/// As [`until`].
pub async fn until_async<F: Future<Output = bool>>(what: &str, mut holds: impl FnMut() -> F) -> Result<()> {
    let polling = async {
        for pause in pauses() {
            if holds().await {
                break;
            }
            sleep(pause).await;
        }
    };
    let limit = LIMIT.get();
    timeout(limit, polling).await.map_err(|_| never(what, limit))
}

/// [`until`] for a thread without a runtime: polls until there is a value, and returns the value.
///
/// # Errors
/// As [`until`].
pub fn until_blocking<T>(what: &str, look: impl FnMut() -> Option<T>) -> Result<T> {
    poll(what, LIMIT.get(), look)
}

/// [`until_blocking`] for a condition that follows a build: its limit is ten minutes.
///
/// # Errors
/// As [`until`].
pub fn until_built<T>(what: &str, look: impl FnMut() -> Option<T>) -> Result<T> {
    poll(what, BUILD, look)
}

fn poll<T>(what: &str, limit: Duration, mut look: impl FnMut() -> Option<T>) -> Result<T> {
    let begin = Instant::now();
    for pause in pauses().take_while(|_| begin.elapsed() < limit) {
        if let Some(value) = look() {
            return Ok(value);
        }
        thread::sleep(pause);
    }
    Err(never(what, limit))
}

/// The pauses between polls. The first pauses are short, so that a poll takes little longer than the wait for the condition.
fn pauses() -> impl Iterator<Item = Duration> {
    let first = Duration::from_millis(1);
    std::iter::successors(Some(first), |pause| Some((*pause * 2).min(LONGEST_PAUSE)))
}

fn never(what: &str, limit: Duration) -> anyhow::Error {
    anyhow!("waited {} s in vain until {what}", limit.as_secs())
}
