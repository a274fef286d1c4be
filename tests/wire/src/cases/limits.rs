//! Requests that exceed a limit.

use pointwork_core::ServerOptions;

use crate::{On, Server, routes};

crate::cases! {
    a_body_of_exactly_the_limit_is_taken: A1,
    a_declared_length_beyond_the_limit_gets_413_before_the_body_is_sent: A1,
    chunks_beyond_the_limit_get_413: A1,
    a_client_that_uploads_far_too_much_still_sees_its_413: A1,
    a_client_that_expects_100_is_told_to_go_on_when_the_handler_reads: A1,
    a_client_is_not_told_to_go_on_if_nobody_reads: A1,
    too_many_headers_get_431: A1,
    a_hundred_headers_are_taken: A1,
    a_head_beyond_its_limit_gets_431: A1,
    a_head_without_an_end_gets_431: A1,
    a_target_beyond_64_kib_gets_414: A1,
    connections_beyond_the_limit_wait_their_turn: A1,
}

/// The routes that read the body: the handler, and the core before it calls the handler.
const READ: [&str; 2] = ["/body", "/whole"];

async fn with_body_limit(on: On, limit: u64) -> Server {
    Server::limited(on, ServerOptions::new(), routes(), limit).await
}

async fn a_body_of_exactly_the_limit_is_taken(on: On) {
    let server = with_body_limit(on, 10).await;
    for path in READ {
        let mut client = server.client().await;
        let begin = format!("POST {path} HTTP/1.1\r\nhost: a\r\n");
        client
            .send(format!("{begin}content-length: 10\r\n\r\n0123456789"))
            .await;
        assert_eq!(client.reply().await.body, "10 bytes", "{path}");
        let chunks = "transfer-encoding: chunked\r\n\r\n5\r\n01234\r\n5\r\n56789\r\n0\r\n\r\n";
        client.send(format!("{begin}{chunks}")).await;
        assert_eq!(client.reply().await.body, "10 bytes", "{path}");
    }
}

async fn a_declared_length_beyond_the_limit_gets_413_before_the_body_is_sent(on: On) {
    let server = with_body_limit(on, 10).await;
    for path in READ {
        let mut client = server.client().await;
        let begin = format!("POST {path} HTTP/1.1\r\nhost: a\r\n");
        client
            .send(format!("{begin}expect: 100-continue\r\ncontent-length: 11\r\n\r\n"))
            .await;
        let reply = client.reply().await;
        assert_eq!(reply.status(), 413, "{path}");
        assert!(reply.body.starts_with("{\"message\":"), "{}", reply.body);
    }
}

async fn chunks_beyond_the_limit_get_413(on: On) {
    let server = with_body_limit(on, 10).await;
    for path in READ {
        let mut client = server.client().await;
        let begin = format!("POST {path} HTTP/1.1\r\nhost: a\r\n");
        client
            .send(format!("{begin}transfer-encoding: chunked\r\n\r\n8\r\n01234567\r\n"))
            .await;
        client.send("8\r\n01234567\r\n").await;
        assert_eq!(client.reply().await.status(), 413, "{path}");
    }
}

async fn a_client_that_uploads_far_too_much_still_sees_its_413(on: On) {
    let server = with_body_limit(on, 10).await;
    let long = vec![b'x'; 8 * 1024 * 1024];
    for framing in [
        format!("content-length: {}", long.len()),
        "transfer-encoding: chunked".to_owned(),
    ] {
        let mut client = server.client().await;
        client
            .send(format!("POST /body HTTP/1.1\r\nhost: a\r\n{framing}\r\n\r\n"))
            .await;
        if framing.starts_with('t') {
            client.send(format!("{:x}\r\n", long.len())).await;
        }
        client.try_send(&long).await.unwrap();
        assert_eq!(client.reply().await.status(), 413, "{framing}");
    }
}

async fn a_client_that_expects_100_is_told_to_go_on_when_the_handler_reads(on: On) {
    let server = Server::plain(on).await;
    for path in READ {
        let mut client = server.client().await;
        let begin = format!("POST {path} HTTP/1.1\r\nhost: a\r\n");
        client
            .send(format!("{begin}expect: 100-continue\r\ncontent-length: 2\r\n\r\n"))
            .await;
        assert_eq!(client.head().await, "HTTP/1.1 100 Continue\r\n\r\n", "{path}");
        client.send("ok").await;
        assert_eq!(client.reply().await.body, "2 bytes", "{path}");
    }
}

