//! The gate of replies, with a store in memory.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use pointwork::http::{Response, StatusCode};
use pointwork::{Body, Context, Delivery, Failure, Payload};
use pointwork_events_tests::history::Entry;
use pointwork_events_tests::memory::{Memory, Mood};
use pointwork_events_tests::world::{CHANNEL, World, quick};
use pointwork_test_clock::TestClock;
use serde_json::json;
use tokio::sync::Notify;

use crate::Plain;

pub(crate) const ALL: &[(&str, Plain)] = crate::list![
    the_reply_waits_for_the_store,
    a_refusal_is_503,
    a_store_that_does_not_answer_is_503,
    the_end_of_a_streamed_reply_waits,
    a_streamed_reply_is_broken_off_by_a_refusal,
    an_event_after_the_reply_is_logged_alone,
    an_event_of_a_called_listener_belongs_to_the_request,
    an_event_of_a_listener_is_confirmed_before_its_own_event_ends,
    an_event_of_an_ordinary_event_belongs_to_no_request,
    a_request_that_emits_nothing_waits_for_nothing,
];

/// The time that the store has for an answer.
const CONFIRM: Duration = Duration::from_secs(7);

/// A world on a store in memory, the store, and the clock of the world.
fn in_memory(mood: Mood) -> (World, Memory, TestClock) {
    let memory = Memory::default();
    memory.set(mood);
    let time = TestClock::new();
    let world = World::timed(&time, Arc::new(memory.clone()), quick().confirm(CONFIRM));
    (world, memory, time)
}

/// Waits until the store has events to answer, and answers them.
async fn answer(world: &World, memory: &Memory, confirms: bool) {
    world.until(async |_| memory.answer(confirms) > 0).await;
}

/// The result of `work`, which must wait until the store has answered.
async fn after_an_answer<T>(world: &World, memory: &Memory, time: &TestClock, work: impl Future<Output = T>) -> T {
    let mut work = pin!(work);
    let recorded = async {
        world.until(async |_| memory.unanswered() > 0).await;
        time.settle().await;
    };
    tokio::select! {
        _ = &mut work => panic!("the work has not waited for the answer of the store"),
        () = recorded => assert_eq!(memory.answer(true), 1),
    }
    work.await
}

async fn the_reply_waits_for_the_store() {
    let (world, memory, time) = in_memory(Mood::Waits);
    let status = after_an_answer(&world, &memory, &time, world.emit(1, 1)).await;
    assert_eq!(status, StatusCode::OK);
    world.app.close().await;
}

