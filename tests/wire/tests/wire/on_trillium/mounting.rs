//! The adapter inside an application that its user already has (spec A9): what only trillium has.

use std::time::Duration;

use pointwork_core::{Context, Failure, Route};
use pointwork_trillium::{ServerOptions, Trillium, TrilliumHandler};
use pointwork_wire_tests::users::trillium::serve;
use pointwork_wire_tests::{cases, connected, published, route, routes};
use trillium::{Conn, Handler};
use trillium_router::Router;

cases! {
    own;
    in_front_it_may_be_mounted_in_a_router_too: A9,
    the_users_init_and_before_send_stay_as_they_are: A9,
    the_connection_closes_after_a_chunked_body,
    a_status_that_trillium_does_not_know_becomes_the_first_of_its_class,
    a_router_around_it_takes_its_prefix_off,
    a_body_that_stops_coming_gets_408,
    trilliums_own_parser_refuses_what_is_no_request,
    a_chunk_that_trillium_cannot_count_ends_its_connection_alone,
}

/// The adapter as a handler that answers everything.
fn handler() -> TrilliumHandler {
    connected(Trillium::new(), "", routes()).handler()
}

/// A handler behind the adapter.
async fn behind(conn: Conn) -> Conn {
    conn.with_status(418).with_body("theirs").halt()
}

async fn in_front_it_may_be_mounted_in_a_router_too() {
    let trillium = published(Trillium::new(), routes());
    let router = Router::new().all("/api/*", trillium.in_front());
    let replies = [
        ("/hello", 200, "hello"),
        // The router takes its prefix off for the second mount.
        ("/api/hello", 200, "hello"),
        ("/api/none", 418, "theirs"),
    ];
    let user = serve((trillium.in_front(), router, trillium.in_front(), behind)).await;
    user.assert_replies(&replies).await;
}

/// A handler of the user's that reports its `init`, and marks every reply in `before_send`.
#[derive(Default)]
struct Marking {
    is_initialized: bool,
    name: &'static str,
}

impl Handler for Marking {
    async fn run(&self, conn: Conn) -> Conn {
        conn
    }

    async fn init(&mut self, _: &mut trillium::Info) {
        self.is_initialized = true;
    }

    async fn before_send(&self, mut conn: Conn) -> Conn {
        let mark = if self.is_initialized { self.name } else { "no init" };
        conn.response_headers_mut().append("x-mark", mark);
        conn
    }
}

async fn the_users_init_and_before_send_stay_as_they_are() {
    let marking = |name| Marking {
        name,
        ..Marking::default()
    };
    let front = published(Trillium::new(), routes()).in_front();
    let user = serve((marking("outer"), front, marking("inner"), behind)).await;
    let mut client = user.client().await;
    for (path, status) in [("/hello", 200), ("/none", 418)] {
        let reply = client.get(path).await;
        assert_eq!(reply.status(), status);
        assert_eq!(reply.all("x-mark"), ["inner", "outer"], "{path}");
        // The server announces itself as without the adapter.
        assert_eq!(reply.all("server").len(), 1, "{path}");
    }
}

/// So no bytes after it are taken for a request. Other bodies are in the common cases.
async fn the_connection_closes_after_a_chunked_body() {
    let user = serve(handler()).await;
    for (path, body) in [("/body", "5 bytes"), ("/unread", "not read")] {
        let mut client = user.client().await;
        let framed = "transfer-encoding: chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n";
        client
            .send(format!("POST {path} HTTP/1.1\r\nhost: a\r\n{framed}"))
            .await;
        let reply = client.reply().await;
        assert_eq!((reply.status(), reply.body.as_str()), (200, body));
        assert_eq!(reply.all("connection"), ["close"]);
        assert_eq!(client.rest().await.unwrap_or_default(), "");
        // Of another body that nobody reads, nothing is left for the next request.
        let mut client = user.client().await;
        let (framed, body) = (
            format!("content-length: 100000\r\n\r\n{}", "x".repeat(100_000)),
            body.replace("5 ", "100000 "),
        );
        client
            .send(format!("POST {path} HTTP/1.1\r\nhost: a\r\n{framed}"))
            .await;
        assert_eq!(client.reply().await.body, body);
        assert_eq!(client.get("/echo/1").await.body, "1");
    }
}

async fn a_status_that_trillium_does_not_know_becomes_the_first_of_its_class() {
    let odd = route("GET", "/odd", async |_: Context| {
        let reply = http::Response::builder().status(299);
        let reply = reply.header("x-a", "1").header("x-a", "2");
        reply.body(pointwork_core::Body::from("odd")).unwrap()
    });
    let user = serve(connected(Trillium::new(), "", vec![odd]).handler()).await;
    let reply = user.client().await.get("/odd").await;
    assert_eq!((reply.status(), reply.body.as_str()), (200, "odd"));
    assert_eq!(reply.all("x-a"), ["1", "2"]);
}

