//! The native part of the Python package `pointwork`. Its users see `python/pointwork`, which wraps every function of this
//! module; what is here only converts values and keeps the rules of the interpreter.
//!
//! The interpreter's lock (GIL) is released around every call of the application that may wait, since another of its threads may
//! wait for the lock while it holds one of the application's. An answer of a function only wakes its caller, and keeps the lock:
//! released, the caller and the function would wait for it in turn.

mod answers;
mod body;
mod calls;
mod error;
mod headers;
mod host;
mod message;
mod thread;

use pyo3::pymodule;

/// The native module.
#[pymodule]
mod _pointwork {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::answers::{EventAnswer, RouteAnswer};
    #[pymodule_export]
    use crate::body::{ChunkAnswer, Chunks};
    #[pymodule_export]
    use crate::calls::{EventCall, RouteCall};
    #[pymodule_export]
    use crate::error::failure_of;
    #[pymodule_export]
    use crate::host::{Accepted, Host, Mount, Operation, Server, write_log};
    #[pymodule_export]
    use crate::message::InFlight;
    #[pymodule_export]
    use crate::thread::{depth, end};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        crate::thread::refuse_subinterpreters(module.py())?;
        module.add("DEPTH", crate::thread::depth_variable(module.py())?)?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
