//! Requests and replies.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use parking_lot::Mutex;
use pointwork_embed::http::{Method, Request, Response, StatusCode, Uri};
use pointwork_embed::{Body, Ended, Host, Peer, Progress};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};

use crate::body::{Chunks, body_of};
use crate::headers::{GivenHeaders, headers, headers_of};
use crate::thread::attached;

/// A request as Python gives it: method, target, headers as pairs of bytes, body, its length, peer, and whether it came by
/// https.
#[derive(FromPyObject)]
pub(crate) struct GivenRequest<'py>(
    String,
    String,
    GivenHeaders<'py>,
    Option<Bound<'py, PyAny>>,
    Option<u64>,
    Option<(String, u16)>,
    bool,
);

impl GivenRequest<'_> {
    /// The request.
    ///
    /// # Errors
    /// `ValueError` names the part that cannot be in a request.
    pub(crate) fn request(self, host: &Host) -> PyResult<Request<Body>> {
        let Self(method, target, headers, body, length, peer, is_secure) = self;
        let mut request = Request::new(body_of(host, body.as_ref(), length)?);
        *request.method_mut() = Method::from_bytes(method.as_bytes())
            .map_err(|_| PyValueError::new_err(format!("the method is `{method}`, expected an HTTP token")))?;
        *request.uri_mut() = Uri::try_from(&*target).map_err(|error| {
            PyValueError::new_err(format!(
                "the target is `{target}`, expected one such as `/products?page=2`: {error}"
            ))
        })?;
        *request.headers_mut() = headers_of(&headers)?;
        let peer = match peer {
            Some((host, port)) => host.parse::<IpAddr>().ok().map(|ip| SocketAddr::new(ip, port)),
            None => None,
        };
        request.extensions_mut().insert(Peer::new(peer, is_secure));
        Ok(request)
    }
}

/// The reply that Python gives.
///
/// # Errors
/// `ValueError` names the part that cannot be in a reply.
pub(crate) fn reply_of(
    host: &Host,
    status: u16,
    headers: &GivenHeaders<'_>,
    body: Option<&Bound<'_, PyAny>>,
) -> PyResult<Response<Body>> {
    let mut reply = Response::new(body_of(host, body, None)?);
    *reply.status_mut() = StatusCode::from_u16(status)
        .map_err(|_| PyValueError::new_err(format!("the status is `{status}`, expected 100 to 999")))?;
    *reply.headers_mut() = headers_of(headers)?;
    Ok(reply)
}

/// A reply for Python: status, headers, and the body as bytes or [`Chunks`].
pub(crate) fn reply<'py>(py: Python<'py>, host: &Host, reply: Response<Body>) -> PyResult<Bound<'py, PyTuple>> {
    let (head, body) = reply.into_parts();
    let headers = headers(py, &head.headers)?;
    let body = match body.try_into_bytes() {
        Ok(bytes) => PyBytes::new(py, &bytes).into_any(),
        Err(body) => Bound::new(py, Chunks::new(host.chunks(body)))?.into_any(),
    };
    (head.status.as_u16(), headers, body).into_pyobject(py)
}

/// A request without a reply so far.
#[pyclass(frozen, module = "pointwork._pointwork")]
pub(crate) struct InFlight {
    request: pointwork_embed::InFlight,
    end: Arc<End>,
    host: Host,
}

/// The end of a request, and the function that gets it: whichever comes first waits for the other.
#[derive(Default)]
pub(crate) struct End(Mutex<Slot>);

#[derive(Default)]
enum Slot {
    #[default]
    Empty,
    Waits(Host, Py<PyAny>),
    Ended(Ended),
}

impl End {
    pub(crate) fn put(&self, ended: Ended) {
        let mut slot = self.0.lock();
        match std::mem::take(&mut *slot) {
            Slot::Waits(host, done) => {
                drop(slot);
                attached(|py| call_done(py, &host, &done, ended));
            }
            _ => *slot = Slot::Ended(ended),
        }
    }
}

fn call_done(py: Python<'_>, host: &Host, done: &Py<PyAny>, ended: Ended) {
    let called = match ended {
        Ended::Reply(reply) => self::reply(py, host, reply).and_then(|reply| done.call1(py, (reply,))),
        Ended::Cancelled => done.call1(py, (py.None(),)),
    };
    if let Err(error) = called {
        error.write_unraisable(py, Some(done.bind(py)));
    }
}

#[pymethods]
impl InFlight {
    /// Has `done` called with the reply, or with `None` if the request was cancelled; once, on any thread.
    fn then(&self, py: Python<'_>, done: Py<PyAny>) {
        let mut slot = self.end.0.lock();
        match std::mem::take(&mut *slot) {
            Slot::Ended(ended) => {
                drop(slot);
                call_done(py, &self.host, &done, ended);
            }
            _ => *slot = Slot::Waits(self.host.clone(), done),
        }
    }

    /// Cancels the request.
    fn cancel(&self, py: Python<'_>) {
        py.detach(|| self.request.cancel());
    }
}

/// What Python gets of a request's first poll: a reply, [`InFlight`], or `None` if the request is not ours.
pub(crate) fn progress(py: Python<'_>, host: &Host, progress: Progress, end: Arc<End>) -> PyResult<Py<PyAny>> {
    match progress {
        Progress::Ready(reply) => Ok(self::reply(py, host, reply)?.into_any().unbind()),
        Progress::Pending(request) => {
            let host = host.clone();
            Ok(Py::new(py, InFlight { request, end, host })?.into_any())
        }
        Progress::NotOurs(_) => Ok(py.None()),
    }
}
