//! What only the store in NATS can do, and faults between it and its server.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use pointwork::http::StatusCode;
use pointwork::{App, DurableOptions, EventStore, Failure, Order, Payload, Pointer};
use pointwork_events_tests::history::{Entry, Promised};
use pointwork_events_tests::proxy::{Fault, Proxy};
use pointwork_events_tests::server::Server;
use pointwork_events_tests::world::{CHANNEL, World, quick};
use pointwork_nats::{Connection, NatsOptions, NatsStore};
use tokio::io::AsyncWriteExt as _;
use tokio::runtime::Handle;

use crate::Plain;

pub(crate) const ALL: &[(&str, Plain)] = crate::list![
    without_a_server_emits_are_refused_until_there_is_one,
    what_was_confirmed_outlives_the_server,
    a_stalled_connection_loses_nothing,
    a_server_that_is_stopped_for_a_while_loses_nothing,
    two_processes_share_the_work,
    a_stream_with_other_settings_is_refused,
    a_full_stream_refuses_and_loses_nothing,
    a_stream_that_somebody_deletes_is_made_again,
    a_payload_over_the_limit_of_the_server_is_refused,
    messages_of_strangers_are_dead_letters,
    an_event_that_cannot_be_read_is_a_dead_letter,
    an_id_may_be_any_text,
];

pub(crate) async fn store(url: &str, prefix: &str) -> Arc<dyn EventStore> {
    let options = NatsOptions {
        servers: vec![url.to_owned()],
        prefix: prefix.to_owned(),
        ..NatsOptions::default()
    };
    let connection = Connection::open(options, Handle::current()).await;
    Arc::new(NatsStore::new(connection.expect("it begins to connect")))
}

fn by_key() -> DurableOptions {
    quick()
        .order(Order::Key(Pointer::new("/key").expect("a pointer")))
        .partitions(4)
}

/// Emits events from that number on, until one is confirmed.
async fn confirmed(world: &World, number: u32) {
    let next = AtomicU32::new(number);
    let emit = async |world: &World| world.emit(1, next.fetch_add(1, Ordering::Relaxed)).await == StatusCode::OK;
    world.until(emit).await;
}

async fn without_a_server_emits_are_refused_until_there_is_one() {
    let server = Server::start();
    server.kill();
    let options = quick().confirm(Duration::from_millis(300));
    let world = World::new(store(&server.url(), "away").await, options);
    world.listen(Arc::new(|_, _, _| Ok(())));
    assert_eq!(world.emit(1, 1).await, StatusCode::SERVICE_UNAVAILABLE);
    server.start_again();
    confirmed(&world, 2).await;
    world.check(Promised::ByKey).await;
    world.app.close().await;
}

/// Waits until twenty more events are delivered.
async fn twenty_delivered(world: &World) {
    let count = |world: &World| {
        let history = world.history.lock();
        history
            .iter()
            .filter(|entry| matches!(entry, Entry::Delivered(..)))
            .count()
    };
    let before = count(world);
    world.until(async |world| count(world) >= before + 20).await;
}

async fn what_was_confirmed_outlives_the_server() {
    let server = Server::start();
    let world = World::new(store(&server.url(), "outlives").await, by_key());
    world.listen(Arc::new(|_, number, attempt| match number % 5 {
        0 if attempt == 1 => Err(Failure::new(StatusCode::INTERNAL_SERVER_ERROR, "once more")),
        _ => Ok(()),
    }));
    let is_over = Arc::new(AtomicBool::new(false));
    let emitters = (1..=4).map(|key| {
        let (world, is_over) = (world.clone(), is_over.clone());
        tokio::spawn(async move {
            let mut number = 0;
            while !is_over.load(Ordering::Relaxed) {
                number += 1;
                world.emit(key, number).await;
            }
        })
    });
    let emitters: Vec<_> = emitters.collect();
    for _ in 0..3 {
        twenty_delivered(&world).await;
        server.restart();
    }
    twenty_delivered(&world).await;
    is_over.store(true, Ordering::Relaxed);
    for emitter in emitters {
        emitter.await.expect("no panic");
    }
    world.check(Promised::ByKeyOfKilled).await;
    world.app.close().await;
}

#[expect(
    clippy::disallowed_methods,
    reason = "a client that leaves is one of the faults, and a stalled connection reports nothing"
)]
async fn a_stalled_connection_loses_nothing() {
    let server = Server::start();
    let proxy = Proxy::before(server.port()).await;
    let world = World::new(store(&proxy.url(), "stalls").await, by_key());
    world.listen(Arc::new(|_, _, _| Ok(())));
    let faults = [
        Fault::Stall,
        Fault::None,
        Fault::Cut,
        Fault::None,
        Fault::Delay(Duration::from_millis(20)),
        Fault::None,
    ];
    let mut number = 0;
    for fault in faults {
        proxy.set(fault);
        for _ in 0..4 {
            number += 1;
            let emit = world.emit(number % 3, number);
            // A client that leaves: its event may be confirmed, and nobody knows.
            let _left = tokio::time::timeout(Duration::from_millis(400), emit).await;
        }
    }
    // What came behind the last fault is confirmed.
    confirmed(&world, number + 1).await;
    world.check(Promised::ByKey).await;
    world.app.close().await;
}

