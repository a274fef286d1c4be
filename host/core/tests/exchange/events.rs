//! Events: their names, order, queues and chains.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use http::StatusCode;
use pointwork_core::{BusOptions, Context, CrashKind, Delivery, Failure, FailureCode, Payload};

use super::{Stand, drained};

#[tokio::test]
async fn an_unknown_event_names_the_nearest_known_one() {
    let stand = Stand::new(|_: Context| async {});
    stand
        .listen("db", "product:all", |_: Delivery, payload: Payload| async {
            Ok(payload)
        })
        .unwrap();
    let failure = stand
        .bus
        .caller()
        .call_raw("db:product:al", Payload::null())
        .await
        .unwrap_err();
    assert_eq!(failure.code(), &FailureCode::UNKNOWN_EVENT);
    assert!(failure.message().contains("`db:product:all`"), "{failure}");
}

#[tokio::test]
async fn a_plain_name_that_two_channels_have_is_an_error() {
    let stand = Stand::new(|_: Context| async {});
    let echo = |_: Delivery, payload: Payload| async { Ok(payload) };
    stand.listen("one", "saved", echo).unwrap();
    assert!(stand.bus.caller().call_raw("saved", Payload::null()).await.is_ok());
    stand.listen("two", "saved", echo).unwrap();
    let failure = stand.bus.caller().call_raw("saved", Payload::null()).await.unwrap_err();
    assert_eq!(failure.code(), &FailureCode::AMBIGUOUS_EVENT);
    assert!(
        failure.message().contains("`one:saved`") && failure.message().contains("`two:saved`"),
        "{failure}"
    );
    assert!(stand.listen("one", "saved", echo).is_err());
}

#[tokio::test]
async fn a_name_whose_first_part_is_a_channel_is_looked_up_there_alone() {
    let stand = Stand::new(|_: Context| async {});
    let echo = |_: Delivery, payload: Payload| async { Ok(payload) };
    stand.listen("audit", "product:viewed", echo).unwrap();
    assert!(
        stand
            .bus
            .caller()
            .call_raw("product:viewed", Payload::null())
            .await
            .is_ok()
    );
    stand.listen("product", "sold", echo).unwrap();
    let failure = stand
        .bus
        .caller()
        .call_raw("product:viewed", Payload::null())
        .await
        .unwrap_err();
    assert_eq!(failure.code(), &FailureCode::UNKNOWN_EVENT);
}

#[tokio::test]
async fn emitted_events_of_a_channel_are_heard_in_order() {
    let stand = Stand::new(|_: Context| async {});
    let heard = Arc::new(Mutex::new(Vec::new()));
    let list = heard.clone();
    let listener = move |_: Delivery, payload: Payload| {
        let heard = list.clone();
        async move {
            tokio::task::yield_now().await;
            heard.lock().unwrap().push(payload.to::<usize>().unwrap());
            Ok(Payload::null())
        }
    };
    stand.listen("log", "line", listener).unwrap();
    for number in 0..100 {
        stand.bus.caller().emit_raw("log:line", Payload::json(&number).unwrap());
    }
    drained(&stand.bus).await;
    assert_eq!(*heard.lock().unwrap(), (0..100).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_full_queue_refuses_the_event_and_counts_it() {
    let options = BusOptions::new().queue(3);
    let stand = Stand::with(|_: Context| async {}, |_| {}, options);
    let count = Arc::new(AtomicUsize::new(0));
    let counter = count.clone();
    let listener = move |_: Delivery, _: Payload| {
        counter.fetch_add(1, Ordering::SeqCst);
        async { Ok(Payload::null()) }
    };
    stand.listen("slow", "work", listener).unwrap();
    // The test's one thread does not run the listener before the loop is over.
    for _ in 0..5 {
        stand.bus.caller().emit_raw("slow:work", Payload::null());
    }
    drained(&stand.bus).await;
    assert_eq!((count.load(Ordering::SeqCst), stand.bus.refused()), (3, 2));
}

#[tokio::test]
async fn a_listener_that_fails_on_an_emitted_event_is_reported_and_the_next_event_is_heard() {
    let stand = Stand::new(|_: Context| async {});
    let listener = |_: Delivery, payload: Payload| async move {
        match payload.to::<bool>()? {
            true => Err(Failure::new(StatusCode::CONFLICT, "no")),
            false => Ok(Payload::null()),
        }
    };
    stand.listen("db", "write", listener).unwrap();
    stand.bus.caller().emit_raw("db:write", Payload::json(&true).unwrap());
    stand.bus.caller().emit_raw("db:write", Payload::json(&false).unwrap());
    let crash = stand.crash().await;
    assert_eq!(crash.kind, CrashKind::Listener);
    assert!(crash.message.contains("`db:write`"), "{}", crash.message);
}

#[tokio::test]
async fn a_cycle_of_calls_ends_in_an_error_that_lists_it() {
    let stand = Stand::new(|_: Context| async {});
    let again = |delivery: Delivery, payload: Payload| async move { delivery.caller().call_raw("a:b", payload).await };
    stand.listen("a", "b", again).unwrap();
    let failure = stand.bus.caller().call_raw("a:b", Payload::null()).await.unwrap_err();
    assert_eq!(failure.code(), &FailureCode::TOO_DEEP);
}
