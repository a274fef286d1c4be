//! Requests in which two readers might see two different ends: every adapter refuses them in the same way, and never
//! takes the bytes after them for a second request (spec A1).

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context as _, Result, ensure};
use futures_util::future::join_all;
use pointwork_core::{Context, Failure, ServerOptions};

use crate::client::{Asked, Client, Transcript};
use crate::{On, Server, route};

crate::cases! {
    a_host_that_is_missing_or_doubled_or_none_is_refused: A1,
    a_second_content_length_is_refused: A1,
    a_length_beside_an_encoding_is_refused: A1,
    control_bytes_in_a_head_are_refused: A1,
    a_line_feed_within_a_request_line_is_refused: A1,
    a_head_beyond_the_limits_is_refused: A1,
    a_body_that_breaks_its_framing_hides_no_request: A1,
    a_lone_line_feed_in_a_trailer_hides_no_request: A1,
    a_long_header_hides_no_second_framing: A1,
}

/// The request after each request. An answer to it means that the server took bytes of a refused request for another
/// request.
const SMUGGLED: &[u8] = b"GET /smuggled HTTP/1.1\r\nhost: a\r\n\r\n";

/// A server that counts the calls of its handler.
async fn counting(on: On) -> (Server, Arc<AtomicUsize>) {
    let runs = Arc::new(AtomicUsize::new(0));
    let counted = runs.clone();
    let handler = move |ctx: Context| {
        counted.fetch_add(1, Ordering::Relaxed);
        async move { Ok::<_, Failure>(format!("{} {}", ctx.path(), ctx.bytes().await?.len())) }
    };
    let routes = vec![route("ALL", "/", handler.clone()), route("ALL", "/*rest", handler)];
    (Server::with(on, ServerOptions::new(), routes).await, runs)
}

/// Sends each request followed by another. Each has to get one of the statuses, the connection has to close, and no
/// handler may run.
async fn refused(on: On, statuses: &[u16], requests: Vec<Vec<u8>>) {
    let (server, runs) = counting(on).await;
    are_refused(&server, statuses, &requests).await;
    assert_eq!(runs.load(Ordering::Relaxed), 0, "a handler ran");
    assert_eq!(server.client().await.get("/sound").await.body, "/sound 0");
}

async fn are_refused(server: &Server, statuses: &[u16], requests: &[Vec<u8>]) {
    let verdicts = requests.iter().map(|request| async {
        let request = [request.as_slice(), SMUGGLED].concat();
        let transcript = Client::new(server.address).exchange(&request).await?;
        one_refusal(&transcript, statuses).with_context(|| shown(&request))
    });
    let complaints: Vec<_> = join_all(verdicts).await.into_iter().filter_map(Result::err).collect();
    let complaints: Vec<_> = complaints.iter().map(|complaint| format!("{complaint:#}")).collect();
    assert!(complaints.is_empty(), "\n{}", complaints.join("\n"));
}

fn one_refusal(transcript: &Transcript, statuses: &[u16]) -> Result<()> {
    let replies = transcript.replies(&[Asked::with_method("GET").last()])?;
    let status = replies.first().context("there is no reply")?.response.status;
    ensure!(
        statuses.contains(&status),
        "status {status}, expected one of {statuses:?}"
    );
    Ok(())
}

fn shown(request: &[u8]) -> String {
    let text = request.escape_ascii().to_string();
    match text.char_indices().nth(200) {
        Some((at, _)) => format!("`{}…`", &text[..at]),
        None => format!("`{text}`"),
    }
}

/// A POST with these header lines after `Host`, and a body of five bytes.
fn post(headers: &str) -> Vec<u8> {
    format!("POST /it HTTP/1.1\r\nhost: a\r\n{headers}\r\n\r\n12345").into_bytes()
}

/// A GET with these bytes in place of its headers.
fn get(headers: &[u8]) -> Vec<u8> {
    [b"GET /it HTTP/1.1\r\n".as_slice(), headers, b"\r\n\r\n"].concat()
}

async fn a_host_that_is_missing_or_doubled_or_none_is_refused(on: On) {
    let mut requests = vec![b"GET /it HTTP/1.1\r\n\r\n".to_vec()];
    let hosts: [&[u8]; 12] = [
        b"x: y",
        b"host: a\r\nhost: a",
        b"host: a\r\nHost: b",
        b"HOST: a\r\nx: y\r\nhost:",
        b"host: a b",
        b"host: a/b",
        b"host: user@a",
        b"host: http://a",
        b"host: a:port",
        b"host: [::1",
        b"host: a?b",
        b"host: \xff",
    ];
    requests.extend(hosts.map(get));
    refused(on, &[400], requests).await;
}

async fn a_second_content_length_is_refused(on: On) {
    let requests = [
        "content-length: 5\r\ncontent-length: 5",
        "content-length: 5\r\ncontent-length: 0",
        "content-length: 0\r\nContent-Length: 5",
        "content-length: 5\r\nx: y\r\nCONTENT-LENGTH: 5",
        "content-length: 5, 5",
        "content-length: 5,5",
        "content-length: 5, 0",
        "content-length: 5, 5\r\ncontent-length: 5",
    ];
    refused(on, &[400], requests.map(post).to_vec()).await;
}

