//! A table of raw requests, each with its clause of RFC 9110, 9112 or 9113: the bytes, and the answer to them.
//!
//! An adapter that answers a row in another way is declared in `tests/differences.toml`, as `requests::NAME`. All rows of
//! an adapter share one server.

mod bodies;
mod fields;
mod frames;
mod lines;

use std::collections::BTreeSet;
use std::time::Duration;

use futures_util::{StreamExt as _, stream};
use pointwork_core::{Context, Failure, ServerOptions};

use crate::client::{Asked, Client, End, Transcript};
use crate::differences::Differences;
use crate::{On, Server, route};

crate::cases! {
    every_row_of_http_1_gets_its_answer: A1,
    every_row_of_http_2_gets_its_answer: A5,
    the_table_has_its_rows,
}

/// One row of the table.
struct Row {
    name: &'static str,
    /// RFC and section.
    clause: &'static str,
    kind: Kind,
    /// The variable part; each character is one byte.
    text: &'static str,
    /// The statuses of the replies in order, and ` +` if the connection serves the request that follows; otherwise it has to
    /// close. `end` is an end without a reply, and `reset` that of a stream of HTTP/2. Where several answers are right, `or`
    /// stands between them.
    answer: &'static str,
    /// The beginning of the first reply's body: what the handler saw, as [`told`] writes it.
    sees: &'static str,
}

/// The place of a row's text.
#[derive(Clone, Copy)]
enum Kind {
    /// The whole request.
    Raw,
    /// The request line; a `Host` follows.
    Line,
    /// The header lines of a GET.
    Head,
    /// The header lines of a GET behind its `Host`.
    Fields,
    /// The framing of a POST, whose body `12345` follows.
    Framed,
    /// The header lines of a POST, whose chunked body is empty.
    Coded,
    /// The body of a POST with `Transfer-Encoding: chunked`.
    Chunks,
    /// The authority of a target and, the same, of `Host`.
    Authority,
    /// The fields of a request in HTTP/2, with `;` between them, and its body behind `#`.
    Stream,
    /// Frames of HTTP/2 as `type flags stream payload`, in hexadecimal, with `;` between them.
    Frames,
}

/// The rows of a file. A row is `kind name clause text => answer;`, and `sees text` may stand before the semicolon.
macro_rules! rows {
    ($($kind:ident $name:ident $clause:literal $text:expr => $answer:literal $(sees $sees:literal)?;)+) => {
        pub(super) const ROWS: &[$crate::cases::requests::Row] = &[$($crate::cases::requests::Row {
            name: stringify!($name),
            clause: $clause,
            kind: $crate::cases::requests::Kind::$kind,
            text: $text,
            answer: $answer,
            sees: concat!($($sees)?),
        }),+];
    };
}
use rows;

/// The request behind each row's.
const NEXT: &str = "GET /next HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n";

/// The names of all rows, as `tests/differences.toml` has them.
pub(crate) fn names() -> impl Iterator<Item = String> {
    all_rows().map(|row| format!("requests::{}", row.name))
}

fn all_rows() -> impl Iterator<Item = &'static Row> {
    of_http_1().chain(frames::ROWS)
}

fn of_http_1() -> impl Iterator<Item = &'static Row> {
    [lines::ROWS, fields::ROWS, bodies::ROWS].into_iter().flatten()
}

impl Row {
    fn bytes(&self) -> Vec<u8> {
        let text = self.text;
        let post = "POST /it HTTP/1.1\r\nhost: a\r\n";
        let whole = match self.kind {
            Kind::Line => format!("{text}\r\nhost: a\r\n\r\n"),
            Kind::Head => format!("GET /it HTTP/1.1\r\n{text}\r\n\r\n"),
            Kind::Fields => format!("GET /it HTTP/1.1\r\nhost: a\r\n{text}\r\n\r\n"),
            Kind::Framed => format!("{post}{text}\r\n\r\n12345"),
            Kind::Coded => format!("{post}{text}\r\n\r\n0\r\n\r\n"),
            Kind::Chunks => format!("{post}transfer-encoding: chunked\r\n\r\n{text}"),
            Kind::Authority => format!("GET http://{text}/it HTTP/1.1\r\nhost: {text}\r\n\r\n"),
            Kind::Raw | Kind::Stream | Kind::Frames => text.to_owned(),
        };
        let byte = |character| u8::try_from(u32::from(character)).expect("a character is one byte");
        whole.chars().map(byte).collect()
    }

