//! What one instance of a module holds, and the functions of the contract that it may call.

mod context;
mod events;
mod wasi;

use std::sync::Arc;

use pointwork_core::{Failure, Payload};
use wasmtime::component::ResourceTable;
use wasmtime::{Result, StoreLimits};

use crate::bindings::{log, types};
use crate::grants::Grants;
use crate::reply::failure_out;

#[allow(unreachable_pub, reason = "the generated bindings re-export them")]
pub use self::context::{Reader, Writer};
use self::wasi::Wasi;

/// The longest log line that is taken from a guest, in bytes; the rest is cut off.
const MAX_LOG_LINE: usize = 8 * 1024;

/// The data of a store: everything that belongs to one instance.
pub(crate) struct Guest {
    pub(crate) table: ResourceTable,
    pub(crate) limits: StoreLimits,
    module: Arc<str>,
    wasi: Wasi,
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
    pub(crate) fn new(module: &Arc<str>, limits: StoreLimits, grants: &Arc<Grants>) -> Result<Self> {
        Ok(Self {
            table: ResourceTable::new(),
            limits,
            module: module.clone(),
            wasi: Wasi::new(grants, module)?,
            panic: None,
            slices: 0,
            on_fiber: true,
        })
    }

    pub(crate) fn begin_call(&mut self, on_fiber: bool) {
        self.slices = 0;
        self.on_fiber = on_fiber;
        self.panic = None;
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

/// Bounds what a guest can put into a log.
fn cut(line: &mut String) {
    if line.len() > MAX_LOG_LINE {
        line.truncate(line.floor_char_boundary(MAX_LOG_LINE));
        line.push('…');
    }
}
