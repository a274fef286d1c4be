//! What modules may take: for all of them in `[limits]`, for one in its `[[module]]`.

use std::time::Duration;

use serde::Deserialize;

use super::values::{Count, Size, Time, Whole};

/// What requests, events and connections may take, and every module that says nothing else. Times are written `30s` or
/// `1m 30s`, sizes `2MiB` (2,097,152 bytes) or `2MB` (2,000,000 bytes).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Limits {
    /// What each module may take.
    pub(crate) modules: ModuleLimits,
    /// The time from a request's head to its reply's head.
    pub(crate) request_deadline: Option<Duration>,
    /// The largest request body, in bytes.
    pub(crate) body: Option<u64>,
    /// The time that a client has for the first byte of a request on a new connection, and for the head from then on.
    pub(crate) header_timeout: Option<Duration>,
    /// The time that a client may leave between two pieces of a body.
    pub(crate) body_timeout: Option<Duration>,
    /// The time that requests in flight have to end once the server was told to stop.
    pub(crate) shutdown_grace: Option<Duration>,
    /// The emitted events that wait for one listener; one more is lost, and counted.
    pub(crate) event_queue: Option<usize>,
    /// The time that a listener may work on an emitted event.
    pub(crate) event_deadline: Option<Duration>,
    /// The longest payload of an event, and of what a listener returns, in bytes.
    pub(crate) payload: Option<u64>,
}

/// What a module has of its own beside the limits that all can have.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct OwnLimits {
    /// The time from a request's head to its reply's head; never longer than that of all.
    pub(crate) deadline: Option<Duration>,
    /// The largest request body, in bytes; never longer than that of all.
    pub(crate) body: Option<u64>,
    /// The path that is asked before a version is published.
    pub(crate) health: Option<String>,
    /// SHA-256 of the component, in lower-case hex.
    pub(crate) digest: Option<String>,
}

/// How much the calls of a module have to do with each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Isolation {
    /// Calls share an instance at a time.
    Shared,
    /// One call at a time.
    Exclusive,
    /// An instance for each call.
    Fresh,
}

/// When a module that crashes again and again is held back.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Breaker {
    /// After how many crashes in a row; 0 is never.
    pub(crate) crashes: Option<u32>,
    /// The first pause.
    pub(crate) pause: Option<Duration>,
    /// The longest pause.
    pub(crate) longest: Option<Duration>,
}

/// When a new version is taken back by itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Trial {
    /// For how many calls it is on trial.
    pub(crate) calls: Option<u64>,
    /// How many crashes among them bring the version before back; 0 is never.
    pub(crate) crashes: Option<u64>,
}

/// What a module may take; what is `None` is said elsewhere: for a module in `[limits]`, for all by the runtime.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ModuleLimits {
    /// The memory of one instance, in bytes.
    pub(crate) memory: Option<u64>,
    /// The entries of one table.
    pub(crate) table_elements: Option<usize>,
    /// The stack of a call, in bytes.
    pub(crate) stack: Option<u64>,
    /// The instances at a time.
    pub(crate) instances: Option<usize>,
    /// The calls that share an instance of an asynchronous module.
    pub(crate) in_flight: Option<usize>,
    /// The calls that may wait for an instance.
    pub(crate) queue: Option<u64>,
    /// The time that a call waits for an instance before it is refused with 503.
    pub(crate) queue_wait: Option<Duration>,
    /// The calls that an instance serves.
    pub(crate) reuse: Option<usize>,
    /// The time after which an idle instance is freed.
    pub(crate) idle: Option<Duration>,
    /// The processor time of a call.
    pub(crate) cpu: Option<Duration>,
    /// The names and values of a request's headers together, in bytes.
    pub(crate) headers: Option<u64>,
    /// The lines that a call may log.
    pub(crate) log_lines: Option<u32>,
    /// The events that a call may emit.
    pub(crate) emits: Option<u32>,
    /// The time for instantiating and reading the declarations at load.
    pub(crate) probe: Option<Duration>,
    /// The time that calls of a version may go on that was replaced.
    pub(crate) drain: Option<Duration>,
    /// How much its calls have to do with each other.
    pub(crate) isolation: Option<Isolation>,
    /// When it is held back.
    pub(crate) breaker: Breaker,
    /// When a new version is taken back.
    pub(crate) trial: Trial,
}

