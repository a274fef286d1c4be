//! Events on the bus, without a server: sizes, batches, crashes, changes of listeners.

mod support;

use std::collections::HashSet;
use std::sync::{Arc, Mutex};

use pointwork_core::{
    Bus, BusOptions, Crash, CrashKind, Delivery, Failure, FailureCode, Listener, MemoryAccount, Payload, Subscription,
};
use tokio::sync::Semaphore;

use support::{Tokio, drained};

fn bus(change: impl FnOnce(&mut BusOptions)) -> Bus {
    let mut options = BusOptions::new();
    change(&mut options);
    Bus::new(Arc::new(Tokio::default()), options)
}

fn listener(channel: &str, event: &str, module: Option<&str>, listener: impl Listener) -> Subscription {
    Subscription {
        channel: channel.to_owned(),
        event: event.to_owned(),
        module: module.map(str::to_owned),
        listener: Arc::new(listener),
    }
}

async fn same(_: Delivery, payload: Payload) -> Result<Payload, Failure> {
    Ok(payload)
}

/// Writes down every event that it hears.
fn recorder<T: serde::de::DeserializeOwned + Send + 'static>() -> (Arc<Mutex<Vec<T>>>, impl Listener) {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let hears = heard.clone();
    let hear = move |_: Delivery, payload: Payload| {
        hears.lock().unwrap().push(payload.to().unwrap());
        async { Ok(Payload::null()) }
    };
    (heard, hear)
}

fn text(length: usize) -> Payload {
    Payload::new("text/plain", vec![b'x'; length])
}

#[tokio::test]
async fn a_payload_or_a_result_over_the_limit_is_refused() {
    let bus = bus(|options| options.payload_limit = 10);
    let large = |_: Delivery, _: Payload| async { Ok(text(11)) };
    bus.subscribe([listener("a", "same", None, same), listener("a", "large", None, large)])
        .unwrap();
    let caller = bus.caller();
    assert_eq!(caller.call_raw("a:same", text(10)).await, Ok(text(10)));
    let failure = caller.call_raw("a:same", text(11)).await.unwrap_err();
    assert_eq!(
        (failure.code(), failure.status().as_u16()),
        (&FailureCode::TOO_LARGE, 413)
    );
    assert_eq!(
        failure.message(),
        "the payload of `a:same` has 11 bytes; at most 10 are allowed"
    );
    let failure = caller.call_raw("a:large", text(1)).await.unwrap_err();
    assert!(failure.message().starts_with("the result of `a:large`"), "{failure}");
    caller.emit_raw("a:same", text(11));
    assert_eq!((bus.refused(), bus.waiting()), (1, 0));
}

#[tokio::test]
async fn an_emitted_event_counts_until_its_listener_has_ended() {
    let bus = bus(|_| {});
    let (arrived, gate) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
    let (here, pass) = (arrived.clone(), gate.clone());
    let waits = move |_: Delivery, payload: Payload| {
        let (here, pass) = (here.clone(), pass.clone());
        async move {
            here.add_permits(1);
            pass.acquire().await.unwrap().forget();
            Ok(payload)
        }
    };
    bus.subscribe([listener("a", "waits", None, waits)]).unwrap();
    let account = MemoryAccount::new(100);
    let charge = |bytes| account.charge(bytes).unwrap();
    bus.caller().emit_charged("a:unknown", text(1), charge(1));
    assert_eq!(account.used(), 0, "nobody listens");
    bus.caller().emit_charged("a:waits", text(1), charge(10));
    bus.caller().emit_charged("a:waits", text(1), charge(20));
    arrived.acquire().await.unwrap().forget();
    assert_eq!(account.used(), 30, "one is heard, the other one waits");
    gate.add_permits(1);
    arrived.acquire().await.unwrap().forget();
    assert_eq!(account.used(), 20);
    gate.add_permits(1);
    drained(&bus).await;
    assert_eq!(account.used(), 0);
}

