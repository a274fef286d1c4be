//! Versions that were replaced or removed, and the calls that still run on them (spec S1).

use std::time::Duration;

use anyhow::Result;
use pointwork::ModuleOptions;
use pointwork_test_clock::TestClock;

use super::{SHOP, TICK, serves, status, swap, version, watch};
use crate::case::{Harness, cases};
use crate::flavor::Flavor;
use crate::guest::{Controller, Guest, Program};
use crate::subject::{AppSpec, Step};

cases![
    host;
    what_hangs_on_an_old_version_ends_with_503: S1, E1 of adapter moves clock;
    what_hangs_on_a_removed_module_ends_with_503: S1, E1 moves clock;
    no_more_than_two_versions_and_what_drains_are_alive: S1 moves clock;
];

const DRAIN: Duration = Duration::from_secs(7);

/// A module that waits at the gate, with [`DRAIN`].
fn hanging(form: Flavor, gate: &watch::Gate, time: &TestClock) -> AppSpec {
    let things = Controller::new("Things", "/").get("kept", Program::new().call("app:gate"));
    let options = ModuleOptions::new().drain(DRAIN);
    AppSpec::new()
        .load_with(SHOP, form.form(Guest::with(things)).build(), options)
        .gate("gate", gate)
        .timed(time)
}

async fn is_ended_at_the_deadline(harness: &Harness, form: Flavor, step: Step) -> Result<()> {
    let gate = watch::Gate::new();
    let time = TestClock::new();
    let live = harness.start(hanging(form, &gate, &time)).await?;
    let client = *live;
    let held = tokio::spawn(async move { client.get("/kept").await });
    gate.arrived(1).await?;
    let replaced = matches!(step, Step::Swap(..));
    live.control().apply(step).await?;
    time.advance(DRAIN - TICK).await;
    assert!(!held.is_finished(), "{form}");
    time.advance(TICK).await;
    let reply = held.await??;
    assert_eq!(reply.status, 503, "{form}: {}", reply.text());
    let crash = live
        .crashes()
        .expect("the drain", |crash| crash.limit.as_deref() == Some("drain"))
        .await?;
    assert_eq!(crash.module.as_deref(), Some(SHOP), "{form}");
    assert_eq!(crash.route.as_deref(), Some("GET /kept"), "{form}");
    if replaced {
        serves(&live, "b", "a").await?;
        time.advance(TICK).await;
        assert!(status(&live)?.draining.is_empty(), "{form}: the old version is freed");
    }
    live.shutdown().await;
    Ok(())
}

async fn what_hangs_on_an_old_version_ends_with_503(harness: Harness) -> Result<()> {
    for form in Flavor::MODULES {
        is_ended_at_the_deadline(&harness, form, swap(version(form, "b"))).await?;
    }
    Ok(())
}

async fn what_hangs_on_a_removed_module_ends_with_503(harness: Harness) -> Result<()> {
    for form in Flavor::MODULES {
        is_ended_at_the_deadline(&harness, form, Step::Remove(SHOP.to_owned())).await?;
    }
    Ok(())
}

async fn no_more_than_two_versions_and_what_drains_are_alive(harness: Harness) -> Result<()> {
    for form in Flavor::MODULES {
        let (gate, time) = (watch::Gate::new(), TestClock::new());
        let things = |word: &str| {
            let program = Program::new().call("app:gate").say(word);
            form.form(Guest::with(Controller::new("Things", "/").get("kept", program)))
                .build()
        };
        let live = harness
            .start(AppSpec::new().load(SHOP, things("a")).gate("gate", &gate).timed(&time))
            .await?;
        let client = *live;
        let held = tokio::spawn(async move { client.get("/kept").await });
        gate.arrived(1).await?;
        for word in ["b", "c", "d"] {
            live.control().apply(swap(things(word).into())).await?;
            time.advance(TICK).await;
            let in_flight: Vec<_> = status(&live)?.draining.iter().map(|old| old.in_flight).collect();
            assert_eq!(in_flight, [1], "{form}: only the first version drains");
        }
        gate.open();
        assert_eq!(held.await??.text(), "nulla", "{form}");
        time.advance(TICK).await;
        assert!(status(&live)?.draining.is_empty(), "{form}");
        live.shutdown().await;
    }
    Ok(())
}
