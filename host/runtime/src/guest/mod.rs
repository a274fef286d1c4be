//! The data of one instance of a module, and the host functions of the contract.

pub(crate) mod bindings;
mod body;
mod budget;
mod context;
mod environment;
mod events;
pub(crate) mod events_used;
mod instant;
pub(crate) mod limiter;
mod log;
pub(crate) mod memory;
mod output;
pub(crate) mod payload;
pub(crate) mod reply;
pub(crate) mod slices;
pub(crate) mod spans;
pub(crate) mod stream_permits;
#[cfg_attr(not(feature = "grants"), path = "no_wasi.rs")]
pub(crate) mod wasi;

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use pointwork_core::{Audience, Caller, Clock, Context, Delivery};
use wasmtime::Result;
use wasmtime::component::{GuestTaskId, ResourceTable};

use crate::Grants;
use crate::guest::bindings::types;
use crate::guest::limiter::{Exceeded, Limiter};
use crate::guest::memory::{HostMemory, MAX_HANDLES};
use crate::limits::ModuleLimits;
use crate::scheduling::admission::{Admission, Counted};
use crate::scheduling::call_history::CallHistory;
use crate::variables::Values;

use self::body::{Reader, Writer};
use self::budget::Budget;
use self::environment::{CallState, GuestClock, Random};
use self::events_used::EventsUsed;
use self::output::LineLog;
use self::slices::Cleanup;
use self::spans::{CurrentCall, Tasks};
use self::stream_permits::{StreamPermit, StreamPermits};
use self::wasi::Wasi;

/// The longest log line that is taken from a guest, in bytes: target, message and fields. The rest is cut off.
const MAX_LOG_LINE: usize = 8 * 1024;

/// The contexts, deliveries, readers and writers that an instance may hold between calls, beside the contexts that await a
/// reply. One that holds more has lost them, and would hold more and more.
const MAX_LEFT: usize = 64;

/// The handles of one call in flight: its context or delivery, a context that it takes, a reader and a writer.
const OF_EACH_CALL: usize = 4;

/// The data of a store: everything that belongs to one instance.
pub(crate) struct Guest {
    pub(crate) table: ResourceTable,
    pub(crate) limits: Limiter,
    module: Arc<str>,
    /// Only for a module that imports it.
    wasi: Option<Box<Wasi>>,
    lines: Arc<Budget>,
    emits: Budget,
    events_used: EventsUsed,
    memory: HostMemory,
    /// Whether it was logged already that the limit of the host's memory was hit.
    memory_logged: AtomicBool,
    /// The calls that ended since the handles were counted.
    calls_since_count: usize,
    counted: Counted,
    /// Its own report of the cause of its trap.
    panic: Option<String>,
    /// The history of the call that trapped, if the instance is shared and the call is known.
    culprit: Option<Arc<CallHistory>>,
    /// The number of the event that this call used last.
    last_event: Option<usize>,
    /// Whether any client can cause its failure; `None` if the call is unknown.
    culprit_is_of_client: Option<bool>,
    call: CurrentCall,
    shares: bool,
    streams: Arc<StreamPermits>,
    /// The slot of the call and its history, if the instance serves one at a time.
    slot: Option<StreamPermit>,
    history: Option<Arc<CallHistory>>,
    tasks: Tasks,
    /// Of the only call, in the synchronous form; otherwise of code that no call runs.
    own: CallState,
    /// The task of an ended call whose code printed last.
    own_printer: Option<GuestTaskId>,
    clock: GuestClock,
    random: Random,
    variables: Values,
    cpu: Duration,
}

/// What all instances of a version of a module share.
#[derive(Clone)]
pub(crate) struct VersionState {
    /// The module's name.
    pub(crate) module: Arc<str>,
    pub(crate) limits: ModuleLimits,
    pub(crate) clock: Clock,
    pub(crate) memory: HostMemory,
    pub(crate) grants: Arc<Grants>,
    pub(crate) variables: Values,
    /// Whether it imports more than the contract.
    pub(crate) uses_wasi: bool,
    /// Whether several calls share an instance at a time.
    pub(crate) shares: bool,
    pub(crate) admission: Arc<Admission>,
    pub(crate) streams: Arc<StreamPermits>,
    pub(crate) events_used: EventsUsed,
}

