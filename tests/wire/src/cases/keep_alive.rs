//! The connections that serve another request, and those that close.

use std::sync::Arc;

use pointwork_core::{Context, Failure, ServerOptions};
use tokio::sync::Notify;

use crate::{On, Server, route, routes, within};

crate::cases! {
    one_connection_serves_many_requests: A1,
    without_keep_alive_the_connection_closes_after_the_reply: A1,
    http_1_0_closes_unless_asked_to_stay: A1,
    http_1_0_closes_after_a_refusal_even_if_asked_to_stay: A1,
    a_refusal_in_http_1_0_says_that_the_connection_closes: A1,
    pipelined_requests_are_answered_in_order: A1,
    a_reply_does_not_wait_for_the_rest_of_a_half_sent_request: A1,
    a_head_may_come_byte_by_byte: A1,
    an_unread_body_does_not_disturb_the_next_request: A1,
    an_unread_body_that_does_not_come_ends_the_connection: A1,
    a_body_kept_beyond_its_request_gets_nothing_of_the_next: A1,
    a_chunked_body_kept_beyond_its_request_gets_nothing_of_the_next: A1,
}

async fn one_connection_serves_many_requests(on: On) {
    let server = Server::plain(on).await;
    let mut client = server.client().await;
    for round in 0..50 {
        let reply = client.get(&format!("/echo/{round}")).await;
        assert_eq!((reply.status(), reply.body), (200, round.to_string()));
    }
}

async fn without_keep_alive_the_connection_closes_after_the_reply(on: On) {
    let options = ServerOptions::new().keep_alive(false);
    let server = Server::with(on, options, routes()).await;
    let mut client = server.client().await;
    let reply = client.get("/hello").await;
    assert_eq!(reply.all("connection"), ["close"]);
    assert_eq!(client.rest().await.unwrap(), "");
}

async fn http_1_0_closes_unless_asked_to_stay(on: On) {
    let server = Server::plain(on).await;
    let mut client = server.client().await;
    client
        .send("GET /hello HTTP/1.0\r\nconnection: keep-alive\r\n\r\n")
        .await;
    assert_eq!(client.reply().await.body, "hello");
    client.send("GET /hello HTTP/1.0\r\n\r\n").await;
    assert!(client.rest().await.unwrap().ends_with("\r\n\r\nhello"));
}

async fn http_1_0_closes_after_a_refusal_even_if_asked_to_stay(on: On) {
    let server = Server::plain(on).await;
    let mut client = server.client().await;
    client
        .send("GET /hello HTTP/1.0\r\nhost: a\r\nhost: b\r\nconnection: keep-alive\r\n\r\n")
        .await;
    let reply = client.reply().await;
    assert_eq!(reply.status(), 400, "{reply:?}");
    assert_eq!(client.rest().await.unwrap(), "");
}

async fn a_refusal_in_http_1_0_says_that_the_connection_closes(on: On) {
    let server = Server::plain(on).await;
    let mut client = server.client().await;
    client
        .send("GET /hello HTTP/1.0\r\nhost: a b\r\nconnection: keep-alive\r\n\r\n")
        .await;
    assert_eq!(client.reply().await.all("connection"), ["close"]);
}

async fn pipelined_requests_are_answered_in_order(on: On) {
    let (server, time, gate) = Server::with_gate(on).await;
    let mut client = server.client().await;
    let request = |path: &str| format!("GET {path} HTTP/1.1\r\nhost: a\r\n\r\n");
    let all: String = (0..40).map(|round| request(&format!("/echo/{round}"))).collect();
    client.send(format!("{}{all}", request("/gated"))).await;
    gate.open_at_rest(&time).await;
    assert_eq!(client.reply().await.body, "gated");
    for round in 0..40 {
        assert_eq!(client.reply().await.body, round.to_string());
    }
}

async fn a_reply_does_not_wait_for_the_rest_of_a_half_sent_request(on: On) {
    let server = Server::plain(on).await;
    let mut client = server.client().await;
    client.send("GET /echo/1 HTTP/1.1\r\nhost: a\r\n\r\nGET /ec").await;
    assert_eq!(client.reply().await.body, "1");
    client.send("ho/2 HTTP/1.1\r\nhost: a\r\n\r\n").await;
    assert_eq!(client.reply().await.body, "2");
}

async fn a_head_may_come_byte_by_byte(on: On) {
    let (server, time) = Server::timed(on, ServerOptions::new(), routes()).await;
    let mut client = server.client().await;
    // The first letters could also be the start of the HTTP/2 preface.
    for byte in b"PROPFIND /hello HTTP/1.1\r\nhost: a\r\n\r\n" {
        client.send([*byte]).await;
        time.settle().await;
    }
    assert_eq!(client.reply().await.status(), 405);
}

async fn an_unread_body_does_not_disturb_the_next_request(on: On) {
    let server = Server::plain(on).await;
    let mut client = server.client().await;
    client
        .send("POST /unread HTTP/1.1\r\nhost: a\r\ncontent-length: 4\r\n\r\nGET ")
        .await;
    assert_eq!(client.reply().await.body, "not read");
    assert_eq!(client.get("/echo/7").await.body, "7");
}

async fn an_unread_body_that_does_not_come_ends_the_connection(on: On) {
    let server = Server::plain(on).await;
    for framing in ["content-length: 4", "transfer-encoding: chunked"] {
        let mut client = server.client().await;
        client
            .send(format!("POST /unread HTTP/1.1\r\nhost: a\r\n{framing}\r\n\r\n"))
            .await;
        let reply = client.reply().await;
        assert_eq!(reply.body, "not read");
        assert_eq!(client.rest().await.unwrap(), "");
    }
}

/// A handler keeps its body and returns. While the next request arrives, it must read only its own body.
async fn is_kept_apart(on: On, framed: &str) {
    let sent = Arc::new(Notify::new());
    let (told, mut read) = tokio::sync::mpsc::unbounded_channel();
    let keep = {
        let sent = sent.clone();
        move |context: Context| {
            let (sent, told) = (sent.clone(), told.clone());
            async move {
                let mut reader = context.open_body()?;
                tokio::spawn(async move {
                    sent.notified().await;
                    let mut all = Vec::new();
                    while let Ok(Some(chunk)) = reader.read(100).await {
                        all.extend_from_slice(&chunk);
                    }
                    told.send(all)
                });
                Ok::<_, Failure>("kept")
            }
        }
    };
    let server = Server::and(on, route("POST", "/keep", keep)).await;
    let mut client = server.client().await;
    client.send(format!("POST /keep HTTP/1.1\r\nhost: a\r\n{framed}")).await;
    assert_eq!(client.reply().await.body, "kept");
    client
        .send("POST /body HTTP/1.1\r\nhost: a\r\ncontent-length: 5\r\n\r\nhe")
        .await;
    sent.notify_one();
    let kept = within("the kept body", read.recv()).await.unwrap();
    assert!(b"abc".starts_with(&kept), "{:?}", String::from_utf8_lossy(&kept));
    client.send("llo").await;
    assert_eq!(client.reply().await.body, "5 bytes");
}

async fn a_body_kept_beyond_its_request_gets_nothing_of_the_next(on: On) {
    is_kept_apart(on, "content-length: 3\r\n\r\nabc").await;
}

async fn a_chunked_body_kept_beyond_its_request_gets_nothing_of_the_next(on: On) {
    is_kept_apart(on, "transfer-encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n").await;
}
