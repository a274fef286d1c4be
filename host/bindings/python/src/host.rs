//! Applications, mounts and servers.

use std::future::{Future, poll_fn};
use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll, Waker};

use parking_lot::Mutex;
use pointwork_embed::http::Request;
use pointwork_embed::{
    Body, BodyMode, Component, Error, ErrorKind, Host as Embedded, Level, LogLine, Place, Progress, RouteOptions,
    Threads,
};
use pyo3::prelude::*;

use crate::answers::WeakHost;
use crate::body::GivenPayload;
use crate::body::bytes_of;
use crate::calls;
use crate::error::{closed, raised};
use crate::message::{End, GivenRequest, progress, reply};
use crate::thread::{WaitLimit, attached, wait_interruptibly, within};

/// An operation on the threads of the application.
#[pyclass(frozen, module = "pointwork._pointwork")]
pub(crate) struct Operation(Arc<Mutex<Cancelling>>);

#[derive(Default)]
struct Cancelling {
    is_cancelled: bool,
    waker: Option<Waker>,
}

impl Cancelling {
    /// Whether the operation is cancelled; if not, it is woken by its cancellation.
    fn is_cancelled(&mut self, cx: &TaskContext<'_>) -> bool {
        if !self.is_cancelled {
            self.waker = Some(cx.waker().clone());
        }
        self.is_cancelled
    }
}

#[pymethods]
impl Operation {
    /// Ends the operation, whose result is lost.
    fn cancel(&self, py: Python<'_>) {
        let waker = {
            let mut cancelling = self.0.lock();
            cancelling.is_cancelled = true;
            cancelling.waker.take()
        };
        py.detach(|| waker.map(Waker::wake));
    }
}

async fn unless_cancelled<T>(
    operation: impl Future<Output = Result<T, Error>>,
    cancelling: Arc<Mutex<Cancelling>>,
) -> Result<T, Error> {
    let mut operation = pin!(operation);
    poll_fn(|cx| match operation.as_mut().poll(cx) {
        Poll::Pending if cancelling.lock().is_cancelled(cx) => {
            Poll::Ready(Err(Error::new(ErrorKind::Closed, "the operation was cancelled")))
        }
        progress => progress,
    })
    .await
}

/// Runs an operation: on the calling thread, which waits, or on the application's threads, where it can be cancelled;
/// then `done` is called with the result and the exception, one of which is `None`.
pub(crate) fn operate<T: Send + 'static>(
    py: Python<'_>,
    host: &Embedded,
    operation: impl Future<Output = Result<T, Error>> + Send + 'static,
    done: Option<Py<PyAny>>,
    limit: WaitLimit,
    convert: fn(Python<'_>, T) -> PyResult<Py<PyAny>>,
) -> PyResult<Py<PyAny>> {
    let Some(done) = done else {
        let value = wait_interruptibly(py, limit, |waiting| host.wait(operation, waiting))?;
        return convert(py, value);
    };
    let settle = move |result: Result<T, Error>| {
        attached(|py| {
            let called = match result.map_err(raised).and_then(|value| convert(py, value)) {
                Ok(value) => done.call1(py, (value, py.None())),
                Err(error) => done.call1(py, (py.None(), error)),
            };
            if let Err(error) = called {
                error.write_unraisable(py, Some(done.bind(py)));
            }
        });
    };
    let cancelling = Arc::<Mutex<Cancelling>>::default();
    let operation = unless_cancelled(operation, cancelling.clone());
    within(py, || host.run(operation, settle))?.map_err(raised)?;
    Ok(Py::new(py, Operation(cancelling))?.into_any())
}

fn none(py: Python<'_>, (): ()) -> PyResult<Py<PyAny>> {
    Ok(py.None())
}

/// Something as a text of JSON.
fn json(py: Python<'_>, text: String) -> PyResult<Py<PyAny>> {
    Ok(text.into_pyobject(py)?.into_any().unbind())
}

/// An application.
#[pyclass(frozen, module = "pointwork._pointwork")]
pub(crate) struct Host {
    /// `None` once it is closed.
    host: Arc<Mutex<Option<Arc<Embedded>>>>,
    process: u32,
}

impl Host {
    fn get(&self) -> PyResult<Arc<Embedded>> {
        self.host.lock().clone().ok_or_else(closed)
    }

