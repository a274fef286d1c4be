//! Headers between Python and the host: lists of pairs of bytes.

use pointwork_embed::http::{HeaderMap, HeaderName, HeaderValue};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};

/// Headers as Python gives them.
pub(crate) type GivenHeaders<'py> = Vec<(Bound<'py, PyBytes>, Bound<'py, PyBytes>)>;

/// The most headers of a message.
const MOST: usize = 16 * 1024;

/// Headers that Python gives.
///
/// # Errors
/// `ValueError` names the header.
pub(crate) fn headers_of(headers: &GivenHeaders<'_>) -> PyResult<HeaderMap> {
    if headers.len() > MOST {
        let message = format!("there are {} headers, expected at most {MOST}", headers.len());
        return Err(PyValueError::new_err(message));
    }
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        let (name, value) = (name.as_bytes(), value.as_bytes());
        let shown = String::from_utf8_lossy(name);
        let key = HeaderName::from_bytes(name)
            .map_err(|_| PyValueError::new_err(format!("the name of a header is `{shown}`, expected an HTTP token")))?;
        let value = HeaderValue::from_bytes(value).map_err(|_| {
            PyValueError::new_err(format!(
                "the value of the header `{shown}` has control characters, expected none"
            ))
        })?;
        map.try_append(key, value)
            .map_err(|_| PyValueError::new_err("there are more headers than a message can have"))?;
    }
    Ok(map)
}

/// Headers as a list of pairs of bytes.
pub(crate) fn headers<'py>(py: Python<'py>, headers: &HeaderMap) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    for (name, value) in headers {
        list.append((
            PyBytes::new(py, name.as_str().as_bytes()),
            PyBytes::new(py, value.as_bytes()),
        ))?;
    }
    Ok(list)
}