impl Guest {
    /// # Errors
    /// If something that is granted is missing, such as a directory.
    pub(crate) fn new(version: &VersionState, grants: &Arc<Grants>) -> Result<Self> {
        let limits = &version.limits;
        let shares = version.shares;
        let lines = Arc::new(Budget::new("log-lines", "lines", limits.log_lines, shares));
        let call = CurrentCall::default();
        let wasi = version
            .uses_wasi
            .then(|| Wasi::new(grants, &version.variables, &version.module, &lines, &call).map(Box::new));
        let mut table = ResourceTable::new();
        table.set_max_capacity(MAX_HANDLES);
        Ok(Self {
            table,
            limits: Limiter::new(limits.memory, limits.table_elements),
            module: version.module.clone(),
            wasi: wasi.transpose()?,
            lines,
            emits: Budget::new("emits", "events", limits.emits, shares),
            events_used: version.events_used.clone(),
            memory: version.memory.clone(),
            memory_logged: AtomicBool::new(false),
            calls_since_count: 0,
            counted: version.admission.instance(),
            panic: None,
            culprit: None,
            last_event: None,
            culprit_is_of_client: None,
            call,
            shares,
            streams: version.streams.clone(),
            slot: None,
            history: None,
            tasks: Tasks::default(),
            own: CallState::default(),
            own_printer: None,
            clock: GuestClock::default(),
            random: Random::default(),
            variables: version.variables.clone(),
            cpu: limits.cpu,
        })
    }

    /// Begins the only call.
    pub(crate) fn begin_call(&mut self, caller: &Caller, arrived: Instant, audience: Audience) {
        (self.panic, self.culprit, self.culprit_is_of_client) = (None, None, None);
        self.call.begin(caller);
        self.own.begin(arrived, audience);
        self.begin_shared_call();
    }

    /// Begins a call beside others.
    pub(crate) fn begin_shared_call(&mut self) {
        self.limits.begin_call();
        self.lines.begin_call();
        self.emits.begin_call();
        self.memory_logged.store(false, Ordering::Relaxed);
    }

    /// Logs the lines that the only call began to print and did not end, or code that no call runs.
    pub(crate) fn end_lines(&mut self) {
        self.end_wasi_lines();
        if self.own.output.is_empty() {
            return;
        }
        let log = LineLog {
            module: &self.module,
            lines: &self.lines,
            span: self.call.line_span(),
        };
        self.own.output.end(&log);
    }

    /// Logs the lines that a call wrote to WASI's streams and did not end.
    fn end_wasi_lines(&self) {
        if let Some(wasi) = &self.wasi {
            wasi.end_lines();
        }
    }

    /// Takes the guest's own report of the cause of its trap.
    pub(crate) fn take_panic(&mut self) -> Option<String> {
        self.panic.take()
    }

    /// Takes the history of the call that trapped, if it is known.
    pub(crate) fn take_culprit(&mut self) -> Option<Arc<CallHistory>> {
        self.culprit.take()
    }

    /// Takes over the slot of the call that begins. Where calls share the instance, each keeps its own, which is returned.
    #[must_use]
    pub(crate) fn keep_slot(&mut self, slot: Option<StreamPermit>, history: &Arc<CallHistory>) -> Option<StreamPermit> {
        if self.shares {
            return slot;
        }
        self.slot = slot;
        // Nearly always that of the call before.
        if !self.history.as_ref().is_some_and(|own| Arc::ptr_eq(own, history)) {
            self.history = Some(history.clone());
        }
        None
    }

    /// A call has ended; see [`keep_slot`](Self::keep_slot).
    pub(crate) fn end_call(&mut self) {
        self.slot = None;
        self.own.cleanup = Cleanup::default();
    }

