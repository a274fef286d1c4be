//! The gate of replies, with a store in memory.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use pointwork::http::StatusCode;
use pointwork::{Body, Context, Delivery, Failure, Payload};
use pointwork_events_tests::history::Entry;
use pointwork_events_tests::memory::{Memory, Mood};
use pointwork_events_tests::world::{CHANNEL, World, quick};
use pointwork_wire_tests::patience::pause;
use serde_json::json;

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

/// A world on a store in memory, and the store.
fn in_memory(mood: Mood) -> (World, Memory) {
    let memory = Memory::default();
    memory.set(mood);
    let options = quick().confirm(Duration::from_millis(200));
    (World::new(Arc::new(memory.clone()), options), memory)
}

/// Waits until the store has that many events to answer, and answers them.
async fn answer(world: &World, memory: &Memory, confirms: bool) {
    world.until(async |_| memory.answer(confirms) > 0).await;
}

async fn the_reply_waits_for_the_store() {
    let (world, memory) = in_memory(Mood::Waits);
    let slow = World {
        app: world.app.clone(),
        ..world.clone()
    };
    let emitting = tokio::spawn(async move { slow.emit(1, 1).await });
    pause(Duration::from_millis(30)).await;
    assert!(!emitting.is_finished());
    answer(&world, &memory, true).await;
    assert_eq!(emitting.await.expect("no panic"), StatusCode::OK);
    world.app.close().await;
}

async fn a_refusal_is_503() {
    let (world, _) = in_memory(Mood::Refuses);
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
    let (world, memory) = in_memory(Mood::Waits);
    assert_eq!(world.emit(1, 1).await, StatusCode::SERVICE_UNAVAILABLE);
    // The answer comes too late, and nobody waits for it.
    assert_eq!(memory.answer(true), 1);
    world.app.close().await;
}

/// A route that streams one chunk, emits an event and ends the reply.
fn streams(world: &World) {
    let route = |ctx: Context| async move {
        let mut writer = ctx.open_reply(pointwork::http::Response::new(()))?;
        writer.write("chunk").await?;
        // The head has gone by then.
        pause(Duration::from_millis(20)).await;
        ctx.emit_raw("mail:order", Payload::json(&json!({"key": 1, "number": 1}))?);
        writer.finish().await
    };
    world.app.post("/stream", route).expect("a route");
}

async fn the_end_of_a_streamed_reply_waits() {
    let (world, memory) = in_memory(Mood::Waits);
    streams(&world);
    let slow = world.clone();
    let reading = tokio::spawn(async move { slow.request("/stream").await });
    pause(Duration::from_millis(30)).await;
    assert!(!reading.is_finished());
    answer(&world, &memory, true).await;
    let (status, body) = reading.await.expect("no panic");
    assert_eq!((status, body.as_deref()), (StatusCode::OK, Some("chunk")));
    world.app.close().await;
}

async fn a_streamed_reply_is_broken_off_by_a_refusal() {
    let (world, _) = in_memory(Mood::Refuses);
    streams(&world);
    assert_eq!(world.request("/stream").await, (StatusCode::OK, None));
    world.app.close().await;
}

async fn an_event_after_the_reply_is_logged_alone() {
    let (world, memory) = in_memory(Mood::Refuses);
    let route = |ctx: Context| async move {
        ctx.send("replied")?;
        pause(Duration::from_millis(20)).await;
        ctx.emit_raw("mail:order", Payload::null());
        Ok::<_, Failure>(())
    };
    world.app.post("/late", route).expect("a route");
    let (status, body) = world.request("/late").await;
    assert_eq!((status, body.as_deref()), (StatusCode::OK, Some("replied")));
    world
        .until(async |world| world.app.bus().durable_channels()[0].1.refused == 1)
        .await;
    drop(memory);
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
    let (world, memory) = in_memory(Mood::Waits);
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
    let (world, memory) = in_memory(Mood::Waits);
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
    let (world, memory) = in_memory(Mood::Confirms);
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
    let (world, _) = in_memory(Mood::Waits);
    world
        .app
        .post("/plain", |_: Context| async { "plain" })
        .expect("a route");
    let (status, body) = world.request("/plain").await;
    assert_eq!((status, body.as_deref()), (StatusCode::OK, Some("plain")));
    world.app.close().await;
}
