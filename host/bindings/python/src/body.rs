//! Bodies and payloads: those that Python reads, and those that it writes.

use parking_lot::Mutex;
use pointwork_embed::{AnswerCell, Body, Function, Payload, Piece, WeakHost, bytes::Bytes};
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
pub(crate) struct Pieces(Mutex<Option<pointwork_embed::Pieces>>);

impl Pieces {
    pub(crate) fn new(pieces: pointwork_embed::Pieces) -> Self {
        Self(Mutex::new(Some(pieces)))
    }

    fn ask(&self, wake: impl FnOnce() + Send + 'static) -> Option<Piece> {
        match &mut *self.0.lock() {
            Some(pieces) => pieces.next(wake),
            None => Some(Piece::End),
        }
    }
}

#[pymethods]
impl Pieces {
    /// The next bytes; none at the end. `None` if they are not there yet: then `wake` is called once.
    fn next<'py>(&self, py: Python<'py>, wake: Py<PyAny>) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let wake = move || {
            attached(|py| {
                if let Err(error) = wake.call0(py) {
                    error.write_unraisable(py, Some(wake.bind(py)));
                }
            });
        };
        let piece = within(py, || self.ask(wake))?;
        piece.map(|piece| read(py, piece)).transpose()
    }

    /// The next bytes; none at the end. `None` if they are not there yet.
    fn next_now<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let piece = within(py, || self.ask(|| {}))?;
        piece.map(|piece| read(py, piece)).transpose()
    }

    /// Waits for the next bytes; none at the end.
    fn next_blocking<'py>(&self, py: Python<'py>, limit: WaitLimit) -> PyResult<Bound<'py, PyBytes>> {
        let piece = wait_interruptibly(py, limit, |waiting| match &mut *self.0.lock() {
            Some(pieces) => Ok(pieces.next_blocking(waiting)),
            None => Ok(Some(Piece::End)),
        })?;
        read(py, piece)
    }

    /// Reads no more, unless another thread reads at this time.
    fn close(&self, py: Python<'_>) {
        py.detach(|| {
            let pieces = self.0.try_lock().and_then(|mut pieces| pieces.take());
            drop(pieces);
        });
    }
}

fn read(py: Python<'_>, piece: Piece) -> PyResult<Bound<'_, PyBytes>> {
    match piece {
        Piece::Data(data) => Ok(PyBytes::new(py, &data)),
        Piece::End => Ok(PyBytes::new(py, b"")),
        Piece::Failed(reason) => Err(broken(py, reason)),
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

/// Gives one piece of a body, once.
#[pyclass(frozen, module = "pointwork._pointwork")]
pub(crate) struct PieceAnswer {
    answer: AnswerCell<Piece>,
    host: WeakHost,
}

#[pymethods]
impl PieceAnswer {
    fn data(&self, py: Python<'_>, data: &Bound<'_, PyAny>) -> PyResult<()> {
        let data = bytes_of(data)?;
        answered(py.detach(|| self.answer.send(Piece::Data(data))))
    }

    fn end(&self, py: Python<'_>) -> PyResult<()> {
        answered(py.detach(|| self.answer.send(Piece::End)))
    }

    fn failed(&self, py: Python<'_>, reason: String) -> PyResult<()> {
        answered(py.detach(|| self.answer.send(Piece::Failed(reason))))
    }

    fn when_gone(&self, py: Python<'_>, gone: Py<PyAny>) -> PyResult<()> {
        let host = self.host.upgrade().ok_or_else(closed)?;
        answers::when_gone(py, &self.answer, host, gone);
        Ok(())
    }
}

/// The body of a request or a reply: nothing, bytes, or a function that writes one piece at a time.
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
    let source = Function::new(move |(), answer: pointwork_embed::Answer<Piece>| {
        let (answer, host) = (answer.into(), weak.clone());
        attached(|py| {
            if let Err(error) = write.call(py, (PieceAnswer { answer, host },)) {
                error.write_unraisable(py, None);
            }
        });
    });
    Ok(host.body(source, length))
}
