//! The cases that run on each event store.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use pointwork::http::StatusCode;
use pointwork::{Body, Context, Delivery, EventStore, Failure, Order, Payload, Pointer};
use pointwork_events_tests::history::{Entry, Promised};
use pointwork_events_tests::world::{CHANNEL, World, quick};
use pointwork_test_clock::real::within;
use serde_json::json;
use tokio::sync::oneshot;

use crate::Case;

pub(crate) const ALL: &[(&str, Case)] = crate::list![of a store:
    an_event_is_delivered_once_if_its_listener_returns,
    a_failure_of_the_client_is_a_dead_letter_at_once,
    any_other_failure_is_retried_until_the_attempts_are_over,
    an_event_that_is_retried_holds_back_its_channel,
    an_event_that_is_retried_holds_back_its_key_alone,
    without_an_order_nothing_holds_back,
    a_second_event_of_an_id_is_not_kept,
    a_payload_without_its_key_or_id_is_refused,
    what_no_listener_of_the_channel_hears_is_a_dead_letter,
    events_wait_for_the_first_listener_of_the_channel,
    a_context_is_not_handed_over,
    dead_letters_are_listed_retried_and_dropped,
    the_oldest_dead_letters_go,
    payload_request_id_and_trace_arrive_as_they_were,
    a_listener_may_call_and_emit_further_events,
];

fn fails(status: u16) -> Result<(), Failure> {
    let status = StatusCode::from_u16(status).expect("a status");
    Err(Failure::new(status, format!("the test fails with {status}")))
}

fn attempts(history: &[Entry]) -> Vec<(u32, u32, u32)> {
    let attempt = |entry: &Entry| match entry {
        Entry::Attempted((key, number), _, attempt) => Some((*key, *number, *attempt)),
        _ => None,
    };
    history.iter().filter_map(attempt).collect()
}

async fn an_event_is_delivered_once_if_its_listener_returns(store: Arc<dyn EventStore>) {
    let world = World::new(store, quick());
    world.listen(Arc::new(|_, _, _| Ok(())));
    for number in 1..=20 {
        assert_eq!(world.emit(1, number).await, StatusCode::OK);
    }
    let history = world.check(Promised::ByKey).await;
    assert_eq!(
        attempts(&history),
        (1..=20).map(|number| (1, number, 1)).collect::<Vec<_>>()
    );
    let figures = world.app.bus().durable_channels()[0].1;
    assert_eq!(
        (figures.recorded, figures.delivered, figures.refused, figures.dead),
        (20, 20, 0, 0)
    );
    world.app.close().await;
}

async fn a_failure_of_the_client_is_a_dead_letter_at_once(store: Arc<dyn EventStore>) {
    let world = World::new(store, quick());
    // 408, 425 and 429 may pass.
    let statuses = [400, 404, 409, 422, 499, 408, 425, 429];
    world.listen(Arc::new(move |_, number, _| fails(statuses[number as usize])));
    for number in 0..8 {
        world.emit(1, number).await;
    }
    let history = world.check(Promised::ByKey).await;
    let of = |number| {
        attempts(&history)
            .into_iter()
            .filter(|(_, of, _)| *of == number)
            .count()
    };
    let counts: Vec<_> = (0..8).map(of).collect();
    assert_eq!(counts, [1, 1, 1, 1, 1, 3, 3, 3]);
    let dead = world
        .store
        .dead_letters(CHANNEL, None, 100)
        .await
        .expect("dead letters");
    assert_eq!(dead.len(), 8);
    assert_eq!(
        dead[0].reason,
        "the test fails with 400 Bad Request (400, code `failed`)"
    );
    assert_eq!((dead[0].attempts, dead[5].attempts), (1, 3));
    world.app.close().await;
}

async fn any_other_failure_is_retried_until_the_attempts_are_over(store: Arc<dyn EventStore>) {
    let world = World::new(store, quick().attempts(4));
    world.listen(Arc::new(|_, number, attempt| match (number, attempt) {
        (1, ..=2) | (2, _) => fails(500),
        (3, 1) => panic!("the listener panics"),
        _ => Ok(()),
    }));
    for number in 1..=3 {
        world.emit(1, number).await;
    }
    let history = world.check(Promised::ByKey).await;
    let expected = [
        (1, 1, 1),
        (1, 1, 2),
        (1, 1, 3),
        (1, 2, 1),
        (1, 2, 2),
        (1, 2, 3),
        (1, 2, 4),
        (1, 3, 1),
        (1, 3, 2),
    ];
    assert_eq!(attempts(&history), expected);
    assert_eq!(world.figures().await.dead, 1);
    let figures = world.app.bus().durable_channels()[0].1;
    assert_eq!((figures.retried, figures.dead, figures.delivered), (6, 1, 2));
    world.app.close().await;
}

