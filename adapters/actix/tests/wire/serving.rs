use std::error::Error as _;
use std::time::Duration;

use pointwork_actix::Actix;
use pointwork_core::{Context, ErrorKind, RouterOptions, ServerOptions, Transport};
use tokio::net::TcpListener;
use tokio::sync::Notify;

use crate::client::within;
use crate::subject::{Subject, bus, crashes, publish, published, route, routes};

#[tokio::test]
async fn before_the_first_table_every_request_gets_503() {
    let actix = Actix::new();
    let subject = Subject::start(&actix).await;
    let mut client = subject.client().await;
    let reply = client.get("/hello").await;
    assert_eq!(reply.status(), 503);
    assert_eq!(reply.all("retry-after"), ["1"]);
    assert_eq!(reply.body, "{\"message\":\"the server has no routes yet\"}");
    publish(&actix, routes(), RouterOptions::default());
    assert_eq!(client.get("/hello").await.body, "hello");
}

#[tokio::test]
async fn a_request_ends_on_the_table_it_began_on() {
    static GO: Notify = Notify::const_new();
    static BEGAN: Notify = Notify::const_new();
    let old = async |_: Context| {
        BEGAN.notify_one();
        GO.notified().await;
        "old"
    };
    let actix = published(ServerOptions::default(), vec![route("GET", "/version", old)]);
    let subject = Subject::start(&actix).await;
    let mut first = subject.client().await;
    first.send("GET /version HTTP/1.1\r\nhost: a\r\n\r\n").await;
    within("the old handler's begin", BEGAN.notified()).await;
    publish(
        &actix,
        vec![route("GET", "/version", async |_: Context| "new")],
        RouterOptions::default(),
    );
    let mut second = subject.client().await;
    assert_eq!(second.get("/version").await.body, "new");
    GO.notify_one();
    assert_eq!(first.reply().await.body, "old");
    assert_eq!(first.get("/version").await.body, "new");
}

#[tokio::test]
async fn a_table_that_is_only_staged_serves_nobody() {
    let actix = published(ServerOptions::default(), routes());
    let bus = bus();
    let other = pointwork_core::Router::new(
        vec![route("GET", "/other", async |_: Context| "other")],
        RouterOptions::default(),
        bus,
        crate::subject::executor(),
    );
    let staged = actix.stage(std::sync::Arc::new(other.unwrap())).unwrap();
    let subject = Subject::start(&actix).await;
    let mut client = subject.client().await;
    assert_eq!(client.get("/other").await.status(), 404);
    staged.publish();
    assert_eq!(client.get("/other").await.status(), 200);
}

#[tokio::test]
async fn a_port_in_use_is_an_error_that_names_it_and_a_crash() {
    let taken = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = taken.local_addr().unwrap();
    let actix = Actix::new();
    let bus = bus();
    let crashes = crashes(&bus);
    actix.attach(bus.reporter(actix.name()));
    let error = actix.bind(address).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Adapter);
    let text = error.to_string();
    assert!(
        text.starts_with(&format!("the address `{address}` is in use")),
        "{text}"
    );
    assert!(text.contains("port 0"), "{text}");
    assert!(error.source().is_some());
    let crash = within("server:crashed", async {
        loop {
            if let Some(crash) = crashes.lock().unwrap().first() {
                return crash.clone();
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
    assert_eq!(crash["adapter"], "actix");
    assert_eq!(crash["kind"], "adapter");
    assert!(crash["message"].as_str().unwrap().starts_with(&text), "{crash}");
}

#[tokio::test]
async fn an_address_that_is_none_is_an_error_that_says_what_was_expected() {
    let actix = Actix::new();
    let text = actix.bind("nonsense").await.unwrap_err().to_string();
    assert!(
        text.contains("`nonsense`") && text.contains("expected a host and a port"),
        "{text}"
    );
    let text = actix.bind("192.0.2.1:0").await.unwrap_err().to_string();
    assert!(text.contains("`192.0.2.1:0` is not of this machine"), "{text}");
}

#[tokio::test]
async fn http_2_is_not_spoken() {
    let subject = Subject::plain().await;
    let mut client = subject.client().await;
    client.send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await;
    assert!(client.rest().await.unwrap().starts_with("HTTP/1.1 400 "));
}

#[actix_rt::test]
async fn it_serves_within_a_system_of_actix() {
    let mut subject = Subject::plain().await;
    assert_eq!(subject.client().await.get("/hello").await.body, "hello");
    subject.signal();
    subject.ended().await;
    let subject = Subject::plain().await;
    let mut client = subject.client().await;
    client.send("GET /forever HTTP/1.1\r\nhost: a\r\n\r\n").await;
    tokio::time::sleep(Duration::from_millis(50)).await;
    subject.serving.abort();
    assert!(client.rest().await.unwrap_or_default().is_empty());
}

#[tokio::test]
async fn limits_of_any_size_are_taken() {
    let mut options = ServerOptions::default();
    let longest = Some(Duration::MAX);
    options.first_byte_timeout = longest;
    options.header_timeout = longest;
    options.body_timeout = longest;
    options.write_timeout = longest;
    options.shutdown_grace = Duration::MAX;
    options.max_connections = 0;
    options.max_header_bytes = u32::MAX;
    let mut subject = Subject::with(options, routes()).await;
    let mut client = subject.client().await;
    assert_eq!(client.get("/hello").await.body, "hello");
    client
        .send("POST /body HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\n\r\n")
        .await;
    tokio::time::sleep(Duration::from_millis(20)).await;
    client.send("x").await;
    assert_eq!(client.reply().await.body, "1 bytes");
    drop(client);
    subject.signal();
    subject.ended().await;
}