async fn a_refusal_is_503() {
    let (world, ..) = in_memory(Mood::Refuses);
    let request = pointwork::http::Request::post("/emit/1/1")
        .header("host", "localhost")
        .body(Body::empty());
    let reply = world.app.handle(request.expect("a request")).await;
    assert_eq!(reply.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(reply.headers()["retry-after"], "1");
    let body = reply.into_body().bytes().await.expect("a body");
    assert_eq!(body, r#"{"message":"an event of the request could not be recorded"}"#);
    assert_eq!(world.app.bus().durable_channels()[0].1.refused, 1);
    world.app.close().await;
}

async fn a_store_that_does_not_answer_is_503() {
    let (world, memory, time) = in_memory(Mood::Waits);
    let status = time.elapse(CONFIRM, world.emit(1, 1)).await;
    assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE);
    // The answer comes too late, and nobody waits for it.
    assert_eq!(memory.answer(true), 1);
    world.app.close().await;
}

/// Begins a reply that streams one chunk. The handler emits an event and ends the reply when the reply has begun.
async fn begin_stream(world: &World) -> Response<Body> {
    let has_begun = Arc::new(Notify::new());
    let begun = has_begun.clone();
    let route = move |ctx: Context| {
        let begun = begun.clone();
        async move {
            let mut writer = ctx.open_reply(Response::new(()))?;
            writer.write("chunk").await?;
            begun.notified().await;
            ctx.emit_raw("mail:order", Payload::json(&json!({"key": 1, "number": 1}))?);
            writer.finish().await
        }
    };
    world.app.post("/stream", route).expect("a route");
    let reply = world.begin("/stream").await;
    assert_eq!(reply.status(), StatusCode::OK);
    has_begun.notify_one();
    reply
}

async fn the_end_of_a_streamed_reply_waits() {
    let (world, memory, time) = in_memory(Mood::Waits);
    let body = begin_stream(&world).await.into_body();
    let body = after_an_answer(&world, &memory, &time, body.bytes()).await;
    assert_eq!(body.expect("a whole body"), "chunk");
    world.app.close().await;
}

async fn a_streamed_reply_is_broken_off_by_a_refusal() {
    let (world, ..) = in_memory(Mood::Refuses);
    let body = begin_stream(&world).await.into_body();
    assert!(body.bytes().await.is_err());
    world.app.close().await;
}

async fn an_event_after_the_reply_is_logged_alone() {
    let (world, ..) = in_memory(Mood::Refuses);
    let has_replied = Arc::new(Notify::new());
    let replied = has_replied.clone();
    let route = move |ctx: Context| {
        let replied = replied.clone();
        async move {
            ctx.send("replied")?;
            replied.notified().await;
            ctx.emit_raw("mail:order", Payload::null());
            Ok::<_, Failure>(())
        }
    };
    world.app.post("/late", route).expect("a route");
    let (status, body) = world.request("/late").await;
    assert_eq!((status, body.as_deref()), (StatusCode::OK, Some("replied")));
    has_replied.notify_one();
    world
        .until(async |world| world.app.bus().durable_channels()[0].1.refused == 1)
        .await;
    world.app.close().await;
}

/// Binds a listener of an ordinary channel, `plain:emits`, which emits a durable event.
fn forwards(world: &World) {
    let emits = |delivery: Delivery, _: Payload| {
        delivery.emit_raw("mail:order", Payload::null());
        async { Ok(Payload::null()) }
    };
    world.app.channel("plain").on_raw("emits", emits).expect("a listener");
}

async fn an_event_of_a_called_listener_belongs_to_the_request() {
    let (world, memory, _) = in_memory(Mood::Waits);
    forwards(&world);
    let route = |ctx: Context| async move {
        ctx.call_raw("plain:emits", Payload::null()).await?;
        Ok::<_, Failure>("called")
    };
    world.app.post("/call", route).expect("a route");
    let slow = world.clone();
    let calling = tokio::spawn(async move { slow.request("/call").await.0 });
    answer(&world, &memory, false).await;
    assert_eq!(calling.await.expect("no panic"), StatusCode::SERVICE_UNAVAILABLE);
    world.app.close().await;
}

async fn an_event_of_an_ordinary_event_belongs_to_no_request() {
    let (world, memory, _) = in_memory(Mood::Waits);
    forwards(&world);
    let route = |ctx: Context| async move {
        ctx.emit_raw("plain:emits", Payload::null());
        "emitted"
    };
    world.app.post("/emit-plain", route).expect("a route");
    assert_eq!(world.request("/emit-plain").await.0, StatusCode::OK);
    answer(&world, &memory, true).await;
    world.app.close().await;
}

async fn an_event_of_a_listener_is_confirmed_before_its_own_event_ends() {
    let (world, memory, _) = in_memory(Mood::Confirms);
    let runs = Arc::new(AtomicU32::new(0));
    let (counts, store) = (runs.clone(), memory.clone());
    let first = move |delivery: Delivery, _: Payload| {
        // The first attempt's event is refused, so that the first event is delivered again.
        let run = counts.fetch_add(1, Ordering::Relaxed);
        store.set(if run == 0 { Mood::Refuses } else { Mood::Confirms });
        delivery.emit_raw(
            "mail:order",
            Payload::json(&json!({"key": 1, "number": 1})).expect("JSON"),
        );
        async { Ok(Payload::null()) }
    };
    world.app.channel(CHANNEL).on_raw("first", first).expect("a listener");
    world.history.lock().push(Entry::Emitted((1, 1)));
    world.listen(Arc::new(|_, _, _| Ok(())));
    world.app.caller().emit_raw("mail:first", Payload::null());
    let history = world.history.clone();
    world
        .until(async move |_| history.lock().iter().any(|entry| matches!(entry, Entry::Delivered(..))))
        .await;
    assert_eq!(runs.load(Ordering::Relaxed), 2);
    world.app.close().await;
}

async fn a_request_that_emits_nothing_waits_for_nothing() {
    let (world, ..) = in_memory(Mood::Waits);
    world
        .app
        .post("/plain", |_: Context| async { "plain" })
        .expect("a route");
    let (status, body) = world.request("/plain").await;
    assert_eq!((status, body.as_deref()), (StatusCode::OK, Some("plain")));
    world.app.close().await;
}
