//! trillium's closed list of methods (spec A3).

use pointwork_core::routing::MethodFilter;
use pointwork_core::{Context, Transport};
use pointwork_trillium::{ServerOptions, Trillium};

use crate::subject::{Subject, route};

fn serves(method: &str) -> bool {
    Trillium::new().serves(&MethodFilter::parse(Some(method)).unwrap())
}

#[test]
fn the_list_decides_what_is_served() {
    for method in ["GET", "PROPFIND", "SEARCH", "MKWORKSPACE", "CONNECT", "TRACE"] {
        assert!(serves(method), "{method}");
    }
    for method in ["PURGE", "NOTIFY", "get", "Get", "X"] {
        assert!(!serves(method), "{method}");
    }
    assert!(Trillium::new().serves(&MethodFilter::parse(None).unwrap()));
}

#[tokio::test]
async fn methods_in_the_list_reach_their_routes() {
    let routes = ["PROPFIND", "SEARCH", "MKWORKSPACE"].map(|method| {
        let answer =
            async |context: Context| format!("{} {}", context.method(), context.param("id").unwrap_or_default());
        route(method, "/dav/:id", answer)
    });
    let subject = Subject::with(ServerOptions::default(), routes.into()).await;
    let mut client = subject.client().await;
    for method in ["PROPFIND", "SEARCH", "MKWORKSPACE"] {
        client
            .send(format!("{method} /dav/7 HTTP/1.1\r\nhost: a\r\n\r\n"))
            .await;
        assert_eq!(client.reply().await.body, format!("{method} 7"));
    }
    client.send("PROPPATCH /dav/7 HTTP/1.1\r\nhost: a\r\n\r\n").await;
    let reply = client.reply().await;
    assert_eq!(reply.status(), 405);
    assert_eq!(reply.all("allow"), ["MKWORKSPACE, OPTIONS, PROPFIND, SEARCH"]);
}

#[tokio::test]
async fn a_route_for_every_method_answers_those_in_the_list() {
    let all = route("ALL", "/all", async |context: Context| context.method().to_string());
    let subject = Subject::with(ServerOptions::default(), vec![all]).await;
    let mut client = subject.client().await;
    for method in ["GET", "REPORT", "UNLINK", "DELETE"] {
        client.send(format!("{method} /all HTTP/1.1\r\nhost: a\r\n\r\n")).await;
        assert_eq!(client.reply().await.body, method);
    }
}

#[tokio::test]
async fn trillium_answers_a_method_outside_its_list_with_501_and_closes() {
    let routes = vec![
        route("PURGE", "/cache", async |_: Context| "purged"),
        route("ALL", "/all", async |_: Context| "all"),
    ];
    let subject = Subject::with(ServerOptions::default(), routes).await;
    for request in [
        "PURGE /cache HTTP/1.1\r\nhost: a\r\n\r\n",
        "NOTIFY /all HTTP/1.1\r\nhost: a\r\ncontent-length: 3\r\n\r\nabcGET /all HTTP/1.1\r\nhost: a\r\n\r\n",
        "get /all HTTP/1.1\r\nhost: a\r\n\r\n",
    ] {
        let mut client = subject.client().await;
        client.send(request).await;
        let reply = client.rest().await.unwrap();
        assert!(
            reply.starts_with("HTTP/1.1 501 Not Implemented\r\n"),
            "{request:?}: {reply}"
        );
        assert!(reply.ends_with("\r\n\r\n"), "{request:?}: {reply}");
        assert!(reply.contains("\r\nConnection: close\r\n"), "{request:?}: {reply}");
        assert_eq!(reply.matches("HTTP/1.1").count(), 1, "{request:?}: {reply}");
    }
}
