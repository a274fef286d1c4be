//! The options of modules, their limits and those of compiling.

use std::time::Duration;

use pointwork_core::limits;
use serde::Deserialize;

use crate::{Grants, Variables, Worker};

limits! {
    /// The limits of one module.
    ///
    /// A call that exceeds a limit ends with the status that the field names, and with a `server:crashed` whose `limit` is
    /// the limit's name. Other calls go on, except those that share an asynchronous instance with a call that trapped.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct ModuleLimits {
        /// The linear memory of one instance. Past it growing fails in the guest, which ends out of memory: 500.
        ///
        /// At most [`AppOptions::max_memory`](crate::AppOptions::max_memory).
        memory: usize = bytes(64 MiB) as "memory";
        /// The memory that the host keeps for the module outside of its instances: request extensions, events that are
        /// called or wait, replies that their clients have not taken, declarations. The call that needs more ends: 500. A reply
        /// that lacks room only because of others gets 503 with `Retry-After`, or breaks off if it is written in chunks; that is
        /// no crash of the module.
        ///
        /// Each version of the module has an account. Counted are keys and values of request extensions, until the request's
        /// state is dropped; names and payloads of emitted events, until their listener has ended, and of called ones, until
        /// they have their result; replies and their chunks of 8 KiB or more, until the connection has sent them; and the
        /// declarations, for as long as the version is there. The number of connections and of calls bounds shorter replies.
        /// A component whose declarations need more is refused.
        ///
        /// Where calls share an instance, the request that needs more ends and the others go on; a listener's event is
        /// dropped, and a streamed reply breaks off. A guest that passes more to the host in one call than this or its
        /// [`memory`](Self::memory), whichever is more, traps, and so does one that holds more than 8,192 handles.
        host_memory: u64 = bytes(64 MiB) as "host-memory";
        /// The entries of one table of an instance. Past it growing fails in the guest: 500.
        table_elements: usize = count(100_000) >= 1 as "table-elements";
        /// The stack of a call; 500 past it.
        ///
        /// Modules with the same stack share an engine. Each further size takes the address space of another pool.
        stack: usize = bytes(512 KiB) as "stack";
        /// The number of instances of the module; further calls wait. One handler holds at most three quarters. In an asynchronous module, and in a synchronous one with two or three instances, this begins when its calls are slow.
        ///
        /// A synchronous instance serves one call at a time, so this is also the number of calls in flight. An asynchronous
        /// instance serves [`in_flight`](Self::in_flight) calls. Calls of a module to itself have further instances, as many
        /// again at most, whatever their depth. Versions that are being replaced count among these.
        ///
        /// A module can always get 8 instances, or this many if it is less: see
        /// [`AppOptions::max_instances`](crate::AppOptions::max_instances).
        ///
        /// Calls that wait for their client chunk by chunk, a route with the body mode `stream` or a reply that is written in
        /// chunks, have slots: one fewer than the calls that the instances serve, and at least one. So slow clients leave an
        /// instance to other calls. One more waits for a slot as for an instance, and is refused alike; where calls share an
        /// instance, opening a reply does not wait.
        instances: usize = count(128) >= 1 as "instances";
        /// The number of calls that share an asynchronous instance; further calls wait.
        ///
        /// It holds for [`Isolation::Shared`] only. A trap ends all calls of the instance; calls of a handler that traps often
        /// do not share an instance.
        in_flight: usize = count(64) >= 1 as "in-flight";
        /// The number of calls that wait for an instance; one more is refused with 503 and `Retry-After`.
        queue: usize = count(1_024) as "queue";
        /// The time that a call waits for an instance; past it a client gets 503 with `Retry-After`, a caller `overloaded`.
        ///
        /// Two modules that call each other wait for each other at most as long.
        queue_wait: Duration = time(1 s) as "queue-wait";
        /// The number of calls that an instance serves; a new instance replaces it after them.
        reuse: u64 = count(100_000) >= 1 as "reuse";
        /// The time after which an idle instance is freed.
        idle: Duration = time(60 s) as "idle";
        /// The time from the start of a call until its reply begins, waiting included; 504 past it.
        ///
        /// If it is `None` or longer, the application's limit holds: [`RouterOptions::deadline`](crate::RouterOptions) or
        /// [`BusOptions::deadline`](crate::BusOptions).
        deadline: Option<Duration> = time(none) as "deadline";
        /// The processor time of a call; 504 past it.
        ///
        /// A synchronous call includes the calls that it makes. The time is measured once the call has used its first slice
        /// of 10 ms, which counts. An asynchronous instance that runs for as long without a pause is discarded with all its
        /// calls. One in which code that goes on after its call ran in as many slices takes no further calls.
        cpu: Duration = time(10 s) as "cpu";
        /// The longest request body that is held in memory; 413 past it.
        ///
        /// If it is `None` or longer, the application's limit holds: [`RouterOptions::body_limit`](crate::RouterOptions).
        body: Option<u64> = bytes(none) as "body";
        /// The longest request body with JSON that is held in memory; 413 past it. A body without `content-type` counts as JSON.
        json_body: u64 = bytes(1 MiB) as "json-body";
        /// The number of values (scalars, arrays and objects) in a request body with JSON that is held in memory; 413 past it.
        ///
        /// A short text may stand for many values, and each takes memory of the instance.
        json_values: usize = count(100_000) as "json-values";
        /// The longest request body that a handler takes chunk by chunk; 413 past it.
        ///
        /// If it is `None` or longer, the application's limit holds:
        /// [`RouterOptions::stream_body_limit`](crate::RouterOptions).
        stream_body: Option<u64> = bytes(none) as "stream-body";
        /// The length of the names and values of a request's headers; 431 past it.
        ///
        /// The adapter checks a limit of its own first.
        headers: usize = bytes(64 KiB) as "headers";
        /// The number of lines that a call logs or prints; 500 past it.
        ///
        /// Calls that share an instance share the sum of their lines, without what ended calls left. Further lines are dropped,
        /// which is logged.
        log_lines: u32 = count(1_000) as "log-lines";
        /// The number of events that a call emits; 500 past it.
        ///
        /// Calls that share an instance share the sum of their events. The request that emits one more ends; a listener's
        /// event is dropped.
        emits: u32 = count(1_000) as "emits";
        /// The time for instantiating the component and reading its declarations at load; the component is refused past it.
        probe: Duration = time(10 s) as "probe";
    }
}

