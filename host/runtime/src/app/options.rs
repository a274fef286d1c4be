//! What an embedder may set.

use std::time::Duration;

use crate::{CacheDirectory, Grants, StateDirectory, Worker};

/// What one module may use. Every limit is on by default.
///
/// A call that runs into one ends, with the status that is named here, and with a `server:crashed` whose `limit` names
/// the limit. The other calls of the module go on, but those that share an instance of the asynchronous form with a call
/// that trapped.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ModuleLimits {
    /// The linear memory of one instance, in bytes; growing past it fails inside the guest, which then ends as it does
    /// out of memory: 500. Default 64 MiB. The pool of an application reserves for at most [`AppOptions::max_memory`].
    pub memory: usize,
    /// The entries of one table, to which holds what does of the memory. Default 100,000.
    pub table_elements: usize,
    /// The stack of a call, in bytes: 500 past it. Default 512 KiB.
    ///
    /// Modules with the same stack share an engine; each further size takes the address space of another pool.
    pub stack: usize,
    /// How many instances there may be at a time. Default 128.
    ///
    /// An instance of the synchronous form serves one call at a time, a request or an event, so this is also how many
    /// calls of such a module are in flight; one of the asynchronous form serves [`in_flight`](Self::in_flight). A call
    /// from within a call to the same module does not count: each level of such calls may have as many instances again.
    pub instances: usize,
    /// How many calls may share an instance of the asynchronous form if its isolation is [`Isolation::Shared`]. A trap
    /// ends all of them; calls of a handler that traps often share none any more. Default 64.
    pub in_flight: usize,
    /// How many calls may wait for an instance; one more is refused at once, as after [`queue_wait`](Self::queue_wait).
    /// Default 1,024.
    pub queue: usize,
    /// How long a request or an event waits for an instance before it is refused: 503 for a client, `overloaded` for a
    /// caller. Two modules that call each other wait for each other at most as long. Default 1 s.
    pub queue_wait: Duration,
    /// How many calls an instance serves before another one takes its place. Default 100,000.
    pub reuse: u64,
    /// How long an instance may be idle before it is freed. Default 60 s.
    pub idle: Duration,
    /// How long a call may take until its reply begins, waiting included: 504 past it. Default `None`: what the
    /// application says ([`RouterOptions::deadline`](crate::RouterOptions), [`BusOptions::deadline`](crate::BusOptions)).
    /// It never makes that longer.
    pub deadline: Option<Duration>,
    /// How much processor time a call may use, with everything that runs under it in the synchronous form: 504 past it.
    /// Measured once the call has used up its first slice of 10 ms, which counts as such. Default 10 s.
    ///
    /// An instance of the asynchronous form is given up, with all its calls, if it runs for as long without a pause.
    pub cpu: Duration,
    /// The longest request body, in bytes: 413 past it. Default `None`: what the application says
    /// ([`RouterOptions::body_limit`](crate::RouterOptions)). It never makes that longer.
    pub body: Option<u64>,
    /// How long names and values of a request's headers may be together, in bytes: 431 past it. Default 64 KiB; the
    /// adapter has a limit of its own, which comes first.
    pub headers: usize,
    /// How many lines a call may write into the log: 500 past it. Default 1,000.
    ///
    /// Where calls share an instance, nobody can tell which of them wrote a line: the instance has as many lines as its
    /// calls together, and what comes on top is dropped, which the log says.
    pub log_lines: u32,
    /// How many events a call may emit: 500 past it. Default 1,000.
    ///
    /// Where calls share an instance, it has as many events as its calls together. The request that emits one on top ends,
    /// the event of a listener is dropped.
    pub emits: u32,
    /// How long instantiating and reading the declarations may take at load. Default 10 s.
    pub probe: Duration,
}

impl Default for ModuleLimits {
    fn default() -> Self {
        Self {
            memory: 64 * 1024 * 1024,
            table_elements: 100_000,
            stack: 512 * 1024,
            instances: 128,
            in_flight: 64,
            queue: 1_024,
            queue_wait: Duration::from_secs(1),
            reuse: 100_000,
            idle: Duration::from_secs(60),
            deadline: None,
            cpu: Duration::from_secs(10),
            body: None,
            headers: 64 * 1024,
            log_lines: 1_000,
            emits: 1_000,
            probe: Duration::from_secs(10),
        }
    }
}

/// How much the calls of a module have to do with each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Isolation {
    /// Several calls share an instance at a time, up to [`ModuleLimits::in_flight`]. Only for the asynchronous form.
    Shared,
    /// An instance serves one call at a time, and the next one finds what the last one left in memory.
    Exclusive,
    /// Every call gets an instance of its own, which is thrown away after it.
    Fresh,
}

/// When a module that crashes again and again is held back.
///
/// After [`crashes`](Self::crashes) calls in a row that crashed, with none between them that did not, calls are refused
/// with 503 for [`pause`](Self::pause). Then one call is let through: if it crashes as well, the pause is twice as long, up
/// to [`longest`](Self::longest); if not, the module serves on. That it is held back is a `server:crashed` whose limit is
/// `breaker`, one for each pause.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Breaker {
    /// How many crashes in a row. Default 20; 0 never holds a module back.
    pub crashes: u32,
    /// The first pause. Default 100 ms.
    pub pause: Duration,
    /// The longest pause. Default 30 s.
    pub longest: Duration,
}

impl Default for Breaker {
    fn default() -> Self {
        Self {
            crashes: 20,
            pause: Duration::from_millis(100),
            longest: Duration::from_secs(30),
        }
    }
}

