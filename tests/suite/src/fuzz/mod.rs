//! Random requests to random tables: the adapters have to agree with each other and with the core.
//!
//! A [`Field`] serves one table on several subjects. It sends the same bytes to all of them, a request and a second one
//! on the same connection. It compares the answers with each other and with a model, which uses the core's table and
//! guard directly. Only the differences that `differences.toml` declares are allowed.

mod generate;
mod model;
mod regressions;
mod request;
mod run;
mod shrink;

use std::fmt;

use anyhow::{Context as _, Result, bail, ensure};
use futures_util::future::join_all;
use pointwork_core::{Context, Failure};

use crate::client::{Client, End, Framing, Response, Transcript};
use crate::differences;
use crate::subject::{AppSpec, Control, Subject};
use model::{Expected, Model};
use pointwork_wire_tests::differences::Differences;

pub use regressions::{Regression, regressions};
pub use request::Request;
pub use run::{Disagreement, Plan, run};

/// One route of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    method: Option<&'static str>,
    path: String,
}

/// The methods that routes have.
const METHODS: [&str; 18] = [
    "GET",
    "HEAD",
    "POST",
    "PUT",
    "DELETE",
    "OPTIONS",
    "PATCH",
    "TRACE",
    "CONNECT",
    "PROPFIND",
    "SEARCH",
    "REPORT",
    "MKWORKSPACE",
    "PURGE",
    "NOTIFY",
    "x-own!",
    "get",
    "BREW",
];

impl Line {
    /// A route for every method.
    pub fn all(path: &str) -> Self {
        Self {
            method: None,
            path: path.to_owned(),
        }
    }

    /// Parses `METHOD path`, or `ALL path`.
    ///
    /// # Errors
    /// If the text does not have that form, or the method is not one that routes have here.
    pub fn parse(text: &str) -> Result<Self> {
        let (method, path) = text
            .split_once(' ')
            .context("a route is a method, a space and a path")?;
        let method = match method {
            "ALL" => None,
            named => Some(
                *METHODS
                    .iter()
                    .find(|method| **method == named)
                    .with_context(|| format!("`{named}` is none of {}", METHODS.join(", ")))?,
            ),
        };
        Ok(Self {
            method,
            path: path.to_owned(),
        })
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.method.unwrap_or("ALL"), self.path)
    }
}

/// One table that several subjects serve.
pub struct Field {
    model: Model,
    servers: Vec<Server>,
}

struct Server {
    name: &'static str,
    client: Client,
    control: Box<dyn Control>,
}

/// The parts of an answer that have to be equal on every subject.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Seen {
    status: u16,
    allow: Option<String>,
    content_type: Option<String>,
    length: Option<String>,
    framing: Framing,
    body: Vec<u8>,
}

/// The answers on one connection: to the request, and to the next one unless the connection closed.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Pair {
    first: Seen,
    /// Also `None` where the body is not compared.
    next: Option<Seen>,
}

impl Pair {
    fn agrees_with(&self, other: &Self) -> bool {
        let next = self.next.as_ref().zip(other.next.as_ref());
        self.first == other.first && next.is_none_or(|(one, other)| one == other)
    }
}

impl Field {
    /// Serves the table on each subject.
    ///
    /// # Errors
    /// If the table has conflicts, or a subject refuses it.
    pub async fn open(subjects: &[&dyn Subject], lines: &[Line]) -> Result<Self> {
        let model = Model::new(lines)?;
        let mut servers = Vec::new();
        for subject in subjects {
            let control = subject.start(application(lines)).await?;
            servers.push(Server {
                name: subject.name(),
                client: Client::new(control.address()),
                control,
            });
        }
        Ok(Self { model, servers })
    }

    /// A client of one subject.
    pub fn client(&self, subject: &str) -> Option<Client> {
        self.servers
            .iter()
            .find(|server| server.name == subject)
            .map(|server| server.client)
    }

    /// Shuts all servers down.
    pub async fn close(self) {
        join_all(self.servers.into_iter().map(|server| server.control.shutdown())).await;
    }

    /// Sends a request to all subjects.
    ///
    /// # Errors
    /// If an answer is neither the model's nor a declared difference, or if two answers differ.
    pub async fn check(&self, request: &Request) -> Result<()> {
        let bytes = [request.to_bytes(), next().to_bytes()].concat();
        let expected = self.model.expect(request);
        let answers = join_all(self.servers.iter().map(|server| server.client.exchange(&bytes))).await;
        let mut reference: Option<(&str, Pair)> = None;
        for (server, transcript) in self.servers.iter().zip(answers) {
            let pair = self.judge(server.name, request, &expected, &transcript?);
            let Some(pair) = pair.with_context(|| server.name)? else {
                continue;
            };
            match &reference {
                Some((other, same)) => ensure!(
                    pair.agrees_with(same),
                    "{other} answers {same:#?}\nand {} answers {pair:#?}",
                    server.name
                ),
                None => reference = Some((server.name, pair)),
            }
        }
        Ok(())
    }

