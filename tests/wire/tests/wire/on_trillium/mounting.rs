//! The adapter inside an application that its user already has (spec A9).

use std::net::SocketAddr;
use std::time::Duration;

use pointwork_core::{Context, Extensions, Failure};
use pointwork_trillium::{ServerOptions, Trillium, TrilliumHandler};
use pointwork_wire_tests::{Probe, cases, observed, publish, published, route, routes, within};
use tokio::net::TcpListener;
use trillium::{Conn, Handler};

cases! {
    own;
    handlers_before_it_see_every_request_and_those_behind_it_none,
    bodies_arrive_however_they_are_framed,
    the_target_arrives_as_it_was_sent,
    a_status_that_trillium_does_not_know_becomes_the_first_of_its_class,
    a_router_around_it_takes_its_prefix_off,
    later_routes_are_seen_without_mounting_anew,
    a_client_that_goes_away_cancels_its_handler,
    a_body_that_stops_coming_gets_408,
    trilliums_own_parser_refuses_what_is_no_request,
}

/// Serves a handler as a user would.
pub(crate) async fn serve(handler: impl Handler) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(
        trillium_tokio::config()
            .without_signals()
            .with_prebound_server(listener)
            .run_async(handler),
    );
    address
}

fn handler() -> TrilliumHandler {
    let mut all = routes();
    all.push(route("GET", "/user", async |context: Context| {
        context.extension("user").unwrap_or_default()
    }));
    all.push(route("GET", "/odd", async |_: Context| {
        http::Response::builder()
            .status(299)
            .header("x-a", "1")
            .header("x-a", "2")
            .body(pointwork_core::Body::from("odd"))
            .unwrap()
    }));
    all.push(route("GET", "/headers", async |context: Context| {
        let headers = context.headers().iter();
        let lines: Vec<_> = headers
            .filter(|(name, _)| name.as_str().starts_with("x-"))
            .map(|(name, value)| format!("{name}={}", value.to_str().unwrap()))
            .collect();
        lines.join(" ")
    }));
    published(Trillium::new(), all).handler()
}

async fn user_of_every_request(conn: Conn) -> Conn {
    let user = Extensions::default();
    user.set("user", "ada");
    conn.with_state(user).with_response_header("x-mine", "yes")
}

async fn own(conn: Conn) -> Conn {
    if conn.path() == "/own" {
        conn.ok("the user's own")
    } else {
        conn
    }
}

async fn never(conn: Conn) -> Conn {
    conn.with_response_header("x-never", "reached")
}

async fn handlers_before_it_see_every_request_and_those_behind_it_none() {
    let address = serve((user_of_every_request, own, handler(), never)).await;
    let mut client = Probe::connect(address).await;
    for (path, status, body) in [
        ("/own", 200, "the user's own"),
        ("/user", 200, "ada"),
        ("/none", 404, "{\"message\":\"no route for GET /none\"}"),
    ] {
        let reply = client.get(path).await;
        assert_eq!((reply.status(), reply.body.as_str()), (status, body));
        assert_eq!(reply.all("x-mine"), ["yes"], "{path}");
        assert!(reply.all("x-never").is_empty(), "{path}");
    }
}

async fn bodies_arrive_however_they_are_framed() {
    let address = serve(handler()).await;
    for framed in [
        "content-length: 5\r\n\r\nhello".to_owned(),
        "transfer-encoding: chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n".to_owned(),
        format!("content-length: 100000\r\n\r\n{}", "x".repeat(100_000)),
        "content-length: 0\r\n\r\n".to_owned(),
    ] {
        for (path, end) in [("/body", " bytes"), ("/unread", "not read")] {
            let mut client = Probe::connect(address).await;
            client
                .send(format!("POST {path} HTTP/1.1\r\nhost: a\r\n{framed}"))
                .await;
            let reply = client.reply().await;
            assert_eq!(reply.status(), 200, "{reply:?}");
            assert!(reply.body.ends_with(end), "{reply:?}");
            // No bytes after a chunked body are taken for a request.
            if framed.starts_with("transfer-encoding") {
                assert_eq!(reply.all("connection"), ["close"]);
                assert_eq!(client.rest().await.unwrap_or_default(), "");
            } else {
                assert_eq!(client.get("/echo/1").await.body, "1");
            }
        }
    }
    let mut client = Probe::connect(address).await;
    client
        .send("POST /body HTTP/1.1\r\nhost: a\r\nexpect: 100-continue\r\ncontent-length: 2\r\n\r\n")
        .await;
    assert_eq!(client.head().await, "HTTP/1.1 100 Continue\r\n\r\n");
    client.send("ok").await;
    assert_eq!(client.reply().await.body, "2 bytes");
}

