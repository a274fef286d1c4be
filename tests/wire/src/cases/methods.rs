//! Methods, those that a framework has never heard of among them (spec A3, A4, A8).

use pointwork_core::routing::MethodFilter;
use pointwork_core::{Context, Route, ServerOptions, Transport};

use crate::{Server, Subject, route};

crate::cases! {
    for S;
    any_method_is_a_real_route,
    a_method_that_is_not_served_never_reaches_a_route,
    another_method_is_405_with_the_core_s_allow,
    options_and_head_are_the_core_s,
}

/// Methods that are in every framework's list, if it has one.
const KNOWN: &[&str] = &["GET", "DELETE", "PROPFIND", "SEARCH", "MKWORKSPACE", "REPORT", "UNLINK"];

/// Methods that are in no list.
const OTHER: &[&str] = &["PURGE", "NOTIFY", "get", "Get", "X", "X!#$%&'*+-.^_`|~1", "TUNNEL"];

fn named(method: &str, path: &str) -> Route {
    route(method, path, async |context: Context| {
        format!("{} {}", context.method(), context.param("id").unwrap_or_default())
    })
}

async fn any_method_is_a_real_route<S: Subject>() {
    let methods = [KNOWN, OTHER].concat();
    let mut routes: Vec<_> = methods.iter().map(|method| named(method, "/x/:id")).collect();
    routes.push(named("ALL", "/all/:id"));
    let server = Server::with::<S>(ServerOptions::default(), routes).await;
    let mut client = server.client().await;
    let served = if S::DIFFERENCES.every_method {
        &methods[..]
    } else {
        KNOWN
    };
    for method in served {
        assert_eq!(client.ask(method, "/x/1").await.body, format!("{method} 1"));
        assert_eq!(client.ask(method, "/all/2").await.body, format!("{method} 2"));
    }
}

async fn a_method_that_is_not_served_never_reaches_a_route<S: Subject>() {
    let adapter = S::adapter(ServerOptions::default());
    let serves = |method: Option<&str>| adapter.serves(&MethodFilter::parse(method).unwrap());
    assert!(serves(None));
    for method in KNOWN.iter().chain(&["CONNECT", "TRACE"]) {
        assert!(serves(Some(method)), "{method}");
    }
    for method in OTHER {
        assert_eq!(serves(Some(method)), S::DIFFERENCES.every_method, "{method}");
    }
    if S::DIFFERENCES.every_method {
        return;
    }
    let mut routes: Vec<_> = OTHER.iter().map(|method| named(method, "/x")).collect();
    routes.push(named("ALL", "/x"));
    let server = Server::with::<S>(ServerOptions::default(), routes).await;
    for method in OTHER {
        let next = "GET /x HTTP/1.1\r\nhost: a\r\n\r\n";
        let request = format!("{method} /x HTTP/1.1\r\nhost: a\r\ncontent-length: 3\r\n\r\nabc{next}");
        assert_eq!(
            server.exchange(request).await,
            "HTTP/1.1 501 Not Implemented\r\nconnection: close\r\ncontent-length: 0\r\n\r\n",
            "{method}"
        );
    }
}

async fn another_method_is_405_with_the_core_s_allow<S: Subject>() {
    let routes = vec![
        named("GET", "/a/:id"),
        named("LOCK", "/a/:id"),
        named("GET", "/a/literal"),
        named("MERGE", "/a/literal"),
        named("SEARCH", "/dav"),
    ];
    let server = Server::with::<S>(ServerOptions::default(), routes).await;
    let mut client = server.client().await;
    for (method, target, allow) in [
        ("POST", "/a/1", "GET, HEAD, LOCK, OPTIONS"),
        ("TRACE", "/a/1", "GET, HEAD, LOCK, OPTIONS"),
        ("MKCOL", "/a/1", "GET, HEAD, LOCK, OPTIONS"),
        ("DELETE", "/a/literal", "GET, HEAD, LOCK, MERGE, OPTIONS"),
        ("PROPPATCH", "/dav", "OPTIONS, SEARCH"),
    ] {
        let reply = client.ask(method, target).await;
        assert_eq!(
            (reply.status(), reply.all("allow")),
            (405, vec![allow]),
            "{method} {target}"
        );
    }
    let reply = server.client().await.ask("CONNECT", "/a/1").await;
    assert_eq!(
        (reply.status(), reply.all("allow")),
        (405, vec!["GET, HEAD, LOCK, OPTIONS"])
    );
    assert!(client.ask("LOCK", "/a/1").await.all("allow").is_empty());
    if S::DIFFERENCES.every_method {
        let reply = client.ask("get", "/dav").await;
        assert_eq!((reply.status(), reply.all("allow")), (405, vec!["OPTIONS, SEARCH"]));
    }
}

async fn options_and_head_are_the_core_s<S: Subject>() {
    let server = Server::plain::<S>().await;
    let mut client = server.client().await;
    let reply = client.ask("OPTIONS", "/hello").await;
    assert_eq!(
        (reply.status(), reply.all("allow")),
        (204, vec!["GET, HEAD, OPTIONS"]),
        "{reply:?}"
    );
    let head = server
        .exchange("HEAD /hello HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n")
        .await;
    assert!(
        head.contains("content-length: 5\r\n") && head.ends_with("\r\n\r\n"),
        "{head}"
    );
}