/// When a version that was swapped in is taken back by itself.
///
/// If [`crashes`](Self::crashes) of its first [`calls`](Self::calls) calls crash, the version before it is published again,
/// as [`App::roll_back`](crate::App::roll_back) does. Clients of the calls that crashed got their 500.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Trial {
    /// How many calls it is on trial. Default 100.
    pub calls: u64,
    /// How many of them may crash, less one. Default 3; 0 never takes a version back.
    pub crashes: u64,
}

impl Default for Trial {
    fn default() -> Self {
        Self { calls: 100, crashes: 3 }
    }
}

/// How one module is loaded.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ModuleOptions {
    /// What it may use; `None` is [`AppOptions::limits`].
    pub limits: Option<ModuleLimits>,
    /// What it may reach beyond the contract. Nothing by default (spec C5).
    pub grants: Grants,
    /// How much its calls have to do with each other. Default `None`: [`Isolation::Shared`] in the asynchronous form,
    /// [`Isolation::Exclusive`] in the synchronous one.
    pub isolation: Option<Isolation>,
    /// When it is held back.
    pub breaker: Breaker,
    /// When a new version is taken back.
    pub trial: Trial,
    /// How long calls of a version may go on that was replaced or removed; what is not done by then is ended with 503, and
    /// the version freed. Default 30 s.
    pub drain: Duration,
    /// The path of a route for GET, of the module itself and without the global prefix, that is asked before the module is
    /// published: a reply of 400 or more refuses it. Default `None`.
    ///
    /// It sees the application's channels as they are before the change.
    pub health: Option<String>,
    /// The SHA-256 of the component in hex; bytes with another one are refused. Default `None`. It holds for one version: a
    /// swap names its own.
    pub digest: Option<String>,
}

impl Default for ModuleOptions {
    fn default() -> Self {
        Self {
            limits: None,
            grants: Grants::default(),
            isolation: None,
            breaker: Breaker::default(),
            trial: Trial::default(),
            drain: Duration::from_secs(30),
            health: None,
            digest: None,
        }
    }
}

impl ModuleOptions {
    /// The application's limits, and no grants.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets limits of the module's own.
    #[must_use]
    pub fn limits(mut self, limits: ModuleLimits) -> Self {
        self.limits = Some(limits);
        self
    }

    /// Grants what the module may reach.
    #[must_use]
    pub fn grants(mut self, grants: Grants) -> Self {
        self.grants = grants;
        self
    }

    /// Sets how much its calls have to do with each other.
    #[must_use]
    pub fn isolation(mut self, isolation: Isolation) -> Self {
        self.isolation = Some(isolation);
        self
    }

    /// Sets when it is held back.
    #[must_use]
    pub fn breaker(mut self, breaker: Breaker) -> Self {
        self.breaker = breaker;
        self
    }

    /// Sets when a new version is taken back.
    #[must_use]
    pub fn trial(mut self, trial: Trial) -> Self {
        self.trial = trial;
        self
    }

    /// Sets how long a version that was replaced may go on.
    #[must_use]
    pub fn drain(mut self, drain: Duration) -> Self {
        self.drain = drain;
        self
    }

    /// Sets the path that is asked before the module is published.
    #[must_use]
    pub fn health(mut self, path: impl Into<String>) -> Self {
        self.health = Some(path.into());
        self
    }

    /// Sets the digest that the component must have.
    #[must_use]
    pub fn digest(mut self, digest: impl Into<String>) -> Self {
        self.digest = Some(digest.into());
        self
    }
}

/// How an application is set up.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct AppOptions {
    /// What holds for every request: body limit, deadline, trailing slashes.
    pub router: pointwork_core::RouterOptions,
    /// How events are carried.
    pub bus: pointwork_core::BusOptions,
    /// What each module may use.
    pub limits: ModuleLimits,
    /// The largest linear memory that the pool has room for, in bytes; at least every module's limit. Default 1 GiB.
    ///
    /// It costs address space, not memory.
    pub max_memory: usize,
    /// How many instances the pool has room for, over all modules. Default 1,000.
    pub max_instances: u32,
    /// What compiling a component may take.
    pub compile: CompileOptions,
    /// Where compiled components are kept, so that the next start need not compile them. Default `None`.
    pub cache: Option<CacheDirectory>,
    /// Where it is kept which version of each module is current, with the components themselves. Default `None`: an
    /// application begins with what it is told to load.
    pub state: Option<StateDirectory>,
}

/// What compiling a component may take.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CompileOptions {
    /// The largest component, in bytes. Default 64 MiB.
    pub size: usize,
    /// How long it may take. Default 60 s of processor time, and four times as long by the clock.
    ///
    /// Without a [`worker`](Self::worker) only the clock counts, and nothing can be ended: the swap is refused, and the
    /// thread goes on, at low priority, in the place of the next compilation.
    pub time: Duration,
    /// How much memory a worker may take, in bytes. Default 2 GiB. Without a worker nothing bounds it.
    pub memory: u64,
    /// How many components are compiled at a time; others wait. Default 1.
    pub at_once: usize,
    /// A program that compiles in a process of its own, where time and memory can be bounded. Default `None`: a thread
    /// of the application.
    pub worker: Option<Worker>,
}

impl Default for CompileOptions {
    fn default() -> Self {
        Self {
            size: 64 * 1024 * 1024,
            time: Duration::from_secs(60),
            memory: 2 * 1024 * 1024 * 1024,
            at_once: 1,
            worker: None,
        }
    }
}

impl Default for AppOptions {
    fn default() -> Self {
        Self {
            router: pointwork_core::RouterOptions::default(),
            bus: pointwork_core::BusOptions::default(),
            limits: ModuleLimits::default(),
            max_memory: 1024 * 1024 * 1024,
            max_instances: 1_000,
            compile: CompileOptions::default(),
            cache: None,
            state: None,
        }
    }
}