async fn a_length_beside_an_encoding_is_refused(on: On) {
    let heads = [
        "content-length: 5\r\ntransfer-encoding: chunked",
        "transfer-encoding: chunked\r\ncontent-length: 5",
        "Transfer-Encoding: Chunked\r\nx: y\r\nContent-Length: 0",
        "content-length: 5\r\ntransfer-encoding: gzip, chunked",
        "content-length: 5\r\ntransfer-encoding: identity",
        "content-length: 5\r\ntransfer-encoding:",
    ];
    let requests =
        heads.map(|headers| format!("POST /it HTTP/1.1\r\nhost: a\r\n{headers}\r\n\r\n0\r\n\r\n").into_bytes());
    refused(on, &[400], requests.to_vec()).await;
}

async fn control_bytes_in_a_head_are_refused(on: On) {
    let mut requests = Vec::new();
    // A line feed alone has a case of its own.
    for byte in [0_u8, 1, 7, 8, 0xb, 0xc, b'\r', 0x1b, 0x1f, 0x7f] {
        let at = [byte];
        requests.push(get(&[b"host: a\r\nx: y".as_slice(), &at, b"z"].concat()));
        requests.push(get(&[b"host: a\r\nx".as_slice(), &at, b"y: z"].concat()));
        requests.push([b"GET /i".as_slice(), &at, b"t HTTP/1.1\r\nhost: a\r\n\r\n"].concat());
        requests.push([b"G".as_slice(), &at, b"T /it HTTP/1.1\r\nhost: a\r\n\r\n"].concat());
        requests.push([b"GET /it?q".as_slice(), &at, b" HTTP/1.1\r\nhost: a\r\n\r\n"].concat());
        requests.push([b"GET /it HTTP/1.1".as_slice(), &at, b"\r\nhost: a\r\n\r\n"].concat());
        requests.push(get(&[b"host: a".as_slice(), &at, b"b"].concat()));
    }
    refused(on, &[400], requests).await;
}

/// At the end of a line, a line feed alone counts as a line end, as RFC 9112, section 2.2, allows; all adapters accept
/// it there.
async fn a_line_feed_within_a_request_line_is_refused(on: On) {
    let requests: [&[u8]; 2] = [
        b"GET /i\nt HTTP/1.1\r\nhost: a\r\n\r\n",
        b"G\nET /it HTTP/1.1\r\nhost: a\r\n\r\n",
    ];
    refused(on, &[400], requests.map(<[u8]>::to_vec).to_vec()).await;
}

async fn a_head_beyond_the_limits_is_refused(on: On) {
    let long = "x".repeat(2_000_000);
    let many: String = (0..20_000).map(|nth| format!("\r\nx-{nth}: y")).collect();
    let requests = [
        get(format!("host: a\r\nx: {long}").as_bytes()),
        get(format!("host: a\r\n{long}: x").as_bytes()),
        get(format!("host: a{many}").as_bytes()),
        format!("GET /{long} HTTP/1.1\r\nhost: a\r\n\r\n").into_bytes(),
        format!("{long} /it HTTP/1.1\r\nhost: a\r\n\r\n").into_bytes(),
    ];
    refused(on, &[400, 414, 431, 501], requests.to_vec()).await;
}

/// The head is valid, so a handler may run and get the error of the broken body.
async fn a_body_that_breaks_its_framing_hides_no_request(on: On) {
    let (server, _) = counting(on).await;
    let bodies: [&[u8]; 12] = [
        b"5\r\n123456\r\n0\r\n\r\n",
        b"5\r\n1234\r\n0\r\n\r\n",
        b"5\r\n12345\n0\r\n\r\n",
        b"g\r\n12345\r\n0\r\n\r\n",
        b"-1\r\n12345\r\n0\r\n\r\n",
        b"+5\r\n12345\r\n0\r\n\r\n",
        b"0x5\r\n12345\r\n0\r\n\r\n",
        b"5 5\r\n12345\r\n0\r\n\r\n",
        b"\r\n12345\r\n0\r\n\r\n",
        b"fffffffffffffffff\r\n12345\r\n0\r\n\r\n",
        b"100000000000000005\r\n12345\r\n0\r\n\r\n",
        b"5\r12345\r\n0\r\n\r\n",
    ];
    let head = b"POST /it HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n".as_slice();
    are_refused(&server, &[400], &bodies.map(|body| [head, body].concat())).await;
}

/// A server that takes the line feed for the end of the trailers, and one that does not, see different requests: what one
/// takes for a trailer is a head with two framings for the other.
async fn a_lone_line_feed_in_a_trailer_hides_no_request(on: On) {
    let (server, _) = counting(on).await;
    let begin = "POST /it HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n0\r\n";
    let hidden = "GET /hidden HTTP/1.1\r\nhost: a\r\ncontent-length: 500\r\n\r\n";
    let two = "POST /two HTTP/1.1\r\nhost: a\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n";
    let trailers = [
        "x: y\n\r\n",
        "x: y\r\nz: \n\r\n",
        "\n\r\n",
        "\n",
        "x: y\n\n",
        "x: y\r\n\n",
    ];
    let requests = trailers.map(|trailers| format!("{begin}{trailers}{hidden}{two}").into_bytes());
    are_refused(&server, &[400], &requests).await;
}

/// The limit for heads is longer than what a server reads at once.
async fn a_long_header_hides_no_second_framing(on: On) {
    let options = ServerOptions::new().max_header_bytes(120 * 1024);
    let long = "y".repeat(100_000);
    let server = Server::with(on, options, crate::routes()).await;
    let framing = "content-length: 5\r\ntransfer-encoding: chunked";
    let request = format!("POST /body HTTP/1.1\r\nhost: a\r\nx: {long}\r\n{framing}\r\n\r\n0\r\n\r\n");
    are_refused(&server, &[400], &[request.into_bytes()]).await;
}
