//! The options of an application.

use std::time::Duration;

use pointwork_core::{BusOptions, Clock, RouterOptions, limits};

use crate::{CacheDirectory, CompileOptions, ModuleLimits, StateDirectory};

limits! {
    /// The options of an application.
    #[derive(Clone, Debug)]
    pub struct AppOptions {
        /// The largest linear memory that the pool has room for; at least every module's limit. It takes address space, not
        /// memory.
        max_memory: usize = bytes(1 GiB) as "max-memory" in_program;
        /// The number of instances that the pool has room for, over all modules.
        ///
        /// Each module can always get 8 of them, or [`ModuleLimits::instances`] if that is less; in a pool of fewer than 64, an
        /// eighth of it. The load of a module is refused if the pool has no room for these instances.
        max_instances: u32 = count(1_000) as "max-instances" in_program;
        /// The time that requests, calls and emitted events may take to end when the application is closed; past it they are
        /// cut.
        ///
        /// See [`App::close`](crate::App::close).
        drain: Duration = time(30 s) as "drain" in_program;
    } and {
        /// The limits of every request, and how paths are read.
        router: RouterOptions = RouterOptions::new();
        /// The limits of events.
        bus: BusOptions = BusOptions::new();
        /// The limits of a module without limits of its own.
        limits: ModuleLimits = ModuleLimits::new();
        /// The limits of compiling.
        compile: CompileOptions = CompileOptions::new();
        /// The directory of compiled components, which need not be compiled at the next start. Default: `None`.
        cache: Option<CacheDirectory> = None;
        /// The directory that keeps the current version of each module. Default: `None`; the application starts with what
        /// is loaded.
        state: Option<StateDirectory> = None;
        /// Whether the functions of modules are listed in `/tmp/perf-PID.map`, where `perf` finds their names. Linux. The file
        /// stays behind. Default: `false`.
        perf_map: bool = false;
        /// The clock of all times of the application. Default: the real clock.
        clock: Clock = Clock::real();
    }
}