async fn an_event_that_is_retried_holds_back_its_channel(store: Arc<dyn EventStore>) {
    let world = World::new(store, quick().backoff([Duration::from_millis(60)]));
    world.listen(Arc::new(
        |key, _, attempt| if key == 1 && attempt == 1 { fails(500) } else { Ok(()) },
    ));
    for (key, number) in [(1, 1), (2, 1), (3, 1)] {
        world.emit(key, number).await;
    }
    let history = world.check(Promised::ByKey).await;
    assert_eq!(attempts(&history), [(1, 1, 1), (1, 1, 2), (2, 1, 1), (3, 1, 1)]);
    world.app.close().await;
}

async fn an_event_that_is_retried_holds_back_its_key_alone(store: Arc<dyn EventStore>) {
    let key = Pointer::new("/key").expect("a pointer");
    let options = quick()
        .order(Order::Key(key))
        .partitions(64)
        .backoff([Duration::from_millis(80)]);
    let world = World::new(store, options);
    world.listen(Arc::new(|key, number, attempt| {
        if (key, number, attempt) == (1, 1, 1) {
            fails(500)
        } else {
            Ok(())
        }
    }));
    for (key, number) in [(1, 1), (1, 2), (2, 1), (2, 2)] {
        world.emit(key, number).await;
    }
    let history = world.check(Promised::ByKey).await;
    let attempts = attempts(&history);
    let place = |event| {
        attempts
            .iter()
            .position(|attempt| *attempt == event)
            .expect("an attempt")
    };
    assert!(place((2, 2, 1)) < place((1, 1, 2)), "{attempts:?}");
    assert!(place((1, 1, 2)) < place((1, 2, 1)), "{attempts:?}");
    world.app.close().await;
}

async fn without_an_order_nothing_holds_back(store: Arc<dyn EventStore>) {
    let world = World::new(store, quick().order(Order::None).backoff([Duration::from_millis(800)]));
    world.listen(Arc::new(|_, number, attempt| {
        if number == 1 && attempt == 1 {
            fails(500)
        } else {
            Ok(())
        }
    }));
    for number in 1..=10 {
        world.emit(1, number).await;
    }
    let history = world.check(Promised::Nothing).await;
    assert_eq!(attempts(&history).last(), Some(&(1, 1, 2)));
    world.app.close().await;
}

async fn a_second_event_of_an_id_is_not_kept(store: Arc<dyn EventStore>) {
    let world = World::new(store, quick().id(Pointer::new("/number").expect("a pointer")));
    let seen = Arc::<Mutex<Vec<String>>>::default();
    let (sees, app) = (seen.clone(), world.app.clone());
    let listener = move |delivery: Delivery, _: Payload| {
        sees.lock().push(delivery.id());
        async { Ok(Payload::null()) }
    };
    app.channel(CHANNEL)
        .on_raw("order", listener.clone())
        .expect("a listener");
    app.channel(CHANNEL).on_raw("other", listener).expect("a listener");
    for _ in 0..3 {
        assert_eq!(world.emit(1, 7).await, StatusCode::OK);
    }
    // Two events of one order are two.
    app.caller()
        .emit_raw("mail:other", Payload::json(&json!({"number": 7})).expect("JSON"));
    world.until(async |_| seen.lock().len() == 2).await;
    world.settled().await;
    assert_eq!(*seen.lock(), ["mail:order:7", "mail:other:7"]);
    app.close().await;
}

