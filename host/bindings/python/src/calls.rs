//! Calls of functions of Python.

use std::sync::Arc;
use std::time::Instant;

use parking_lot::Mutex;
use pointwork_embed::http::HeaderMap;
use pointwork_embed::{
    Caller, ChannelFunction, Context, Error, ErrorKind, Failure, Function, Host, Payload, RouteFunction, at_depth,
};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};

use crate::answers::{EventAnswer, RouteAnswer, WeakHost, upgrade};
use crate::body::{Chunks, GivenPayload};
use crate::error::{GivenFailure, failed, raised};
use crate::headers::{GivenHeaders, headers};
use crate::host::operate;
use crate::message::reply_of;
use crate::thread::{WaitLimit, attached, depth, interrupt};

/// The listener that a function of Python is. It gets the event and its answer.
pub(crate) fn listener(host: &WeakHost, function: Py<PyAny>) -> ChannelFunction {
    let host = host.clone();
    Function::new(move |event: pointwork_embed::EventCall, answer| {
        let event = EventCall {
            event: Mutex::new(EventState::Live(event)),
            host: host.clone(),
        };
        run(&function, event, EventAnswer::new(answer, host.clone()));
    })
}

/// The handler that a function of Python is. It gets the request and its answer.
pub(crate) fn handler(host: &WeakHost, function: Py<PyAny>) -> RouteFunction {
    let host = host.clone();
    Function::new(move |call: pointwork_embed::RouteCall, answer| {
        let route = RouteCall::new(call.context, &host);
        run(&function, route, RouteAnswer::new(answer, host.clone()));
    })
}

fn run<Q, A>(function: &Py<PyAny>, question: Q, answer: A)
where
    for<'py> (Q, A): pyo3::call::PyCallArgs<'py>,
{
    attached(|py| match function.call1(py, (question, answer)) {
        Ok(_) => {}
        Err(error) if error.is_instance_of::<PyKeyboardInterrupt>(py) => interrupt(error),
        Err(error) => error.write_unraisable(py, Some(function.bind(py))),
    });
}

/// An event for a function of Python.
#[pyclass(frozen, module = "pointwork._pointwork")]
pub(crate) struct EventCall {
    event: Mutex<EventState>,
    host: WeakHost,
}

/// An event, or what is left of it once it is answered: an exception that a program keeps may keep it.
enum EventState {
    Live(pointwork_embed::EventCall),
    Released {
        name: String,
        payload: Payload,
        id: String,
        attempt: u32,
        request_id: Option<String>,
    },
}

impl EventCall {
    fn caller(&self) -> PyResult<Caller> {
        match &*self.event.lock() {
            EventState::Live(event) => Ok(event.caller().clone()),
            EventState::Released { .. } => Err(released("event")),
        }
    }

    fn payload<T>(&self, read: impl FnOnce(&Payload) -> T) -> T {
        match &*self.event.lock() {
            EventState::Live(event) => read(&event.payload),
            EventState::Released { payload, .. } => read(payload),
        }
    }
}

#[pymethods]
impl EventCall {
    #[getter]
    fn name(&self) -> String {
        match &*self.event.lock() {
            EventState::Live(event) => event.event().to_owned(),
            EventState::Released { name, .. } => name.clone(),
        }
    }

    #[getter]
    fn content_type(&self) -> String {
        self.payload(|payload| payload.content_type().to_owned())
    }

