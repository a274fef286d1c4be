use anyhow::Result;
use pointwork_core::http::{Method, Uri, Version};
use pointwork_core::routing::{MethodFilter, Owner, Pattern, Resolution, RouteEntry, Table, TableOptions, guard};

use super::{Line, Request};

/// The expected answer to a request, computed from the core alone: no server, no socket.
pub(super) struct Model {
    table: Table<usize>,
}

/// An expected answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Expected {
    pub(super) status: u16,
    pub(super) allow: Option<String>,
    /// The body of a handler's reply. The messages of a server are compared between adapters only.
    pub(super) body: Option<String>,
    /// Whether the connection closes; `None` if the server may choose, as it need not read a body that no handler
    /// reads.
    pub(super) closes: Option<bool>,
    /// Whether the head is refused, before any route is matched.
    pub(super) refused: bool,
}

impl Model {
    pub(super) fn new(lines: &[Line]) -> Result<Self> {
        let mut entries = Vec::new();
        for (target, line) in lines.iter().enumerate() {
            entries.push(RouteEntry {
                filter: MethodFilter::parse(line.method)?,
                pattern: Pattern::parse(&line.path)?,
                owner: Owner::Manual,
                target,
            });
        }
        let table = Table::compile(entries, TableOptions::default())?;
        Ok(Self { table })
    }

    pub(super) fn expect(&self, request: &Request) -> Expected {
        self.of_a_whole_head(request).unwrap_or(Expected {
            status: 400,
            allow: None,
            body: None,
            closes: Some(true),
            refused: true,
        })
    }

    /// `None` if the head is refused.
    fn of_a_whole_head(&self, request: &Request) -> Option<Expected> {
        let method = Method::from_bytes(&request.method).ok()?;
        let uri = Uri::try_from(request.target.as_slice()).ok()?;
        let version = if request.old {
            Version::HTTP_10
        } else {
            Version::HTTP_11
        };
        let mut head = pointwork_core::http::Request::builder()
            .method(method.clone())
            .uri(uri.clone())
            .version(version);
        for (name, value) in &request.headers {
            head = head.header(name.as_slice(), value.as_slice());
        }
        let (head, ()) = head.body(()).ok()?.into_parts();
        guard::check(&head).ok()?;

        let body = request.body()?;
        let mut expected = Expected {
            status: 200,
            allow: None,
            body: None,
            closes: Some(request.is_last()),
            refused: false,
        };
        match self.table.resolve(None, &method, &uri) {
            Resolution::Matched { entry, params, .. } => {
                let told = tell(
                    entry.target,
                    method.as_str(),
                    uri.path(),
                    uri.query(),
                    params.iter(),
                    &body,
                );
                expected.body = Some(told);
                if method == Method::CONNECT {
                    // The bytes after it would belong to a tunnel, which is never opened.
                    expected.closes = Some(true);
                    expected.body = Some(String::new());
                }
                return Some(expected);
            }
            Resolution::NotFound => expected.status = 404,
            Resolution::MethodNotAllowed { allow } => {
                expected.status = 405;
                expected.allow = allow.to_str().ok().map(str::to_owned);
            }
            Resolution::Options { allow } => {
                expected.status = 204;
                expected.allow = allow.to_str().ok().map(str::to_owned);
            }
            _ => expected.status = 400,
        }
        if !request.rest.is_empty() && expected.closes == Some(false) {
            expected.closes = None;
        }
        Some(expected)
    }
}

/// The reply of a handler that describes its request.
pub(super) fn tell<'a>(
    route: usize,
    method: &str,
    path: &str,
    query: Option<&str>,
    params: impl Iterator<Item = (&'a str, &'a str)>,
    body: &[u8],
) -> String {
    let params: Vec<_> = params.collect();
    format!(
        "route {route}: {method} {path:?} {query:?} {params:?} `{}`",
        body.escape_ascii()
    )
}
