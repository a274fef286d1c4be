//! The crash that a call ends with, by its cause.

use std::sync::Arc;

use pointwork_core::{Crash, CrashKind};
use wasmtime::{PoolConcurrencyLimitError, Trap};

use crate::component::module_pre::ModulePre;
use crate::guest::Guest;
use crate::guest::limiter::Exceeded;
use crate::guest::stream_permits::NoPermit;
use crate::scheduling::call_history::CallHistory;

/// What a crash counts against.
#[derive(Clone, Copy)]
pub(crate) enum Blame<'a> {
    /// A handler or a listener.
    Callee(&'a CallHistory),
    /// One of several calls that shared an instance.
    OneOf(&'a [Arc<CallHistory>]),
    /// The creation of an instance.
    Instantiation,
    /// Nothing: any client can cause it.
    Client,
}

impl ModulePre {
    pub(super) fn crashed(&self, blame: Blame<'_>) {
        let admission = &self.version.admission;
        match blame {
            Blame::Callee(history) => admission.crashed(history),
            // A call that was alone is at fault.
            Blame::OneOf([history]) => admission.crashed(history),
            Blame::OneOf(histories) => admission.shared_crash(histories),
            Blame::Instantiation => admission.instantiation_failed(),
            Blame::Client => admission.count_crash(),
        }
    }
}

/// A guest that trapped: the trap, the guest's own panic message and the backtrace, for the log only.
pub(crate) fn trapped(pre: &ModulePre, blame: Blame<'_>, error: &wasmtime::Error, guest: Option<&mut Guest>) -> Crash {
    let (mut panic, mut refused, mut last_event, mut blame) = (None, None, String::new(), blame);
    if let Some(guest) = guest {
        if guest.trap_is_of_client() {
            blame = Blame::Client;
        }
        (panic, refused) = (guest.take_panic(), guest.limits.refused);
        last_event = guest
            .last_event()
            .map_or(String::new(), |event| format!(" after the event `{event}`"));
    }
    let trap = error.downcast_ref::<Trap>();
    // The host ends a guest that exceeds a limit, or the guest ends itself because the host refused it something.
    let exceeded = error.downcast_ref::<Exceeded>().copied().or(refused);
    let exceeded = exceeded.or_else(|| pre.version.memory.exceeded_by(error));
    if exceeded == Some(Exceeded::CLEANUP) {
        return cleanup_exceeded(pre, &format!("\n{error:?}"));
    }
    let limit = match (exceeded, trap) {
        (Some(exceeded), _) => Some(exceeded.limit),
        (None, Some(Trap::StackOverflow)) => Some("stack"),
        _ => None,
    };
    let event = panic.map_or("trapped".to_owned(), |panic| format!("panicked: {panic}"));
    let cause = exceeded.map_or(String::new(), |exceeded| format!("{exceeded}{last_event}: "));
    // The debug form of the error has its causes and the backtrace with the guest's function names.
    // A panic with its place has two lines.
    let end = if event.contains('\n') { "\n" } else { ": " };
    let message = format!("{cause}the guest {event}{end}{error:?}");
    let kind = match trap {
        None if limit == Some(Exceeded::CPU) => CrashKind::Deadline,
        // Other modules use the whole pool; this one did nothing wrong.
        None if error.is::<PoolConcurrencyLimitError>() => {
            pre.version.admission.refused();
            return crash(pre, CrashKind::Limit, message).at_limit("max-instances");
        }
        _ => CrashKind::Trap,
    };
    pre.crashed(blame);
    match limit {
        Some(limit) => crash(pre, kind, message).at_limit(limit),
        None => crash(pre, kind, message),
    }
}

/// Why a call got no instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Overload {
    /// None became free in time.
    Instances,
    /// The pool had no room for one in time.
    Pool,
    /// Other calls of the handler hold its share of the instances.
    Share,
    /// The queue for instances is full.
    Queue,
    /// Too many calls wait for their clients.
    StreamPermits,
}

impl From<NoPermit> for Overload {
    fn from(_: NoPermit) -> Self {
        Self::StreamPermits
    }
}

pub(crate) fn overloaded(pre: &ModulePre, overload: Overload) -> Crash {
    pre.version.admission.refused();
    let limits = &pre.version.limits;
    let (limit, message) = match overload {
        Overload::Instances => (
            "instances",
            format!(
                "no instance of {} became free within {:?}",
                limits.instances, limits.queue_wait
            ),
        ),
        Overload::Pool if pre.tenancy.holds_most() => (
            "instances",
            format!(
                "the module holds twice its {} instances, the most with calls of the module to itself, and none became \
                 free within {:?}",
                limits.instances, limits.queue_wait
            ),
        ),
        Overload::Pool => (
            "max-instances",
            format!(
                "the pool of {} instances had no room for another one within {:?}",
                pre.tenancy.instances(),
                limits.queue_wait
            ),
        ),
        Overload::Share => (
            "instances",
            format!(
                "calls of the handler hold {} of {} instances, the most that they may, and none of them ended within {:?}",
                pre.handler_share().instances(),
                pre.handler_share().of,
                limits.queue_wait
            ),
        ),
        Overload::StreamPermits => ("instances", pre.version.streams.refusal()),
        Overload::Queue => ("queue", format!("{} calls wait for an instance already", limits.queue)),
    };
    crash(pre, CrashKind::Limit, message).at_limit(limit)
}

pub(crate) fn cpu_exceeded(pre: &ModulePre, blame: Blame<'_>) -> Crash {
    pre.crashed(blame);
    let message = format!("the guest used more processor time than {:?}", pre.version.limits.cpu);
    crash(pre, CrashKind::Deadline, message).at_limit(Exceeded::CPU)
}

/// A call that computed for too long after its client had left. It counts against nobody: any client can leave.
pub(crate) fn cleanup_exceeded(pre: &ModulePre, backtrace: &str) -> Crash {
    let Exceeded { limit, value, unit } = Exceeded::CLEANUP;
    let message =
        format!("the guest used more than {value} {unit} of processor time after its client had left{backtrace}");
    crash(pre, CrashKind::Deadline, message).at_limit(limit)
}

/// A call on a replaced version whose time to drain is over. The next call goes to the new version.
pub(crate) fn drained(pre: &ModulePre) -> Crash {
    let message = "the version of the module was replaced, and its time to drain is over";
    crash(pre, CrashKind::Limit, message).at_limit("drain")
}

/// A call whose task or instance ended by a panic of the host, or with the threads of an application that closes.
pub(crate) fn panicked(pre: &ModulePre, blame: Blame<'_>, message: String) -> Crash {
    if pre.cut.is_cancelled() {
        return drained(pre);
    }
    pre.crashed(blame);
    crash(pre, CrashKind::Panic, message)
}

pub(crate) fn crash(pre: &ModulePre, kind: CrashKind, message: impl Into<String>) -> Crash {
    Crash::new(kind, message).in_module(&*pre.version.module)
}
