//! The connection's state as the user's own handlers see it, and faults of trillium's server that the adapter prevents.

use pointwork_core::{Context, ServerOptions};
use pointwork_trillium::{Trillium, TrilliumHandler};
use pointwork_wire_tests::users::trillium::serve;
use pointwork_wire_tests::{Server, cases, connected, route, routes};
use trillium::{Conn, Handler};
use trillium_router::{Router, RouterConnExt};

cases! {
    own;
    the_users_match_and_state_stay_as_they_are,
    nothing_behind_a_chunked_body_is_taken_for_a_request,
    a_body_that_came_although_nobody_asked_for_it_is_not_taken_for_a_request,
    trailers_have_a_limit,
    a_reply_in_http_1_0_is_reset_only_if_it_breaks_off,
    a_head_in_many_pieces_takes_no_more_memory_than_one_in_one,
}

/// State that a handler in front adds.
struct Mine(&'static str);

/// Runs a handler, then reports the state that the user's router and handlers left on the connection.
struct Tell(TrilliumHandler);

impl Handler for Tell {
    async fn run(&self, conn: Conn) -> Conn {
        let conn = self.0.run(conn.with_state(Mine("mine"))).await;
        let mine = conn.state::<Mine>().map(|mine| mine.0);
        let found = format!(
            "{mine:?} {:?} {:?}",
            conn.route().map(ToString::to_string),
            conn.wildcard()
        );
        conn.with_response_header("x-found", found)
    }
}

async fn the_users_match_and_state_stay_as_they_are() {
    let routes = vec![route("GET", "/user/:id/*rest", async |_: Context| "found")];
    let trillium = connected(Trillium::new(), "", routes);
    let router = Router::new().all("/api/*", Tell(trillium.handler()));
    let user = serve(router).await;
    let reply = user.client().await.get("/api/user/7/a/b").await;
    assert_eq!(reply.body, "found");
    assert_eq!(
        reply.all("x-found"),
        ["Some(\"mine\") Some(\"/api/*\") Some(\"user/7/a/b\")"]
    );
}

/// Sends bytes in two parts, because some faults of trillium's decoder appear only at the end of a read.
async fn exchange(first: &str, second: &str) -> String {
    let (server, time) = Server::timed(super::on(), ServerOptions::new(), routes()).await;
    let mut client = server.client().await;
    client.send(first).await;
    time.settle().await;
    let _ = client.try_send(second).await;
    client.rest().await.unwrap_or_default()
}

async fn nothing_behind_a_chunked_body_is_taken_for_a_request() {
    const NEXT: &str = "GET /hello HTTP/1.1\r\nhost: a\r\n\r\n";
    for (first, second) in [
        // trillium accepts any two bytes as the end of a chunk.
        ("", "3\r\nabcXX0\r\n\r\n"),
        // trillium accepts a line feed as the end of the last chunk.
        ("", "0\r\n\n"),
        // The length of a chunk overflows.
        ("FFFFFFFFFFFFFFFF", "\r\nX0\r\n\r\n"),
    ] {
        for path in ["/body", "/unread"] {
            let head = format!("POST {path} HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n{first}");
            let replies = exchange(&head, &format!("{second}{NEXT}")).await;
            assert!(replies.matches("HTTP/1.1").count() <= 1, "{path} {second:?}: {replies}");
            assert!(!replies.contains("hello"), "{path} {second:?}: {replies}");
        }
    }
}

async fn a_body_that_came_although_nobody_asked_for_it_is_not_taken_for_a_request() {
    let body = "GET /hello HTTP/1.1\r\nhost: a\r\n\r\n";
    let head = format!(
        "POST /unread HTTP/1.1\r\nhost: a\r\nexpect: 100-continue\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    let replies = exchange(&head, body).await;
    assert!(replies.ends_with("not read"), "{replies}");
    assert_eq!(replies.matches("HTTP/1.1").count(), 1, "{replies}");
}

async fn trailers_have_a_limit() {
    let server = Server::plain(super::on()).await;
    let mut client = server.client().await;
    client
        .send("POST /body HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n")
        .await;
    let line = format!("x: {}\r\n", "y".repeat(8000));
    for _ in 0..200 {
        if client.try_send(&line).await.is_err() {
            break;
        }
    }
    assert_eq!(client.reply().await.status(), 400);
}

async fn a_reply_in_http_1_0_is_reset_only_if_it_breaks_off() {
    let streamed = async |context: Context| {
        let mut writer = context.open_reply(http::Response::new(())).unwrap();
        let _ = writer.write("piece").await;
        let _ = writer.finish().await;
    };
    let routes = vec![route("GET", "/streamed", streamed)];
    let server = Server::with(super::on(), ServerOptions::new(), routes).await;
    for (method, end) in [("GET", "\r\n\r\npiece"), ("HEAD", "\r\n\r\n")] {
        let mut client = server.client().await;
        client.send(format!("{method} /streamed HTTP/1.0\r\n\r\n")).await;
        let reply = client.rest().await.unwrap();
        assert!(reply.ends_with(end), "{method}: {reply}");
    }
}

/// trillium doubles its buffer at every read of a head.
async fn a_head_in_many_pieces_takes_no_more_memory_than_one_in_one() {
    let (server, time, gate) = Server::with_gate(super::on()).await;
    let mut client = server.client().await;
    // The start of the head arrives while the handler of the previous request runs.
    client
        .send("GET /gated HTTP/1.1\r\nhost: a\r\n\r\nGET /echo/1 HTT")
        .await;
    gate.open_at_rest(&time).await;
    assert_eq!(client.reply().await.body, "gated");
    for byte in b"P/1.1\r\nhost: a\r\n\r\n" {
        client.send([*byte]).await;
        time.settle().await;
    }
    assert_eq!(client.reply().await.body, "1");
    // The adapter counts empty lines before a head as heads.
    let mut client = server.client().await;
    for _ in 0..50 {
        if client.try_send("\r\n").await.is_err() {
            break;
        }
        time.settle().await;
    }
    assert_eq!(client.rest().await.unwrap_or_default(), "");
}
