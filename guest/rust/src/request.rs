use std::time::{Duration, SystemTime};

use pointwork_events::json::foreign_charset;

use crate::backend;
use crate::bindings::types::Instant;
use crate::failure::Failure;
use crate::guards_run::GuardsRun;
use crate::json::CONTENT_TYPE;

/// A request without its body.
///
/// A [`Context`](crate::Context) dereferences to it, and extractors get it. Every function is a call into the host:
/// unused parts of the request cost nothing, and a value that is needed twice belongs in a variable.
#[derive(Debug)]
pub struct Request {
    pub(crate) raw: backend::Context,
    /// The guards that ran for the request.
    pub(crate) guards: GuardsRun,
}

/// A point in time of the host. `SystemTime` has no clock here, but it can be compared and subtracted.
pub(crate) fn time(instant: &Instant) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::new(instant.seconds, instant.nanoseconds)
}

impl Request {
    /// The method as the client sent it; methods are case-sensitive.
    pub fn method(&self) -> String {
        self.raw.method()
    }

    /// The path as the client sent it, with percent-escapes and a global prefix, without the query.
    pub fn path(&self) -> String {
        self.raw.path()
    }

    /// The query as the client sent it, with percent-escapes and without the `?`; `None` if there was no `?`.
    /// [`Query`](crate::Query) is the typed way to read it, which refuses what is not UTF-8.
    pub fn query(&self) -> Option<String> {
        self.raw.query()
    }

    /// `http` or `https`, as far as the host knows.
    pub fn scheme(&self) -> String {
        self.raw.scheme()
    }

    /// The authority that the client addressed, `host` or `host:port`; `None` if it sent none.
    pub fn authority(&self) -> Option<String> {
        self.raw.authority()
    }

    /// The HTTP version of the request: `1.0`, `1.1` or `2`.
    pub fn http_version(&self) -> String {
        self.raw.http_version()
    }

    /// The client as `address:port`, or `[address]:port` for IPv6: the peer of the connection, or the client that trusted
    /// proxies name, then without a port if they name none. `None` if the transport has no address.
    pub fn remote_address(&self) -> Option<String> {
        self.raw.remote_address()
    }

    /// When the host read the head of the request.
    pub fn received_at(&self) -> SystemTime {
        time(&self.raw.received_at())
    }

    /// When the host ends the request; `None` if it has no time limit.
    pub fn deadline(&self) -> Option<SystemTime> {
        self.raw.deadline().as_ref().map(time)
    }

    /// Whether the client has disconnected or the request has ended, so that nobody needs further work.
    pub fn is_cancelled(&self) -> bool {
        self.raw.cancelled()
    }

    /// A path parameter by its name in the pattern, percent-decoded; `None` if the pattern has no such parameter.
    /// [`Path`](crate::Path) is the typed way to read it.
    pub fn param(&self, name: &str) -> Option<String> {
        self.raw.param(name)
    }

    /// All path parameters with their names, in the order of the pattern.
    pub fn params(&self) -> Vec<(String, String)> {
        let params = self.raw.params().into_iter();
        params.map(|param| (param.name, param.value)).collect()
    }

    /// The first header of that name, in any case, as text; `None` if there is none. A value that is not UTF-8 has one
    /// character for each byte; [`headers`](Self::headers) has the bytes.
    pub fn header(&self, name: &str) -> Option<String> {
        self.raw.header(name)
    }

    /// All headers in the order received, with names in lower case and values as bytes, since HTTP does not guarantee
    /// text. A header that was sent twice occurs twice.
    pub fn headers(&self) -> Vec<(String, Vec<u8>)> {
        let headers = self.raw.headers().into_iter();
        headers.map(|header| (header.name, header.value)).collect()
    }

    /// The id of the request, which every log line of the host about it contains: the `x-request-id` of the client if
    /// that is a valid token, otherwise an id made by the host.
    pub fn request_id(&self) -> String {
        self.raw.request_id()
    }

    /// The full pattern of the route that matched, prefix included: `/products/:id`.
    pub fn route(&self) -> String {
        self.raw.route()
    }

    /// A request extension by its key, set by the middleware of the host application or by
    /// [`set_extension`](Self::set_extension). Keys with the prefix `pointwork.` are the host's.
    pub fn extension(&self, key: &str) -> Option<String> {
        self.raw.extension(key)
    }

    /// Sets a request extension, and replaces an earlier value of the key. The host adds extensions to the log lines of
    /// the request. A key with the prefix `pointwork.` is ignored and logged.
    pub fn set_extension(&self, key: &str, value: &str) {
        self.raw.set_extension(key, value);
    }
}

/// Refuses a body of another charset than UTF-8.
pub(crate) fn check_text(request: &Request) -> Result<(), Failure> {
    request
        .header(CONTENT_TYPE)
        .map_or(Ok(()), |found| check_charset(&found, ""))
}

/// Refuses a content type of another charset than UTF-8. `of` names the part of the body, if it is one.
pub(crate) fn check_charset(content_type: &str, of: &str) -> Result<(), Failure> {
    match foreign_charset(content_type) {
        Some(charset) => {
            let message = format!("body: {of}expected the charset `utf-8`, got `{charset}`");
            Err(Failure::new(415_u16, message))
        }
        None => Ok(()),
    }
}
