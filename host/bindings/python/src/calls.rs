//! Calls of functions of Python.

use std::time::Instant;

use parking_lot::Mutex;
use pointwork_embed::{Caller, ChannelFunction, Context, Error, Failure, Function, Host, Payload, RouteFunction};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};

use crate::answers::{EventAnswer, RouteAnswer, WeakHost, up};
use crate::body::{GivenPayload, Pieces};
use crate::error::{GivenFailure, failed};
use crate::headers::{GivenHeaders, headers};
use crate::host::operate;
use crate::message::reply_of;
use crate::thread::attached;

/// The listener that a function of Python is. It gets the event and its answer.
pub(crate) fn listener(host: &WeakHost, function: Py<PyAny>) -> ChannelFunction {
    let host = host.clone();
    Function::new(move |event: pointwork_embed::EventCall, answer| {
        let event = EventCall {
            event: Mutex::new(event),
            host: host.clone(),
        };
        run(&function, event, EventAnswer::new(answer, host.clone()));
    })
}

/// The handler that a function of Python is. It gets the request and its answer.
pub(crate) fn handler(host: &WeakHost, function: Py<PyAny>) -> RouteFunction {
    let host = host.clone();
    Function::new(move |call: pointwork_embed::RouteCall, answer| {
        let route = RouteCall {
            context: call.context,
            host: host.clone(),
        };
        run(&function, route, RouteAnswer::new(answer, host.clone()));
    })
}

fn run<Q, A>(function: &Py<PyAny>, question: Q, answer: A)
where
    for<'py> (Q, A): pyo3::call::PyCallArgs<'py>,
{
    attached(|py| {
        if let Err(error) = function.call1(py, (question, answer)) {
            error.write_unraisable(py, Some(function.bind(py)));
        }
    });
}

/// An event for a function of Python.
#[pyclass(frozen, module = "pointwork._pointwork")]
pub(crate) struct EventCall {
    event: Mutex<pointwork_embed::EventCall>,
    host: WeakHost,
}

#[pymethods]
impl EventCall {
    #[getter]
    fn name(&self) -> String {
        self.event.lock().event().to_owned()
    }

    #[getter]
    fn content_type(&self) -> String {
        self.event.lock().payload.content_type().to_owned()
    }

    #[getter]
    fn data<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.event.lock().payload.data())
    }

    #[getter]
    fn request_id(&self) -> Option<String> {
        self.event.lock().request_id()
    }

    /// The seconds until nobody waits for the answer any more.
    #[getter]
    fn time_left(&self) -> Option<f64> {
        self.event.lock().deadline().map(left)
    }

    /// The request that was handed over with the event, once.
    fn take_request(&self) -> Option<RouteCall> {
        let context = self.event.lock().take_request()?;
        let host = self.host.clone();
        Some(RouteCall { context, host })
    }

    /// Calls an event in the chain of this one.
    fn call(
        &self,
        py: Python<'_>,
        event: &str,
        payload: GivenPayload<'_>,
        done: Option<Py<PyAny>>,
    ) -> PyResult<Py<PyAny>> {
        let caller = self.event.lock().caller().clone();
        call(py, &*up(&self.host)?, caller, event, payload, done)
    }

    /// Emits an event in the chain of this one.
    fn emit(&self, py: Python<'_>, event: &str, payload: GivenPayload<'_>) -> PyResult<()> {
        let (caller, payload) = (self.event.lock().caller().clone(), payload.payload()?);
        py.detach(|| caller.emit_raw(event, payload));
        Ok(())
    }
}

fn left(deadline: Instant) -> f64 {
    deadline.saturating_duration_since(Instant::now()).as_secs_f64()
}

/// Calls an event; the result is a pair of content type and data.
pub(crate) fn call(
    py: Python<'_>,
    host: &Host,
    caller: Caller,
    event: &str,
    payload: GivenPayload<'_>,
    done: Option<Py<PyAny>>,
) -> PyResult<Py<PyAny>> {
    let (event, payload) = (event.to_owned(), payload.payload()?);
    let calling = async move { Ok::<_, Error>(caller.call_raw(&event, payload).await) };
    operate(py, host, calling, done, |py, result: Result<Payload, Failure>| {
        let payload = result.map_err(|failure| failed(py, &failure))?;
        let pair = (payload.content_type(), PyBytes::new(py, payload.data()));
        Ok(pair.into_pyobject(py)?.into_any().unbind())
    })
}

/// A request for a function of Python.
#[pyclass(frozen, module = "pointwork._pointwork")]
pub(crate) struct RouteCall {
    context: Context,
    host: WeakHost,
}

#[pymethods]
impl RouteCall {
    #[getter]
    fn method(&self) -> &str {
        self.context.method().as_str()
    }

    #[getter]
    fn path(&self) -> &str {
        self.context.path()
    }

    #[getter]
    fn query(&self) -> &str {
        self.context.query().unwrap_or_default()
    }

    #[getter]
    fn headers<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        headers(py, self.context.headers())
    }

    #[getter]
    fn params(&self) -> Vec<(String, String)> {
        let params = self.context.params().iter();
        params
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect()
    }

    #[getter]
    fn route(&self) -> &str {
        &self.context.route().path
    }

    #[getter]
    fn request_id(&self) -> String {
        self.context.request_id().to_string()
    }

    #[getter]
    fn peer(&self) -> Option<String> {
        self.context.remote_address()
    }

    #[getter]
    fn scheme(&self) -> &str {
        self.context.scheme()
    }

    #[getter]
    fn is_cancelled(&self) -> bool {
        self.context.is_cancelled()
    }

    #[getter]
    fn time_left(&self) -> Option<f64> {
        self.context.deadline().map(left)
    }

    /// The body, once.
    fn body(&self, py: Python<'_>) -> PyResult<Pieces> {
        let body = up(&self.host)?.request_body(&self.context);
        body.map(Pieces::new).map_err(|failure| failed(py, &failure))
    }

    /// Replies to a request that was handed over, or whose function answered without a reply.
    fn reply(
        &self,
        py: Python<'_>,
        status: u16,
        headers: GivenHeaders<'_>,
        body: Option<Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let reply = reply_of(&*up(&self.host)?, status, &headers, body.as_ref())?;
        let sent = py.detach(|| self.context.send(reply));
        sent.map_err(|failure| failed(py, &failure))
    }

    /// Fails such a request.
    fn fail(&self, py: Python<'_>, failure: GivenFailure<'_>) -> PyResult<()> {
        let failure = failure.failure()?;
        let sent = py.detach(|| self.context.send(failure));
        sent.map_err(|failure| failed(py, &failure))
    }

    /// Hands the request over with an event.
    fn hand_over(&self, py: Python<'_>, event: &str, payload: GivenPayload<'_>) -> PyResult<()> {
        let payload = payload.payload()?;
        let given = py.detach(|| self.context.clone().hand_over_raw(event, payload));
        given.map_err(|failure| failed(py, &failure))
    }

    /// Calls an event in the chain of this request.
    fn call(
        &self,
        py: Python<'_>,
        event: &str,
        payload: GivenPayload<'_>,
        done: Option<Py<PyAny>>,
    ) -> PyResult<Py<PyAny>> {
        let caller = self.context.caller().clone();
        call(py, &*up(&self.host)?, caller, event, payload, done)
    }

    /// Emits an event in the chain of this request.
    fn emit(&self, py: Python<'_>, event: &str, payload: GivenPayload<'_>) -> PyResult<()> {
        let payload = payload.payload()?;
        py.detach(|| self.context.caller().emit_raw(event, payload));
        Ok(())
    }
}