#[tokio::test]
async fn a_long_content_type_and_many_listeners_of_a_name_make_no_long_message() {
    let bus = bus(|_| {});
    let channels: Vec<_> = (0..1000).map(|number| format!("channel-{number}")).collect();
    let listeners = channels.iter().map(|channel| listener(channel, "same", None, same));
    bus.subscribe(listeners).unwrap();
    let odd = Payload::new("t".repeat(256), "data");
    let failure = bus.caller().call_raw("channel-1:same", odd).await.unwrap_err();
    assert!(failure.message().contains("256 bytes"), "{failure}");
    let failure = bus.caller().call_raw("same", text(1)).await.unwrap_err();
    assert_eq!(failure.code(), &FailureCode::AMBIGUOUS_EVENT);
    assert!(
        failure.message().contains("992 others") && failure.message().len() < 1000,
        "{failure}"
    );
}

#[tokio::test]
async fn an_event_without_a_name_is_told_what_a_name_is() {
    let failure = bus(|_| {}).caller().call_raw("", Payload::null()).await.unwrap_err();
    assert_eq!(failure.code(), &FailureCode::UNKNOWN_EVENT);
    assert!(failure.message().contains("expected `channel:event`"), "{failure}");
}

#[tokio::test]
#[expect(
    clippy::disallowed_methods,
    reason = "a queue's task lingers on the real clock only, and no result depends on the pauses"
)]
async fn every_event_of_a_channel_is_heard_in_order_however_they_come() {
    let bus = bus(|options| options.queue = 10_000);
    let (heard, hear) = recorder::<u32>();
    bus.subscribe([listener("log", "line", None, hear)]).unwrap();
    let caller = bus.caller();
    let mut expected = Vec::new();
    // Alone, in a burst, after a pause shorter and longer than the queue's task stays.
    for (count, pause) in [(1, 0), (500, 1), (3, 5), (1, 0), (70, 2), (1, 20), (1, 0)] {
        for _ in 0..count {
            let next = u32::try_from(expected.len()).unwrap();
            caller.emit_raw("log:line", Payload::json(&next).unwrap());
            expected.push(next);
        }
        tokio::time::sleep(std::time::Duration::from_millis(pause)).await;
    }
    drained(&bus).await;
    assert_eq!(*heard.lock().unwrap(), expected);
}

#[tokio::test]
async fn a_listener_that_crashes_is_reported_once_and_its_caller_gets_no_detail() {
    let bus = bus(|_| {});
    let (crashes, hear) = recorder::<Crash>();
    let crashing = |_: Delivery, _: Payload| async { Err(Failure::of_crash(Crash::new(CrashKind::Trap, "a secret"))) };
    bus.subscribe([
        listener("server", "crashed", None, hear),
        listener("db", "one", Some("store"), crashing),
    ])
    .unwrap();
    let failure = bus.caller().call_raw("db:one", Payload::null()).await.unwrap_err();
    assert_eq!((failure.code(), failure.status().as_u16()), (&FailureCode::FAILED, 500));
    assert_eq!(failure.message(), "the listener of `db:one` crashed");
    bus.caller().emit_raw("db:one", Payload::null());
    drained(&bus).await;
    let crashes = crashes.lock().unwrap();
    let told: Vec<_> = crashes
        .iter()
        .map(|crash| (crash.kind, crash.module.as_deref()))
        .collect();
    assert_eq!(told, [(CrashKind::Trap, Some("store")); 2], "once for each");
}

#[tokio::test]
async fn a_subscriber_of_the_server_s_events_sets_off_no_other() {
    let bus = bus(|_| {});
    let (crashes, hear) = recorder::<Crash>();
    let relay = |delivery: Delivery, payload: Payload| async move {
        delivery.caller().emit_raw("db:broken", payload.clone());
        delivery.caller().call_raw("db:broken", payload).await
    };
    let broken = |_: Delivery, _: Payload| async { Err(Failure::of_crash(Crash::new(CrashKind::Trap, "broken"))) };
    bus.subscribe([
        listener("server", "crashed", None, hear),
        listener("server", "crashed", Some("relay"), relay),
        listener("db", "broken", None, broken),
    ])
    .unwrap();
    bus.report(Crash::new(CrashKind::Adapter, "the first"));
    drained(&bus).await;
    let crashes = crashes.lock().unwrap();
    assert_eq!(crashes.len(), 1, "{crashes:?}");
}

