//! The two readers of replies are strict; an invalid reply that one accepts is refused by the other.

use anyhow::Result;
use pointwork_suite::client::{Asked, Transcript};
use pointwork_suite::judge::{Docket, refusals};

use crate::trials;

trials! {
    what_no_server_may_send_is_refused,
    sound_replies_are_taken_by_both,
    the_judge_refuses_on_its_own,
}

/// Invalid replies: the method of the request, the fault, and the bytes.
const BAD: &[(&str, &str, &str)] = &[
    (
        "GET",
        "bytes behind the length",
        "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nabc",
    ),
    (
        "GET",
        "bytes behind a close",
        "HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nabc",
    ),
    (
        "GET",
        "fewer bytes than the length",
        "HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nab",
    ),
    (
        "HEAD",
        "a body to HEAD",
        "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nab",
    ),
    ("GET", "a body with 204", "HTTP/1.1 204 No Content\r\n\r\nab"),
    (
        "GET",
        "a length with 204",
        "HTTP/1.1 204 No Content\r\ncontent-length: 0\r\n\r\n",
    ),
    (
        "GET",
        "a body with 304",
        "HTTP/1.1 304 Not Modified\r\ncontent-length: 2\r\n\r\nab",
    ),
    ("CONNECT", "a body in a tunnel", "HTTP/1.1 200 OK\r\n\r\nab"),
    (
        "CONNECT",
        "a length before a tunnel",
        "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nab",
    ),
    (
        "GET",
        "length, then encoding",
        "HTTP/1.1 200 OK\r\ncontent-length: 12\r\ntransfer-encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n",
    ),
    (
        "GET",
        "encoding, then length",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\ncontent-length: 12\r\n\r\n2\r\nab\r\n0\r\n\r\n",
    ),
    (
        "GET",
        "two lengths",
        "HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 2\r\n\r\nab",
    ),
    (
        "GET",
        "a list of lengths",
        "HTTP/1.1 200 OK\r\ncontent-length: 2, 2\r\n\r\nab",
    ),
    (
        "GET",
        "a length with a sign",
        "HTTP/1.1 200 OK\r\ncontent-length: +2\r\n\r\nab",
    ),
    (
        "GET",
        "a foreign encoding",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: gzip\r\n\r\nab",
    ),
    (
        "GET",
        "a chunk that is too long",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nabc\r\n0\r\n\r\n",
    ),
    (
        "GET",
        "a chunk without a size",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\nab\r\n0\r\n\r\n",
    ),
    (
        "GET",
        "no last chunk",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nab\r\n",
    ),
    (
        "GET",
        "half a last chunk",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n",
    ),
    (
        "GET",
        "NUL in a header",
        "HTTP/1.1 200 OK\r\nx: a\0b\r\ncontent-length: 0\r\n\r\n",
    ),
    (
        "GET",
        "CR in a header",
        "HTTP/1.1 200 OK\r\nx: a\rb\r\ncontent-length: 0\r\n\r\n",
    ),
    (
        "GET",
        "LF in a header",
        "HTTP/1.1 200 OK\r\nx: a\nb: c\r\ncontent-length: 0\r\n\r\n",
    ),
    (
        "GET",
        "a space in a name",
        "HTTP/1.1 200 OK\r\nx y: a\r\ncontent-length: 0\r\n\r\n",
    ),
    (
        "GET",
        "a space before the colon",
        "HTTP/1.1 200 OK\r\nx : a\r\ncontent-length: 0\r\n\r\n",
    ),
    ("GET", "no name", "HTTP/1.1 200 OK\r\n: a\r\ncontent-length: 0\r\n\r\n"),
    (
        "GET",
        "another protocol",
        "HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n",
    ),
    (
        "GET",
        "a second reply",
        "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n",
    ),
    ("GET", "half a head", "HTTP/1.1 200 OK\r\ncontent-len"),
    ("GET", "nothing", ""),
];

/// Valid replies, which both readers have to accept.
const GOOD: &[(&str, &str)] = &[
    ("GET", "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nab"),
    ("GET", "HTTP/1.1 200 OK\r\nconnection: close\r\n\r\nab"),
    ("GET", "HTTP/1.0 200 OK\r\n\r\nab"),
    (
        "GET",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n",
    ),
    (
        "GET",
        "HTTP/1.1 404 Not Found\r\nX-Odd: \u{e9} a\tb\r\ncontent-length: 0\r\n\r\n",
    ),
    ("HEAD", "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n"),
    ("HEAD", "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"),
    ("GET", "HTTP/1.1 204 No Content\r\n\r\n"),
    ("GET", "HTTP/1.1 304 Not Modified\r\n\r\n"),
    ("CONNECT", "HTTP/1.1 200 OK\r\n\r\n"),
    ("CONNECT", "HTTP/1.1 404 Not Found\r\ncontent-length: 2\r\n\r\nab"),
];

async fn what_no_server_may_send_is_refused() -> Result<()> {
    for (method, what, bytes) in BAD {
        let read = Transcript::closed(*bytes).replies(&[Asked::with_method(method)]);
        assert!(read.is_err(), "{what}: {read:?}");
    }
    Ok(())
}

async fn sound_replies_are_taken_by_both() -> Result<()> {
    let mut docket = Docket::new();
    for (method, bytes) in GOOD {
        docket.enter(&Transcript::closed(*bytes), &[Asked::with_method(method)], bytes)?;
    }
    docket.judge().await
}

/// Faults that the second reader has to detect without the first.
async fn the_judge_refuses_on_its_own() -> Result<()> {
    // These break rules of the head, but end where both readers expect it.
    const TAKEN: [&str; 5] = [
        "a length with 204",
        "a length before a tunnel",
        "a foreign encoding",
        "a second reply",
        "another protocol",
    ];
    let bad: Vec<_> = BAD.iter().filter(|(_, what, _)| !TAKEN.contains(what)).collect();
    let replies: Vec<_> = bad
        .iter()
        .map(|(method, _, bytes)| (*method, bytes.as_bytes()))
        .collect();
    for ((_, what, _), refusal) in bad.iter().zip(refusals(&replies).await?) {
        assert!(refusal.is_some(), "the judge takes {what}");
    }
    Ok(())
}
