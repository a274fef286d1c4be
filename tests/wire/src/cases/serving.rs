//! Tables, ports and options.

use std::error::Error as _;
use std::future::pending;
use std::net::Shutdown;
use std::os::fd::AsFd as _;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use pointwork_core::routing::Pattern;
use pointwork_core::{
    Bus, Context, Delivery, ErrorKind, Failure, Payload, Router, RouterOptions, ServerOptions, Subscription,
};
use pointwork_test_clock::TestClock;
use tokio::net::TcpListener;
use tokio::sync::Notify;

use crate::routes::{bus, executor};
use crate::{Adapter, On, Probe, Server, publish, route, routes, within};

crate::cases! {
    before_the_first_table_every_request_gets_503,
    a_request_ends_on_the_table_it_began_on: S1,
    a_table_that_is_only_staged_serves_nobody,
    a_port_in_use_is_an_error_that_names_it_and_a_crash: E1,
    a_connection_that_cannot_be_accepted_is_a_crash: E1,
    an_address_that_is_none_is_an_error_that_says_what_was_expected,
    limits_of_any_size_are_taken,
}

async fn before_the_first_table_every_request_gets_503(on: On) {
    let adapter = (on.open)(ServerOptions::new());
    let server = Server::start(adapter.clone()).await;
    let mut client = server.client().await;
    let reply = client.get("/hello").await;
    assert_eq!(reply.status(), 503);
    assert_eq!(reply.all("retry-after"), ["1"]);
    assert_eq!(reply.body, "{\"message\":\"the server has no routes yet\"}");
    publish(&*adapter, routes(), RouterOptions::new());
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
    let adapter = (on.open)(ServerOptions::new());
    publish(&*adapter, vec![route("GET", "/version", old)], RouterOptions::new());
    let server = Server::start(adapter.clone()).await;
    let mut first = server.client().await;
    first.send("GET /version HTTP/1.1\r\nhost: a\r\n\r\n").await;
    within("the old handler's begin", BEGAN.notified()).await;
    publish(
        &*adapter,
        vec![route("GET", "/version", async |_: Context| "new")],
        RouterOptions::new(),
    );
    let mut second = server.client().await;
    assert_eq!(second.get("/version").await.body, "new");
    GO.notify_one();
    assert_eq!(first.reply().await.body, "old");
    assert_eq!(first.get("/version").await.body, "new");
}

async fn a_table_that_is_only_staged_serves_nobody(on: On) {
    let adapter = (on.open)(ServerOptions::new());
    publish(&*adapter, routes(), RouterOptions::new());
    let bus = bus();
    let other = Router::new(
        vec![route("GET", "/other", async |_: Context| "other")],
        RouterOptions::new(),
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

/// An adapter without routes, connected to a bus, and the `server:crashed` events of the bus.
fn watched(on: On, time: &TestClock) -> (Arc<dyn Adapter>, Arc<Mutex<Vec<serde_json::Value>>>) {
    let adapter = (on.open)(ServerOptions::new().clock(time.clock()));
    let bus = bus();
    let crashes = crashes(&bus);
    let root = Pattern::parse("/").unwrap();
    adapter.attach(bus.reporter(adapter.name()), root).unwrap();
    (adapter, crashes)
}

/// The message of the first `server:crashed`, which the adapter has reported when it rests.
async fn first_crash(time: &TestClock, adapter: &dyn Adapter, crashes: &Mutex<Vec<serde_json::Value>>) -> String {
    time.settle().await;
    let crash = crashes.lock().unwrap().first().cloned();
    let crash = crash.expect("no `server:crashed` was reported");
    assert_eq!(crash["adapter"], adapter.name());
    assert_eq!(crash["kind"], "adapter");
    crash["message"].as_str().unwrap().to_owned()
}

async fn a_port_in_use_is_an_error_that_names_it_and_a_crash(on: On) {
    let taken = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = taken.local_addr().unwrap();
    let time = TestClock::new();
    let (adapter, crashes) = watched(on, &time);
    let error = adapter.bind(address.to_string()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Adapter);
    let text = error.to_string();
    assert!(
        text.starts_with(&format!("the address `{address}` is in use")),
        "{text}"
    );
    assert!(text.contains("port 0"), "{text}");
    assert!(error.source().is_some());
    let message = first_crash(&time, &*adapter, &crashes).await;
    assert!(message.starts_with(&text), "{message}");
}

/// The listener is shut down under the running server: from then on the operating system refuses to accept, as it does in a
/// process out of file descriptors.
async fn a_connection_that_cannot_be_accepted_is_a_crash(on: On) {
    let time = TestClock::new();
    let (adapter, crashes) = watched(on, &time);
    publish(&*adapter, routes(), RouterOptions::default());
    let listener = adapter.bind("127.0.0.1:0".to_owned()).await.unwrap();
    let address = listener.local_addr().unwrap();
    let socket = listener.as_fd().try_clone_to_owned().unwrap();
    let server = tokio::spawn(adapter.serve(listener, Box::pin(pending())));
    let mut client = Probe::connect(address).await;
    assert_eq!(client.get("/hello").await.body, "hello");
    std::net::TcpStream::from(socket).shutdown(Shutdown::Both).unwrap();
    let message = first_crash(&time, &*adapter, &crashes).await;
    assert!(
        message.starts_with("no connection can be accepted, trying again: "),
        "{message}"
    );
    // Only the first of several errors in a row is one, and the open connections are served on.
    time.advance(Duration::from_secs(5)).await;
    assert_eq!(crashes.lock().unwrap().len(), 1);
    assert_eq!(client.get("/hello").await.body, "hello");
    server.abort();
}

async fn an_address_that_is_none_is_an_error_that_says_what_was_expected(on: On) {
    let adapter = (on.open)(ServerOptions::new());
    let text = adapter.bind("nonsense".to_owned()).await.unwrap_err().to_string();
    assert!(
        text.contains("`nonsense`") && text.contains("expected a host and a port"),
        "{text}"
    );
    let text = adapter.bind("192.0.2.1:0".to_owned()).await.unwrap_err().to_string();
    assert!(text.contains("`192.0.2.1:0` is not of this machine"), "{text}");
}

async fn limits_of_any_size_are_taken(on: On) {
    let mut options = ServerOptions::new();
    let longest = Some(Duration::MAX);
    options.first_byte_timeout = longest;
    options.header_timeout = longest;
    options.body_timeout = longest;
    options.write_timeout = longest;
    options.shutdown_grace = Duration::MAX;
    options.max_connections = 0;
    options.max_header_bytes = u32::MAX;
    let began = Arc::new(Notify::new());
    let tells = began.clone();
    let reads = move |context: Context| {
        tells.notify_one();
        async move { Ok::<_, Failure>(format!("{} bytes", context.bytes().await?.len())) }
    };
    let mut server = Server::with(on, options, [routes(), vec![route("POST", "/read", reads)]].concat()).await;
    let mut client = server.client().await;
    assert_eq!(client.get("/hello").await.body, "hello");
    client
        .send("POST /read HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\n\r\n")
        .await;
    // The byte comes while the handler waits for the body.
    within("the handler's begin", began.notified()).await;
    client.send("x").await;
    assert_eq!(client.reply().await.body, "1 bytes");
    drop(client);
    server.signal();
    server.ended().await;
}
