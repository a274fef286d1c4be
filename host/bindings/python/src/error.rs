//! Errors and failures as exceptions. Their classes are those of `pointwork._errors`.

use pointwork_embed::http::StatusCode;
use pointwork_embed::{AnswerError, Error, ErrorKind, Failure, FailureCode, with_details};
use pyo3::exceptions::{PyRuntimeError, PyTimeoutError, PyValueError};
use pyo3::prelude::*;

use crate::headers::{GivenHeaders, headers, headers_of};
use crate::thread::attached;

/// The exception of an error.
pub(crate) fn raised(error: Error) -> PyErr {
    let class = match error.kind() {
        ErrorKind::TimedOut => return PyTimeoutError::new_err(error.to_string()),
        ErrorKind::Component => "ComponentError",
        ErrorKind::Refused => "RefusedError",
        ErrorKind::Settings => "SettingsError",
        ErrorKind::Host => "HostError",
        ErrorKind::Closed => "ClosedError",
        ErrorKind::Forked => "ForkedError",
        ErrorKind::Nested => "NestedError",
        ErrorKind::Engine => "EngineError",
        _ => "Error",
    };
    let message = error.to_string();
    attached(|py| made(py, class, (message,))).unwrap_or_else(|| PyValueError::new_err("the interpreter ends"))
}

/// The exception of a failure.
pub(crate) fn failed(py: Python<'_>, failure: &Failure) -> PyErr {
    let details = failure
        .details()
        .map(|details| serde_json::to_string(details).unwrap_or_default());
    let headers = match headers(py, failure.headers()) {
        Ok(headers) => headers,
        Err(error) => return error,
    };
    let arguments = (
        failure.status().as_u16(),
        failure.to_string(),
        failure.code().as_str(),
        details,
        headers,
        failure.is_mistake(),
    );
    made(py, "_failure", arguments)
}

/// The failure of that code with the status and the headers that follow from the code, as an exception.
#[pyfunction]
pub(crate) fn failure_of(py: Python<'_>, code: &str, message: String) -> PyResult<Py<PyAny>> {
    let failure = Failure::of(FailureCode::new(code.to_owned()), message);
    Ok(failed(py, &failure).into_value(py).into_any())
}

/// The exception of a body that broke off.
pub(crate) fn broken(py: Python<'_>, reason: String) -> PyErr {
    made(py, "BodyError", (reason,))
}

fn made<'py>(py: Python<'py>, class: &str, arguments: impl pyo3::call::PyCallArgs<'py>) -> PyErr {
    let make = || py.import("pointwork._errors")?.getattr(class)?.call1(arguments);
    match make() {
        Ok(error) => PyErr::from_value(error),
        Err(error) => error,
    }
}

/// A failure that a function raised: status, message, code, details as JSON, and headers.
#[derive(FromPyObject)]
pub(crate) struct GivenFailure<'py>(i64, String, Option<String>, Option<String>, GivenHeaders<'py>);

impl GivenFailure<'_> {
    /// The failure.
    ///
    /// # Errors
    /// The status, the details or the headers cannot be those of a failure.
    pub(crate) fn failure(self) -> PyResult<Failure> {
        let Self(status, message, code, details, headers) = self;
        let status = u16::try_from(status)
            .ok()
            .and_then(|status| StatusCode::from_u16(status).ok())
            .ok_or_else(|| PyValueError::new_err(format!("the status is `{status}`, expected 400 to 599")))?;
        let code = code.map_or(FailureCode::FAILED, FailureCode::new);
        let mut failure = Failure::with_code(code, status, message);
        if let Some(details) = details {
            failure = with_details(failure, &details).map_err(PyValueError::new_err)?;
        }
        for (name, value) in &headers_of(&headers)? {
            failure = failure.header(name.clone(), value.clone());
        }
        Ok(failure)
    }
}

/// The error of a use after the application was closed.
pub(crate) fn closed() -> PyErr {
    raised(Error::new(ErrorKind::Closed, "the application is closed"))
}

/// The result of an answer. One that nobody waits for any more is lost without an error.
pub(crate) fn answered(sent: Result<(), AnswerError>) -> PyResult<()> {
    match sent {
        Err(error @ AnswerError::Twice) => Err(PyRuntimeError::new_err(error.to_string())),
        _ => Ok(()),
    }
}
