//! Methods, including those that a framework does not know (spec A3, A4, A8).

use pointwork_core::routing::MethodFilter;
use pointwork_core::{Context, Route, ServerOptions};

use crate::{On, Server, route};

crate::cases! {
    a_method_of_every_frameworks_list_is_a_real_route: A6,
    a_method_of_no_frameworks_list_is_a_real_route: A4 A6,
    a_method_of_odd_characters_is_a_real_route: A4 A6,
    a_method_that_is_not_served_never_reaches_a_route: A3,
    another_method_is_405_with_the_core_s_allow: A8,
    a_method_of_no_frameworks_list_is_405_with_the_core_s_allow: A8,
}

/// Methods that every framework with a list of methods knows.
const KNOWN: &[&str] = &["GET", "DELETE", "PROPFIND", "SEARCH", "MKWORKSPACE", "REPORT", "UNLINK"];

/// Methods that no framework's list contains.
const OTHER: &[&str] = &["PURGE", "NOTIFY", "get", "Get", "X", "X!*+-.^_`|~1", "TUNNEL"];

/// Every character that is allowed in a token.
const ODD: &[&str] = &["X!#$%&'*+-.^_`|~1"];

fn named(method: &str, path: &str) -> Route {
    route(method, path, async |context: Context| {
        format!("{} {}", context.method(), context.param("id").unwrap_or_default())
    })
}

async fn a_method_of_every_frameworks_list_is_a_real_route(on: On) {
    are_real_routes(on, KNOWN).await;
}

async fn a_method_of_no_frameworks_list_is_a_real_route(on: On) {
    are_real_routes(on, OTHER).await;
}

async fn a_method_of_odd_characters_is_a_real_route(on: On) {
    are_real_routes(on, ODD).await;
}

async fn are_real_routes(on: On, methods: &[&str]) {
    let mut routes: Vec<_> = methods.iter().map(|method| named(method, "/x/:id")).collect();
    routes.push(named("ALL", "/all/:id"));
    let server = Server::with(on, ServerOptions::new(), routes).await;
    let mut client = server.client().await;
    for method in methods {
        assert_eq!(client.ask(method, "/x/1").await.body, format!("{method} 1"));
        assert_eq!(client.ask(method, "/all/2").await.body, format!("{method} 2"));
    }
}

async fn a_method_that_is_not_served_never_reaches_a_route(on: On) {
    let adapter = (on.open)(ServerOptions::new());
    let serves = |method: Option<&str>| adapter.supports_method(&MethodFilter::parse(method).unwrap());
    assert!(serves(None));
    for method in KNOWN.iter().chain(&["CONNECT", "TRACE"]) {
        assert!(serves(Some(method)), "{method}");
    }
    let mut routes: Vec<_> = OTHER.iter().map(|method| named(method, "/x")).collect();
    routes.push(named("ALL", "/x"));
    let server = Server::with(on, ServerOptions::new(), routes).await;
    for method in OTHER.iter().filter(|method| !serves(Some(method))) {
        let next = "GET /x HTTP/1.1\r\nhost: a\r\n\r\n";
        let request = format!("{method} /x HTTP/1.1\r\nhost: a\r\ncontent-length: 3\r\n\r\nabc{next}");
        assert_eq!(
            server.exchange(request).await,
            "HTTP/1.1 501 Not Implemented\r\nconnection: close\r\ncontent-length: 0\r\n\r\n",
            "{method}"
        );
    }
}

async fn another_method_is_405_with_the_core_s_allow(on: On) {
    let routes = vec![
        named("GET", "/a/:id"),
        named("LOCK", "/a/:id"),
        named("GET", "/a/literal"),
        named("MERGE", "/a/literal"),
        named("SEARCH", "/dav"),
    ];
    let server = Server::with(on, ServerOptions::new(), routes).await;
    let mut client = server.client().await;
    for (method, target, allow) in [
        ("POST", "/a/1", "GET, HEAD, LOCK, OPTIONS"),
        ("TRACE", "/a/1", "GET, HEAD, LOCK, OPTIONS"),
        ("MKCOL", "/a/1", "GET, HEAD, LOCK, OPTIONS"),
        ("DELETE", "/a/literal", "GET, HEAD, LOCK, MERGE, OPTIONS"),
        ("PROPPATCH", "/dav", "OPTIONS, SEARCH"),
    ] {
        let reply = client.ask(method, target).await;
        assert_eq!(reply.status(), 405, "{method} {target}");
        assert_eq!(reply.all("allow"), [allow], "{method} {target}");
    }
    let reply = server.client().await.ask("CONNECT", "/a/1").await;
    assert_eq!(reply.status(), 405);
    assert_eq!(reply.all("allow"), ["GET, HEAD, LOCK, OPTIONS"]);
    assert!(client.ask("LOCK", "/a/1").await.all("allow").is_empty());
}

async fn a_method_of_no_frameworks_list_is_405_with_the_core_s_allow(on: On) {
    let server = Server::with(on, ServerOptions::new(), vec![named("SEARCH", "/dav")]).await;
    let reply = server.client().await.ask("get", "/dav").await;
    assert_eq!(reply.status(), 405);
    assert_eq!(reply.all("allow"), ["OPTIONS, SEARCH"]);
}
