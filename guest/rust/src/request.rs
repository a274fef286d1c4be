use crate::backend;

/// A request without its body.
///
/// A [`Context`](crate::Context) dereferences to it, and extractors get it. Every function is a call into the host:
/// unused parts of the request cost nothing, and a value that is needed twice belongs in a variable.
#[derive(Debug)]
pub struct Request {
    pub(crate) raw: backend::Context,
}

impl Request {
    /// The method as the client sent it; methods are case-sensitive.
    pub fn method(&self) -> String {
        self.raw.method()
    }

    /// The path as the client sent it, with percent-escapes and a global prefix, without the query (spec G5).
    pub fn path(&self) -> String {
        self.raw.path()
    }

    /// The query as the client sent it, without the `?`; `None` if there was no `?`. [`Query`](crate::Query) is the
    /// typed way to read it.
    pub fn query(&self) -> Option<String> {
        self.raw.query()
    }

    /// A path parameter by its name in the pattern, percent-decoded; `None` if the pattern has no such parameter (spec
    /// H2). [`Path`](crate::Path) is the typed way to read it.
    pub fn param(&self, name: &str) -> Option<String> {
        self.raw.param(name)
    }

    /// All path parameters with their names, in the order of the pattern.
    pub fn params(&self) -> Vec<(String, String)> {
        self.raw.params()
    }

    /// The first header of that name, in any case; `None` if there is none or its value is not UTF-8.
    pub fn header(&self, name: &str) -> Option<String> {
        self.raw.header(name).and_then(|value| String::from_utf8(value).ok())
    }

    /// The first header of that name as bytes, since HTTP does not guarantee text.
    pub fn header_bytes(&self, name: &str) -> Option<Vec<u8>> {
        self.raw.header(name)
    }

    /// All headers in the order received, with names in lower case. A header that was sent twice occurs twice.
    pub fn headers(&self) -> Vec<(String, Vec<u8>)> {
        self.raw
            .headers()
            .into_iter()
            .map(|header| (header.name, header.value))
            .collect()
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
    /// [`set_extension`](Self::set_extension) (spec H9).
    pub fn extension(&self, key: &str) -> Option<String> {
        self.raw.extension(key)
    }

    /// Sets a request extension, and replaces an earlier value of the key. The host adds extensions to the log lines of
    /// the request.
    pub fn set_extension(&self, key: &str, value: &str) {
        self.raw.set_extension(key, value);
    }
}
