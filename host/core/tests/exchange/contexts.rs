//! Contexts: who holds them, and where they are handed over to.

use std::future::Future as _;
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::Waker;
use std::time::Duration;

use http::{Method, StatusCode};
use pointwork_core::{Body, BusOptions, Context, Delivery, FailureCode, Outcome, Payload};

use super::{Stand, request};

#[tokio::test]
async fn a_context_that_is_handed_over_is_replied_to_by_its_listener() {
    let stand = Stand::new(|ctx: Context| async move { ctx.hand_over_raw("response:send", Payload::null()) });
    let (status, _) = stand.get().await;
    assert_eq!(status, StatusCode::INTERNAL_SERVER_ERROR, "nobody listens yet");
    let listener = |mut delivery: Delivery, _: Payload| async move {
        delivery.take_context().unwrap().send("from the channel")?;
        assert!(delivery.take_context().is_none());
        Ok(Payload::null())
    };
    stand.listen("response", "send", listener).unwrap();
    assert_eq!(stand.get().await, (StatusCode::OK, "from the channel".to_owned()));
}

#[tokio::test]
async fn dropping_the_request_cancels_the_handler_and_refuses_its_reply() {
    let (give, given) = tokio::sync::oneshot::channel();
    let give = Mutex::new(Some(give));
    let (began, dropped) = tokio::sync::oneshot::channel::<()>();
    let began = Mutex::new(Some(began));
    let stand = Stand::new(move |ctx: Context| {
        let (give, began) = (give.lock().unwrap().take(), began.lock().unwrap().take());
        async move {
            let _began = began;
            give.unwrap().send(ctx).unwrap();
            std::future::pending::<Outcome>().await
        }
    });
    let request = tokio::spawn(stand.router.respond(None, request(Method::GET, Body::empty())));
    let context = given.await.unwrap();
    request.abort();
    assert!(dropped.await.is_err(), "what the handler held is dropped with it");
    assert_eq!(context.send("too late").unwrap_err().code(), &FailureCode::GONE);
}

#[tokio::test]
async fn a_holder_is_told_when_nobody_waits_for_the_reply_any_more() {
    let (give, given) = tokio::sync::oneshot::channel();
    let give = Mutex::new(Some(give));
    let stand = Stand::new(move |ctx: Context| {
        let give = give.lock().unwrap().take();
        async move {
            give.unwrap().send(ctx).unwrap();
            std::future::pending::<()>().await;
        }
    });
    let request = tokio::spawn(stand.router.respond(None, request(Method::GET, Body::empty())));
    let held = given.await.unwrap();
    let gone = tokio::spawn(held.gone());
    // The request still waits, and that is all it depends on.
    let now = &mut std::task::Context::from_waker(Waker::noop());
    assert!(pin!(held.gone()).poll(now).is_pending());
    request.abort();
    gone.await.unwrap();
    held.gone().await;
    assert_eq!(held.send("late").unwrap_err().code(), &FailureCode::GONE);
}

#[tokio::test]
async fn a_context_that_is_kept_for_ever_keeps_no_listener() {
    let (give, given) = tokio::sync::oneshot::channel();
    let give = Mutex::new(Some(give));
    let stand = Stand::new(move |ctx: Context| {
        let give = give.lock().unwrap().take();
        async move { give.unwrap().send(ctx).unwrap() }
    });
    let owned = Arc::new(());
    let kept = Arc::downgrade(&owned);
    let listener = move |_: Delivery, payload: Payload| {
        let _ = &owned;
        async { Ok(payload) }
    };
    stand.listen("db", "one", listener).unwrap();
    let request = tokio::spawn(stand.router.respond(None, request(Method::GET, Body::empty())));
    let held = given.await.unwrap();
    assert!(held.call_raw("db:one", Payload::null()).await.is_ok());
    request.abort();
    assert!(request.await.is_err());
    drop(stand);
    assert!(
        kept.upgrade().is_none(),
        "a guest may keep its context, and the listener may be that guest"
    );
    let failure = held.call_raw("db:one", Payload::null()).await.unwrap_err();
    assert_eq!(failure.code(), &FailureCode::GONE);
}

#[tokio::test]
async fn a_context_that_was_handed_over_keeps_its_deadline_and_calls_with_the_earlier_one() {
    for (of_request, of_event) in [(2, 1), (1, 2)] {
        let [of_request, of_event] = [of_request, of_event].map(Duration::from_secs);
        let gives = |ctx: Context| async move { ctx.hand_over_raw("replies:it", Payload::null()) };
        let stand = Stand::with(
            gives,
            |options| options.deadline = Some(of_request),
            BusOptions::new().deadline(of_event),
        );
        let tells = |mut delivery: Delivery, _: Payload| async move {
            let context = delivery.take_context().unwrap();
            let [own, of_delivery] = [context.deadline(), delivery.deadline()].map(Option::unwrap);
            assert_ne!(own, of_delivery);
            assert_eq!(context.caller().deadline(), Some(own.min(of_delivery)));
            assert_eq!(context.clone().caller().chain().depth(), 1);
            context.send("told")?;
            Ok(Payload::null())
        };
        stand.listen("replies", "it", tells).unwrap();
        assert_eq!(stand.get().await, (StatusCode::OK, "told".to_owned()));
    }
}

#[tokio::test]
async fn a_context_is_handed_over_after_its_reply() {
    let stand = Stand::new(|ctx: Context| async move {
        ctx.send("replied")?;
        ctx.hand_over_raw("replies:late", Payload::null())
    });
    let (told, heard) = tokio::sync::oneshot::channel();
    let told = Mutex::new(Some(told));
    let late = move |mut delivery: Delivery, _: Payload| {
        let context = delivery.take_context().unwrap();
        let failure = context.send("again").unwrap_err();
        told.lock()
            .unwrap()
            .take()
            .unwrap()
            .send(failure.code().clone())
            .unwrap();
        async { Ok(Payload::null()) }
    };
    stand.listen("replies", "late", late).unwrap();
    assert_eq!(stand.get().await, (StatusCode::OK, "replied".to_owned()));
    assert_eq!(heard.await.unwrap(), FailureCode::ALREADY_REPLIED);
}

#[tokio::test]
async fn calls_through_a_context_that_was_handed_over_count_its_way() {
    let stand = Stand::new(|ctx: Context| async move { ctx.hand_over_raw("ring:turn", Payload::null()) });
    let turn = |mut delivery: Delivery, payload: Payload| async move {
        let context = delivery.take_context().unwrap();
        let depth = context.caller().chain().depth();
        match context.call_raw("ring:depth", payload.clone()).await {
            Ok(_) => context.hand_over_raw("ring:turn", payload)?,
            Err(failure) => context.send(format!("{depth} {}", failure.code()))?,
        }
        Ok(Payload::null())
    };
    stand.listen("ring", "turn", turn).unwrap();
    let same = |_: Delivery, payload: Payload| async { Ok(payload) };
    stand.listen("ring", "depth", same).unwrap();
    assert_eq!(stand.get().await, (StatusCode::OK, "8 too-deep".to_owned()));
}
