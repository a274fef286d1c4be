//! Bodies and payloads: those that Python reads, and those that it writes.

use parking_lot::Mutex;
use pointwork_embed::{Body, Function, OneAnswer, Payload, Piece, bytes::Bytes};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyByteArray, PyBytes};

use crate::error::{answered, broken};
use crate::thread::{Held, attached, patiently};

/// From this size on, bytes are shared with the interpreter instead of copied.
const SHARED: usize = 64 * 1024;

/// A body that Python reads.
#[pyclass(frozen, module = "pointwork._pointwork")]
pub(crate) struct Pieces(Mutex<pointwork_embed::Pieces>);

impl Pieces {
    pub(crate) fn new(pieces: pointwork_embed::Pieces) -> Self {
        Self(Mutex::new(pieces))
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
        let piece = py.detach(|| self.0.lock().next(wake));
        piece.map(|piece| read(py, piece)).transpose()
    }

    /// Waits for the next bytes; none at the end.
    fn next_blocking<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let piece = patiently(py, |waiting| Ok(self.0.lock().next_blocking(waiting)))?;
        read(py, piece)
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
    /// The payload.
    ///
    /// # Errors
    /// `TypeError`: the data is of another type than bytes.
    pub(crate) fn payload(self) -> PyResult<Payload> {
        Ok(Payload::new(self.0, bytes_of(&self.1)?))
    }
}

/// Gives one piece of a body, once.
#[pyclass(frozen, module = "pointwork._pointwork")]
pub(crate) struct PieceAnswer(OneAnswer<Piece>);

#[pymethods]
impl PieceAnswer {
    fn data(&self, py: Python<'_>, data: &Bound<'_, PyAny>) -> PyResult<()> {
        let data = bytes_of(data)?;
        answered(py.detach(|| self.0.send(Piece::Data(data))))
    }

    fn end(&self, py: Python<'_>) -> PyResult<()> {
        answered(py.detach(|| self.0.send(Piece::End)))
    }

    fn failed(&self, py: Python<'_>, reason: String) -> PyResult<()> {
        answered(py.detach(|| self.0.send(Piece::Failed(reason))))
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
    let source = Function::new(move |(), answer| {
        attached(|py| {
            if let Err(error) = write.call(py, (PieceAnswer(answer.into()),)) {
                error.write_unraisable(py, None);
            }
        });
    });
    Ok(host.body(source, length))
}
