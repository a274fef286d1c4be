//! What is no request, or an unusual one.

use std::time::Duration;

use pointwork_core::{Context, ServerOptions};

use crate::client::Client;
use crate::subject::{Subject, route, routes};

async fn subject() -> Subject {
    let mut all = routes();
    all.push(route("GET", "/pause", async |_: Context| {
        tokio::time::sleep(Duration::from_millis(20)).await;
        "paused"
    }));
    all.push(route("GET", "/headers", async |context: Context| {
        let lines = context.headers().iter().map(|(name, value)| {
            let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
            format!("{name}={value}")
        });
        lines.collect::<Vec<_>>().join("|")
    }));
    Subject::with(ServerOptions::default(), all).await
}

/// Sends it and reads to the end of the connection, which must not be a reset.
async fn raw(subject: &Subject, bytes: impl AsRef<[u8]>) -> String {
    let mut client = subject.client().await;
    client.send(bytes).await;
    client.rest().await.unwrap()
}

fn assert_refused(reply: &str, status: &str, shown: &str) {
    assert!(
        reply.starts_with(&format!("HTTP/1.1 {status}\r\n")),
        "{shown}: {reply:?}"
    );
    assert!(reply.contains("\r\nconnection: close\r\n"), "{shown}: {reply:?}");
    assert!(reply.contains("\r\ncontent-length: 0\r\n"), "{shown}: {reply:?}");
    assert!(reply.ends_with("\r\n\r\n"), "{shown}: {reply:?}");
    assert_eq!(reply.matches("HTTP/1.1").count(), 1, "{shown}: {reply:?}");
}

const MALFORMED: &[&[u8]] = &[
    b"G(T /hello HTTP/1.1\r\nhost: a\r\n\r\n",
    b"GET /hel\0lo HTTP/1.1\r\nhost: a\r\n\r\n",
    b"GET /hel lo HTTP/1.1\r\nhost: a\r\n\r\n",
    b"GET hello HTTP/1.1 HTTP/1.1\r\nhost: a\r\n\r\n",
    b"GET /hello HTTP/1.2\r\nhost: a\r\n\r\n",
    b"GET /hello HTTP/2.0\r\nhost: a\r\n\r\n",
    b"GET /hello\r\n\r\n",
    b"GET /hello HTTP/1.1\r\nhost: a\r\nx: a\0b\r\n\r\n",
    b"GET /hello HTTP/1.1\r\nhost: a\r\nx: a\rb\r\n\r\n",
    b"GET /hello HTTP/1.1\r\nhost: a\r\nx: a\x7fb\r\n\r\n",
    b"GET /hello HTTP/1.1\r\nhost: a\r\nno colon\r\n\r\n",
    b"GET /hello HTTP/1.1\r\nhost: a\r\nx : y\r\n\r\n",
    b"GET /hello HTTP/1.1\r\nhost: a\r\n: y\r\n\r\n",
    b"GET /hello HTTP/1.1\r\nhost: a\r\nx: y\r\n folded\r\n\r\n",
    b"GET /hello HTTP/1.1\r\nhost: a\r\ncontent-length: +1\r\n\r\n",
    b"GET /hello HTTP/1.1\r\nhost: a\r\ncontent-length: \r\n\r\n",
    b"GET /hello HTTP/1.1\r\nhost: a\r\ncontent-length: 1, 1\r\n\r\n",
    b"GET /hello HTTP/1.1\r\nhost: a\r\ncontent-length: 18446744073709551616\r\n\r\n",
    b"GET /hello HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nx",
    b"GET /hello HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\ncontent-length: 1\r\n\r\nx",
    b"POST /body HTTP/1.1\r\nhost: a\r\ncontent-length: 3\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
    b"POST /body HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\ncontent-length: 3\r\n\r\n0\r\n\r\n",
    b"GET /hello HTTP/1.1\r\nhost: a\r\ntransfer-encoding: gzip\r\n\r\n",
    b"GET /hello HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked, identity\r\n\r\n",
    b"GET /hello HTTP/1.0\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n",
    b"\x16\x03\x01\x00\xa5\x01\x00\x00\xa1\x03\x03 a TLS client that took the wrong port\r\n\r\n",
];

#[tokio::test]
async fn what_is_no_request_gets_400_and_the_end() {
    let subject = subject().await;
    for bytes in MALFORMED {
        let shown = String::from_utf8_lossy(bytes);
        assert_refused(&raw(&subject, bytes).await, "400 Bad Request", &shown);
    }
}

#[tokio::test]
async fn what_follows_a_good_request_is_refused_as_well() {
    let subject = subject().await;
    for bytes in MALFORMED {
        let mut client = subject.client().await;
        client
            .send([b"GET /pause HTTP/1.1\r\nhost: a\r\n\r\n", *bytes].concat())
            .await;
        let shown = String::from_utf8_lossy(bytes);
        assert_eq!(client.reply().await.body, "paused", "{shown}");
        assert_refused(&client.rest().await.unwrap(), "400 Bad Request", &shown);
    }
}

#[tokio::test]
async fn a_target_beyond_64_kib_gets_414() {
    let mut options = ServerOptions::default();
    options.max_header_bytes = 256 * 1024;
    let subject = Subject::with(options, routes()).await;
    let with = |length: usize| format!("GET /{} HTTP/1.1\r\nhost: a\r\n\r\n", "x".repeat(length - 1));
    assert_eq!(
        subject
            .client()
            .await
            .get(&format!("/{}", "x".repeat(65533)))
            .await
            .status(),
        404
    );
    assert_refused(&raw(&subject, with(65535)).await, "414 URI Too Long", "");
}