async fn a_client_is_not_told_to_go_on_if_nobody_reads(on: On) {
    let server = Server::plain(on).await;
    for path in ["/unread", "/bodiless"] {
        let begin = format!("POST {path} HTTP/1.1\r\nhost: a\r\n");
        let reply = server
            .exchange(format!("{begin}expect: 100-continue\r\ncontent-length: 2\r\n\r\n"))
            .await;
        assert!(reply.starts_with("HTTP/1.1 200 OK\r\n"), "{path}: {reply}");
    }
}

/// A request with that many header lines.
fn with_headers(count: usize) -> String {
    let lines: String = (1..count).map(|number| format!("x-{number}: y\r\n")).collect();
    format!("GET /hello HTTP/1.1\r\nhost: a\r\n{lines}\r\n")
}

async fn too_many_headers_get_431(on: On) {
    let options = ServerOptions::new().max_headers(20);
    let server = Server::with(on, options, routes()).await;
    let mut client = server.client().await;
    client.send(with_headers(20)).await;
    assert_eq!(client.reply().await.status(), 200);
    client.send(with_headers(21)).await;
    let reply = client.rest().await.unwrap();
    assert!(reply.starts_with("HTTP/1.1 431 "), "{reply}");
}

async fn a_hundred_headers_are_taken(on: On) {
    let server = Server::plain(on).await;
    let mut client = server.client().await;
    client.send(with_headers(100)).await;
    assert_eq!(client.reply().await.status(), 200);
    client.send(with_headers(101)).await;
    let reply = client.rest().await.unwrap();
    assert!(reply.starts_with("HTTP/1.1 431 "), "{reply}");
}

/// A server that accepts heads of up to 4 KiB.
async fn of_4_kib(on: On) -> Server {
    let options = ServerOptions::new().max_header_bytes(4096);
    Server::with(on, options, routes()).await
}

/// A request whose head has that many bytes.
fn of_length(length: usize) -> String {
    let begin = "GET /hello HTTP/1.1\r\nhost: a\r\nx: ";
    format!("{begin}{}\r\n\r\n", "y".repeat(length - begin.len() - 4))
}

async fn a_head_beyond_its_limit_gets_431(on: On) {
    let server = of_4_kib(on).await;
    let mut client = server.client().await;
    client.send(of_length(4096)).await;
    assert_eq!(client.reply().await.status(), 200);
    client.send(of_length(4097)).await;
    let reply = client.rest().await.unwrap();
    assert!(reply.starts_with("HTTP/1.1 431 "), "{reply}");
}

/// The client gets the refusal although it sent more than the server read.
async fn a_head_without_an_end_gets_431(on: On) {
    let reply = of_4_kib(on).await.raw(of_length(1024 * 1024)).await;
    assert!(reply.starts_with("HTTP/1.1 431 "), "{reply}");
}

async fn a_target_beyond_64_kib_gets_414(on: On) {
    let options = ServerOptions::new().max_header_bytes(256 * 1024);
    let server = Server::with(on, options, routes()).await;
    let of_length = |length: usize| format!("/{}", "x".repeat(length - 1));
    assert_eq!(server.client().await.get(&of_length(65534)).await.status(), 404);
    let reply = server
        .exchange(format!("GET {} HTTP/1.1\r\nhost: a\r\n\r\n", of_length(65535)))
        .await;
    assert_eq!(
        reply,
        "HTTP/1.1 414 URI Too Long\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
    );
}

async fn connections_beyond_the_limit_wait_their_turn(on: On) {
    let options = ServerOptions::new().max_connections(2);
    let (server, time) = Server::timed(on, options, routes()).await;
    let mut first = server.client().await;
    let mut second = server.client().await;
    assert_eq!(first.get("/echo/1").await.body, "1");
    assert_eq!(second.get("/echo/2").await.body, "2");
    let mut third = server.client().await;
    third.send("GET /echo/3 HTTP/1.1\r\nhost: a\r\n\r\n").await;
    time.settle().await;
    third.is_silent().await;
    drop(first);
    assert_eq!(third.reply().await.body, "3");
}