    /// A time slice of the guest ends.
    ///
    /// # Errors
    /// If all of its processor time is used up, or the only call used too much after its client left.
    pub(crate) fn use_slice(&mut self, is_limit_used: bool) -> Result<(), Exceeded> {
        if is_limit_used {
            return Err(Exceeded {
                limit: Exceeded::CPU,
                value: u64::try_from(self.cpu.as_millis()).unwrap_or(u64::MAX),
                unit: "ms",
            });
        }
        self.own.cleanup.use_slice()
    }

    /// The number of contexts, deliveries, readers and writers that it holds.
    pub(crate) fn held(&mut self) -> usize {
        self.table.iter_mut().filter(|entry| is_handle(&**entry)).count()
    }

    /// Whether an instance has lost handles: it holds more than its calls in flight and the contexts that await a reply
    /// explain. It is asked after each call.
    pub(crate) fn leaks(&mut self, in_flight: usize) -> bool {
        let allowed = MAX_LEFT + OF_EACH_CALL * in_flight;
        // The length of the table, which never shrinks. Most are short.
        let length = self.table.iter_mut().size_hint().1.unwrap_or(usize::MAX);
        if length <= allowed {
            return false;
        }
        // One that was long once is not read after each call.
        self.calls_since_count += 1;
        if self.calls_since_count < length / 256 {
            return false;
        }
        self.calls_since_count = 0;
        let awaits_reply = |entry: &(dyn Any + Send)| {
            entry
                .downcast_ref()
                .is_some_and(|context: &Context| context.awaits_reply())
        };
        let entries = self.table.iter_mut();
        entries
            .filter(|entry| is_handle(&**entry) && !awaits_reply(&**entry))
            .count()
            > allowed
    }

    /// Logs that an instance is not used any more because it [`leaks`](Self::leaks).
    pub(crate) fn log_leak(&self) {
        tracing::warn!(
            module = &*self.module,
            "an instance was retired: it holds more than {MAX_LEFT} contexts, deliveries, readers and writers of calls that \
             have ended"
        );
    }

    /// A task that runs, or the only call, uses an event. An event that the manifest does not list makes a warning.
    fn note_use(&mut self, task: Option<usize>, event: &str) {
        self.state(task).last_event = self.events_used.note(&self.module, event);
    }

    /// The same, and takes one event from the budget of the call: see [`Budget::spend`].
    fn spend_emit(&mut self, task: Option<usize>, event: &str) -> Result<Option<Exceeded>, Exceeded> {
        self.note_use(task, event);
        self.emits.spend(&self.module)
    }

    /// Notes that a task, or the only call, is the reason of a trap.
    fn note_culprit(&mut self, task: Option<usize>) {
        self.culprit = task.and_then(|task| self.history_of(task));
        let is_known = task.is_some() || !self.has_tasks();
        self.culprit_is_of_client = is_known.then(|| self.state(task).is_of_client());
        self.last_event = self.state(task).last_event;
    }

    /// Whether any client can cause the trap, by the call that trapped or by each call that runs.
    pub(crate) fn trap_is_of_client(&mut self) -> bool {
        match self.culprit_is_of_client {
            Some(known) => known,
            None if self.has_tasks() => self.task_states().all(|state| state.is_of_client()),
            None => self.own.is_of_client(),
        }
    }

    /// The event that the call used last which trapped, if the call is known and used one.
    pub(crate) fn last_event(&self) -> Option<String> {
        let is_only_call = !self.has_tasks();
        let number = if is_only_call {
            self.own.last_event
        } else {
            self.last_event
        };
        self.events_used.name(number?)
    }
}

/// A call that was cancelled or trapped ends with its instance.
impl Drop for Guest {
    fn drop(&mut self) {
        self.end_lines();
        self.end_tasks();
    }
}

impl types::Host for Guest {}

fn is_handle(entry: &(dyn Any + Send)) -> bool {
    entry.is::<Context>() || entry.is::<Delivery>() || entry.is::<Reader>() || entry.is::<Writer>()
}
