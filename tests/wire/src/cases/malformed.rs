//! Invalid requests, and the part that refuses each: the server or the router.

use std::time::Duration;

use pointwork_core::ServerOptions;

use crate::probe::normal;
use crate::{On, Server, routes};

crate::cases! {
    what_is_no_request_gets_400_and_the_end: A1,
    what_follows_a_good_request_is_refused_as_well: A1,
    a_later_version_of_http_1_is_refused: A1,
    the_refusal_of_a_later_request_says_that_the_connection_closes: A1,
    a_host_that_is_missing_or_doubled_is_refused_by_the_router: A1,
    a_malformed_host_is_refused_by_the_router: A1,
    line_ends_may_lack_their_carriage_return: A1,
}

const MALFORMED: &[&[u8]] = &[
    b"G(T /hello HTTP/1.1\r\nhost: a\r\n\r\n",
    b"GET /hel\0lo HTTP/1.1\r\nhost: a\r\n\r\n",
    b"GET /hel lo HTTP/1.1\r\nhost: a\r\n\r\n",
    b"GET hello HTTP/1.1 HTTP/1.1\r\nhost: a\r\n\r\n",
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
    b"GET /hello HTTP/1.1\r\nhost: a\r\ncontent-length: -3\r\n\r\n",
    b"GET /hello HTTP/1.1\r\nhost: a\r\ncontent-length: \r\n\r\n",
    b"GET /hello HTTP/1.1\r\nhost: a\r\ncontent-length: 1, 1\r\n\r\n",
    b"GET /hello HTTP/1.1\r\nhost: a\r\ncontent-length: 18446744073709551616\r\n\r\n",
    b"GET /hello HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nx",
    b"GET /hello HTTP/1.1\r\nhost: a\r\ntransfer-encoding: gzip\r\n\r\n",
    b"GET /hello HTTP/1.1\r\nhost: a\r\ntransfer-encoding: identity\r\n\r\n",
    b"GET /hello HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked, identity\r\n\r\n",
    b"\x16\x03\x01\x00\xa5\x01\x00\x00\xa1\x03\x03 a TLS client that took the wrong port\r\n\r\n",
];

const REFUSAL: &str = "HTTP/1.1 400 Bad Request\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";

async fn what_is_no_request_gets_400_and_the_end(on: On) {
    let server = Server::plain(on).await;
    for bytes in MALFORMED {
        let shown = String::from_utf8_lossy(bytes);
        assert_eq!(server.exchange(bytes).await, REFUSAL, "{shown}");
    }
}

async fn what_follows_a_good_request_is_refused_as_well(on: On) {
    let (server, time, gate) = Server::with_gate(on).await;
    for bytes in MALFORMED {
        let mut client = server.client().await;
        client
            .send([b"GET /gated HTTP/1.1\r\nhost: a\r\n\r\n", *bytes].concat())
            .await;
        // The following bytes have arrived before the handler replies.
        gate.open_at_rest(&time).await;
        let shown = String::from_utf8_lossy(bytes);
        assert_eq!(client.reply().await.body, "gated", "{shown}");
        let reply = normal(&client.rest().await.unwrap());
        assert!(reply.starts_with("HTTP/1.1 400 Bad Request\r\n"), "{shown}: {reply}");
        assert!(reply.ends_with("content-length: 0\r\n\r\n"), "{shown}: {reply}");
    }
}

async fn a_later_version_of_http_1_is_refused(on: On) {
    let server = Server::plain(on).await;
    assert_eq!(
        server
            .exchange("GET /hello HTTP/1.2\r\nhost: a\r\nconnection: close\r\n\r\n")
            .await,
        REFUSAL
    );
}

async fn the_refusal_of_a_later_request_says_that_the_connection_closes(on: On) {
    let server = Server::plain(on).await;
    let mut client = server.client().await;
    assert_eq!(client.get("/hello").await.body, "hello");
    client.send(MALFORMED[0]).await;
    assert_eq!(normal(&client.rest().await.unwrap()), REFUSAL);
}

async fn refused_by_the_router(on: On, heads: &[&str]) {
    let server = Server::plain(on).await;
    for head in heads {
        let mut client = server.client().await;
        client.send(head).await;
        let reply = client.reply().await;
        assert_eq!(reply.status(), 400, "{head:?}");
        assert!(
            reply.body.starts_with("{\"message\":"),
            "{head:?}: the body is {:?}",
            reply.body
        );
        assert_eq!(reply.all("connection"), ["close"], "{head:?}");
        assert_eq!(client.rest().await.unwrap(), "", "{head:?}");
    }
}

async fn a_host_that_is_missing_or_doubled_is_refused_by_the_router(on: On) {
    let heads = [
        "GET /hello HTTP/1.1\r\n\r\n",
        "GET /hello HTTP/1.1\r\nhost: a\r\nhost: a\r\n\r\n",
    ];
    refused_by_the_router(on, &heads).await;
}

async fn a_malformed_host_is_refused_by_the_router(on: On) {
    refused_by_the_router(on, &["GET /hello HTTP/1.1\r\nhost: a b\r\n\r\n"]).await;
}

async fn line_ends_may_lack_their_carriage_return(on: On) {
    // A server that waits for more of the head gives up.
    const TIMEOUT: Duration = Duration::from_secs(7);
    let options = ServerOptions::new().header_timeout(TIMEOUT);
    let (server, time) = Server::timed(on, options, routes()).await;
    let mut client = server.client().await;
    client
        .send("\r\n\nGET /hello HTTP/1.1\nhost: a\n\nGET /echo/1 HTTP/1.1\r\nhost: a\n\r\n")
        .await;
    assert_eq!(time.elapse(TIMEOUT, client.reply()).await.body, "hello");
    assert_eq!(client.reply().await.body, "1");
}
