//! The response sanitiser: only the host sets headers of the connection and of message framing.

use http::header::CONNECTION;
use http::response::Parts;
use http::{HeaderMap, HeaderName, Method, StatusCode};

/// Whether to send the body of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyRule {
    /// Send it.
    Keep,
    /// Do not send it: the request's method or the status does not allow a body, and a client would take its bytes for
    /// the next response.
    Drop,
}

/// The result of [`sanitize`].
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub struct Sanitized {
    /// The headers that were removed, each once, for the log.
    pub stripped: Vec<HeaderName>,
    /// Whether to send the body.
    pub body: BodyRule,
    /// The value to set for `Content-Length`, in bytes; `None` to set none. The head does not contain the header any
    /// more.
    pub content_length: Option<u64>,
}

/// A handler returned a status outside 200 to 599. A status below 200 is not a final answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("status {} is not a final answer, expected 200 to 599", .0.as_u16())]
pub struct BadStatus(StatusCode);

impl BadStatus {
    /// The status.
    pub fn status(&self) -> StatusCode {
        self.0
    }
}

/// Removes from the head of a response the headers that a handler must not set.
///
/// These are `Content-Length`, the headers of the connection (`Connection` and each header that it names,
/// `Keep-Alive`, `Proxy-Connection`, `TE`, `Trailer`, `Transfer-Encoding`, `Upgrade`).
/// `Proxy-Authenticate` and `Proxy-Authentication-Info` stay: RFC 9110 does not count them among the headers of the
/// connection, and a handler that acts as a gateway needs the former for its 407.
///
/// `known_length` is the size of the body in bytes, if it is known. The `Content-Length` to set follows from it:
///
/// | response | body | `Content-Length` |
/// |---|---|---|
/// | to HEAD | dropped | the size of the body of the same GET, if known |
/// | 204; 2xx to CONNECT | dropped | none, RFC 9110 forbids it |
/// | 205 | dropped | 0 |
/// | 304 | dropped | none: the size of the body of the 200 is not known |
/// | any other | kept | the size of the body, if known |
///
/// # Errors
///
/// The status is not 200 to 599. The head is unchanged; the answer is 500.
pub fn sanitize(method: &Method, head: &mut Parts, known_length: Option<u64>) -> Result<Sanitized, BadStatus> {
    let status = head.status;
    if !(200..600).contains(&status.as_u16()) {
        return Err(BadStatus(status));
    }
    let stripped = strip(&mut head.headers);
    let (body, content_length) = if status == StatusCode::NO_CONTENT
        || status == StatusCode::NOT_MODIFIED
        || (*method == Method::CONNECT && status.is_success())
    {
        (BodyRule::Drop, None)
    } else if status == StatusCode::RESET_CONTENT {
        (BodyRule::Drop, Some(0))
    } else if *method == Method::HEAD {
        (BodyRule::Drop, known_length)
    } else {
        (BodyRule::Keep, known_length)
    };
    Ok(Sanitized {
        stripped,
        body,
        content_length,
    })
}

fn strip(headers: &mut HeaderMap) -> Vec<HeaderName> {
    let mut names: Vec<HeaderName> = headers.keys().filter(|name| belongs_to_host(name)).cloned().collect();
    if names.contains(&CONNECTION) {
        let named = headers
            .get_all(CONNECTION)
            .iter()
            .flat_map(|value| value.as_bytes().split(|byte| *byte == b','));
        for name in named {
            let Ok(name) = HeaderName::from_bytes(name.trim_ascii()) else {
                continue;
            };
            if headers.contains_key(&name) && !names.contains(&name) {
                names.push(name);
            }
        }
    }
    for name in &names {
        headers.remove(name);
    }
    names
}

fn belongs_to_host(name: &HeaderName) -> bool {
    matches!(
        name.as_str(),
        "connection"
            | "content-length"
            | "keep-alive"
            | "proxy-connection"
            | "te"
            | "trailer"
            | "transfer-encoding"
            | "upgrade"
    )
}

#[cfg(test)]
mod tests;
