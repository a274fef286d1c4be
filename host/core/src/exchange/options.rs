//! The options of a router.

use std::time::Duration;

use crate::limits;
use crate::routing::TableOptions;

limits! {
    /// The options of every request.
    #[derive(Clone, Debug)]
    pub struct RouterOptions {
        /// The longest request body; 413 past it.
        body_limit: u64 = bytes(2 MiB) as "body";
        /// The time from a request's arrival until its reply begins; 504 past it.
        deadline: Option<Duration> = time(30 s) as "request-deadline";
    } and {
        /// How the table reads paths.
        table: TableOptions = TableOptions::default();
    }
}