#[tokio::test]
async fn listeners_of_a_module_change_places_all_or_none() {
    let bus = bus(|_| {});
    let answer = |text: &'static str| move |_: Delivery, _: Payload| async move { Ok(Payload::json(text)?) };
    bus.subscribe([
        listener("db", "one", Some("old"), answer("old")),
        listener("db", "gone", Some("old"), answer("old")),
        listener("db", "native", None, answer("native")),
    ])
    .unwrap();
    let refused = bus.stage(
        Some("old"),
        [
            listener("db", "one", Some("old"), answer("new")),
            listener("db", "native", Some("old"), answer("new")),
        ],
    );
    let error = refused.map(drop).unwrap_err().to_string();
    assert_eq!(
        error,
        "event `native` of channel `db` would have two listeners, in the host application and in module `old`"
    );
    let call = |event: &'static str| {
        let caller = bus.caller();
        async move {
            caller
                .call_raw(event, Payload::null())
                .await
                .map(|payload| payload.to::<String>().unwrap())
        }
    };
    assert_eq!(
        call("db:one").await,
        Ok("old".to_owned()),
        "a refused change leaves no trace"
    );
    let staged = bus.stage(Some("old"), [listener("db", "one", Some("old"), answer("new"))]);
    staged.unwrap().publish();
    assert_eq!(call("db:one").await, Ok("new".to_owned()));
    assert_eq!(call("db:gone").await.unwrap_err().code(), &FailureCode::UNKNOWN_EVENT);
    assert_eq!(call("db:native").await, Ok("native".to_owned()));
}

#[tokio::test]
async fn events_that_wait_are_heard_by_the_listener_that_they_were_emitted_to() {
    let bus = bus(|_| {});
    let gate = Arc::new(Semaphore::new(0));
    let (heard, _) = recorder::<String>();
    let waits = |name: &'static str| {
        let (gate, heard) = (gate.clone(), heard.clone());
        move |_: Delivery, _: Payload| {
            let (gate, heard) = (gate.clone(), heard.clone());
            async move {
                gate.acquire().await.unwrap().forget();
                heard.lock().unwrap().push(name.to_owned());
                Ok(Payload::null())
            }
        }
    };
    bus.subscribe([listener("db", "note", Some("m"), waits("old"))])
        .unwrap();
    bus.caller().emit_raw("db:note", Payload::null());
    bus.caller().emit_raw("db:note", Payload::null());
    bus.stage(Some("m"), [listener("db", "note", Some("m"), waits("new"))])
        .unwrap()
        .publish();
    bus.caller().emit_raw("db:note", Payload::null());
    bus.stage(Some("m"), []).unwrap().publish();
    bus.caller().emit_raw("db:note", Payload::null());
    assert_eq!((bus.waiting(), bus.refused()), (3, 1));
    gate.add_permits(3);
    drained(&bus).await;
    assert_eq!(*heard.lock().unwrap(), ["old", "old", "new"]);
}

/// Spec C6.
#[tokio::test]
async fn each_event_has_an_id_of_its_own_and_is_delivered_once() {
    let bus = bus(|_| {});
    let deliveries = Arc::new(Mutex::new(Vec::new()));
    let told = deliveries.clone();
    let tells = move |delivery: Delivery, _: Payload| {
        assert_eq!(delivery.id(), delivery.id());
        told.lock().unwrap().push((delivery.id(), delivery.attempt()));
        async { Ok(Payload::null()) }
    };
    bus.subscribe([listener("db", "note", None, tells)]).unwrap();
    bus.caller().call_raw("db:note", Payload::null()).await.unwrap();
    bus.caller().call_raw("db:note", Payload::null()).await.unwrap();
    bus.caller().emit_raw("db:note", Payload::null());
    drained(&bus).await;
    let deliveries = deliveries.lock().unwrap();
    let ids: HashSet<_> = deliveries.iter().map(|(id, _)| id).collect();
    assert_eq!(ids.len(), 3, "{deliveries:?}");
    assert!(deliveries.iter().all(|(_, attempt)| *attempt == 1), "{deliveries:?}");
}