    /// Whether the model answers the request in this way.
    pub(crate) fn agrees(&self, request: &Request, transcript: &Transcript) -> bool {
        let expected = self.model.expect(request);
        self.answers(request, &expected, transcript).is_ok()
    }

    /// Checks one answer; `None` if it is a declared difference, which is not compared.
    fn judge(
        &self,
        adapter: &str,
        request: &Request,
        expected: &Expected,
        transcript: &Transcript,
    ) -> Result<Option<Pair>> {
        let differences = Differences::declared();
        let method = request.method();
        if let Some(instead) = differences.instead(adapter, &method) {
            // A server may choose between two reasons for refusing a head.
            if expected.refused && self.answers(request, expected, transcript).is_ok() {
                return Ok(None);
            }
            differences::check(instead, transcript, &[request.asked(&method), next().asked("GET")])?;
            return Ok(None);
        }
        if !differences.has_own_parser(adapter) {
            return self.answers(request, expected, transcript).map(Some);
        }
        // A server with its own parser chooses when it closes a connection, and which requests it refuses, as long as
        // it refuses them as a whole. It may omit the length in a reply to HEAD.
        let expected = Expected {
            closes: None,
            body: expected.body.clone().filter(|_| method != "HEAD"),
            ..expected.clone()
        };
        match self.answers(request, &expected, transcript) {
            Ok(pair) => Ok((request.is_plain() && method != "HEAD").then_some(pair)),
            Err(_) if !request.is_plain() => self.check_refusal(request, transcript).map(|()| None),
            Err(problem) => Err(problem),
        }
    }

    /// Whether the server refused a request before it reached a handler, and answered nothing after it.
    pub(crate) fn check_refusal(&self, request: &Request, transcript: &Transcript) -> Result<()> {
        let method = request.method();
        let replies = transcript.replies(&[request.asked(&method).last()])?;
        let reply = &replies.first().context("there is no reply")?.response;
        ensure!(
            matches!(reply.status, 400..=499 | 501 | 505),
            "status {}, expected the answer of the core or a refusal",
            reply.status
        );
        Ok(())
    }

    /// Compares the answers on one connection with the model.
    fn answers(&self, request: &Request, expected: &Expected, transcript: &Transcript) -> Result<Pair> {
        let method = request.method();
        let replies = transcript.replies(&[request.asked(&method), next().asked("GET")])?;
        let mut replies = replies.iter().map(|reply| &reply.response);
        let first = replies.next().context("there is no reply")?;
        let second = replies.next();
        expected.check(first, &method)?;
        if let Some(second) = second {
            let expected = self.model.expect(&next());
            expected.check(second, "GET").context("the request behind it")?;
        }
        match (expected.closes, second) {
            (Some(true), Some(_)) => bail!("the connection goes on, expected it to close"),
            (Some(false), None) => bail!("the connection closes, expected it to go on"),
            _ => {}
        }
        ensure!(transcript.end() == End::Closed, "the connection stays open");
        Ok(Pair {
            first: Seen::new(first),
            next: second.filter(|_| expected.closes.is_some()).map(Seen::new),
        })
    }
}

/// The second request of each connection.
fn next() -> Request {
    Request::new("GET", "/next/one").header("connection", "close")
}

impl Seen {
    fn new(response: &Response) -> Self {
        Self {
            status: response.status,
            allow: response.header("allow"),
            content_type: response.header("content-type"),
            length: response.header("content-length"),
            framing: response.framing,
            body: response.body.clone(),
        }
    }
}

impl Expected {
    fn check(&self, response: &Response, method: &str) -> Result<()> {
        ensure!(
            response.status == self.status,
            "status {}, expected {}; the body is `{}`",
            response.status,
            self.status,
            response.text()
        );
        ensure!(
            response.header("allow") == self.allow,
            "allow is {:?}, expected {:?}",
            response.all("allow"),
            self.allow
        );
        let Some(body) = &self.body else { return Ok(()) };
        if method == "HEAD" {
            let length = response.header("content-length");
            ensure!(
                length.as_deref() == Some(body.len().to_string().as_str()),
                "content-length is {length:?}, expected that of `{body}`"
            );
            return Ok(());
        }
        ensure!(
            response.text() == *body,
            "the body is `{}`, expected `{body}`",
            response.text()
        );
        Ok(())
    }
}

/// Handlers that reply with the request that they see, one for each route.
fn application(lines: &[Line]) -> AppSpec {
    lines.iter().enumerate().fold(AppSpec::new(), |app, (route, line)| {
        let handler = move |ctx: Context| async move {
            let body = ctx.bytes().await?;
            let params = ctx.params().iter();
            let told = model::tell(route, ctx.method().as_str(), ctx.path(), ctx.query(), params, &body);
            Ok::<_, Failure>(told)
        };
        match line.method {
            Some(method) => app.register(method, &line.path, handler),
            None => app.register_all(&line.path, handler),
        }
    })
}
