//! What one instance of a module holds, and the functions of the contract that it may call.

pub(crate) mod bindings;
mod budget;
mod context;
mod events;
pub(crate) mod limiter;
pub(crate) mod reply;
mod wasi;

use std::sync::Arc;

use pointwork_core::{Context, Delivery, Failure, Payload};
use wasmtime::Result;
use wasmtime::component::ResourceTable;

use crate::component::module_pre::ModulePre;
use crate::guest::bindings::{log, types};
use crate::guest::limiter::{Exceeded, Limiter};
use crate::guest::reply::failure_out;
use crate::scheduling::metrics::Counted;

use self::budget::Budget;
#[allow(unreachable_pub, reason = "the generated bindings re-export them")]
pub use self::context::{Reader, Writer};
use self::wasi::Wasi;

/// The longest log line that is taken from a guest, in bytes; the rest is cut off.
const MAX_LOG_LINE: usize = 8 * 1024;

/// The data of a store: everything that belongs to one instance.
pub(crate) struct Guest {
    pub(crate) table: ResourceTable,
    pub(crate) limits: Limiter,
    module: Arc<str>,
    /// Only for a module that asks for it.
    wasi: Option<Box<Wasi>>,
    lines: Arc<Budget>,
    emits: Budget,
    _counted: Counted,
    /// What the guest said before it trapped.
    panic: Option<String>,
    /// How many slices the current call used up.
    pub(crate) slices: u32,
    /// Whether the current call may yield.
    pub(crate) on_fiber: bool,
}

impl Guest {
    /// # Errors
    /// If what is granted cannot be had: a directory is gone.
    pub(crate) fn new(pre: &ModulePre) -> Result<Self> {
        let limits = &pre.limits;
        let calls = if pre.shares { limits.in_flight } else { 1 };
        let calls = u32::try_from(calls).unwrap_or(u32::MAX);
        let lines = Arc::new(Budget::new("log-lines", "lines", limits.log_lines, calls));
        let wasi = pre
            .asks_for_more
            .then(|| Wasi::new(&pre.grants, &pre.name, &lines).map(Box::new));
        Ok(Self {
            table: ResourceTable::new(),
            limits: Limiter::new(limits.memory, limits.table_elements),
            module: pre.name.clone(),
            wasi: wasi.transpose()?,
            lines,
            emits: Budget::new("emits", "events", limits.emits, calls),
            _counted: pre.metrics.instance(),
            panic: None,
            slices: 0,
            on_fiber: true,
        })
    }

    pub(crate) fn begin_call(&mut self, on_fiber: bool) {
        self.slices = 0;
        self.on_fiber = on_fiber;
        self.panic = None;
        self.begin_shared_call();
    }

    /// Begins a call beside others.
    pub(crate) fn begin_shared_call(&mut self) {
        self.limits.begin_call();
        self.lines.begin_call();
        self.emits.begin_call();
    }

    /// How much it holds of requests and events: contexts, deliveries, readers and writers.
    pub(crate) fn held(&mut self) -> usize {
        let entries = self.table.iter_mut();
        entries
            .filter(|entry| {
                entry.is::<Context>() || entry.is::<Delivery>() || entry.is::<Reader>() || entry.is::<Writer>()
            })
            .count()
    }

    /// Takes an event from what the call may emit. `Ok` has what to do about it if there is none left and nobody else's call
    /// may be ended for it.
    ///
    /// # Errors
    /// Ends the call.
    fn spend_emit(&self) -> Result<Option<Exceeded>> {
        match self.emits.spend() {
            Ok(()) => Ok(None),
            Err(exceeded) if self.emits.is_shared() => {
                if self.emits.tell() {
                    tracing::error!(module = &*self.module, "{exceeded}: events are dropped");
                }
                Ok(Some(exceeded))
            }
            Err(exceeded) => Err(exceeded.into()),
        }
    }

    /// What the guest said before it trapped, if it did.
    pub(crate) fn take_panic(&mut self) -> Option<String> {
        self.panic.take()
    }
}

pub(crate) fn payload_in(payload: types::Payload) -> Payload {
    Payload::new(payload.content_type, payload.data)
}

pub(crate) fn payload_out(payload: Payload) -> types::Payload {
    let (content_type, data) = payload.into_parts();
    types::Payload {
        content_type: content_type.into_owned(),
        data: data.into(),
    }
}

fn result_out(result: Result<Payload, Failure>) -> Result<types::Payload, types::Failure> {
    result.map(payload_out).map_err(failure_out)
}

impl types::Host for Guest {}

impl log::Host for Guest {
    fn write(&mut self, level: log::Level, target: String, mut message: String) -> Result<()> {
        if !spend_line(&self.lines, &self.module)? {
            return Ok(());
        }
        cut(&mut message);
        let module = &*self.module;
        match level {
            log::Level::Trace => tracing::trace!(module, from = target, "{message}"),
            log::Level::Debug => tracing::debug!(module, from = target, "{message}"),
            log::Level::Info => tracing::info!(module, from = target, "{message}"),
            log::Level::Warn => tracing::warn!(module, from = target, "{message}"),
            log::Level::Error => tracing::error!(module, from = target, "{message}"),
        }
        Ok(())
    }

    fn panicked(&mut self, mut message: String) -> Result<()> {
        cut(&mut message);
        self.panic = Some(message);
        Ok(())
    }
}

/// Takes a line from what a guest may write; `false` if it is to be dropped.
///
/// # Errors
/// Ends the call.
fn spend_line(lines: &Budget, module: &str) -> Result<bool, Exceeded> {
    match lines.spend() {
        Ok(()) => Ok(true),
        Err(exceeded) if lines.is_shared() => {
            if lines.tell() {
                tracing::error!(module, "{exceeded}: lines are dropped");
            }
            Ok(false)
        }
        Err(exceeded) => Err(exceeded),
    }
}

/// Bounds what a guest can put into a log.
fn cut(line: &mut String) {
    if line.len() > MAX_LOG_LINE {
        line.truncate(line.floor_char_boundary(MAX_LOG_LINE));
        line.push('…');
    }
}
