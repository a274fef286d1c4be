//! Events of a durable channel whose listener is a module that is swapped, rolled back and removed (spec N8, S6).

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use pointwork::http::StatusCode;
use pointwork::{Delivery, ModuleState, Payload};
use pointwork_events_tests::memory::Memory;
use pointwork_events_tests::world::{World, quick};
use pointwork_suite::guest::{Channel, End, Guest, Program};
use pointwork_test_clock::TestClock;

use crate::Plain;

pub(crate) const ALL: &[(&str, Plain)] = crate::list![
    events_wait_while_their_module_is_swapped_or_away,
    attempts_at_one_event_count_once_in_a_trial,
];

/// A module whose listener calls `app:heard`; `text` tells versions apart.
fn version(text: &str) -> Vec<u8> {
    let listener = Program::text(text).call("app:heard");
    Guest::new().channel(Channel::new("mail").on("order", listener)).build()
}

async fn events_wait_while_their_module_is_swapped_or_away() {
    let world = World::new(Arc::new(Memory::default()), quick());
    let heard = Arc::new(AtomicU32::new(0));
    let counts = heard.clone();
    let listener = move |_: Delivery, payload: Payload| {
        counts.fetch_add(1, Ordering::Relaxed);
        async { Ok(payload) }
    };
    world.app.channel("app").on_raw("heard", listener).expect("a listener");
    let (app, next) = (&world.app, AtomicU32::new(1));
    let emit_forty = async || {
        for _ in 0..40 {
            let number = next.fetch_add(1, Ordering::Relaxed);
            assert_eq!(world.emit(1, number).await, StatusCode::OK);
        }
    };
    let module = |text| app.module("mail").bytes(version(text));
    module("1").load().await.expect("it is loaded");
    for text in ["2", "3"] {
        let (swapped, ()) = tokio::join!(module(text).swap(), emit_forty());
        swapped.expect("it is swapped");
    }
    let (rolled_back, ()) = tokio::join!(app.roll_back("mail"), emit_forty());
    rolled_back.expect("it is rolled back");
    let (removed, ()) = tokio::join!(app.remove("mail"), emit_forty());
    removed.expect("it is removed");
    emit_forty().await;
    assert!(world.figures().await.waiting >= 40, "no listener is left");
    module("4").load().await.expect("it is loaded");
    world.settled().await;
    assert_eq!((heard.load(Ordering::Relaxed), world.figures().await.dead), (200, 0));
    world.app.close().await;
}

async fn attempts_at_one_event_count_once_in_a_trial() {
    let time = TestClock::new();
    let world = World::timed(&time, Arc::new(Memory::default()), quick());
    let module = |program: Program| {
        let guest = Guest::new().channel(Channel::new("mail").on("order", program));
        world.app.module("mail").bytes(guest.build())
    };
    module(Program::text("null")).load().await.expect("it is loaded");
    let raises = Program::new().ends(End::Raise);
    module(raises).swap().await.expect("it is swapped");
    let status = || world.app.statuses().pop().expect("the module");
    // A trial compares twenty calls, and each event has three attempts.
    for number in 1..20 {
        assert_eq!(world.emit(1, number).await, StatusCode::OK);
    }
    while world.figures().await.waiting > 0 {
        time.advance(Duration::from_secs(1)).await;
    }
    let after_attempts = status();
    assert_eq!(
        (after_attempts.usage.exceptions, after_attempts.state),
        (57, ModuleState::OnTrial)
    );
    assert_eq!(world.emit(1, 20).await, StatusCode::OK);
    for _ in 0..3 {
        time.advance(Duration::from_secs(1)).await;
    }
    assert_ne!(status().info.digest, after_attempts.info.digest, "it is taken back");
    assert_eq!(status().state, ModuleState::Serving);
    world.app.close().await;
}
