//! Routes and methods of every kind, whatever actix-web's own router thinks of them.

use pointwork_core::{Context, ServerOptions};

use crate::client::{Client, Reply};
use crate::subject::{Subject, route};

fn named(method: &str, path: &str, name: &'static str) -> pointwork_core::Route {
    route(method, path, move |context: Context| async move {
        let params = context.params().iter().map(|(key, value)| format!(" {key}={value}"));
        format!("{name}{}", params.collect::<String>())
    })
}

async fn ask(client: &mut Client, method: &str, target: &str) -> Reply {
    client
        .send(format!("{method} {target} HTTP/1.1\r\nhost: a\r\n\r\n"))
        .await;
    client.reply().await
}

#[tokio::test]
async fn any_method_is_a_real_route() {
    let methods = [
        "GET",
        "PROPFIND",
        "PURGE",
        "MKWORKSPACE",
        "NOTIFY",
        "get",
        "X!#$%&'*+-.^_`|~1",
        "TUNNEL",
    ];
    let mut routes: Vec<_> = methods.iter().map(|method| named(method, "/x/:id", "it")).collect();
    routes.push(named("ALL", "/all", "all"));
    let subject = Subject::with(ServerOptions::default(), routes).await;
    let mut client = subject.client().await;
    for method in methods {
        assert_eq!(ask(&mut client, method, "/x/1").await.body, "it id=1", "{method}");
        assert_eq!(ask(&mut client, method, "/all").await.body, "all", "{method}");
    }
    let reply = ask(&mut client, "LOCK", "/x/1").await;
    assert_eq!(reply.status(), 405);
    assert!(reply.all("allow")[0].contains("MKWORKSPACE"), "{reply:?}");
    client.send("CONNECT /x/1 HTTP/1.1\r\nhost: a\r\n\r\n").await;
    assert_eq!(client.reply().await.status(), 405);
}

#[tokio::test]
async fn a_literal_beats_a_parameter_in_any_order() {
    let routes = vec![
        named("GET", "/*rest", "rest"),
        named("GET", "/:id", "parameter"),
        named("GET", "/search", "literal"),
        named("POST", "/search", "post"),
        named("PUT", "/:id", "put"),
    ];
    let subject = Subject::with(ServerOptions::default(), routes).await;
    let mut client = subject.client().await;
    for (method, target, body) in [
        ("GET", "/search", "literal"),
        ("GET", "/other", "parameter id=other"),
        ("GET", "/a/b", "rest rest=a/b"),
        ("PUT", "/search", "put id=search"),
        ("GET", "/s%65arch", "literal"),
        ("GET", "/a%2Fb", "parameter id=a/b"),
        ("GET", "/a+b", "parameter id=a+b"),
        ("GET", "/a%2Bb", "parameter id=a+b"),
    ] {
        assert_eq!(ask(&mut client, method, target).await.body, body, "{method} {target}");
    }
}

#[tokio::test]
async fn patterns_that_actix_cannot_write_are_routes_too() {
    let many = (0..20).map(|number| format!("/:p{number}")).collect::<String>();
    let routes = vec![
        named("GET", "/a%7Bb%7D", "braces"),
        named("GET", "/c%2A", "star"),
        named("GET", "/d%2Fe", "slash"),
        named("GET", "/caf%C3%A9", "text"),
        named("GET", &many, "many"),
    ];
    let subject = Subject::with(ServerOptions::default(), routes).await;
    let mut client = subject.client().await;
    for (target, body) in [
        ("/a%7Bb%7D", "braces"),
        ("/a{b}", "braces"),
        ("/c*", "star"),
        ("/d%2fe", "slash"),
        ("/caf%c3%a9", "text"),
    ] {
        assert_eq!(ask(&mut client, "GET", target).await.body, body, "{target}");
    }
    let reply = ask(&mut client, "GET", &"/x".repeat(20)).await;
    assert!(reply.body.starts_with("many p0=x"), "{}", reply.body);
}

#[tokio::test]
async fn a_table_may_have_many_routes() {
    let names: Vec<String> = (0..300).map(|number| format!("/r{number}/:id")).collect();
    let routes = names.iter().map(|name| named("GET", name, "one of many")).collect();
    let subject = Subject::with(ServerOptions::default(), routes).await;
    let mut client = subject.client().await;
    for number in [0, 150, 299] {
        let reply = ask(&mut client, "GET", &format!("/r{number}/x")).await;
        assert_eq!(reply.body, "one of many id=x");
    }
}
