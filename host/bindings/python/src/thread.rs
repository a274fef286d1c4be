//! Threads and the interpreter's lock.

use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use pointwork_embed::{Error, Waiting, at_depth};
use pyo3::exceptions::{PyRuntimeError, PyTimeoutError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

use crate::error::raised;

/// How often a thread that waits looks for signals, such as Ctrl-C.
const LOOK: Duration = Duration::from_millis(50);

/// Whether the interpreter is about to end: no thread of an application may enter it any more.
static ENDED: AtomicBool = AtomicBool::new(false);

/// Keeps all threads of applications out of the interpreter, which is about to end.
#[pyfunction]
pub(crate) fn end() {
    ENDED.store(true, Ordering::SeqCst);
}

/// Threads of applications enter the main interpreter only.
///
/// # Errors
/// `ImportError` in another one.
pub(crate) fn refuse_subinterpreters(_: Python<'_>) -> PyResult<()> {
    // SAFETY: the thread holds the lock, so that it has an interpreter.
    let id = unsafe { ffi::PyInterpreterState_GetID(ffi::PyInterpreterState_Get()) };
    if id == 0 {
        return Ok(());
    }
    let message = "pointwork was imported in a subinterpreter, expected the main interpreter";
    Err(pyo3::exceptions::PyImportError::new_err(message))
}

/// The state of this thread in the interpreter, for the whole of the thread's life. Without it each entry would make one: 16 µs.
struct ThreadState(ffi::PyGILState_STATE);

impl ThreadState {
    /// For a thread that the interpreter does not know.
    fn new() -> Self {
        // SAFETY: the thread has no state, so it does not hold the lock; the state that is made is detached at once, and stays.
        unsafe {
            let first = ffi::PyGILState_Ensure();
            ffi::PyEval_SaveThread();
            Self(first)
        }
    }
}

impl Drop for ThreadState {
    fn drop(&mut self) {
        if ENDED.load(Ordering::SeqCst) {
            return;
        }
        // SAFETY: the thread ends, and is in no call of the interpreter. The second release balances that of `new`, and frees
        // the state; it needs the lock, which the first keeps.
        unsafe {
            ffi::PyGILState_Ensure();
            ffi::PyGILState_Release(ffi::PyGILState_STATE::PyGILState_LOCKED);
            ffi::PyGILState_Release(self.0);
        }
    }
}

thread_local! {
    static THREAD_STATE: ThreadState = ThreadState::new();
}

/// Enters the interpreter; `None` if it ended.
pub(crate) fn attached<R>(f: impl FnOnce(Python<'_>) -> R) -> Option<R> {
    if ENDED.load(Ordering::SeqCst) {
        return None;
    }
    // SAFETY: it may be called on any thread, at any time.
    let unknown = unsafe { ffi::PyGILState_GetThisThreadState().is_null() };
    if unknown {
        // A thread that is at its end has no locals any more: it enters for this once.
        let _ = THREAD_STATE.try_with(|_| {});
    }
    Python::try_attach(f)
}

/// The variable of the context which has the depth of the request that a function answers: a function goes on in tasks
/// and on threads that the application does not know.
static DEPTH: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

/// The variable.
pub(crate) fn depth_variable(py: Python<'_>) -> PyResult<&Py<PyAny>> {
    DEPTH.get_or_try_init(py, || {
        let options = pyo3::types::PyDict::new(py);
        options.set_item("default", 0)?;
        let variable = py.import("contextvars")?.getattr("ContextVar")?;
        Ok(variable.call(("pointwork_depth",), Some(&options))?.unbind())
    })
}

/// The number of requests and calls that the code which runs is within.
#[pyfunction]
pub(crate) fn depth(py: Python<'_>) -> PyResult<usize> {
    let of_context: usize = depth_variable(py)?
        .bind(py)
        .call_method0(pyo3::intern!(py, "get"))?
        .extract()?;
    Ok(of_context.max(pointwork_embed::depth()))
}

/// Asks the application for something, without the interpreter's lock, within the request that the code answers.
pub(crate) fn within<T: Send>(py: Python<'_>, ask: impl FnOnce() -> T + Send) -> PyResult<T> {
    let depth = depth(py)?;
    let asked = py.detach(|| at_depth(depth, ask));
    INTERRUPT.take().map_or(Ok(asked), Err)
}

thread_local! {
    static INTERRUPT: RefCell<Option<PyErr>> = const { RefCell::new(None) };
}

/// Has Ctrl-C, which ended a function on this thread, raised where the program asked the application.
pub(crate) fn interrupt(error: PyErr) {
    INTERRUPT.set(Some(error));
}

/// How long a thread waits: at most a number of seconds, which the package has checked. On the thread of an event loop it does
/// not wait at all: the text names the form to use instead.
#[derive(FromPyObject)]
pub(crate) struct WaitLimit(Option<f64>, Option<String>);

impl WaitLimit {
    fn time(&self) -> Option<Duration> {
        match self {
            Self(_, Some(_)) => Some(Duration::ZERO),
            // A time that no clock has room for does not end.
            Self(seconds, None) => seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds.max(0.0)).ok()),
        }
    }

    /// The exception of a wait that reached the limit.
    fn exceeded(self) -> PyErr {
        match self {
            Self(_, Some(instead)) => PyRuntimeError::new_err(format!(
                "the call would hold up the event loop that runs on this thread, expected {instead}"
            )),
            Self(Some(seconds), None) => {
                PyTimeoutError::new_err(format!("the call did not end within its timeout of {seconds} s"))
            }
            Self(None, None) => PyRuntimeError::new_err("the interpreter ends"),
        }
    }
}

/// Waits without the interpreter's lock, and takes signals.
pub(crate) fn wait_interruptibly<T: Send>(
    py: Python<'_>,
    limit: WaitLimit,
    wait: impl FnOnce(Waiting<'_>) -> Result<Option<T>, Error> + Send,
) -> PyResult<T> {
    let time = limit.time();
    let (waited, signal) = within(py, || {
        let mut signal = None;
        let mut look = || match attached(|py| py.check_signals()) {
            Some(Ok(())) => true,
            Some(Err(error)) => {
                signal = Some(error);
                false
            }
            None => false,
        };
        let waited = wait(Waiting::looking_up(LOOK, &mut look).at_most(time));
        (waited, signal)
    })?;
    match (waited.map_err(raised)?, signal) {
        (Some(value), _) => Ok(value),
        (None, Some(signal)) => Err(signal),
        (None, None) => Err(limit.exceeded()),
    }
}

/// A function of Python that is freed at its drop. Without the lock an object would wait for the next entry.
pub(crate) struct Held(Option<Py<PyAny>>);

impl Held {
    pub(crate) fn new(object: Py<PyAny>) -> Self {
        Self(Some(object))
    }

    /// The function.
    ///
    /// # Errors
    /// Whatever it raises.
    pub(crate) fn call(&self, py: Python<'_>, arguments: impl for<'py> pyo3::call::PyCallArgs<'py>) -> PyResult<()> {
        match &self.0 {
            Some(object) => object.call1(py, arguments).map(|_| ()),
            None => Ok(()),
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let object = self.0.take();
        attached(|_| drop(object));
    }
}