async fn a_router_around_it_takes_its_prefix_off() {
    let replies = [
        ("/api/echo/7", 200, "7"),
        ("/api/seen/a//b?c=d", 200, "/seen/a//b Some(\"c=d\")"),
        ("/api/seen/a/", 200, "/seen/a/ None"),
        ("/api/echo/7/", 404, "{\"message\":\"no route for GET /echo/7/\"}"),
        ("/api", 404, "{\"message\":\"no route for GET /\"}"),
        ("/api/", 404, "{\"message\":\"no route for GET /\"}"),
    ];
    serve(Router::new().all("/api/*", handler()))
        .await
        .assert_replies(&replies)
        .await;
}

async fn a_body_that_stops_coming_gets_408() {
    let mut options = ServerOptions::default();
    options.body_timeout = Some(Duration::from_millis(200));
    let reading: Vec<Route> = vec![route("POST", "/body", async |context: Context| {
        context.bytes().await?;
        Ok::<_, Failure>("read")
    })];
    let trillium = connected(Trillium::with_options(options), "", reading);
    let mut client = serve(trillium.handler()).await.client().await;
    client
        .send("POST /body HTTP/1.1\r\nhost: a\r\ncontent-length: 9\r\n\r\nabc")
        .await;
    assert_eq!(client.reply().await.status(), 408);
}

async fn trilliums_own_parser_refuses_what_is_no_request() {
    let user = serve(handler()).await;
    for head in [
        "GET /hello HTTP/1.1\r\n\r\n",
        "GET /hello HTTP/1.1\r\nhost: a\r\nhost: a\r\n\r\n",
        "GET /hello HTTP/1.1\r\nhost: a\r\nx: a\0b\r\n\r\n",
        "GET /hello HTTP/1.1\r\nhost: a\r\nx: a\rb\r\n\r\n",
        "GET /hello HTTP/1.1\r\nhost: a\r\nx : y\r\n\r\n",
        "GET /hello HTTP/1.1\r\nhost: a\r\nx: y\r\n folded\r\n\r\n",
        "GET /hel lo HTTP/1.1\r\nhost: a\r\n\r\n",
        "POST /body HTTP/1.1\r\nhost: a\r\ncontent-length: 3\r\ncontent-length: 3\r\n\r\nabc",
        "POST /body HTTP/1.1\r\nhost: a\r\ncontent-length: 3\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
        "POST /body HTTP/1.1\r\nhost: a\r\ntransfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        "GET http://b/hello HTTP/1.1\r\nhost: a\r\n\r\n",
        // trillium's parser accepts these, the `http` crate does not.
        "GET /hello HTTP/1.1\r\nhost: a\r\nx: \x7f\r\n\r\n",
        "GET /hello?\" HTTP/1.1\r\nhost: a\r\n\r\n",
    ] {
        let mut client = user.client().await;
        client.send(head).await;
        let reply = client.rest().await.unwrap_or_default();
        assert!(reply.starts_with("HTTP/1.1 400 "), "{head:?}: {reply:?}");
        assert!(reply.ends_with("\r\n\r\n"), "{head:?}: {reply:?}");
    }
    // The core refuses these, which trillium accepts.
    for head in [
        "GET /echo/%zz HTTP/1.1\r\nhost: a\r\n\r\n",
        "GET /hello HTTP/1.1\r\nhost: a:b\r\n\r\n",
    ] {
        let mut client = user.client().await;
        client.send(head).await;
        let reply = client.reply().await;
        assert_eq!(reply.status(), 400, "{head:?}: {reply:?}");
        assert!(reply.body.starts_with("{\"message\":"), "{head:?}: {reply:?}");
    }
}

/// trillium-http 1.6.1 panics where overflows are checked, and takes the size for 0 or 1 elsewhere.
async fn a_chunk_that_trillium_cannot_count_ends_its_connection_alone() {
    let user = serve(handler()).await;
    let mut other = user.client().await;
    assert_eq!(other.get("/hello").await.body, "hello");
    for path in ["/body", "/unread"] {
        for size in ["fffffffffffffffe", "ffffffffffffffff"] {
            let mut client = user.client().await;
            let head = format!("POST {path} HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n");
            let body = format!("{size}\r\nX5\r\n12345\r\n0\r\n\r\n");
            client
                .send(format!("{head}{body}GET /hello HTTP/1.1\r\nhost: a\r\n\r\n"))
                .await;
            let rest = client.rest().await.unwrap_or_default();
            assert!(!rest.contains("hello"), "{path} {size}: {rest}");
            if path == "/body" && cfg!(debug_assertions) {
                assert_eq!(rest, "", "{size}");
            }
        }
    }
    assert_eq!(other.get("/hello").await.body, "hello");
}