    #[getter]
    fn data<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        self.payload(|payload| PyBytes::new(py, payload.data()))
    }

    #[getter]
    fn id(&self) -> String {
        match &*self.event.lock() {
            EventState::Live(event) => event.id(),
            EventState::Released { id, .. } => id.clone(),
        }
    }

    #[getter]
    fn attempt(&self) -> u32 {
        match &*self.event.lock() {
            EventState::Live(event) => event.attempt(),
            EventState::Released { attempt, .. } => *attempt,
        }
    }

    #[getter]
    fn request_id(&self) -> Option<String> {
        match &*self.event.lock() {
            EventState::Live(event) => event.request_id(),
            EventState::Released { request_id, .. } => request_id.clone(),
        }
    }

    /// The seconds until nobody waits for the answer any more.
    #[getter]
    fn time_left(&self) -> Option<f64> {
        match &*self.event.lock() {
            EventState::Live(event) => event.deadline().map(left),
            EventState::Released { .. } => Some(0.0),
        }
    }

    /// The request that was handed over with the event, once.
    fn take_request(&self) -> Option<RouteCall> {
        let mut state = self.event.lock();
        let EventState::Live(event) = &mut *state else {
            return None;
        };
        Some(RouteCall::new(event.take_request()?, &self.host))
    }

    /// Calls an event in the chain of this one.
    fn call(
        &self,
        py: Python<'_>,
        event: &str,
        payload: GivenPayload<'_>,
        done: Option<Py<PyAny>>,
        limit: WaitLimit,
    ) -> PyResult<Py<PyAny>> {
        let caller = self.caller()?;
        call(py, &*upgrade(&self.host)?, caller, event, payload, done, limit)
    }

    /// Emits an event in the chain of this one.
    fn emit(&self, py: Python<'_>, event: &str, payload: GivenPayload<'_>) -> PyResult<()> {
        let (caller, payload) = (self.caller()?, payload.payload()?);
        py.detach(|| caller.emit_raw(event, payload));
        Ok(())
    }

    /// Lets the event go, which is answered.
    fn release(&self, py: Python<'_>) {
        let mut state = self.event.lock();
        let EventState::Live(event) = &*state else {
            return;
        };
        let left = EventState::Released {
            name: event.event().to_owned(),
            payload: event.payload.clone(),
            id: event.id(),
            attempt: event.attempt(),
            request_id: event.request_id(),
        };
        let released = std::mem::replace(&mut *state, left);
        drop(state);
        py.detach(|| drop(released));
    }
}

/// The error of a use after the release.
fn released(what: &str) -> PyErr {
    let message = format!("the {what} was answered with a failure, expected a use before that");
    raised(Error::new(ErrorKind::Closed, message))
}

#[expect(clippy::disallowed_methods, reason = "the caller of Python waits in real time")]
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
    limit: WaitLimit,
) -> PyResult<Py<PyAny>> {
    let (event, payload) = (event.to_owned(), payload.payload()?);
    let calling = at_depth(depth(py)?, || pointwork_embed::call(caller, event, payload));
    operate(
        py,
        host,
        calling,
        done,
        limit,
        |py, result: Result<Payload, Failure>| {
            let payload = result.map_err(|failure| failed(py, &failure))?;
            let pair = (payload.content_type(), PyBytes::new(py, payload.data()));
            Ok(pair.into_pyobject(py)?.into_any().unbind())
        },
    )
}

/// A request for a function of Python.
#[pyclass(frozen, module = "pointwork._pointwork")]
pub(crate) struct RouteCall {
    request: Mutex<RequestState>,
    host: WeakHost,
}

/// A request, or its head once it is answered, as that of [`EventState`].
#[derive(Clone)]
enum RequestState {
    Live(Context),
    Released(Arc<Head>),
}

struct Head {
    method: String,
    path: String,
    query: String,
    headers: HeaderMap,
    params: Vec<(String, String)>,
    route: String,
    request_id: String,
    peer: Option<String>,
    scheme: String,
}

impl Head {
    fn of(context: &Context) -> Self {
        Self {
            method: context.method().as_str().to_owned(),
            path: context.path().to_owned(),
            query: context.query().unwrap_or_default().to_owned(),
            headers: context.headers().clone(),
            params: params(context),
            route: context.route().path.clone(),
            request_id: context.request_id().to_string(),
            peer: context.remote_address(),
            scheme: context.scheme().to_owned(),
        }
    }
}