#[tokio::test]
async fn hosts_are_the_routers_to_judge() {
    let subject = subject().await;
    for head in [
        "GET /hello HTTP/1.1\r\n\r\n",
        "GET /hello HTTP/1.1\r\nhost: a\r\nhost: a\r\n\r\n",
        "GET /hello HTTP/1.1\r\nhost: a b\r\n\r\n",
    ] {
        let mut client = subject.client().await;
        client.send(head).await;
        let reply = client.reply().await;
        assert_eq!(reply.status(), 400, "{head:?}");
        assert!(reply.body.starts_with("{\"message\":"), "{head:?}: {}", reply.body);
        assert_eq!(reply.all("connection"), ["close"], "{head:?}");
        assert_eq!(client.rest().await.unwrap(), "", "{head:?}");
    }
    // An authority in the target stands in for it; HTTP/1.0 has none.
    for head in [
        "GET http://a/hello HTTP/1.1\r\nconnection: close\r\n\r\n",
        "GET /hello HTTP/1.0\r\n\r\n",
    ] {
        assert!(raw(&subject, head).await.ends_with("\r\n\r\nhello"), "{head:?}");
    }
}

#[tokio::test]
async fn a_transfer_coding_beside_chunked_gets_501() {
    let subject = subject().await;
    let request = "POST /body HTTP/1.1\r\nhost: a\r\ntransfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n";
    let reply = raw(&subject, request).await;
    assert!(reply.starts_with("HTTP/1.1 501 Not Implemented\r\n"), "{reply}");
    assert!(reply.contains("\r\nconnection: close\r\n"), "{reply}");
}

#[tokio::test]
async fn line_ends_may_lack_their_carriage_return() {
    let subject = subject().await;
    let mut client = subject.client().await;
    client
        .send("\r\n\nGET /hello HTTP/1.1\nhost: a\n\nGET /echo/1 HTTP/1.1\r\nhost: a\n\r\n")
        .await;
    assert_eq!(client.reply().await.body, "hello");
    assert_eq!(client.reply().await.body, "1");
}

#[tokio::test]
async fn headers_arrive_in_order_and_with_every_byte() {
    let subject = subject().await;
    let mut client = subject.client().await;
    let lines = "X-B: 1\r\nhost: a\r\nx-a:\t2 \r\nx-b:3\r\nexpect: 100-continue\r\nUpgrade: websocket\r\nx-empty:\r\n";
    client
        .send(format!("GET /headers HTTP/1.1\r\n{lines}x-\u{e9}: \r\n\r\n").replace('\u{e9}', "t"))
        .await;
    let reply = client.reply().await;
    assert_eq!(
        reply.body,
        "x-b=1|x-b=3|host=a|x-a=2|expect=100-continue|upgrade=websocket|x-empty=|x-t="
    );
}

#[tokio::test]
async fn a_post_without_a_length_has_an_empty_body() {
    let subject = subject().await;
    for head in [
        "POST /body HTTP/1.0\r\n\r\n",
        "POST /body HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n",
    ] {
        assert!(raw(&subject, head).await.ends_with("\r\n\r\n0 bytes"), "{head}");
    }
}

#[tokio::test]
async fn connect_is_a_request_like_any_other() {
    let subject = Subject::with(
        ServerOptions::default(),
        vec![route("CONNECT", "/tunnel", async |_: Context| {
            http::StatusCode::FORBIDDEN
        })],
    )
    .await;
    let mut client = subject.client().await;
    for _ in 0..2 {
        client.send("CONNECT /tunnel HTTP/1.1\r\nhost: a\r\n\r\n").await;
        assert_eq!(client.reply().await.status(), 403);
    }
}

async fn chunked(client: &mut Client, chunks: &str) {
    client
        .send(format!(
            "POST /body HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n{chunks}"
        ))
        .await;
}

#[tokio::test]
async fn extensions_and_trailers_of_chunks_are_passed_over() {
    let subject = subject().await;
    let mut client = subject.client().await;
    chunked(&mut client, "3;a=\"b\"\r\nabc\r\n00 ; x\r\nx-trailer: y\r\n\r\n").await;
    assert_eq!(client.reply().await.body, "3 bytes");
    assert_eq!(client.get("/echo/1").await.body, "1");
}

#[tokio::test]
async fn a_body_may_come_byte_by_byte() {
    let subject = subject().await;
    let mut client = subject.client().await;
    for byte in "POST /body HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n".bytes() {
        client.send([byte]).await;
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    assert_eq!(client.reply().await.body, "2 bytes");
    assert_eq!(client.get("/echo/1").await.body, "1");
}

#[tokio::test]
async fn garbled_chunks_are_told_to_the_handler_and_end_the_connection() {
    let subject = subject().await;
    for chunks in [
        "zz\r\n",
        "3\r\nabcd\r\n",
        "\r\n",
        "3\nabc",
        "0\r\n\n",
        "11111111111111111\r\n",
    ] {
        let mut client = subject.client().await;
        chunked(&mut client, chunks).await;
        let reply = client.reply().await;
        assert_eq!(reply.status(), 400, "{chunks:?}");
        assert_eq!(reply.body, "{\"message\":\"the body could not be read\"}", "{chunks:?}");
        assert_eq!(client.rest().await.unwrap(), "", "{chunks:?}");
    }
}