async fn a_payload_without_its_key_or_id_is_refused(store: Arc<dyn EventStore>) {
    let pointer = |text| Pointer::new(text).expect("a pointer");
    let world = World::new(
        store,
        quick().order(Order::Key(pointer("/key"))).id(pointer("/nowhere")),
    );
    assert_eq!(world.emit(1, 1).await, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(world.app.bus().durable_channels()[0].1.refused, 1);
    assert_eq!(world.figures().await.waiting, 0);
    world.app.close().await;
}

async fn what_no_listener_of_the_channel_hears_is_a_dead_letter(store: Arc<dyn EventStore>) {
    let world = World::new(store, quick());
    let nothing = |_: Delivery, _: Payload| async { Ok(Payload::null()) };
    world.app.channel(CHANNEL).on_raw("other", nothing).expect("a listener");
    assert_eq!(world.emit(1, 1).await, StatusCode::OK);
    world.settled().await;
    let dead = world
        .store
        .dead_letters(CHANNEL, None, 100)
        .await
        .expect("dead letters");
    assert_eq!((dead[0].attempts, &*dead[0].reason), (3, "nobody listens to it"));
    world.app.close().await;
}

async fn events_wait_for_the_first_listener_of_the_channel(store: Arc<dyn EventStore>) {
    let world = World::new(store, quick());
    for number in 1..=3 {
        assert_eq!(world.emit(1, number).await, StatusCode::OK);
    }
    // A later event of another channel is heard, and these events wait on.
    let (hears, heard) = oneshot::channel();
    let hears = Mutex::new(Some(hears));
    let listener = move |_: Delivery, _: Payload| {
        let _ = hears.lock().take().map(|hears| hears.send(()));
        async { Ok(Payload::null()) }
    };
    let app = &world.app;
    app.make_durable("other", quick(), world.store.clone())
        .expect("it can be durable");
    app.channel("other").on_raw("order", listener).expect("a listener");
    app.caller().emit_raw("other:order", Payload::null());
    within("the other event", heard)
        .await
        .expect("it is heard")
        .expect("once");
    assert_eq!(world.figures().await.waiting, 3);
    world.listen(Arc::new(|_, _, _| Ok(())));
    let history = world.check(Promised::ByKey).await;
    assert_eq!(attempts(&history), [(1, 1, 1), (1, 2, 1), (1, 3, 1)]);
    world.app.close().await;
}

async fn a_context_is_not_handed_over(store: Arc<dyn EventStore>) {
    let world = World::new(store, quick());
    world.listen(Arc::new(|_, _, _| Ok(())));
    let route = |ctx: Context| async move {
        let failure = ctx
            .hand_over_raw("mail:order", Payload::null())
            .expect_err("the channel is durable");
        failure.code().as_str().to_owned()
    };
    world.app.post("/hand-over", route).expect("a route");
    let (status, body) = world.request("/hand-over").await;
    assert_eq!((status, body.as_deref()), (StatusCode::OK, Some("not-durable")));
    assert_eq!(world.figures().await.waiting, 0);
    world.app.close().await;
}

async fn dead_letters_are_listed_retried_and_dropped(store: Arc<dyn EventStore>) {
    let world = World::new(store, quick().id(Pointer::new("/number").expect("a pointer")));
    let is_mended = Arc::new(AtomicU32::new(0));
    let mended = is_mended.clone();
    world.listen(Arc::new(move |_, _, _| {
        if mended.load(Ordering::Relaxed) == 0 {
            fails(400)
        } else {
            Ok(())
        }
    }));
    for number in 1..=5 {
        world.emit(1, number).await;
    }
    world.settled().await;
    let store = &world.store;
    let ids = async |after: Option<&str>, most| {
        let page = store.dead_letters(CHANNEL, after, most).await.expect("dead letters");
        page.into_iter().map(|letter| letter.event.id).collect::<Vec<_>>()
    };
    assert_eq!(ids(None, 2).await, ["mail:order:1", "mail:order:2"]);
    assert_eq!(
        ids(Some("mail:order:2"), 10).await,
        ["mail:order:3", "mail:order:4", "mail:order:5"]
    );
    let shown = store
        .dead_letter(CHANNEL, "mail:order:4")
        .await
        .expect("an answer")
        .expect("it is there");
    assert_eq!(shown.event.payload.data(), br#"{"key":1,"number":4}"#);
    assert!(
        store
            .dead_letter(CHANNEL, "mail:order:9")
            .await
            .expect("an answer")
            .is_none()
    );
    assert_eq!(store.settle_dead(CHANNEL, "mail:order:1", false).await, Ok(true));
    assert_eq!(store.settle_dead(CHANNEL, "mail:order:1", true).await, Ok(false));
    is_mended.store(1, Ordering::Relaxed);
    assert_eq!(store.settle_dead(CHANNEL, "mail:order:2", true).await, Ok(true));
    world
        .until(async |world| attempts(&world.history.lock()).len() == 6)
        .await;
    world.settled().await;
    assert_eq!(ids(None, 10).await, ["mail:order:3", "mail:order:4", "mail:order:5"]);
    let history = world.history.lock().clone();
    assert_eq!(attempts(&history).last(), Some(&(1, 2, 1)), "its attempts begin again");
    world.app.close().await;
}

async fn the_oldest_dead_letters_go(store: Arc<dyn EventStore>) {
    let world = World::new(store, quick().dead_letters(3));
    world.listen(Arc::new(|_, _, _| fails(400)));
    for number in 1..=5 {
        world.emit(1, number).await;
    }
    world.settled().await;
    let figures = world.figures().await;
    assert_eq!((figures.dead, figures.dropped), (3, 2));
    let dead = world
        .store
        .dead_letters(CHANNEL, None, 100)
        .await
        .expect("dead letters");
    assert!(dead[0].event.payload.as_text().expect("text").contains("\"number\":3"));
    world.app.close().await;
}

/// The header of the W3C recommendation "Trace Context".
pub(crate) const TRACEPARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

async fn payload_request_id_and_trace_arrive_as_they_were(store: Arc<dyn EventStore>) {
    let world = World::new(store, quick());
    let seen = Arc::<Mutex<Option<(Payload, Option<String>, Option<String>)>>>::default();
    let sees = seen.clone();
    let listener = move |delivery: Delivery, payload: Payload| {
        let request_id = delivery.request_id().map(ToString::to_string);
        *sees.lock() = Some((payload, request_id, delivery.caller().traceparent()));
        async { Ok(Payload::null()) }
    };
    world
        .app
        .channel(CHANNEL)
        .on_raw("image", listener)
        .expect("a listener");
    let bytes: Vec<u8> = (0..=255).collect();
    let sent = Payload::new("image/png", bytes);
    let payload = sent.clone();
    let route = move |ctx: Context| {
        ctx.emit_raw("mail:image", payload.clone());
        async { "sent" }
    };
    world.app.post("/image", route).expect("a route");
    let request = pointwork::http::Request::post("/image").header("host", "localhost");
    let request = request
        .header("x-request-id", "shop-1")
        .header("traceparent", TRACEPARENT);
    let request = request.body(Body::empty());
    assert_eq!(
        world.app.handle(request.expect("a request")).await.status(),
        StatusCode::OK
    );
    world.until(async |_| seen.lock().is_some()).await;
    let (payload, request_id, traceparent) = seen.lock().take().expect("it is there");
    assert_eq!((payload, request_id.as_deref()), (sent, Some("shop-1")));
    assert_eq!(traceparent.as_deref(), Some(TRACEPARENT));
    world.app.close().await;
}

async fn a_listener_may_call_and_emit_further_events(store: Arc<dyn EventStore>) {
    let world = World::new(store, quick());
    let seen = Arc::<Mutex<BTreeSet<String>>>::default();
    let (sees, channel) = (seen.clone(), world.app.channel(CHANNEL));
    let first = |delivery: Delivery, payload: Payload| async move {
        let answer: u32 = delivery.call_raw("plain:double", payload).await?.to()?;
        delivery.emit_raw("mail:second", Payload::json(&answer)?);
        Ok(Payload::null())
    };
    let second = move |delivery: Delivery, payload: Payload| {
        sees.lock().insert(format!(
            "{:?} at depth {}",
            payload.to::<u32>().ok(),
            delivery.caller().chain().depth()
        ));
        async { Ok(Payload::null()) }
    };
    channel
        .on_raw("first", first)
        .and_then(|channel| channel.on_raw("second", second))
        .expect("listeners");
    let double = |_: Delivery, payload: Payload| async move { Ok(Payload::json(&(payload.to::<u32>()? * 2))?) };
    world.app.channel("plain").on_raw("double", double).expect("a listener");
    world
        .app
        .caller()
        .emit_raw("mail:first", Payload::json(&21).expect("JSON"));
    world.until(async |_| !seen.lock().is_empty()).await;
    assert_eq!(seen.lock().first().map(String::as_str), Some("Some(42) at depth 2"));
    world.settled().await;
    world.app.close().await;
}
