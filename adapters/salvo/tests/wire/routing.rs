//! Whatever salvo's own router makes of a path, the core's answer comes out.

use pointwork_core::{Context, Route};
use pointwork_salvo::ServerOptions;

use crate::subject::{Subject, route};

/// A route that names itself and what it captured.
fn named(method: &str, path: &'static str) -> Route {
    route(method, path, move |context: Context| async move {
        let mut params: Vec<String> = context
            .params()
            .iter()
            .map(|(name, value)| format!(" {name}={value}"))
            .collect();
        params.sort();
        format!("{path}{}", params.concat())
    })
}

async fn subject() -> Subject {
    let routes = [
        ("GET", "/"),
        ("GET", "/a"),
        ("GET", "/a/:x"),
        ("GET", "/a/:x/b/:y"),
        ("GET", "/a/literal"),
        ("PURGE", "/a/:x"),
        ("NOTIFY", "/a/literal"),
        ("ALL", "/all/*rest"),
        ("GET", "/all/:one"),
        ("GET", "/caf%C3%A9/:x"),
        ("GET", "/{brace}/:x"),
        ("GET", "/{a|b}"),
        ("GET", "/<x>"),
        ("GET", "/sl%2Fash"),
        ("GET", "/%20blank"),
        ("GET", "/{{"),
    ];
    let routes = routes.map(|(method, path)| named(method, path));
    Subject::with(ServerOptions::default(), routes.into()).await
}

async fn ask(subject: &Subject, method: &str, target: &str) -> (u16, String) {
    let mut client = subject.client().await;
    client
        .send(format!("{method} {target} HTTP/1.1\r\nhost: a\r\n\r\n"))
        .await;
    let reply = client.reply().await;
    (reply.status(), reply.body)
}

#[tokio::test]
async fn paths_are_matched_as_the_core_does() {
    let subject = subject().await;
    for (method, target, answer) in [
        ("GET", "/", "/"),
        ("GET", "/a", "/a"),
        ("GET", "/a/1", "/a/:x x=1"),
        ("GET", "/a/literal", "/a/literal"),
        ("GET", "/a/liter%61l", "/a/literal"),
        ("GET", "/%61/1", "/a/:x x=1"),
        ("GET", "/a/x%2Fy", "/a/:x x=x/y"),
        ("GET", "/a/x%2Fy/b/%25", "/a/:x/b/:y x=x/y y=%"),
        ("GET", "/caf%c3%a9/1", "/caf%C3%A9/:x x=1"),
        ("GET", "/all/x", "/all/:one one=x"),
        ("GET", "/all/x/y//z/", "/all/*rest rest=x/y//z/"),
        ("GET", "http://other/a/1", "/a/:x x=1"),
        ("PURGE", "/a/1", "/a/:x x=1"),
        ("PURGE", "/a/literal", "/a/:x x=literal"),
        ("NOTIFY", "/a/literal", "/a/literal"),
        ("ANY-thing", "/all/x", "/all/*rest rest=x"),
    ] {
        assert_eq!(
            ask(&subject, method, target).await,
            (200, answer.to_owned()),
            "{method} {target}"
        );
    }
}

#[tokio::test]
async fn patterns_that_salvo_cannot_hold_are_served_all_the_same() {
    let subject = subject().await;
    for (target, answer) in [
        ("/%7Bbrace%7D/1", "/{brace}/:x x=1"),
        ("/%7Ba%7Cb%7D", "/{a|b}"),
        ("/%3Cx%3E", "/<x>"),
        ("/sl%2Fash", "/sl%2Fash"),
        ("/%20blank", "/%20blank"),
        ("/%7B%7B", "/{{"),
    ] {
        assert_eq!(ask(&subject, "GET", target).await, (200, answer.to_owned()), "{target}");
    }
}

#[tokio::test]
async fn what_salvo_would_match_and_the_core_does_not_is_404() {
    let subject = subject().await;
    for target in [
        "/a/", "//a", "/a//1", "/a/1/", "/ab", "/a/1/b/", "/all", "/all/", "/sl/ash", "/blank", "/x//",
    ] {
        assert_eq!(ask(&subject, "GET", target).await.0, 404, "{target}");
    }
    for target in ["/a/%", "/a/%zz", "/a/%ff", "/nowhere/%f"] {
        assert_eq!(ask(&subject, "GET", target).await.0, 400, "{target}");
    }
}

#[tokio::test]
async fn methods_are_answered_as_the_core_does() {
    let subject = subject().await;
    let mut client = subject.client().await;
    for (method, target, status, allow) in [
        ("DELETE", "/a/1", 405, "GET, HEAD, OPTIONS, PURGE"),
        ("OPTIONS", "/a/1", 204, "GET, HEAD, OPTIONS, PURGE"),
        ("DELETE", "/a/literal", 405, "GET, HEAD, NOTIFY, OPTIONS, PURGE"),
        ("get", "/a", 405, "GET, HEAD, OPTIONS"),
    ] {
        client
            .send(format!("{method} {target} HTTP/1.1\r\nhost: a\r\n\r\n"))
            .await;
        let reply = client.reply().await;
        assert_eq!(
            (reply.status(), reply.all("allow")),
            (status, vec![allow]),
            "{method} {target}"
        );
    }
    client
        .send("HEAD /a HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n")
        .await;
    let head = client.rest().await.unwrap();
    assert!(
        head.contains("content-length: 2\r\n") && head.ends_with("\r\n\r\n"),
        "{head}"
    );
}
