//! The answers of functions of Python.

use std::sync::{Arc, Weak};

use pointwork_embed::http::Response;
use pointwork_embed::{Answer, AnswerCell, Body, Fault, Host, Payload};
use pyo3::prelude::*;

use crate::body::GivenPayload;
use crate::error::{GivenFailure, answered, closed};
use crate::headers::GivenHeaders;
use crate::message::reply_of;
use crate::thread::attached;

/// The application of a function. A function does not keep it alive: the application keeps the function.
pub(crate) type WeakHost = Weak<Host>;

/// The application.
///
/// # Errors
/// `ClosedError`: it is gone.
pub(crate) fn upgrade(host: &WeakHost) -> PyResult<Arc<Host>> {
    host.upgrade().ok_or_else(closed)
}

/// Has `gone` called once nobody waits for the answer any more, if that is before the answer.
pub(crate) fn when_gone<A: Send + 'static>(py: Python<'_>, answer: &AnswerCell<A>, host: Host, gone: Py<PyAny>) {
    let call = move || {
        attached(|py| {
            if let Err(error) = gone.call0(py) {
                error.write_unraisable(py, Some(gone.bind(py)));
            }
        });
    };
    py.detach(move || host.when_gone(answer, call));
}

/// Answers an event, once.
#[pyclass(frozen, module = "pointwork._pointwork")]
pub(crate) struct EventAnswer {
    answer: AnswerCell<Result<Payload, Fault>>,
    host: WeakHost,
}

impl EventAnswer {
    pub(crate) fn new(answer: Answer<Result<Payload, Fault>>, host: WeakHost) -> Self {
        let answer = answer.into();
        Self { answer, host }
    }
}

#[pymethods]
impl EventAnswer {
    fn value(&self, payload: GivenPayload<'_>) -> PyResult<()> {
        let payload = payload.payload()?;
        answered(self.answer.send(Ok(payload)))
    }

    fn failed(&self, failure: GivenFailure<'_>) -> PyResult<()> {
        let failure = failure.failure()?;
        answered(self.answer.send(Err(Fault::Failed(failure))))
    }

    fn threw(&self, text: String) -> PyResult<()> {
        answered(self.answer.send(Err(Fault::Threw(text))))
    }

    fn when_gone(&self, py: Python<'_>, gone: Py<PyAny>) -> PyResult<()> {
        when_gone(py, &self.answer, Host::clone(&*upgrade(&self.host)?), gone);
        Ok(())
    }
}

/// Answers a request, once.
#[pyclass(frozen, module = "pointwork._pointwork")]
pub(crate) struct RouteAnswer {
    answer: AnswerCell<Result<Option<Response<Body>>, Fault>>,
    host: WeakHost,
}

impl RouteAnswer {
    pub(crate) fn new(answer: Answer<Result<Option<Response<Body>>, Fault>>, host: WeakHost) -> Self {
        let answer = answer.into();
        Self { answer, host }
    }
}

#[pymethods]
impl RouteAnswer {
    fn reply(&self, status: u16, headers: GivenHeaders<'_>, body: Option<Bound<'_, PyAny>>) -> PyResult<()> {
        let reply = reply_of(&*upgrade(&self.host)?, status, &headers, body.as_ref())?;
        answered(self.answer.send(Ok(Some(reply))))
    }

    /// Leaves the reply to the holder of the request.
    fn defer(&self) -> PyResult<()> {
        answered(self.answer.send(Ok(None)))
    }

    fn failed(&self, failure: GivenFailure<'_>) -> PyResult<()> {
        let failure = failure.failure()?;
        answered(self.answer.send(Err(Fault::Failed(failure))))
    }

    fn threw(&self, text: String) -> PyResult<()> {
        answered(self.answer.send(Err(Fault::Threw(text))))
    }

    fn when_gone(&self, py: Python<'_>, gone: Py<PyAny>) -> PyResult<()> {
        when_gone(py, &self.answer, Host::clone(&*upgrade(&self.host)?), gone);
        Ok(())
    }
}