    /// Compares an answer with the row's.
    fn judge(&self, answer: &str, first_body: &str) -> Result<(), String> {
        if !self.answer.split(" or ").any(|right| right == answer) {
            return Err(format!("the answer is `{answer}`, expected `{}`", self.answer));
        }
        if !first_body.starts_with(self.sees) {
            return Err(format!("the handler saw `{first_body}`, expected `{}`", self.sees));
        }
        Ok(())
    }
}

/// What a handler saw: method, path, host, and the body.
async fn told(ctx: Context) -> Result<String, Failure> {
    let body = ctx.bytes().await?;
    let host = ctx.headers().get("host").and_then(|host| host.to_str().ok());
    let told = format!("{} {} {}", ctx.method(), ctx.path(), host.unwrap_or("-"));
    Ok(format!("{told} {}", String::from_utf8_lossy(&body)))
}

async fn server(on: On) -> Server {
    let options = ServerOptions::new()
        // A server that waits for more gives up soon.
        .header_timeout(Duration::from_secs(3))
        .body_timeout(Duration::from_secs(3));
    let routes = vec![route("ALL", "/", told), route("ALL", "/*rest", told)];
    Server::limited(on, options, routes, 1_000_000).await
}

/// Judges each row by the declared differences.
async fn judged<F: Future<Output = Result<(), String>>>(
    on: On,
    rows: impl Iterator<Item = &'static Row>,
    run: impl Fn(&'static Row) -> F,
) {
    let outcomes = rows.map(|row| {
        let outcome = run(row);
        async move { (row, outcome.await) }
    });
    let outcomes: Vec<_> = stream::iter(outcomes).buffer_unordered(50).collect().await;
    let complaints: Vec<_> = outcomes
        .into_iter()
        .filter_map(|(row, outcome)| {
            let verdict = Differences::declared().judge(on.name, &format!("requests::{}", row.name), || outcome);
            Some(format!("{} (RFC {}): {}", row.name, row.clause, verdict.err()?))
        })
        .collect();
    assert!(complaints.is_empty(), "\n{}", complaints.join("\n"));
}

async fn every_row_of_http_1_gets_its_answer(on: On) {
    let server = server(on).await;
    let client = Client::new(server.address);
    judged(on, of_http_1(), |row| async move {
        let bytes = row.bytes();
        // Behind a request that is refused the next one is there already, so that the server could take it for one.
        let transcript = if row.answer.ends_with('+') {
            client.exchange_parts(&[&bytes, NEXT.as_bytes()]).await
        } else {
            client.exchange(&[&bytes, NEXT.as_bytes()].concat()).await
        };
        let transcript = transcript.map_err(|error| error.to_string())?;
        let (answer, first_body) = read(row, &transcript)?;
        row.judge(&answer, &first_body)
    })
    .await;
}

/// The answer in the table's form, and the body of the first reply.
fn read(row: &Row, transcript: &Transcript) -> Result<(String, String), String> {
    if transcript.bytes().is_empty() && transcript.end() == End::Closed {
        return Ok(("end".to_owned(), String::new()));
    }
    let bytes = row.bytes();
    let method = bytes.split(|byte| *byte == b' ').next().unwrap_or_default();
    // The most that a row has.
    let mut asked = [Asked::with_method("GET"); 4];
    asked[0].method = if method == b"HEAD" { "HEAD" } else { "GET" };
    let replies = transcript
        .replies(&asked)
        .map_err(|error| format!("{:#}", anyhow::Error::from(error)))?;
    let mut statuses: Vec<_> = replies.iter().map(|reply| reply.response.status.to_string()).collect();
    if replies
        .last()
        .is_some_and(|reply| reply.response.text().starts_with("GET /next "))
    {
        statuses.pop();
        statuses.push("+".to_owned());
    } else if transcript.end() == End::Open {
        statuses.push("open".to_owned());
    }
    let first_body = replies.first().map(|reply| reply.response.text());
    Ok((statuses.join(" "), first_body.unwrap_or_default()))
}

async fn every_row_of_http_2_gets_its_answer(on: On) {
    let server = server(on).await;
    judged(on, frames::ROWS.iter(), |row| frames::run(row, server.address)).await;
}

async fn the_table_has_its_rows(_: On) {
    let names: BTreeSet<_> = names().collect();
    assert_eq!(names.len(), all_rows().count(), "two rows have one name");
    assert!(names.len() >= 200, "{}", names.len());
    for row in all_rows() {
        let (rfc, section) = row.clause.split_once(' ').unwrap_or_default();
        let is_section = section.split('.').all(|part| part.parse::<u8>().is_ok());
        assert!(
            ["9110", "9112", "9113"].contains(&rfc) && is_section,
            "{}: `{}`",
            row.name,
            row.clause
        );
    }
}
