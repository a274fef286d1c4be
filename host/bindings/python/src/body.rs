//! Bodies and payloads: those that Python reads, and those that it writes.

use parking_lot::Mutex;
use pointwork_embed::{AnswerCell, Body, Chunk, Function, Payload, WeakHost, bytes::Bytes};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyByteArray, PyBytes};

use crate::answers;
use crate::error::{answered, broken, closed};
use crate::thread::{Held, WaitLimit, attached, wait_interruptibly, within};

/// From this size on, bytes are shared with the interpreter instead of copied.
const SHARED: usize = 64 * 1024;

/// A body that Python reads; `None` once it is closed.
#[pyclass(frozen, module = "pointwork._pointwork")]
pub(crate) struct Chunks(Mutex<Option<pointwork_embed::Chunks>>);

impl Chunks {
    pub(crate) fn new(chunks: pointwork_embed::Chunks) -> Self {
        Self(Mutex::new(Some(chunks)))
    }

    fn ask(&self, wake: impl FnOnce() + Send + 'static) -> Option<Chunk> {
        match &mut *self.0.lock() {
            Some(chunks) => chunks.next(wake),
            None => Some(Chunk::End),
        }
    }
}

#[pymethods]
impl Chunks {
    /// The next bytes; none at the end. `None` if they are not there yet: then `wake` is called once.
    fn next<'py>(&self, py: Python<'py>, wake: Py<PyAny>) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let wake = move || {
            attached(|py| {
                if let Err(error) = wake.call0(py) {
                    error.write_unraisable(py, Some(wake.bind(py)));
                }
            });
        };
        let chunk = within(py, || self.ask(wake))?;
        chunk.map(|chunk| read(py, chunk)).transpose()
    }

    /// The next bytes; none at the end. `None` if they are not there yet.
    fn next_now<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let chunk = within(py, || self.ask(|| {}))?;
        chunk.map(|chunk| read(py, chunk)).transpose()
    }

    /// Waits for the next bytes; none at the end.
    fn next_blocking<'py>(&self, py: Python<'py>, limit: WaitLimit) -> PyResult<Bound<'py, PyBytes>> {
        let chunk = wait_interruptibly(py, limit, |waiting| match &mut *self.0.lock() {
            Some(chunks) => Ok(chunks.next_blocking(waiting)),
            None => Ok(Some(Chunk::End)),
        })?;
        read(py, chunk)
    }

    /// Reads no more, unless another thread reads at this time.
    fn close(&self, py: Python<'_>) {
        py.detach(|| {
            let chunks = self.0.try_lock().and_then(|mut chunks| chunks.take());
            drop(chunks);
        });
    }
}

fn read(py: Python<'_>, chunk: Chunk) -> PyResult<Bound<'_, PyBytes>> {
    match chunk {
        Chunk::Data(data) => Ok(PyBytes::new(py, &data)),
        Chunk::End => Ok(PyBytes::new(py, b"")),
        Chunk::Failed(reason) => Err(broken(py, reason)),
    }
}

/// The bytes of an object: `bytes` or `bytearray`.
pub(crate) fn bytes_of(object: &Bound<'_, PyAny>) -> PyResult<Bytes> {
    if let Ok(bytes) = object.cast::<PyBytes>() {
        return Ok(if bytes.as_bytes().len() < SHARED {
            Bytes::copy_from_slice(bytes.as_bytes())
        } else {
            Bytes::from_owner(PyBackedBytes::from(bytes.clone()))
        });
    }
    if let Ok(bytes) = object.cast::<PyByteArray>() {
        return Ok(bytes.to_vec().into());
    }
    let kind = object.get_type();
    Err(PyTypeError::new_err(format!(
        "the bytes are of type `{}`, expected `bytes`",
        kind.name()?
    )))
}

/// A payload as Python gives it: content type and data.
#[derive(FromPyObject)]
pub(crate) struct GivenPayload<'py>(String, Bound<'py, PyAny>);

impl GivenPayload<'_> {
    /// The payload. Its content type may become the value of a header.
    ///
    /// # Errors
    /// `TypeError`: the data is of another type than bytes. `ValueError`: the content type is none.
    pub(crate) fn payload(self) -> PyResult<Payload> {
        let Self(content_type, data) = self;
        let is_plain = |byte: u8| byte == b'\t' || (b' '..=b'~').contains(&byte);
        if content_type.is_empty() || !content_type.bytes().all(is_plain) {
            return Err(PyValueError::new_err(format!(
                "the content type is {content_type:?}, expected one such as \"application/json\": ASCII without \
                 control characters"
            )));
        }
        Ok(Payload::new(content_type, bytes_of(&data)?))
    }
}

/// Gives one chunk of a body, once.
#[pyclass(frozen, module = "pointwork._pointwork")]
pub(crate) struct ChunkAnswer {
    answer: AnswerCell<Chunk>,
    host: WeakHost,
}

#[pymethods]
impl ChunkAnswer {
    fn data(&self, py: Python<'_>, data: &Bound<'_, PyAny>) -> PyResult<()> {
        let data = bytes_of(data)?;
        answered(py.detach(|| self.answer.send(Chunk::Data(data))))
    }

    fn end(&self, py: Python<'_>) -> PyResult<()> {
        answered(py.detach(|| self.answer.send(Chunk::End)))
    }

    fn failed(&self, py: Python<'_>, reason: String) -> PyResult<()> {
        answered(py.detach(|| self.answer.send(Chunk::Failed(reason))))
    }

    fn when_gone(&self, py: Python<'_>, gone: Py<PyAny>) -> PyResult<()> {
        let host = self.host.upgrade().ok_or_else(closed)?;
        answers::when_gone(py, &self.answer, host, gone);
        Ok(())
    }
}

/// The body of a request or a reply: nothing, bytes, or a function that writes one chunk at a time.
pub(crate) fn body_of(
    host: &pointwork_embed::Host,
    body: Option<&Bound<'_, PyAny>>,
    length: Option<u64>,
) -> PyResult<Body> {
    let Some(body) = body else {
        return Ok(Body::empty());
    };
    if !body.is_callable() {
        return Ok(Body::from(bytes_of(body)?));
    }
    let write = Held::new(body.clone().unbind());
    // The body must not keep the application, which may keep the body.
    let weak = host.downgrade();
    let source = Function::new(move |(), answer: pointwork_embed::Answer<Chunk>| {
        let (answer, host) = (answer.into(), weak.clone());
        attached(|py| {
            if let Err(error) = write.call(py, (ChunkAnswer { answer, host },)) {
                error.write_unraisable(py, None);
            }
        });
    });
    Ok(host.body(source, length))
}
