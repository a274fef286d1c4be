//! The spans of the log lines of an instance. A line stands in a span that names its request; without the access log, the
//! span is made for the line.

use std::sync::Arc;
use std::time::Instant;

use parking_lot::Mutex;
use pointwork_core::{Audience, Caller, Crash, Shard};
use tracing::Span;
use wasmtime::component::{Access, GuestTaskId, HasSelf};
use wasmtime::{AsContextMut, Result};

use super::Guest;
use super::budget::Budget;
use super::environment::CallState;
use super::output::LineLog;
use super::slices::Slice;
use crate::scheduling::call_history::CallHistory;

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

    /// The caller of the call that runs or ran last; `None` before the first call.
    fn latest(&self) -> Option<Caller> {
        self.0.lock().clone()
    }

    /// The span for a line; `None` before the first call.
    pub(super) fn line_span(&self) -> Option<Span> {
        self.0.lock().as_ref().map(Caller::span)
    }
}

/// The calls that share an instance, by the tasks that run them: the thread that polls the instance may be in the span of any call. It is
/// empty in an instance of the synchronous form.
#[derive(Default)]
pub(super) struct Tasks {
    running: Vec<RunningTask>,
    /// The caller of the call that began last: that of code which goes on after its call has ended.
    last: Option<Caller>,
    /// The slice that ended last, if it was that of a call.
    pub(super) last_slice: Option<Slice>,
}

impl Tasks {
    fn place(&self, task: Option<GuestTaskId>) -> Option<usize> {
        self.running.iter().position(|running| Some(running.id) == task)
    }

    pub(super) fn task(&mut self, task: Option<GuestTaskId>) -> Option<&mut RunningTask> {
        let place = self.place(task)?;
        self.running.get_mut(place)
    }
}

/// An exception that ended a call, with the caller of the call.
pub(crate) struct Raised {
    pub(crate) crash: Crash,
    pub(crate) caller: Caller,
    /// Whether any client can cause it.
    pub(crate) is_of_client: bool,
}

pub(super) struct RunningTask {
    id: GuestTaskId,
    span: TaskSpan,
    pub(super) history: Shard<Arc<CallHistory>>,
    pub(super) state: CallState,
}

/// The spans of one of several calls.
pub(crate) struct TaskSpan {
    /// The span that its caller entered.
    entered: Span,
    caller: Caller,
}

impl TaskSpan {
    /// Of a call that is about to be handed to its instance.
    pub(crate) fn new(caller: &Caller) -> Self {
        Self {
            entered: Span::current(),
            caller: caller.clone(),
        }
    }

    /// The span that its caller entered. A call without one has a span of its own where the thread that polls the instance is in
    /// the span of another call.
    fn entered(&self) -> Span {
        if self.entered.is_none() && !Span::current().is_none() {
            tracing::error_span!(parent: None, "call")
        } else {
            self.entered.clone()
        }
    }

    /// The span for a line.
    fn of_line(&self) -> Span {
        let entered = self.entered();
        let span = entered.in_scope(|| self.caller.span());
        if span.is_none() { entered } else { span }
    }
}

impl Guest {
    /// A task runs a call beside others.
    pub(crate) fn task_started(
        &mut self,
        id: GuestTaskId,
        span: TaskSpan,
        history: Shard<Arc<CallHistory>>,
        arrived: Instant,
        audience: Audience,
    ) {
        let mut state = CallState::default();
        state.begin(arrived, audience);
        self.end_wasi_lines();
        // For code that goes on after its call has ended.
        self.own.begin(arrived, Audience::default());
        if self.own_printer == Some(id) {
            // The task whose id it was is gone.
            self.prints_after_its_call(None);
        }
        self.tasks.last = Some(span.caller.clone());
        self.tasks.running.push(RunningTask {
            id,
            span,
            history,
            state,
        });
    }

    /// Returns the number of tasks that still run, and the exception that ended the task.
    pub(crate) fn task_ended(&mut self, id: GuestTaskId) -> (usize, Option<Raised>) {
        let running = &mut self.tasks.running;
        let at = running.iter().position(|task| task.id == id);
        let raised = at.and_then(|at| {
            let mut ended = running.swap_remove(at);
            ended.end_lines(&self.module, &self.lines);
            let (crash, is_of_client) = ended.state.raised?;
            let caller = ended.span.caller;
            Some(Raised {
                crash,
                caller,
                is_of_client,
            })
        });
        self.end_wasi_lines();
        self.lines.end_call();
        self.emits.end_call();
        (self.tasks.running.len(), raised)
    }

