//! Connections that take turns.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use rusqlite::Connection;

use super::{PATIENCE, failure};
use crate::drivers::{Code, Failure};

/// SQLite asks whether to go on each time it has done this many of its steps: some ten microseconds of work.
const STEPS_BETWEEN_LOOKS: i32 = 1000;

/// A fixed number of connections.
#[derive(Debug)]
pub(super) struct Pool {
    connections: Box<[Mutex<Connection>]>,
    /// The numbers of the connections that nobody works with.
    idle: Mutex<Vec<usize>>,
    returned: Condvar,
}

/// The right to work with one connection; dropping it passes the right on, also when the work panicked.
struct Turn<'a> {
    pool: &'a Pool,
    number: usize,
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        unpoisoned(&self.pool.idle).push(self.number);
        self.pool.returned.notify_one();
    }
}

impl Pool {
    pub(super) fn new(connections: Vec<Connection>) -> Self {
        Self {
            idle: Mutex::new((0..connections.len()).collect()),
            connections: connections.into_iter().map(Mutex::new).collect(),
            returned: Condvar::new(),
        }
    }

    /// Waits for a connection and works with it; SQLite interrupts the work at `deadline`.
    pub(super) fn with<T>(
        &self,
        deadline: Option<Instant>,
        work: impl FnOnce(&Connection) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let turn = self.take(deadline)?;
        let mut connection = unpoisoned(&self.connections[turn.number]);
        limit(&mut connection, deadline).map_err(failure::from_sqlite)?;
        let result = work(&connection);
        // The next in line must find it free.
        drop(connection);
        drop(turn);
        result
    }

    fn take(&self, deadline: Option<Instant>) -> Result<Turn<'_>, Failure> {
        let patience = Instant::now() + PATIENCE;
        let until = deadline.map_or(patience, |deadline| deadline.min(patience));
        let mut idle = unpoisoned(&self.idle);
        loop {
            // First the time, then the connection: an event that comes too late takes no turn from one that does not.
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(if deadline == Some(until) {
                    Failure::new(Code::Deadline, "the time was over before the database was free")
                } else {
                    Failure::new(Code::Overloaded, "the database is busy")
                });
            }
            if let Some(number) = idle.pop() {
                return Ok(Turn { pool: self, number });
            }
            idle = self
                .returned
                .wait_timeout(idle, left)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
    }
}

/// What these locks hold is whole at any moment: a list of numbers, and connections that SQLite itself keeps whole.
fn unpoisoned<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes the connection end at `deadline` whatever it does, and wait for a lock no longer than that.
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
