//! The spans of the calls that share an instance: the thread that polls the instance is in none of them.

use tracing::Span;
use wasmtime::component::{Access, GuestTaskId, HasSelf};
use wasmtime::{AsContextMut, Result};

use super::Guest;

/// The span of each call, by the task that runs it. It is empty in an instance of the synchronous form, where the thread is
/// in the span of the one call.
#[derive(Default)]
pub(super) struct Spans(Vec<(GuestTaskId, Span)>);

impl Guest {
    /// A task runs a call beside others. The lines that it logs stand in that span.
    pub(crate) fn task_started(&mut self, task: GuestTaskId, span: Span) {
        self.spans.0.push((task, span));
    }

    pub(crate) fn task_ended(&mut self, task: GuestTaskId) {
        self.spans.0.retain(|(running, _)| *running != task);
    }

    /// The span of the only call, for a host function that does not know its task; otherwise the span of none.
    pub(super) fn only_span(&self) -> Span {
        match &*self.spans.0 {
            [(_, span)] => span.clone(),
            _ => Span::none(),
        }
    }
}

/// The span of the call that runs, in an instance that several calls share; otherwise the span of none.
pub(super) fn span<T: Send + 'static>(access: &mut Access<'_, T, HasSelf<Guest>>) -> Result<Span> {
    if access.get().spans.0.is_empty() {
        return Ok(Span::none());
    }
    // The first task of the stack is the current one, the last one is that of the call.
    let call = access.as_context_mut().async_call_stack()?.last();
    let mut spans = access.get().spans.0.iter();
    let span = spans
        .find(|(task, _)| Some(*task) == call)
        .map(|(_, span)| span.clone());
    Ok(span.unwrap_or_else(Span::none))
}
