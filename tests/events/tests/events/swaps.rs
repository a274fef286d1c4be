//! Events of a durable channel whose listener is a module that is swapped, rolled back and removed (spec N8).

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use pointwork::http::StatusCode;
use pointwork::{Delivery, Payload};
use pointwork_events_tests::memory::Memory;
use pointwork_events_tests::world::{World, quick};
use pointwork_suite::guest::{Channel, Guest, Program};

use crate::Plain;

pub(crate) const ALL: &[(&str, Plain)] = crate::list![events_wait_while_their_module_is_swapped_or_away];

/// A module whose listener calls `app:heard`; `text` tells versions apart.
fn version(text: &str) -> Vec<u8> {
    let listener = Program::text(text).call("app:heard");
    Guest::new().channel(Channel::new("mail").on("order", listener)).build()
}

#[expect(
    clippy::disallowed_methods,
    reason = "the events come one after the other while the versions change, and no number depends on the pauses"
)]
async fn events_wait_while_their_module_is_swapped_or_away() {
    let world = World::new(Arc::new(Memory::default()), quick());
    let heard = Arc::new(AtomicU32::new(0));
    let counts = heard.clone();
    let listener = move |_: Delivery, payload: Payload| {
        counts.fetch_add(1, Ordering::Relaxed);
        async { Ok(payload) }
    };
    world.app.channel("app").on_raw("heard", listener).expect("a listener");
    world
        .app
        .module("mail")
        .bytes(version("1"))
        .load()
        .await
        .expect("it is loaded");
    let emitting = world.clone();
    let emitted = tokio::spawn(async move {
        for number in 1..=200 {
            assert_eq!(emitting.emit(1, number).await, StatusCode::OK);
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    });
    for text in ["2", "3"] {
        world
            .app
            .module("mail")
            .bytes(version(text))
            .swap()
            .await
            .expect("it is swapped");
    }
    world.app.roll_back("mail").await.expect("it is rolled back");
    world.app.remove("mail").await.expect("it is removed");
    tokio::time::sleep(Duration::from_millis(50)).await;
    world
        .app
        .module("mail")
        .bytes(version("4"))
        .load()
        .await
        .expect("it is loaded");
    emitted.await.expect("no panic");
    world.settled().await;
    assert_eq!((heard.load(Ordering::Relaxed), world.figures().await.dead), (200, 0));
    world.app.close().await;
}
