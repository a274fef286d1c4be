//! The response sanitiser: what frames a message or belongs to the connection is the host's alone.

use std::fmt;

use http::header::CONNECTION;
use http::response::Parts;
use http::{HeaderMap, HeaderName, Method, StatusCode};

/// What to do with the body of a response whose head went through [`sanitize`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyRule {
    /// Send it.
    Keep,
    /// Send none: the request's method or the status has none, and bytes after the head would be taken for the next
    /// response.
    Drop,
}

/// What [`sanitize`] did, and what is left to do.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub struct Sanitized {
    /// The headers that were removed, without repetition, for the log.
    pub stripped: Vec<HeaderName>,
    /// What to do with the body.
    pub body: BodyRule,
    /// The value for `Content-Length`, in bytes, if there is to be one. The head has none by now.
    pub content_length: Option<u64>,
}

/// The status of a response cannot be sent by a handler: it is below 200 and thus no final answer, or above 599.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadStatus(StatusCode);

impl BadStatus {
    /// The status.
    pub fn status(&self) -> StatusCode {
        self.0
    }
}

impl fmt::Display for BadStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "status {} is no final answer, expected 200 to 599", self.0.as_u16())
    }
}

impl std::error::Error for BadStatus {}

/// Makes the head of a response safe to send, whatever a handler put there.
///
/// It removes `Content-Length`, the headers of the connection (`Connection` and each header that it names,
/// `Keep-Alive`, `Proxy-Connection`, `TE`, `Trailer`, `Transfer-Encoding`, `Upgrade`) and nothing else.
/// `Proxy-Authenticate` and `Proxy-Authentication-Info` stay: RFC 9110 no longer counts them among the headers of the
/// connection, they frame nothing, and a handler that acts as a gateway needs the former for its 407.
///
/// `known_length` is how many bytes the body has, if that is known. It tells the `Content-Length` to set:
///
/// | response | body | `Content-Length` |
/// |---|---|---|
/// | to HEAD | dropped | that of the body there would have been, if known |
/// | 204; 2xx to CONNECT | dropped | none, RFC 9110 forbids it |
/// | 205 | dropped | 0 |
/// | 304 | dropped | none: the body of the 200 it stands for is not known |
/// | any other | kept | that of the body, if known |
///
/// # Errors
///
/// The status is not 200 to 599. The head is as it was; the answer is 500.
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