    fn weak(&self) -> PyResult<WeakHost> {
        Ok(Arc::downgrade(&self.get()?))
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        let Some(host) = self.host.lock().take() else {
            return;
        };
        if std::process::id() == self.process {
            Python::try_attach(|py| py.detach(|| drop(host)));
        } else {
            // The child of a fork has none of the threads that the end of an application waits for.
            std::mem::forget(host);
        }
    }
}

/// A component: a path, or bytes.
fn component(given: &Bound<'_, PyAny>) -> PyResult<Component> {
    if let Ok(path) = given.extract::<PathBuf>() {
        return Ok(Component::File(path));
    }
    Ok(Component::Bytes(bytes_of(given)?))
}

#[pymethods]
impl Host {
    #[new]
    fn start(py: Python<'_>, settings: &str, workers: Option<usize>, blocking: Option<usize>) -> PyResult<Self> {
        let mut threads = Threads::default();
        (threads.workers, threads.blocking) = (workers, blocking);
        let host = py
            .detach(|| Embedded::of_settings(settings, &threads))
            .map_err(raised)?;
        Ok(Self {
            host: Arc::new(Mutex::new(Some(Arc::new(host)))),
            process: std::process::id(),
        })
    }

    fn load(
        &self,
        py: Python<'_>,
        name: &str,
        given: &Bound<'_, PyAny>,
        options: &str,
        done: Option<Py<PyAny>>,
        limit: WaitLimit,
    ) -> PyResult<Py<PyAny>> {
        let (host, component) = (self.get()?, component(given)?);
        let options = py.detach(|| host.module_options(name, options)).map_err(raised)?;
        let loading = host.load(name, component, options);
        let loading = async move { Ok(text(&loading.await?)) };
        operate(py, &host, loading, done, limit, json)
    }

    fn swap(
        &self,
        py: Python<'_>,
        name: &str,
        given: &Bound<'_, PyAny>,
        options: Option<&str>,
        done: Option<Py<PyAny>>,
        limit: WaitLimit,
    ) -> PyResult<Py<PyAny>> {
        let (host, component) = (self.get()?, component(given)?);
        let options = options.map(|options| py.detach(|| host.module_options(name, options)));
        let swapping = host.swap(name, component, options.transpose().map_err(raised)?);
        let swapping = async move { Ok(text(&swapping.await?)) };
        operate(py, &host, swapping, done, limit, json)
    }

    fn roll_back(&self, py: Python<'_>, name: &str, done: Option<Py<PyAny>>, limit: WaitLimit) -> PyResult<Py<PyAny>> {
        let host = self.get()?;
        let changing = host.roll_back(name);
        let changing = async move { Ok(text(&changing.await?)) };
        operate(py, &host, changing, done, limit, json)
    }

    fn remove(&self, py: Python<'_>, name: &str, done: Option<Py<PyAny>>, limit: WaitLimit) -> PyResult<Py<PyAny>> {
        let host = self.get()?;
        let changing = host.remove(name);
        let changing = async move { Ok(text(&changing.await?)) };
        operate(py, &host, changing, done, limit, json)
    }

    fn routes(&self, py: Python<'_>) -> PyResult<String> {
        let host = self.get()?;
        py.detach(|| host.routes_json()).map_err(raised)
    }

    fn modules(&self, py: Python<'_>) -> PyResult<String> {
        let host = self.get()?;
        py.detach(|| host.modules_json()).map_err(raised)
    }

    fn figures(&self, py: Python<'_>) -> PyResult<(usize, usize, u64)> {
        let host = self.get()?;
        let figures = py.detach(|| host.figures()).map_err(raised)?;
        Ok((figures.routes, figures.requests_in_flight, figures.events_refused))
    }

    fn set_prefix(&self, py: Python<'_>, prefix: &str) -> PyResult<()> {
        let host = self.get()?;
        let set = || {
            host.app()?.set_global_prefix(prefix)?;
            Ok(())
        };
        py.detach(set).map_err(raised)
    }

    fn listen(&self, py: Python<'_>, channel: &str, event: &str, function: Py<PyAny>) -> PyResult<()> {
        let (host, function) = (self.get()?, calls::listener(&self.weak()?, function));
        py.detach(|| host.listen(channel, event, function)).map_err(raised)
    }