/// Whether the calls of a module share instances.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Isolation {
    /// An instance serves up to [`ModuleLimits::in_flight`] calls at a time. For asynchronous modules only.
    Shared,
    /// An instance serves one call at a time. A call finds the memory as the call before it left it.
    Exclusive,
    /// Every call gets a new instance.
    Fresh,
}

limits! {
    /// The circuit breaker of each handler and listener of a module.
    ///
    /// After [`crashes`](Self::crashes) crashes in a row, calls of the handler are refused with 503 for about [`pause`](Self::pause).
    /// Then one call is let through, and twice as many at a time after each success, until the breaker closes. A crash doubles
    /// the pause, up to [`longest`](Self::longest). Each pause is reported as a `server:crashed` with the limit `breaker`.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Breaker {
        /// The number of crashes in a row of a handler that opens its breaker; 0 disables it. Its calls get 503 with `Retry-After` then.
        crashes: u32 = count(20) as "crashes";
        /// The first pause.
        pause: Duration = time(100 ms) as "pause";
        /// The longest pause.
        longest: Duration = time(30 s) as "longest";
    }
}

limits! {
    /// The trial of a version that was swapped in.
    ///
    /// For [`time`](Self::time), each route and listener of the version is compared with the same one of the version before. If, over
    /// at least [`calls`](Self::calls) calls, more calls crash or end by an exception than before, by more than
    /// [`share`](Self::share), the version before is published again, as by [`App::roll_back`](crate::App::roll_back) (spec S6).
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Trial {
        /// The number of calls of a route or listener from which its failed calls are compared; 0 turns the trial off.
        calls: u64 = count(20) as "calls";
        /// The percentage points by which the share of failed calls may exceed that of the version before.
        share: u64 = count(5) as "share";
        /// The time on trial. The time during which the application is closed does not count.
        time: Duration = time(600 s) as "time";
    }
}

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

limits! {
    /// How one module is loaded.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct ModuleOptions {
        /// The time that calls of a replaced or removed version may go on; past it they end with 503, and the version is
        /// freed.
        drain: Duration = time(30 s) as "drain";
    } and {
        /// The limits of the module. Default: `None`, those of [`AppOptions::limits`](crate::AppOptions::limits).
        limits: Option<ModuleLimits> = None;
        /// The capabilities beyond the contract. Default: none (spec C5).
        grants: Grants = Grants::default();
        /// The configuration of the module, which is constant for a version. Default: none.
        variables: Variables = Variables::default();
        /// Whether its calls share instances. Default: `None`, which is [`Isolation::Shared`] for an asynchronous module and
        /// [`Isolation::Exclusive`] for a synchronous one.
        isolation: Option<Isolation> = None;
        /// The circuit breaker.
        breaker: Breaker = Breaker::new();
        /// The trial of a new version.
        trial: Trial = Trial::new();
        /// The path of one of the module's own GET routes, without the global prefix. It is requested before the module is
        /// published; a reply of 400 or more refuses the module. Default: `None`.
        ///
        /// The request sees the application's channels as they are before the change.
        health: Option<String> = None;
        /// The SHA-256 of the component in hex; a component with another one is refused. Default: `None`. A swap names the
        /// digest of the new version.
        digest: Option<String> = None;
        /// The channels whose event names a change of this module may alter for others. Default: none. Otherwise a load or a
        /// swap is refused after which a name in use is ambiguous, or reaches another channel than before, or none. The
        /// refusal names the channel: one of this module that takes the event, or that gives it up.
        channels: Vec<String> = Vec::new();
    }
}
