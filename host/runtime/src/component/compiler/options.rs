//! The limits of compiling.

use std::time::Duration;

use pointwork_core::limits;

use super::Worker;

limits! {
    /// The limits of compiling a component.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct CompileOptions {
        /// The largest component; it is refused past it.
        size: usize = bytes(64 MiB) as "size";
        /// The processor time for one component; by the clock it may take four times as long. The component is refused past it.
        ///
        /// Without a [`worker`](Self::worker) only the clock counts, and the thread cannot be ended: the component is
        /// refused, and the thread goes on at low priority and delays the next compilation.
        time: Duration = time(60 s) as "time";
        /// The memory of a worker; the component is refused past it. Without a worker there is no such limit.
        memory: u64 = bytes(2 GiB) as "memory";
        /// The number of components that are compiled at a time; others wait.
        at_once: usize = count(1) >= 1 as "at-once";
    } and {
        /// A program that compiles in a process of its own, which bounds time and memory. Default: `None`, a thread of the
        /// application.
        worker: Option<Worker> = None;
    }
}