    fn route(
        &self,
        py: Python<'_>,
        method: Option<&str>,
        path: &str,
        streams: bool,
        function: Py<PyAny>,
    ) -> PyResult<()> {
        let (host, function) = (self.get()?, calls::handler(&self.weak()?, function));
        let body = if streams { BodyMode::Stream } else { BodyMode::Whole };
        let options = RouteOptions::default().body(body);
        py.detach(|| host.route(method, path, options, function))
            .map_err(raised)
    }

    fn call(
        &self,
        py: Python<'_>,
        event: &str,
        payload: GivenPayload<'_>,
        done: Option<Py<PyAny>>,
        limit: WaitLimit,
    ) -> PyResult<Py<PyAny>> {
        let host = self.get()?;
        let caller = host.app().map_err(raised)?.caller();
        calls::call(py, &host, caller, event, payload, done, limit)
    }

    fn emit(&self, py: Python<'_>, event: &str, payload: GivenPayload<'_>) -> PyResult<()> {
        let (host, payload) = (self.get()?, payload.payload()?);
        let app = host.app().map_err(raised)?;
        py.detach(|| {
            app.caller().emit_raw(event, payload);
        });
        Ok(())
    }

    fn handle(&self, py: Python<'_>, given: GivenRequest<'_>) -> PyResult<Py<PyAny>> {
        let host = self.get()?;
        let request = given.request(&host)?;
        let end = Arc::<End>::default();
        let put = end.clone();
        let handled = within(py, || host.handle(request, move |ended| put.put(ended)))?;
        progress(py, &host, handled.map_err(raised)?, end)
    }

    fn handle_blocking(&self, py: Python<'_>, given: GivenRequest<'_>, limit: WaitLimit) -> PyResult<Py<PyAny>> {
        let host = self.get()?;
        let request = given.request(&host)?;
        let response = wait_interruptibly(py, limit, |waiting| host.handle_blocking(request, waiting))?;
        Ok(reply(py, &host, response)?.into_any().unbind())
    }

    /// A mount `in-front`, `below` a prefix, or of `everything`.
    fn mount(&self, py: Python<'_>, name: &str, place: &str, prefix: &str) -> PyResult<Mount> {
        let host = self.get()?;
        let name = if name == "wsgi" { "wsgi" } else { "asgi" };
        let place = match place {
            "in-front" => Place::InFront,
            "below" => Place::Below,
            _ => Place::Everything,
        };
        let prefix = (place == Place::Below).then_some(prefix);
        let mount = py.detach(|| host.mount(name, place, prefix)).map_err(raised)?;
        Ok(Mount(Mutex::new(Some((host, mount)))))
    }

    fn serve(&self, py: Python<'_>, address: &str, done: Option<Py<PyAny>>, limit: WaitLimit) -> PyResult<Py<PyAny>> {
        let host = self.get()?;
        let serving = host.serve(address, host.server_options());
        let weak = self.weak()?;
        let serving = async move { Ok((serving.await?, weak)) };
        operate(py, &host, serving, done, limit, |py, (server, host)| {
            Ok(Py::new(py, Server { server, host })?.into_any())
        })
    }

    /// Closes the application, and waits for its end or has `done` called.
    fn close(&self, py: Python<'_>, done: Option<Py<PyAny>>, limit: WaitLimit) -> PyResult<()> {
        let Some(host) = self.host.lock().clone() else {
            if let Some(done) = done {
                done.call1(py, (py.None(), py.None()))?;
            }
            return Ok(());
        };
        let place = self.host.clone();
        let Some(done) = done else {
            wait_interruptibly(py, limit, |waiting| host.close_blocking(waiting))?;
            py.detach(|| {
                let last = place.lock().take();
                drop((host, last));
            });
            return Ok(());
        };
        let end = move || {
            let last = place.lock().take();
            drop(last);
            attached(|py| {
                if let Err(error) = done.call1(py, (py.None(), py.None())) {
                    error.write_unraisable(py, Some(done.bind(py)));
                }
            });
        };
        py.detach(|| {
            let closing = host.close_then(end);
            drop(host);
            closing
        })
        .map_err(raised)
    }
}

