//! The spans of the log lines of an instance. A line stands in a span that names its request; without the access log, the
//! span is made for the line.

use std::sync::Arc;

use parking_lot::Mutex;
use pointwork_core::Caller;
use tracing::Span;
use wasmtime::component::{Access, GuestTaskId, HasSelf};
use wasmtime::{AsContextMut, Result};

use super::Guest;

/// The call that runs in an instance of the synchronous form, where the thread is in the span that its caller entered.
#[derive(Clone, Default)]
pub(super) struct CurrentCall(Arc<Mutex<Option<Caller>>>);

impl CurrentCall {
    pub(super) fn begin(&self, caller: &Caller) {
        *self.0.lock() = Some(caller.clone());
    }

    /// The caller of the call that runs; `None` for the handler of a request, which no other call is above.
    pub(super) fn caller(&self) -> Option<Caller> {
        self.0
            .lock()
            .as_ref()
            .filter(|caller| caller.chain().depth() > 0)
            .cloned()
    }

    /// The span for a line.
    pub(super) fn span(&self) -> Span {
        self.0.lock().as_ref().map_or_else(Span::none, Caller::span)
    }
}

/// The calls that share an instance, by the tasks that run them: the thread that polls the instance is in no span. It is
/// empty in an instance of the synchronous form.
#[derive(Default)]
pub(super) struct Tasks {
    running: Vec<(GuestTaskId, TaskSpan)>,
    /// The caller of the call that began last: that of code which goes on after its call has ended.
    last: Option<Caller>,
}

/// The spans of one of several calls.
pub(crate) struct TaskSpan {
    /// The span that its caller entered.
    entered: Span,
    caller: Caller,
}

impl TaskSpan {
    /// Of a call that is about to be handed to its instance.
    pub(crate) fn of(caller: &Caller) -> Self {
        Self {
            entered: Span::current(),
            caller: caller.clone(),
        }
    }

    /// The span for a line.
    fn of_line(&self) -> Span {
        let span = self.entered.in_scope(|| self.caller.span());
        if span.is_none() { self.entered.clone() } else { span }
    }
}

impl Guest {
    /// A task runs a call beside others.
    pub(crate) fn task_started(&mut self, task: GuestTaskId, span: TaskSpan) {
        self.tasks.last = Some(span.caller.clone());
        self.tasks.running.push((task, span));
    }

    /// Returns the number of tasks that still run.
    pub(crate) fn task_ended(&mut self, task: GuestTaskId) -> usize {
        self.tasks.running.retain(|(running, _)| *running != task);
        self.tasks.running.len()
    }

    /// The caller of the call that runs or began last, for a host function that does not know its task.
    pub(super) fn running_call(&self) -> Option<Caller> {
        self.tasks.last.clone().or_else(|| self.call.caller())
    }

    /// The entered span of the only call, for a host function that does not know its task; otherwise the span of none.
    pub(super) fn only_span(&self) -> Span {
        match &*self.tasks.running {
            [(_, span)] => span.entered.clone(),
            _ => Span::none(),
        }
    }
}

/// The entered span of the call that runs, in an instance that several calls share; otherwise the span of none.
pub(super) fn span<T: Send + 'static>(access: &mut Access<'_, T, HasSelf<Guest>>) -> Result<Span> {
    Ok(running(access)?.map_or_else(Span::none, |span| span.entered.clone()))
}

/// The span for a line of the call that runs.
pub(super) fn line_span<T: Send + 'static>(access: &mut Access<'_, T, HasSelf<Guest>>) -> Result<Span> {
    if let Some(span) = running(access)? {
        return Ok(span.of_line());
    }
    Ok(access.get().call.span())
}

/// The caller of the call that runs.
pub(super) fn running_caller<T: Send + 'static>(access: &mut Access<'_, T, HasSelf<Guest>>) -> Result<Option<Caller>> {
    if let Some(span) = running(access)? {
        return Ok(Some(span.caller.clone()));
    }
    Ok(access.get().running_call())
}

fn running<'a, T: Send + 'static>(access: &'a mut Access<'_, T, HasSelf<Guest>>) -> Result<Option<&'a TaskSpan>> {
    if access.get().tasks.running.is_empty() {
        return Ok(None);
    }
    // The first task of the stack is the current one, the last one is that of the call.
    let call = access.as_context_mut().async_call_stack()?.last();
    let mut tasks = access.get().tasks.running.iter();
    Ok(tasks.find(|(task, _)| Some(*task) == call).map(|(_, span)| span))
}
