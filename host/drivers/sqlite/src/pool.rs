//! A fixed number of connections.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use pointwork_core::FailureCode;
use rusqlite::Connection;

use crate::PATIENCE;
use crate::failure::{EventError, failure};

/// The steps of SQLite between two looks at the deadline: some ten microseconds of work.
const STEPS_BETWEEN_LOOKS: i32 = 1000;

#[derive(Debug)]
pub(crate) struct Pool {
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
        self.pool.returned.notify_one();
    }
}

impl Pool {
    pub(crate) fn new(connections: Vec<Connection>) -> Self {
        Self {
            idle: Mutex::new(connections),
            returned: Condvar::new(),
        }
    }

    /// Waits for a connection and works with it; SQLite interrupts the work at `deadline`.
    pub(crate) fn with<T>(
        &self,
        deadline: Option<Instant>,
        work: impl FnOnce(&Connection) -> Result<T, EventError>,
    ) -> Result<T, EventError> {
        let taken = self.take(deadline)?;
        let mut lease = Lease {
            pool: self,
            connection: None,
        };
        let connection = lease.connection.insert(taken);
        limit(connection, deadline)?;
        work(connection)
    }

    fn take(&self, deadline: Option<Instant>) -> Result<Connection, EventError> {
        let patience = Instant::now() + PATIENCE;
        let until = deadline.map_or(patience, |deadline| deadline.min(patience));
        let mut idle = self.idle();
        loop {
            // The time comes first: an event that is too late takes no connection.
            let left = until.saturating_duration_since(Instant::now());
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
            let waited = self.returned.wait_timeout(idle, left);
            idle = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// The list is whole at any moment, so a poisoned lock does no harm.
    fn idle(&self) -> MutexGuard<'_, Vec<Connection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Makes the connection end its work at `deadline`, and wait for a lock no longer than that.
fn limit(connection: &mut Connection, deadline: Option<Instant>) -> rusqlite::Result<()> {
    let left = deadline.map_or(PATIENCE, |deadline| {
        deadline.saturating_duration_since(Instant::now()).min(PATIENCE)
    });
    connection.busy_timeout(left)?;
    connection.progress_handler(
        STEPS_BETWEEN_LOOKS,
        deadline.map(|deadline| move || Instant::now() >= deadline),
    )
}