async fn a_server_that_is_stopped_for_a_while_loses_nothing() {
    let server = Server::start();
    let world = World::new(
        store(&server.url(), "stopped").await,
        by_key().confirm(Duration::from_millis(500)),
    );
    world.listen(Arc::new(|_, _, _| Ok(())));
    assert_eq!(world.emit(1, 1).await, StatusCode::OK);
    server.signal("STOP");
    assert_eq!(world.emit(1, 2).await, StatusCode::SERVICE_UNAVAILABLE);
    server.signal("CONT");
    confirmed(&world, 3).await;
    world.check(Promised::ByKey).await;
    world.app.close().await;
}

async fn two_processes_share_the_work() {
    let server = Server::start();
    let url = server.url();
    let first = World::new(store(&url, "shared").await, by_key());
    let second = App::new().expect("threads start");
    let shared = store(&url, "shared").await;
    second
        .make_durable(CHANNEL, by_key(), shared)
        .expect("it can be durable");
    let behaviour: pointwork_events_tests::world::Behaviour = Arc::new(|_, _, _| Ok(()));
    first.listen(behaviour.clone());
    World {
        app: second.clone(),
        ..first.clone()
    }
    .listen(behaviour);
    for number in 1..=100 {
        assert_eq!(first.emit(number % 4, number).await, StatusCode::OK);
    }
    let history = first.check(Promised::ByKey).await;
    let delivered = history
        .iter()
        .filter(|entry| matches!(entry, Entry::Delivered(..)))
        .count();
    assert_eq!(delivered, 100);
    first.app.close().await;
    second.close().await;
}

async fn a_stream_with_other_settings_is_refused() {
    let server = Server::start();
    let first = World::new(store(&server.url(), "differs").await, by_key());
    let app = App::new().expect("threads start");
    let other = by_key().partitions(8).duplicates(Duration::from_secs(60));
    let refused = app.make_durable(CHANNEL, other, store(&server.url(), "differs").await);
    let error = refused.expect_err("the settings differ");
    let causes = std::iter::successors(Some(&error as &dyn std::error::Error), |error| error.source());
    let text = causes.map(ToString::to_string).collect::<Vec<_>>().join(": ");
    for part in [
        "differs-events-mail",
        "`partitions` is 4, expected 8",
        "`duplicates` is 3600s, expected 60s",
    ] {
        assert!(text.contains(part), "{text}");
    }
    first.app.close().await;
    app.close().await;
}

async fn jetstream(server: &Server) -> async_nats::jetstream::Context {
    async_nats::jetstream::new(async_nats::connect(server.url()).await.expect("a connection"))
}

async fn a_full_stream_refuses_and_loses_nothing() {
    let server = Server::start();
    let world = World::new(store(&server.url(), "full").await, quick());
    let jetstream = jetstream(&server).await;
    // The size is the operator's.
    let mut config = jetstream
        .get_stream("full-events-mail")
        .await
        .expect("a stream")
        .cached_info()
        .config
        .clone();
    config.max_messages = 3;
    jetstream.update_stream(&config).await.expect("it is smaller");
    let mut statuses = Vec::new();
    for number in 1..=5 {
        statuses.push(world.emit(1, number).await.as_u16());
    }
    assert_eq!(statuses, [200, 200, 200, 503, 503]);
    world.listen(Arc::new(|_, _, _| Ok(())));
    world.check(Promised::ByKey).await;
    assert_eq!(world.emit(1, 6).await, StatusCode::OK);
    world.check(Promised::ByKey).await;
    world.app.close().await;
}

async fn a_stream_that_somebody_deletes_is_made_again() {
    let server = Server::start();
    let world = World::new(store(&server.url(), "deleted").await, quick());
    world.listen(Arc::new(|_, _, _| Ok(())));
    assert_eq!(world.emit(1, 1).await, StatusCode::OK);
    world.check(Promised::ByKey).await;
    jetstream(&server)
        .await
        .delete_stream("deleted-events-mail")
        .await
        .expect("it is deleted");
    confirmed(&world, 2).await;
    world.until(async |world| world.figures().await.waiting == 0).await;
    world.check(Promised::ByKey).await;
    world.app.close().await;
}

async fn a_payload_over_the_limit_of_the_server_is_refused() {
    let server = Server::with("max_payload: 4096");
    let world = World::new(store(&server.url(), "large").await, quick());
    world.listen(Arc::new(|_, _, _| Ok(())));
    let route = |ctx: pointwork::Context| async move {
        ctx.emit_raw("mail:order", pointwork::Payload::json(&"a".repeat(8192))?);
        Ok::<_, Failure>("emitted")
    };
    world.app.post("/large", route).expect("a route");
    let (status, body) = world.request("/large").await;
    assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE, "{body:?}");
    assert_eq!(world.emit(1, 1).await, StatusCode::OK);
    world.check(Promised::ByKey).await;
    world.app.close().await;
}