/// Declares a table that has the keys of [`ModuleLimits`] behind its own. They stand here once, and not in a table that is
/// flattened into the others: serde does not find unknown keys in those.
macro_rules! with_module_limits {
    ($(#[$meta:meta])* $vis:vis struct $name:ident { $($own:tt)* }) => {
        $(#[$meta])*
        $vis struct $name {
            $($own)*
            memory: Option<Size>,
            table_elements: Option<Count>,
            stack: Option<Size>,
            instances: Option<Count>,
            in_flight: Option<Count>,
            queue: Option<Whole<u64>>,
            queue_wait: Option<Time>,
            reuse: Option<Count>,
            idle: Option<Time>,
            cpu: Option<Time>,
            headers: Option<Size>,
            log_lines: Option<Whole<u32>>,
            emits: Option<Whole<u32>>,
            probe: Option<Time>,
            drain: Option<Time>,
            isolation: Option<Isolation>,
            #[serde(default)]
            breaker: RawBreaker,
            #[serde(default)]
            trial: RawTrial,
        }

        impl $name {
            /// What it says of the keys that modules can have.
            $vis fn module_limits(&self) -> ModuleLimits {
                ModuleLimits {
                    memory: self.memory.map(|size| size.0),
                    table_elements: self.table_elements.map(|count| count.0),
                    stack: self.stack.map(|size| size.0),
                    instances: self.instances.map(|count| count.0),
                    in_flight: self.in_flight.map(|count| count.0),
                    queue: self.queue.map(|number| number.0),
                    queue_wait: self.queue_wait.map(|time| time.0),
                    reuse: self.reuse.map(|count| count.0),
                    idle: self.idle.map(|time| time.0),
                    cpu: self.cpu.map(|time| time.0),
                    headers: self.headers.map(|size| size.0),
                    log_lines: self.log_lines.map(|number| number.0),
                    emits: self.emits.map(|number| number.0),
                    probe: self.probe.map(|time| time.0),
                    drain: self.drain.map(|time| time.0),
                    isolation: self.isolation,
                    breaker: self.breaker.read(),
                    trial: self.trial.read(),
                }
            }
        }
    };
}
pub(super) use with_module_limits;

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct RawBreaker {
    crashes: Option<Whole<u32>>,
    pause: Option<Time>,
    longest: Option<Time>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct RawTrial {
    calls: Option<Whole<u64>>,
    crashes: Option<Whole<u64>>,
}

with_module_limits! {
    #[derive(Default, Deserialize)]
    #[serde(deny_unknown_fields, rename_all = "kebab-case")]
    pub(super) struct RawLimits {
        request_deadline: Option<Time>,
        body: Option<Size>,
        header_timeout: Option<Time>,
        body_timeout: Option<Time>,
        shutdown_grace: Option<Time>,
        event_queue: Option<Count>,
        event_deadline: Option<Time>,
        payload: Option<Size>,
    }
}

impl RawBreaker {
    pub(super) fn read(&self) -> Breaker {
        Breaker {
            crashes: self.crashes.map(|number| number.0),
            pause: self.pause.map(|time| time.0),
            longest: self.longest.map(|time| time.0),
        }
    }
}

impl RawTrial {
    pub(super) fn read(&self) -> Trial {
        Trial {
            calls: self.calls.map(|number| number.0),
            crashes: self.crashes.map(|number| number.0),
        }
    }
}

impl From<RawLimits> for Limits {
    fn from(raw: RawLimits) -> Self {
        Self {
            modules: raw.module_limits(),
            request_deadline: raw.request_deadline.map(|time| time.0),
            body: raw.body.map(|size| size.0),
            header_timeout: raw.header_timeout.map(|time| time.0),
            body_timeout: raw.body_timeout.map(|time| time.0),
            shutdown_grace: raw.shutdown_grace.map(|time| time.0),
            event_queue: raw.event_queue.map(|count| count.0),
            event_deadline: raw.event_deadline.map(|time| time.0),
            payload: raw.payload.map(|size| size.0),
        }
    }
}
