//! Versions that were replaced or removed, and the calls that still run on them (spec S1).

use std::time::Duration;

use anyhow::Result;
use pointwork::ModuleOptions;

use super::{SHOP, serves, status, swap, version, watch};
use crate::case::{Harness, cases};
use crate::flavor::Flavor;
use crate::guest::{Controller, Guest, Program};
use crate::subject::{AppSpec, Step};

cases![
    host;
    what_hangs_on_an_old_version_ends_with_503: S1, E1 of adapter;
    what_hangs_on_a_removed_module_ends_with_503: S1, E1 in hosts;
    no_more_than_two_versions_and_what_drains_are_alive: S1;
];

/// A module that waits at the gate, with a short `drain`.
fn hanging(form: Flavor, gate: &watch::Gate) -> AppSpec {
    let things = Controller::new("Things", "/").get("kept", Program::new().call("app:gate"));
    let options = ModuleOptions::new().drain(Duration::from_millis(100));
    AppSpec::new()
        .load_with(SHOP, form.form(Guest::with(things)).build(), options)
        .gate("gate", gate)
}

async fn is_ended_at_the_deadline(harness: &Harness, form: Flavor, step: Step) -> Result<()> {
    let gate = watch::Gate::new();
    let live = harness.start(hanging(form, &gate)).await?;
    let client = *live;
    let held = tokio::spawn(async move { client.get("/kept").await });
    gate.arrived(1).await?;
    let replaced = matches!(step, Step::Swap(..));
    live.control().apply(step).await?;
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
        watch::eventually("the old version is freed", || {
            status(&live).is_ok_and(|status| status.draining.is_empty())
        })
        .await?;
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
        let gate = watch::Gate::new();
        let things = |word: &str| {
            let program = Program::new().call("app:gate").say(word);
            form.form(Guest::with(Controller::new("Things", "/").get("kept", program)))
                .build()
        };
        let live = harness
            .start(AppSpec::new().load(SHOP, things("a")).gate("gate", &gate))
            .await?;
        let client = *live;
        let held = tokio::spawn(async move { client.get("/kept").await });
        gate.arrived(1).await?;
        for word in ["b", "c", "d"] {
            live.control().apply(swap(things(word).into())).await?;
            watch::eventually("only the first version drains", || {
                status(&live).is_ok_and(|status| {
                    let in_flight: Vec<_> = status.draining.iter().map(|old| old.in_flight).collect();
                    in_flight == [1]
                })
            })
            .await?;
        }
        gate.open();
        assert_eq!(held.await??.text(), "nulla", "{form}");
        watch::eventually("nothing drains", || {
            status(&live).is_ok_and(|status| status.draining.is_empty())
        })
        .await?;
        live.shutdown().await;
    }
    Ok(())
}