async fn messages_of_strangers_are_dead_letters() {
    let server = Server::start();
    let world = World::new(store(&server.url(), "strange").await, quick());
    world.listen(Arc::new(|_, _, _| Ok(())));
    let jetstream = jetstream(&server).await;
    let mut deep = async_nats::HeaderMap::new();
    deep.insert("ce-id", "mail:order:deep");
    deep.insert("ce-type", "mail:order");
    deep.insert("ce-depth", "200");
    let mut bad = async_nats::HeaderMap::new();
    bad.insert("ce-id", "x".repeat(60_000));
    bad.insert("ce-type", "elsewhere:order");
    bad.insert("ce-depth", "-7");
    bad.insert("content-type", "\u{fc}");
    let mut unknown = async_nats::HeaderMap::new();
    unknown.insert("ce-id", "mail:unknown:1");
    unknown.insert("ce-type", "mail:unknown");
    for headers in [deep, bad, unknown, async_nats::HeaderMap::new()] {
        let published = jetstream
            .publish_with_headers("strange.events.mail.0", headers, "not JSON".into())
            .await;
        published.expect("it is sent").await.expect("it is kept");
    }
    assert_eq!(world.emit(1, 1).await, StatusCode::OK);
    world.settled().await;
    let dead = world
        .store
        .dead_letters(CHANNEL, None, 100)
        .await
        .expect("dead letters");
    let dead: Vec<_> = dead.iter().map(|letter| (&*letter.event.id, &*letter.reason)).collect();
    assert_eq!(dead.len(), 4, "{dead:?}");
    assert!(dead[0].1.contains("call 200 of a chain"), "{dead:?}");
    world.app.close().await;
}

/// Neither the client of a module nor a program that is not Pointwork chooses what is in a header.
async fn an_id_may_be_any_text() {
    let server = Server::start();
    let world = World::new(
        store(&server.url(), "text").await,
        quick()
            .id(Pointer::new("/id").expect("a pointer"))
            .confirm(Duration::from_secs(2)),
    );
    let seen = Arc::<parking_lot::Mutex<Vec<String>>>::default();
    let sees = seen.clone();
    let listener = move |delivery: pointwork::Delivery, _: Payload| {
        sees.lock().push(delivery.id());
        async { Ok(Payload::null()) }
    };
    world.app.channel(CHANNEL).on_raw("text", listener).expect("a listener");
    let ids = ["a\nb", "a\r\nce-id: mail:text:b", "a", "a ", " a", "ü", "%41"];
    for (place, id) in ids.into_iter().enumerate() {
        let (id, path) = (id.to_owned(), format!("/{place}"));
        let route = move |ctx: pointwork::Context| {
            let id = id.clone();
            async move {
                ctx.emit_raw("mail:text", Payload::json(&serde_json::json!({"id": id}))?);
                Ok::<_, Failure>("emitted")
            }
        };
        world.app.post(&path, route).expect("a route");
        assert_eq!(world.request(&path).await.0, StatusCode::OK);
        world.settled().await;
    }
    assert_eq!(*seen.lock(), ids.map(|id| format!("mail:text:{id}")));
    world.app.close().await;
}

async fn an_event_that_cannot_be_read_is_a_dead_letter() {
    let server = Server::start();
    let world = World::new(store(&server.url(), "unreadable").await, quick());
    world.listen(Arc::new(|_, _, _| Ok(())));
    assert_eq!(world.emit(1, 1).await, StatusCode::OK);
    world.settled().await;
    // The client of the library cannot send it.
    let headers = b"NATS/1.0\r\nce-id: caf\xe9\r\n\r\n";
    let mut stranger = tokio::net::TcpStream::connect(("127.0.0.1", server.port()))
        .await
        .expect("it listens");
    let publish = format!(
        "CONNECT {{\"headers\":true}}\r\nHPUB unreadable.events.mail.0 {} {}\r\n",
        headers.len(),
        headers.len() + 4
    );
    for bytes in [publish.as_bytes(), headers, b"data\r\nPING\r\n"] {
        stranger.write_all(bytes).await.expect("it is sent");
    }
    // The connection is cut in the meantime.
    world
        .until(async |world| {
            world
                .store
                .figures(CHANNEL)
                .await
                .is_ok_and(|figures| figures.dead == 1)
        })
        .await;
    let dead = world.store.dead_letters(CHANNEL, None, 10).await.expect("dead letters");
    assert_eq!(dead[0].event.payload.data(), b"data");
    assert_eq!(dead[0].reason, "its headers cannot be read");
    assert_eq!(world.emit(1, 2).await, StatusCode::OK);
    world.settled().await;
    world.app.close().await;
}
