//! A fixed number of connections.
//!
//! A call that finds no idle connection waits on a condition variable, until a connection returns or its deadline passes. With the
//! real clock the wait has a timeout. With a clock that tests control, a timer of the clock notifies the condition variable.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use pointwork_core::FailureCode;
use rusqlite::Connection;

use crate::failure::{EventError, failure};
use crate::{PATIENCE, Run};

/// The steps of SQLite between two looks at the deadline: some ten microseconds of work.
const STEPS_BETWEEN_LOOKS: i32 = 1000;

#[derive(Clone, Debug)]
pub(crate) struct Pool(Arc<PoolState>);

#[derive(Debug)]
struct PoolState {
    idle: Mutex<Vec<Connection>>,
    returned: Condvar,
}

/// A connection in use; it returns to the pool when it is dropped, also after a panic.
struct Lease<'a> {
    pool: &'a Pool,
    connection: Option<Connection>,
}

impl Drop for Lease<'_> {
    fn drop(&mut self) {
        self.pool.idle().extend(self.connection.take());
        self.pool.0.returned.notify_one();
    }
}

impl Pool {
    pub(crate) fn new(connections: Vec<Connection>) -> Self {
        Self(Arc::new(PoolState {
            idle: Mutex::new(connections),
            returned: Condvar::new(),
        }))
    }

    /// Waits for a connection and works with it. SQLite interrupts the work at the deadline, and work that `only_reads` once nobody
    /// waits for the result.
    pub(crate) fn with<T>(
        &self,
        run: &Run,
        only_reads: bool,
        work: impl FnOnce(&Connection) -> Result<T, EventError>,
    ) -> Result<T, EventError> {
        let taken = self.take(run)?;
        let mut lease = Lease {
            pool: self,
            connection: None,
        };
        let connection = lease.connection.insert(taken);
        limit(connection, run, only_reads)?;
        work(connection)
    }

    fn take(&self, run: &Run) -> Result<Connection, EventError> {
        let Run { clock, deadline, .. } = run;
        let deadline = *deadline;
        let patience = clock.now() + PATIENCE;
        let until = deadline.map_or(patience, |deadline| deadline.min(patience));
        let mut timer = None;
        let mut idle = self.idle();
        loop {
            // The time comes first: an event that is too late takes no connection.
            let left = until.saturating_duration_since(clock.now());
            if run.is_cancelled.load(Ordering::Relaxed) {
                return Err(failure(FailureCode::GONE, "the caller does not wait any more"));
            }
            if left.is_zero() {
                return Err(if deadline == Some(until) {
                    failure(
                        FailureCode::DEADLINE,
                        "the deadline passed before the database was free",
                    )
                } else {
                    failure(FailureCode::OVERLOADED, "the database is busy")
                });
            }
            if let Some(connection) = idle.pop() {
                return Ok(connection);
            }
            if timer.is_none() {
                drop(idle);
                timer = Some(clock.wake_at(until, self.notify_all()));
                idle = self.idle();
                continue;
            }
            let returned = &self.0.returned;
            idle = if let Some(None) = timer {
                let waited = returned.wait_timeout(idle, left);
                waited.unwrap_or_else(PoisonError::into_inner).0
            } else {
                returned.wait(idle).unwrap_or_else(PoisonError::into_inner)
            };
        }
    }

    /// A function that wakes every waiting call.
    fn notify_all(&self) -> impl Fn() + Send + Sync + 'static {
        let pool = self.clone();
        move || pool.wake()
    }

    /// Has every waiting call look at the clock, and whether somebody waits for its result.
    pub(crate) fn wake(&self) {
        // A call that has looked waits by the time the lock is free.
        drop(self.idle());
        self.0.returned.notify_all();
    }

    /// The list is whole at any moment, so a poisoned lock does no harm.
    fn idle(&self) -> MutexGuard<'_, Vec<Connection>> {
        self.0.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Makes the connection end its work at the deadline, and wait for a lock no longer than that. Work that only reads ends once nobody
/// waits for the result.
fn limit(connection: &mut Connection, run: &Run, only_reads: bool) -> rusqlite::Result<()> {
    let (clock, deadline) = (run.clock.clone(), run.deadline);
    let left = deadline.map_or(PATIENCE, |deadline| {
        deadline.saturating_duration_since(clock.now()).min(PATIENCE)
    });
    connection.busy_timeout(left)?;
    let is_cancelled = only_reads.then(|| run.is_cancelled.clone());
    let ends = move || {
        let is_late = deadline.is_some_and(|deadline| clock.now() >= deadline);
        is_late || is_cancelled.as_ref().is_some_and(|is| is.load(Ordering::Relaxed))
    };
    connection.progress_handler(STEPS_BETWEEN_LOOKS, Some(ends))
}
