use std::fmt;

use serde::de::DeserializeOwned;

use super::ClientError;

/// A request, sent unchanged: only `host` and `content-length` are added, each unless it is present.
#[derive(Clone, Debug)]
pub struct Request {
    method: String,
    target: String,
    headers: Vec<(String, Vec<u8>)>,
    body: Vec<u8>,
}

impl Request {
    /// A request without headers and body.
    pub fn new(method: &str, target: &str) -> Self {
        Self {
            method: method.to_owned(),
            target: target.to_owned(),
            headers: Vec::new(),
            body: Vec::new(),
        }
    }

    /// Adds a header after the others; a second header of the same name is a second line.
    #[must_use]
    pub fn header(mut self, name: &str, value: impl AsRef<[u8]>) -> Self {
        self.headers.push((name.to_owned(), value.as_ref().to_vec()));
        self
    }

    /// Sets the body.
    #[must_use]
    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }

    /// The method.
    pub fn method(&self) -> &str {
        &self.method
    }

    /// The target: path and query.
    pub fn target(&self) -> &str {
        &self.target
    }

    pub(crate) fn headers(&self) -> &[(String, Vec<u8>)] {
        &self.headers
    }

    pub(crate) fn into_body(self) -> Vec<u8> {
        self.body
    }

    /// The bytes of the request in HTTP/1.1.
    pub fn to_bytes(&self, host: &str) -> Vec<u8> {
        let has = |wanted: &str| self.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case(wanted));
        let mut bytes = format!("{} {} HTTP/1.1\r\n", self.method, self.target).into_bytes();
        let mut line = |name: &str, value: &[u8]| {
            bytes.extend_from_slice(name.as_bytes());
            bytes.extend_from_slice(b": ");
            bytes.extend_from_slice(value);
            bytes.extend_from_slice(b"\r\n");
        };
        if !has("host") {
            line("host", host.as_bytes());
        }
        if !self.body.is_empty() && !has("content-length") && !has("transfer-encoding") {
            line("content-length", self.body.len().to_string().as_bytes());
        }
        for (name, value) in &self.headers {
            line(name, value);
        }
        bytes.extend_from_slice(b"\r\n");
        bytes.extend_from_slice(&self.body);
        bytes
    }
}

impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.method, self.target)
    }
}

/// The framing of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// There is no body, because of the method or the status.
    None,
    /// By `content-length`.
    Length,
    /// By `transfer-encoding: chunked`.
    Chunked,
    /// By the end of the connection.
    Close,
    /// By the protocol (HTTP/2).
    Frames,
}

/// A reply as it arrived.
#[derive(Clone, Debug)]
pub struct Response {
    /// The status.
    pub status: u16,
    /// The headers in order, with their names as they were sent.
    pub headers: Vec<(String, Vec<u8>)>,
    /// The body.
    pub body: Vec<u8>,
    /// The framing of the body.
    pub framing: Framing,
}

impl Response {
    /// The values of all headers of that name, in order; `?` replaces bytes that are not UTF-8.
    pub fn all(&self, name: &str) -> Vec<String> {
        let of_name = self
            .headers
            .iter()
            .filter(|(known, _)| known.eq_ignore_ascii_case(name));
        of_name
            .map(|(_, value)| String::from_utf8_lossy(value).into_owned())
            .collect()
    }

    /// The value of the only header of that name; `None` if there is none or more than one.
    pub fn header(&self, name: &str) -> Option<String> {
        match self.all(name).as_slice() {
            [only] => Some(only.clone()),
            _ => None,
        }
    }

    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The body as JSON.
    ///
    /// # Errors
    /// If it is not valid JSON, or not of the type.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, ClientError> {
        serde_json::from_slice(&self.body)
            .map_err(|error| ClientError::caused(format!("the body is not the expected JSON: {}", self.text()), error))
    }

    /// The message of an error reply, `{"message": …}`; `None` if the body is not of that form.
    pub fn message(&self) -> Option<String> {
        let value: serde_json::Value = serde_json::from_slice(&self.body).ok()?;
        Some(value.as_object()?.get("message")?.as_str()?.to_owned())
    }
}