fn text(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

/// The application within a server of Python.
#[pyclass(frozen, module = "pointwork._pointwork")]
pub(crate) struct Mount(Mutex<Option<(Arc<Embedded>, pointwork_embed::Mount)>>);

impl Mount {
    fn get(&self) -> PyResult<(Arc<Embedded>, pointwork_embed::Mount)> {
        self.0.lock().clone().ok_or_else(closed)
    }
}

#[pymethods]
impl Mount {
    /// Whether it answers a request with that head: to be given to `handle`.
    fn accept(&self, given: GivenRequest<'_>) -> PyResult<Option<Accepted>> {
        let (host, mount) = self.get()?;
        let (head, _) = given.request(&host)?.into_parts();
        Ok(mount.accept(&head).map(Accepted))
    }

    fn handle(&self, py: Python<'_>, given: GivenRequest<'_>, accepted: Option<&Accepted>) -> PyResult<Py<PyAny>> {
        let (host, mount) = self.get()?;
        let request = Accepted::put(accepted, given.request(&host)?);
        let end = Arc::<End>::default();
        let put = end.clone();
        let handled = within(py, || mount.handle(request, move |ended| put.put(ended)))?;
        progress(py, &host, handled.map_err(raised)?, end)
    }

    fn handle_blocking(
        &self,
        py: Python<'_>,
        given: GivenRequest<'_>,
        accepted: Option<&Accepted>,
        limit: WaitLimit,
    ) -> PyResult<Py<PyAny>> {
        let (host, mount) = self.get()?;
        let request = Accepted::put(accepted, given.request(&host)?);
        match wait_interruptibly(py, limit, |waiting| mount.handle_blocking(request, waiting))? {
            Progress::Ready(response) => Ok(reply(py, &host, response)?.into_any().unbind()),
            Progress::Pending(_) | Progress::NotOurs(_) => Ok(py.None()),
        }
    }

    /// Lets the application go, which is closed.
    fn close(&self, py: Python<'_>) {
        let mount = self.0.lock().take();
        py.detach(|| drop(mount));
    }
}

/// That a mount answers a request, by the route that matched.
#[pyclass(frozen, module = "pointwork._pointwork")]
pub(crate) struct Accepted(pointwork_embed::Accepted);

impl Accepted {
    fn put(accepted: Option<&Self>, mut request: Request<Body>) -> Request<Body> {
        if let Some(Self(accepted)) = accepted {
            request.extensions_mut().insert(accepted.clone());
        }
        request
    }
}

/// A running server.
#[pyclass(frozen, module = "pointwork._pointwork")]
pub(crate) struct Server {
    server: pointwork_embed::Server,
    host: WeakHost,
}

#[pymethods]
impl Server {
    #[getter]
    fn address(&self) -> String {
        self.server.address().to_string()
    }

    /// Begins to stop.
    fn begin_stop(&self, py: Python<'_>) {
        py.detach(|| self.server.stop());
    }

    /// Stops, and waits for the end or has `done` called.
    fn stop(&self, py: Python<'_>, done: Option<Py<PyAny>>, limit: WaitLimit) -> PyResult<Py<PyAny>> {
        self.begin_stop(py);
        let Some(host) = self.host.upgrade() else {
            if let Some(done) = done {
                done.call1(py, (py.None(), py.None()))?;
            }
            return Ok(py.None());
        };
        operate(py, &host, self.stopped(), done, limit, none)
    }

    /// Waits until it has stopped.
    fn wait(&self, py: Python<'_>, limit: WaitLimit) -> PyResult<()> {
        let Some(host) = self.host.upgrade() else {
            return Ok(());
        };
        let stopped = self.stopped();
        // The end of the application does not wait for a thread that waits for this end.
        let waited = wait_interruptibly(py, limit, |waiting| host.wait(stopped, waiting));
        py.detach(|| drop(host));
        waited
    }
}

impl Server {
    fn stopped(&self) -> impl Future<Output = Result<(), Error>> + Send + use<> {
        let stopped = self.server.stopped();
        async move {
            stopped.await;
            Ok(())
        }
    }
}

/// Has `write` called with level, target and message of each line of the log.
#[pyfunction]
pub(crate) fn write_log(level: &str, write: Py<PyAny>) -> PyResult<()> {
    let level = level.parse().unwrap_or(Level::INFO);
    let write = move |line: LogLine| {
        attached(|py| {
            let arguments = (line.level.as_str(), line.target, line.message);
            if let Err(error) = write.call1(py, arguments) {
                error.write_unraisable(py, Some(write.bind(py)));
            }
        });
    };
    pointwork_embed::write_log(level, write).map_err(raised)
}
