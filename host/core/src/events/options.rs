//! The options of a bus.

use std::time::Duration;

use crate::limits;

limits! {
    /// The options of a bus.
    #[derive(Clone, Debug)]
    pub struct BusOptions {
        /// The number of emitted events that may wait for one listener; one more is lost, logged and counted.
        queue: usize = count(1_024) >= 1 as "event-queue";
        /// The time that a listener may work on one emitted event; the listener is ended past it.
        deadline: Duration = time(30 s) as "event-deadline";
        /// The longest payload of an event, and of a listener's result; the call fails past it, with 413 for a client.
        payload_limit: usize = bytes(2 MiB) as "payload";
    }
}