async fn the_target_arrives_as_it_was_sent() {
    let address = serve(handler()).await;
    let mut client = Probe::connect(address).await;
    for (target, seen) in [
        (
            "/seen/a%2Fb%20c/../d//e?q=%41&r",
            "/seen/a%2Fb%20c/../d//e Some(\"q=%41&r\")",
        ),
        ("http://a/seen/x?", "/seen/x Some(\"\")"),
    ] {
        assert_eq!(client.get(target).await.body, seen, "{target}");
    }
    client
        .send("GET /headers HTTP/1.1\r\nhost: a\r\nx-a: 1\r\nX-A: 2\r\n\r\n")
        .await;
    assert_eq!(client.reply().await.body, "x-a=1 x-a=2");
}

async fn a_status_that_trillium_does_not_know_becomes_the_first_of_its_class() {
    let address = serve(handler()).await;
    let reply = Probe::connect(address).await.get("/odd").await;
    assert_eq!((reply.status(), reply.body.as_str()), (200, "odd"));
    assert_eq!(reply.all("x-a"), ["1", "2"]);
}

async fn a_router_around_it_takes_its_prefix_off() {
    let router = trillium_router::Router::new().all("/api/*", handler());
    let address = serve(router).await;
    let mut client = Probe::connect(address).await;
    for (path, status, body) in [
        ("/api/echo/7", 200, "7"),
        ("/api/seen/a//b?c=d", 200, "/seen/a//b Some(\"c=d\")"),
        ("/api/seen/a/", 200, "/seen/a/ None"),
        ("/api/echo/7/", 404, "{\"message\":\"no route for GET /echo/7/\"}"),
        ("/api", 404, "{\"message\":\"no route for GET /\"}"),
        ("/api/", 404, "{\"message\":\"no route for GET /\"}"),
    ] {
        let reply = client.get(path).await;
        assert_eq!((reply.status(), reply.body.as_str()), (status, body), "{path}");
    }
}

async fn later_routes_are_seen_without_mounting_anew() {
    let trillium = Trillium::new();
    let address = serve(trillium.handler()).await;
    let mut client = Probe::connect(address).await;
    assert_eq!(client.get("/hello").await.status(), 503);
    publish(&trillium, routes(), pointwork_core::RouterOptions::default());
    assert_eq!(client.get("/hello").await.body, "hello");
}

async fn a_client_that_goes_away_cancels_its_handler() {
    for (method, rest) in [
        ("GET", "\r\n"),
        ("POST", "content-length: 3\r\n\r\nabc"),
        ("POST", "content-length: 3\r\n\r\nab"),
    ] {
        let (observed, began, dropped) = observed(method);
        let address = serve(published(Trillium::new(), vec![observed]).handler()).await;
        let mut client = Probe::connect(address).await;
        client
            .send(format!("{method} /observed HTTP/1.1\r\nhost: a\r\n{rest}"))
            .await;
        within("the handler's begin", began.notified()).await;
        drop(client);
        within("the handler's drop", dropped.notified()).await;
    }
}

async fn a_body_that_stops_coming_gets_408() {
    let mut options = ServerOptions::default();
    options.body_timeout = Some(Duration::from_millis(200));
    let reading = async |context: Context| {
        context.bytes().await?;
        Ok::<_, Failure>("read")
    };
    let address =
        serve(published(Trillium::with_options(options), vec![route("POST", "/body", reading)]).handler()).await;
    let mut client = Probe::connect(address).await;
    client
        .send("POST /body HTTP/1.1\r\nhost: a\r\ncontent-length: 9\r\n\r\nabc")
        .await;
    assert_eq!(client.reply().await.status(), 408);
}

async fn trilliums_own_parser_refuses_what_is_no_request() {
    let address = serve(handler()).await;
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
        let mut client = Probe::connect(address).await;
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
        let mut client = Probe::connect(address).await;
        client.send(head).await;
        let reply = client.reply().await;
        assert_eq!(reply.status(), 400, "{head:?}: {reply:?}");
        assert!(reply.body.starts_with("{\"message\":"), "{head:?}: {reply:?}");
    }
}