fn params(context: &Context) -> Vec<(String, String)> {
    let params = context.params().iter();
    params
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

impl RouteCall {
    fn new(context: Context, host: &WeakHost) -> Self {
        let (request, host) = (Mutex::new(RequestState::Live(context)), host.clone());
        Self { request, host }
    }

    fn state(&self) -> RequestState {
        self.request.lock().clone()
    }

    fn context(&self) -> PyResult<Context> {
        match self.state() {
            RequestState::Live(context) => Ok(context),
            RequestState::Released(_) => Err(released("request")),
        }
    }

    fn read<T>(&self, live: impl FnOnce(&Context) -> T, head: impl FnOnce(&Head) -> T) -> T {
        match &*self.request.lock() {
            RequestState::Live(context) => live(context),
            RequestState::Released(kept) => head(kept),
        }
    }
}

#[pymethods]
impl RouteCall {
    #[getter]
    fn method(&self) -> String {
        self.read(
            |context| context.method().as_str().to_owned(),
            |head| head.method.clone(),
        )
    }

    #[getter]
    fn path(&self) -> String {
        self.read(|context| context.path().to_owned(), |head| head.path.clone())
    }

    #[getter]
    fn query(&self) -> String {
        self.read(
            |context| context.query().unwrap_or_default().to_owned(),
            |head| head.query.clone(),
        )
    }

    #[getter]
    fn headers<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        // Python allocates, and may run other code: not behind the lock.
        match self.state() {
            RequestState::Live(context) => headers(py, context.headers()),
            RequestState::Released(head) => headers(py, &head.headers),
        }
    }

    #[getter]
    fn params(&self) -> Vec<(String, String)> {
        self.read(params, |head| head.params.clone())
    }

    #[getter]
    fn route(&self) -> String {
        self.read(|context| context.route().path.clone(), |head| head.route.clone())
    }

    #[getter]
    fn request_id(&self) -> String {
        self.read(
            |context| context.request_id().to_string(),
            |head| head.request_id.clone(),
        )
    }

    #[getter]
    fn peer(&self) -> Option<String> {
        self.read(Context::remote_address, |head| head.peer.clone())
    }

    #[getter]
    fn scheme(&self) -> String {
        self.read(|context| context.scheme().to_owned(), |head| head.scheme.clone())
    }

    #[getter]
    fn is_cancelled(&self) -> bool {
        self.read(Context::is_cancelled, |_| true)
    }

    #[getter]
    fn time_left(&self) -> Option<f64> {
        self.read(|context| context.deadline().map(left), |_| Some(0.0))
    }

    /// The body, once.
    fn body(&self, py: Python<'_>) -> PyResult<Chunks> {
        let body = upgrade(&self.host)?.request_body(&self.context()?);
        body.map(Chunks::new).map_err(|failure| failed(py, &failure))
    }

    /// Replies to a request that was handed over, or whose function answered without a reply.
    fn reply(
        &self,
        py: Python<'_>,
        status: u16,
        headers: GivenHeaders<'_>,
        body: Option<Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let context = self.context()?;
        let reply = reply_of(&*upgrade(&self.host)?, status, &headers, body.as_ref())?;
        let sent = py.detach(|| context.send(reply));
        sent.map_err(|failure| failed(py, &failure))
    }

    /// Fails such a request.
    fn fail(&self, py: Python<'_>, failure: GivenFailure<'_>) -> PyResult<()> {
        let (context, failure) = (self.context()?, failure.failure()?);
        let sent = py.detach(|| context.send(failure));
        sent.map_err(|failure| failed(py, &failure))
    }

    /// Hands the request over with an event.
    fn hand_over(&self, py: Python<'_>, event: &str, payload: GivenPayload<'_>) -> PyResult<()> {
        let (context, payload) = (self.context()?, payload.payload()?);
        let given = py.detach(|| context.hand_over_raw(event, payload));
        given.map_err(|failure| failed(py, &failure))
    }

    /// Calls an event in the chain of this request.
    fn call(
        &self,
        py: Python<'_>,
        event: &str,
        payload: GivenPayload<'_>,
        done: Option<Py<PyAny>>,
        limit: WaitLimit,
    ) -> PyResult<Py<PyAny>> {
        let caller = self.context()?.caller().clone();
        call(py, &*upgrade(&self.host)?, caller, event, payload, done, limit)
    }

    /// Emits an event in the chain of this request.
    fn emit(&self, py: Python<'_>, event: &str, payload: GivenPayload<'_>) -> PyResult<()> {
        let (context, payload) = (self.context()?, payload.payload()?);
        py.detach(|| context.caller().emit_raw(event, payload));
        Ok(())
    }

    /// Lets the request go, which is answered. Its head stays.
    fn release(&self, py: Python<'_>) {
        let mut state = self.request.lock();
        let RequestState::Live(context) = &*state else {
            return;
        };
        let head = RequestState::Released(Arc::new(Head::of(context)));
        let released = std::mem::replace(&mut *state, head);
        drop(state);
        py.detach(|| drop(released));
    }
}
