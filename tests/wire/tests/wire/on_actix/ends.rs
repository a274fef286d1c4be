//! The end of requests, replies and connections, where the adapter changes the behaviour of actix-http.

use std::io::ErrorKind;
use std::time::Duration;

use http::Response;
use pointwork_core::{Context, Failure, ServerOptions};
use pointwork_wire_tests::{RouteGate, Server, cases, route, routes};

use super::on;

cases! {
    own;
    a_later_head_that_does_not_end_is_given_up,
    an_upgrade_makes_no_body_longer_than_its_length,
    a_broken_reply_without_chunks_ends_with_a_reset,
    a_reply_ends_the_connection_if_the_next_request_is_there_already,
    nothing_is_answered_behind_the_last_reply,
    a_malformed_host_is_told_what_is_wrong_with_it,
}

async fn a_later_head_that_does_not_end_is_given_up() {
    const TIMEOUT: Duration = Duration::from_secs(7);
    let options = ServerOptions::new().header_timeout(TIMEOUT);
    let (server, time) = Server::timed(on(), options, routes()).await;
    let mut client = server.client().await;
    assert_eq!(client.get("/hello").await.body, "hello");
    // Single bytes do not extend the timeout.
    for _ in 0..7 {
        client.is_silent().await;
        client.send("G").await;
        time.advance(TIMEOUT / 6).await;
    }
    assert_eq!(client.rest().await.unwrap_or_default(), "");
}

/// The reply to one request that is followed by another.
async fn reply(server: &Server, head: &str, body: &str) -> String {
    let mut client = server.client().await;
    client
        .send(format!(
            "{head}\r\nhost: a\r\n\r\n{body}GET /echo/behind HTTP/1.1\r\nhost: a\r\n\r\n"
        ))
        .await;
    client.rest().await.unwrap()
}

async fn an_upgrade_makes_no_body_longer_than_its_length() {
    let read = async |context: Context| {
        let body = context.bytes().await?;
        Ok::<_, Failure>(format!("<{}>", String::from_utf8_lossy(&body)))
    };
    let server = Server::and(on(), route("ALL", "/read", read)).await;
    for (head, body, answer) in [
        (
            "POST /read HTTP/1.1\r\nupgrade: websocket\r\ncontent-length: 3",
            "abc",
            "<abc>",
        ),
        ("POST /read HTTP/1.1\r\nupgrade: websocket", "", "<>"),
        (
            "POST /read HTTP/1.1\r\nupgrade: websocket\r\ncontent-length: 0",
            "",
            "<>",
        ),
        // The answer to CONNECT is not a success, which would have no body.
        (
            "CONNECT /hello HTTP/1.1\r\ncontent-length: 3",
            "abc",
            "CONNECT is not allowed for /hello\"}",
        ),
        ("CONNECT /hello HTTP/1.1", "", "CONNECT is not allowed for /hello\"}"),
    ] {
        let reply = reply(&server, head, body).await;
        assert!(reply.ends_with(answer), "{head}: {reply}");
        assert!(reply.contains("\r\nconnection: close\r\n"), "{head}: {reply}");
        assert_eq!(reply.matches("HTTP/1.1 ").count(), 1, "{head}: {reply}");
    }
}

async fn a_broken_reply_without_chunks_ends_with_a_reset() {
    let gate = RouteGate::default();
    let passes = gate.clone();
    let streamed = move |context: Context| {
        let gate = passes.clone();
        async move {
            let whole = context.query().is_some();
            let mut writer = context.open_reply(Response::new(())).unwrap();
            writer.write("one").await.unwrap();
            gate.pass().await;
            if whole {
                writer.finish().await.unwrap();
            }
        }
    };
    let routes = vec![route("GET", "/streamed", streamed)];
    let (server, time) = Server::timed(on(), ServerOptions::new(), routes).await;
    for head in ["HTTP/1.1\r\nhost: a\r\nupgrade: websocket\r\n\r\n", "HTTP/1.0\r\n\r\n"] {
        let mut client = server.client().await;
        client.send(format!("GET /streamed?whole {head}")).await;
        gate.open_at_rest(&time).await;
        let reply = client.rest().await.unwrap();
        assert!(reply.ends_with("\r\n\r\none"), "{head}: {reply}");
        assert!(!reply.contains("transfer-encoding"), "{head}: {reply}");
        let mut client = server.client().await;
        client.send(format!("GET /streamed {head}")).await;
        gate.open_at_rest(&time).await;
        let error = client.rest().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionReset, "{head}");
    }
}

async fn a_reply_ends_the_connection_if_the_next_request_is_there_already() {
    let (server, time, gate) = Server::with_gate(on()).await;
    for (both, end) in [
        // A client would notice a missing body, because no bytes follow.
        (["GET", "HEAD"], "\r\ncontent-length: 5\r\n"),
        (["GET", "GET"], "\r\n\r\ngated"),
        (["HEAD", "GET"], "\r\n\r\n"),
    ] {
        let [first, second] = both.map(|method| format!("{method} /gated HTTP/1.1\r\nhost: a\r\n\r\n"));
        let mut client = server.client().await;
        client.send(format!("{first}{second}")).await;
        gate.open_at_rest(&time).await;
        let reply = client.rest().await.unwrap();
        assert!(reply.contains("\r\nconnection: close\r\n"), "{both:?}: {reply}");
        assert!(reply.contains(end), "{both:?}: {reply}");
        assert_eq!(reply.matches("HTTP/1.1 ").count(), 1, "{both:?}: {reply}");
    }
}

async fn nothing_is_answered_behind_the_last_reply() {
    let server = Server::plain(on()).await;
    for head in ["GET /echo/1 HTTP/1.1\r\nconnection: close", "GET /echo/1 HTTP/1.0"] {
        let reply = reply(&server, head, "").await;
        assert!(reply.ends_with("\r\n\r\n1"), "{head}: {reply}");
    }
}

async fn a_malformed_host_is_told_what_is_wrong_with_it() {
    let server = Server::plain(on()).await;
    let mut client = server.client().await;
    client.send("GET /hello HTTP/1.1\r\nhost: a b\r\n\r\n").await;
    let reply = client.reply().await;
    assert_eq!(reply.status(), 400);
    assert!(reply.body.starts_with("{\"message\":\"the `host` header"), "{reply:?}");
    assert_eq!(reply.all("connection"), ["close"]);
    assert_eq!(client.rest().await.unwrap(), "");
}
