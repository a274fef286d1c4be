use crate::backend;

/// What a client asked for: everything about a request that can be read without waiting.
///
/// A [`Context`](crate::Context) dereferences to it, and extractors get it. Every function asks the host, and what is
/// not asked for costs nothing; keep a value in a variable rather than reading it twice.
#[derive(Debug)]
pub struct Request {
    pub(crate) raw: backend::Context,
}

impl Request {
    /// The method as the client sent it, in its own case.
    pub fn method(&self) -> String {
        self.raw.method()
    }

    /// The path as the client sent it: percent-escapes and a global prefix included, the query not (spec G5).
    pub fn path(&self) -> String {
        self.raw.path()
    }

    /// The query as the client sent it, without the `?`; `None` if there was no `?`. [`Query`](crate::Query) is the
    /// typed way to read it.
    pub fn query(&self) -> Option<String> {
        self.raw.query()
    }

    /// A path parameter by its name in the pattern, percent-decoded; `None` if the pattern has no such name (spec H2).
    /// [`Path`](crate::Path) is the typed way to read it.
    pub fn param(&self, name: &str) -> Option<String> {
        self.raw.param(name)
    }

    /// All path parameters with their names, in the order of the pattern.
    pub fn params(&self) -> Vec<(String, String)> {
        self.raw.params()
    }

    /// The first header of that name, whatever its case; `None` if there is none, or if its value is not UTF-8.
    pub fn header(&self, name: &str) -> Option<String> {
        self.raw.header(name).and_then(|value| String::from_utf8(value).ok())
    }

    /// The first header of that name as bytes, since HTTP does not promise text.
    pub fn header_bytes(&self, name: &str) -> Option<Vec<u8>> {
        self.raw.header(name)
    }

    /// All headers in the order received, names in lower case. A header that occurs twice is there twice.
    pub fn headers(&self) -> Vec<(String, Vec<u8>)> {
        self.raw
            .headers()
            .into_iter()
            .map(|header| (header.name, header.value))
            .collect()
    }

    /// The id of the request, which stands in every log line of the host about it: `x-request-id` as the client sent it
    /// if that was a sane token, otherwise one made by the host.
    pub fn request_id(&self) -> String {
        self.raw.request_id()
    }

    /// The full pattern of the route that matched, prefix included: `/products/:id`.
    pub fn route(&self) -> String {
        self.raw.route()
    }

    /// A request extension by its key: set by the middleware of the host application or by
    /// [`set_extension`](Self::set_extension) (spec H9).
    pub fn extension(&self, key: &str) -> Option<String> {
        self.raw.extension(key)
    }

    /// Sets a request extension. The host writes extensions into the span of the request, so that they stand in its log
    /// lines. The last value of a key counts.
    pub fn set_extension(&self, key: &str, value: &str) {
        self.raw.set_extension(key, value);
    }
}