    /// Takes the exception that ended the only call.
    pub(crate) fn take_raised(&mut self) -> Option<Raised> {
        let (crash, is_of_client) = self.own.raised.take()?;
        let caller = self.call.latest()?;
        Some(Raised {
            crash,
            caller,
            is_of_client,
        })
    }

    /// The history of a task that runs.
    pub(super) fn history_of(&self, task: usize) -> Option<Arc<CallHistory>> {
        self.tasks.running.get(task).map(|task| Arc::clone(&task.history))
    }

    /// The instance ends, and its tasks with it.
    pub(super) fn end_tasks(&mut self) {
        for mut task in self.tasks.running.drain(..) {
            task.end_lines(&self.module, &self.lines);
        }
    }

    /// Code prints that goes on after its call. It does not continue the line that the code of another call began.
    pub(super) fn prints_after_its_call(&mut self, task: Option<GuestTaskId>) {
        if self.own_printer != task {
            self.end_lines();
            self.own_printer = task;
        }
    }

    /// The caller of the only call.
    pub(super) fn only_caller(&self) -> Option<Caller> {
        self.call.caller()
    }

    /// The state of a task that runs, of the only call, or of code that no call runs.
    pub(super) fn state(&mut self, task: Option<usize>) -> &mut CallState {
        match task.and_then(|task| self.tasks.running.get_mut(task)) {
            Some(task) => &mut task.state,
            None => &mut self.own,
        }
    }

    /// The place of a task that runs.
    pub(super) fn place_of(&self, task: Option<GuestTaskId>) -> Option<usize> {
        self.tasks.place(task)
    }

    pub(super) fn has_tasks(&self) -> bool {
        !self.tasks.running.is_empty()
    }

    pub(super) fn task_states(&mut self) -> impl Iterator<Item = &mut CallState> {
        self.tasks.running.iter_mut().map(|task| &mut task.state)
    }

    /// The states of all calls that run.
    pub(super) fn states(&mut self) -> impl Iterator<Item = &mut CallState> {
        let running = self.tasks.running.iter_mut();
        running.map(|task| &mut task.state).chain([&mut self.own])
    }

    /// The span for a line of a task that runs, or of the only call; `None` of code that no call runs.
    pub(super) fn span_of(&self, task: Option<usize>) -> Option<Span> {
        match self.span_of_task(task) {
            Some(span) => Some(span.of_line()),
            None => self.call.line_span(),
        }
    }

    /// The entered span of a task that runs; otherwise the span of none.
    pub(super) fn entered_of(&self, task: Option<usize>) -> Span {
        self.span_of_task(task).map_or_else(Span::none, TaskSpan::entered)
    }

    /// The caller of a task that runs, or of the call that began last.
    pub(super) fn caller_of(&self, task: Option<usize>) -> Option<Caller> {
        let running = self.span_of_task(task).map(|span| span.caller.clone());
        running
            .or_else(|| self.tasks.last.clone())
            .or_else(|| self.call.caller())
    }

    fn span_of_task(&self, task: Option<usize>) -> Option<&TaskSpan> {
        Some(&self.tasks.running.get(task?)?.span)
    }
}

impl RunningTask {
    fn end_lines(&mut self, module: &str, lines: &Budget) {
        if !self.state.output.is_empty() {
            let span = Some(self.span.of_line());
            self.state.output.end(&LineLog { module, lines, span });
        }
    }
}

/// The span for a line of the call that runs.
pub(super) fn line_span<T: Send + 'static>(access: &mut Access<'_, T, HasSelf<Guest>>) -> Result<Span> {
    let task = running_task(access)?;
    Ok(access.get().span_of(task).unwrap_or_else(Span::none))
}

/// The caller of the call that writes a line.
pub(super) fn caller_of_line<T: Send + 'static>(access: &mut Access<'_, T, HasSelf<Guest>>) -> Result<Option<Caller>> {
    let task = running_task(access)?;
    let guest = access.get();
    let running = guest.span_of_task(task).map(|span| span.caller.clone());
    Ok(running.or_else(|| guest.call.latest()))
}

/// The place of the task that runs; `None` in the synchronous form, and for code that no call runs.
pub(super) fn running_task<T: Send + 'static>(access: &mut Access<'_, T, HasSelf<Guest>>) -> Result<Option<usize>> {
    if access.get().tasks.running.is_empty() {
        return Ok(None);
    }
    let call = task_of_code(access)?;
    Ok(access.get().tasks.place(call))
}

/// The task of the call that the code that runs belongs to, whether the call has ended or not.
pub(super) fn task_of_code(store: &mut impl AsContextMut) -> Result<Option<GuestTaskId>> {
    // The first task of the stack is the current one, the last one is that of the call.
    Ok(store.as_context_mut().async_call_stack()?.last())
}
