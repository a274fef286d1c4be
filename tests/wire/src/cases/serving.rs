//! Tables, ports and options.

use std::error::Error as _;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use pointwork_core::{
    Bus, Context, Delivery, ErrorKind, Failure, Payload, Router, RouterOptions, ServerOptions, Subscription,
};
use tokio::net::TcpListener;
use tokio::sync::Notify;

use crate::routes::{bus, executor};
use crate::{On, Server, publish, route, routes, within};

crate::cases! {
    before_the_first_table_every_request_gets_503,
    a_request_ends_on_the_table_it_began_on: S1,
    a_table_that_is_only_staged_serves_nobody,
    a_port_in_use_is_an_error_that_names_it_and_a_crash: E1,
    an_address_that_is_none_is_an_error_that_says_what_was_expected,
    limits_of_any_size_are_taken,
}

async fn before_the_first_table_every_request_gets_503(on: On) {
    let adapter = (on.open)(ServerOptions::default());
    let server = Server::start(adapter.clone()).await;
    let mut client = server.client().await;
    let reply = client.get("/hello").await;
    assert_eq!(reply.status(), 503);
    assert_eq!(reply.all("retry-after"), ["1"]);
    assert_eq!(reply.body, "{\"message\":\"the server has no routes yet\"}");
    publish(&*adapter, routes(), RouterOptions::default());
    assert_eq!(client.get("/hello").await.body, "hello");
}

async fn a_request_ends_on_the_table_it_began_on(on: On) {
    static GO: Notify = Notify::const_new();
    static BEGAN: Notify = Notify::const_new();
    let old = async |_: Context| {
        BEGAN.notify_one();
        GO.notified().await;
        "old"
    };
    let adapter = (on.open)(ServerOptions::default());
    publish(&*adapter, vec![route("GET", "/version", old)], RouterOptions::default());
    let server = Server::start(adapter.clone()).await;
    let mut first = server.client().await;
    first.send("GET /version HTTP/1.1\r\nhost: a\r\n\r\n").await;
    within("the old handler's begin", BEGAN.notified()).await;
    publish(
        &*adapter,
        vec![route("GET", "/version", async |_: Context| "new")],
        RouterOptions::default(),
    );
    let mut second = server.client().await;
    assert_eq!(second.get("/version").await.body, "new");
    GO.notify_one();
    assert_eq!(first.reply().await.body, "old");
    assert_eq!(first.get("/version").await.body, "new");
}

async fn a_table_that_is_only_staged_serves_nobody(on: On) {
    let adapter = (on.open)(ServerOptions::default());
    publish(&*adapter, routes(), RouterOptions::default());
    let bus = bus();
    let other = Router::new(
        vec![route("GET", "/other", async |_: Context| "other")],
        RouterOptions::default(),
        bus,
        executor(),
    );
    let staged = adapter.stage(Arc::new(other.unwrap())).unwrap();
    let server = Server::start(adapter.clone()).await;
    let mut client = server.client().await;
    assert_eq!(client.get("/other").await.status(), 404);
    staged.publish();
    assert_eq!(client.get("/other").await.status(), 200);
}

/// The messages of all `server:crashed` events of a bus.
fn crashes(bus: &Bus) -> Arc<Mutex<Vec<serde_json::Value>>> {
    let seen = Arc::<Mutex<Vec<serde_json::Value>>>::default();
    let listener = {
        let seen = seen.clone();
        move |_: Delivery, payload: Payload| {
            let crash = serde_json::from_slice(payload.data()).unwrap();
            seen.lock().unwrap().push(crash);
            async { Ok::<_, Failure>(Payload::new("", "")) }
        }
    };
    bus.subscribe([Subscription {
        channel: "server".to_owned(),
        event: "crashed".to_owned(),
        module: None,
        listener: Arc::new(listener),
    }])
    .unwrap();
    seen
}

async fn a_port_in_use_is_an_error_that_names_it_and_a_crash(on: On) {
    let taken = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = taken.local_addr().unwrap();
    let adapter = (on.open)(ServerOptions::default());
    let bus = bus();
    let crashes = crashes(&bus);
    adapter.attach(bus.reporter(adapter.name()));
    let error = adapter.bind(address.to_string()).await.unwrap_err();
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
    assert_eq!(crash["adapter"], adapter.name());
    assert_eq!(crash["kind"], "adapter");
    assert!(crash["message"].as_str().unwrap().starts_with(&text), "{crash}");
}

async fn an_address_that_is_none_is_an_error_that_says_what_was_expected(on: On) {
    let adapter = (on.open)(ServerOptions::default());
    let text = adapter.bind("nonsense".to_owned()).await.unwrap_err().to_string();
    assert!(
        text.contains("`nonsense`") && text.contains("expected a host and a port"),
        "{text}"
    );
    let text = adapter.bind("192.0.2.1:0".to_owned()).await.unwrap_err().to_string();
    assert!(text.contains("`192.0.2.1:0` is not of this machine"), "{text}");
}

async fn limits_of_any_size_are_taken(on: On) {
    let mut options = ServerOptions::default();
    let longest = Some(Duration::MAX);
    options.first_byte_timeout = longest;
    options.header_timeout = longest;
    options.body_timeout = longest;
    options.write_timeout = longest;
    options.shutdown_grace = Duration::MAX;
    options.max_connections = 0;
    options.max_header_bytes = u32::MAX;
    let mut server = Server::with(on, options, routes()).await;
    let mut client = server.client().await;
    assert_eq!(client.get("/hello").await.body, "hello");
    client
        .send("POST /body HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\n\r\n")
        .await;
    tokio::time::sleep(Duration::from_millis(20)).await;
    client.send("x").await;
    assert_eq!(client.reply().await.body, "1 bytes");
    drop(client);
    server.signal();
    server.ended().await;
}
