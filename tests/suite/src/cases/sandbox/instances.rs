//! How the calls of a module share instances, and the lifetime of instances (spec A1).

use std::time::Duration;

use anyhow::Result;
use pointwork::{Breaker, Isolation, ModuleLimits, ModuleOptions};
use pointwork_core::{Delivery, Payload};
use pointwork_test_clock::TestClock;
use pointwork_test_clock::real::until;

use super::{SHOP, TICK, status, watch};
use crate::case::{Harness, Live, cases};
use crate::client::Request;
use crate::fixtures::Fixture;
use crate::flavor::Flavor;
use crate::guest::{Controller, End, Guest, Program, Step};
use crate::languages::expect_quick_instances;
use crate::subject::{AppSpec, Limits};

cases![
    host;
    a_fresh_instance_serves_one_request: A1;
    an_exclusive_instance_serves_one_request_after_the_other: A1;
    a_shared_instance_serves_requests_side_by_side [RustAsync]: A1, H1;
    an_instance_is_reused_up_to_its_limit: A1;
    a_trap_retires_its_own_instance_only: A1, E1;
    a_handler_that_crashes_often_leaves_the_instances_to_the_others: A1, E1 moves clock;
    a_handler_that_crashes_often_shares_no_instance [RustAsync]: A1, E1, H1 moves clock;
    slow_calls_leave_a_quarter_of_the_instances_to_other_routes: A1, E7 moves clock;
    a_burst_leaves_a_quarter_of_the_instances_to_other_routes: E7;
    bodies_of_an_instance_fit_its_memory_together: A1, H25;
    an_instance_that_has_grown_is_replaced: A1, H25;
    instances_go_away_when_they_are_idle: A1 moves clock;
];

/// A module whose `/count` returns the number of calls of its instance, including this one. `/held` does the same after
/// the gate.
fn counting(form: Flavor, options: ModuleOptions, gate: &watch::Gate) -> AppSpec {
    let things = Controller::new("Things", "/")
        .get("count", Program::new().step(Step::Count))
        .get("held", Program::new().call("app:gate").say(" ").step(Step::Count))
        .get("trap", Program::new().ends(End::Trap));
    AppSpec::new()
        .load_with(SHOP, form.form(Guest::with(things)).build(), options)
        .gate("gate", gate)
}

/// The replies of two requests that wait at the gate together.
async fn two_at_once(live: &Live, path: &'static str, gate: &watch::Gate) -> Result<[String; 2]> {
    let client = **live;
    let ask = || tokio::spawn(async move { client.get(path).await });
    let first = ask();
    gate.arrived(1).await?;
    let second = ask();
    gate.arrived(1).await?;
    gate.open();
    Ok([first.await??.text(), second.await??.text()])
}

async fn counts(live: &Live, expected: &[&str]) -> Result<()> {
    let mut counted = Vec::new();
    for _ in expected {
        counted.push(live.get("/count").await?.text());
    }
    assert_eq!(counted, expected);
    Ok(())
}

async fn a_fresh_instance_serves_one_request(harness: Harness) -> Result<()> {
    for form in Flavor::MODULES {
        let gate = watch::Gate::new();
        let options = ModuleOptions::new().isolation(Isolation::Fresh);
        let live = harness.start(counting(form, options, &gate)).await?;
        counts(&live, &["1", "1", "1"]).await?;
        assert_eq!(
            two_at_once(&live, "/held", &gate).await?,
            ["null 1", "null 1"],
            "{form}"
        );
        until("no instance is left", || {
            status(&live).is_ok_and(|status| status.usage.instances == 0)
        })
        .await?;
        live.shutdown().await;
    }
    Ok(())
}

async fn an_exclusive_instance_serves_one_request_after_the_other(harness: Harness) -> Result<()> {
    for form in Flavor::MODULES {
        let gate = watch::Gate::new();
        let options = ModuleOptions::new().isolation(Isolation::Exclusive);
        let live = harness.start(counting(form, options, &gate)).await?;
        counts(&live, &["1", "2", "3"]).await?;
        assert_eq!(
            two_at_once(&live, "/held", &gate).await?,
            ["null 4", "null 1"],
            "{form}"
        );
        live.shutdown().await;
    }
    Ok(())
}

/// An asynchronous module written in Rust, whose `/waits/…` wait at the gate.
async fn waiting(harness: &Harness, options: ModuleOptions, gate: &watch::Gate) -> Result<AppSpec> {
    let pass = gate.clone();
    Ok(AppSpec::new()
        .load_with(SHOP, harness.fixture(Fixture::RustAsync).await?, options)
        .listen("clock", "wait", move |_: Delivery, _: Payload| {
            let pass = pass.clone();
            async move {
                pass.pass().await;
                Ok(Payload::null())
            }
        }))
}

async fn a_shared_instance_serves_requests_side_by_side(harness: Harness) -> Result<()> {
    let expected = [
        (None, ["0", "1"]),
        (Some(Isolation::Shared), ["0", "1"]),
        (Some(Isolation::Exclusive), ["0", "0"]),
        (Some(Isolation::Fresh), ["0", "0"]),
    ];
    for (isolation, expected) in expected {
        let gate = watch::Gate::new();
        // Calls go to an instance that no thread runs at the moment: one instance has to take them all.
        let instances = if expected == ["0", "1"] { 1 } else { 3 };
        let options = ModuleOptions::new().limits(ModuleLimits::new().instances(instances));
        let options = isolation.into_iter().fold(options, ModuleOptions::isolation);
        let live = harness.start(waiting(&harness, options, &gate).await?).await?;
        let begun = two_at_once(&live, "/waits/1/begun", &gate).await?;
        assert_eq!(begun, expected, "{isolation:?}");
        live.shutdown().await;
    }
    Ok(())
}

async fn an_instance_is_reused_up_to_its_limit(harness: Harness) -> Result<()> {
    for form in Flavor::MODULES {
        let limits = ModuleLimits::new().reuse(3);
        let options = ModuleOptions::new().limits(limits);
        let live = harness.start(counting(form, options, &watch::Gate::new())).await?;
        counts(&live, &["1", "2", "3", "1", "2", "3", "1"]).await?;
        live.shutdown().await;
    }
    Ok(())
}

async fn a_trap_retires_its_own_instance_only(harness: Harness) -> Result<()> {
    for form in Flavor::MODULES {
        let gate = watch::Gate::new();
        // Calls that share an instance end with it.
        let options = ModuleOptions::new().isolation(Isolation::Exclusive);
        let live = harness.start(counting(form, options, &gate)).await?;
        counts(&live, &["1"]).await?;
        let client = *live;
        let held = tokio::spawn(async move { client.get("/held").await });
        gate.arrived(1).await?;
        assert_eq!(live.get("/trap").await?.status, 500, "{form}");
        gate.open();
        assert_eq!(held.await??.text(), "null 2", "{form}");
        // The instance that trapped is gone, the other one goes on counting.
        counts(&live, &["3"]).await?;
        assert_eq!(status(&live)?.usage.instances, 1, "{form}");
        live.shutdown().await;
    }
    Ok(())
}

/// Lets a handler crash until its call history marks it as crashing: often enough within one interval of the call
/// history.
async fn crash_often(live: &Live, path: &str, time: &TestClock) -> Result<()> {
    expect_quick_instances();
    for _ in 0..40 {
        assert_eq!(live.get(path).await?.status, 500);
    }
    time.advance(TICK).await;
    Ok(())
}

/// Options for a module that keeps serving although it crashes.
fn without_breaker() -> ModuleOptions {
    let breaker = Breaker::new().crashes(0);
    ModuleOptions::new().breaker(breaker)
}

async fn a_handler_that_crashes_often_leaves_the_instances_to_the_others(harness: Harness) -> Result<()> {
    for form in Flavor::MODULES {
        let limits = ModuleLimits::new().in_flight(1).queue_wait(Duration::from_secs(60));
        // An idle instance leaves no room for another.
        for limits in [limits.clone().instances(1), limits] {
            let alone = limits.instances == 1;
            let options = without_breaker().limits(limits);
            let gate = watch::Gate::new();
            let time = TestClock::new();
            let live = harness.start(counting(form, options, &gate).timed(&time)).await?;
            crash_often(&live, "/trap", &time).await?;
            counts(&live, &["1", "2"]).await?;
            for _ in 0..3 {
                assert_eq!(live.get("/trap").await?.status, 500, "{form}");
            }
            counts(&live, if alone { &["1", "2"] } else { &["3", "4"] }).await?;
            if alone {
                all_wait_for_one(&live, &gate).await?;
            }
            live.shutdown().await;
        }
    }
    Ok(())
}

/// The only instance is taken: a call that crashes and a call that does not wait for it. Both get it in turn.
async fn all_wait_for_one(live: &Live, gate: &watch::Gate) -> Result<()> {
    let client = **live;
    let ask = |path: &'static str| tokio::spawn(async move { client.get(path).await });
    let held = ask("/held");
    gate.arrived(1).await?;
    let others = [ask("/trap"), ask("/count")];
    until("both wait", || {
        status(live).is_ok_and(|status| status.usage.waiting == others.len())
    })
    .await?;
    gate.open();
    for (reply, expected) in [held].into_iter().chain(others).zip([200, 500, 200]) {
        let reply = reply.await??;
        assert_eq!(reply.status, expected, "{}", reply.text());
    }
    Ok(())
}

async fn a_handler_that_crashes_often_shares_no_instance(harness: Harness) -> Result<()> {
    let gate = watch::Gate::new();
    let time = TestClock::new();
    let app = waiting(&harness, without_breaker(), &gate).await?;
    let live = harness.start(app.timed(&time)).await?;
    crash_often(&live, "/waits/panic", &time).await?;
    let client = *live;
    let waiting = tokio::spawn(async move { client.get("/waits/1/begun").await });
    gate.arrived(1).await?;
    assert_eq!(live.get("/waits/panic").await?.status, 500);
    gate.open();
    let reply = waiting.await??;
    assert_eq!(reply.status, 200, "{}", reply.text());
    live.shutdown().await;
    Ok(())
}

async fn slow_calls_leave_a_quarter_of_the_instances_to_other_routes(harness: Harness) -> Result<()> {
    // The number of instances of the module is the lower one of its limit and the room of the pool.
    let numbers = [(4, None), (128, Some(4))];
    for (form, (instances, max_instances)) in Flavor::MODULES
        .into_iter()
        .flat_map(|form| numbers.map(|of| (form, of)))
    {
        let (gate, time) = (watch::Gate::new(), TestClock::new());
        let limits = ModuleLimits::new().instances(instances).in_flight(1).queue(4);
        let options = ModuleOptions::new().limits(limits);
        let app = counting(form, options, &gate).timed(&time).limits(Limits {
            max_instances,
            ..Limits::default()
        });
        let live = harness.start(app).await?;
        let client = *live;
        let ask = || tokio::spawn(async move { client.get("/held").await });
        let mut held: Vec<_> = (0..3).map(|_| ask()).collect();
        gate.arrived(3).await?;
        time.advance(Duration::from_millis(101)).await;
        // An instance is free, and not for these.
        held.extend((0..3).map(|_| ask()));
        until("they wait", || {
            status(&live).is_ok_and(|status| status.usage.waiting == 3)
        })
        .await?;
        assert_eq!(
            client.get("/held").await?.status,
            503,
            "{form}: three quarters of the queue are full"
        );
        counts(&live, &["1", "2", "3"]).await?;
        assert_eq!(status(&live)?.usage.instances, 4, "{form}");
        gate.open();
        for held in held {
            assert_eq!(held.await??.status, 200, "{form}");
        }
        live.shutdown().await;
    }
    Ok(())
}

async fn a_burst_leaves_a_quarter_of_the_instances_to_other_routes(harness: Harness) -> Result<()> {
    let gate = watch::Gate::new();
    let options = ModuleOptions::new().limits(ModuleLimits::new().instances(8));
    let live = harness.start(counting(Flavor::Module, options, &gate)).await?;
    let client = *live;
    let held: Vec<_> = (0..12)
        .map(|_| tokio::spawn(async move { client.get("/held").await }))
        .collect();
    gate.arrived(6).await?;
    until("the others wait", || {
        status(&live).is_ok_and(|status| status.usage.waiting == 6)
    })
    .await?;
    counts(&live, &["1", "2", "3"]).await?;
    gate.open();
    for held in held {
        assert_eq!(held.await??.status, 200);
    }
    live.shutdown().await;
    Ok(())
}

/// The limit `memory` of the cases that fill it.
const MEMORY: usize = 16 * 1024 * 1024;

async fn bodies_of_an_instance_fit_its_memory_together(harness: Harness) -> Result<()> {
    let gate = watch::Gate::new();
    let mut limits = ModuleLimits::new().instances(1).queue_wait(Duration::from_secs(60));
    limits.memory = MEMORY;
    let things = Controller::new("Things", "/").post("it", Program::new().call("app:gate").step(Step::Body));
    let module = Flavor::AsyncModule.form(Guest::with(things)).build();
    let app = AppSpec::new().load_with(SHOP, module, ModuleOptions::new().limits(limits));
    let app = app.gate("gate", &gate).limits(Limits {
        body: Some(MEMORY as u64),
        ..Limits::default()
    });
    let live = harness.start(app).await?;
    let client = *live;
    let memory = MEMORY + crate::languages::memory();
    let send = |length: usize| {
        let request = Request::new("POST", "/it").header("content-type", "text/plain");
        tokio::spawn(async move { client.send(request.body(vec![b'x'; length])).await })
    };
    // One sixteenth of the memory for all of them, or one that is longer.
    let longer = send(memory / 16 + 1);
    gate.arrived(1).await?;
    let empty = send(0);
    gate.arrived(1).await?;
    let others = [send(memory / 32), send(memory / 32), send(1)];
    until("they wait for memory", || {
        status(&live).is_ok_and(|status| status.usage.waiting == others.len())
    })
    .await?;
    gate.open();
    for reply in [longer, empty].into_iter().chain(others) {
        assert_eq!(reply.await??.status, 200);
    }
    live.shutdown().await;
    Ok(())
}

async fn an_instance_that_has_grown_is_replaced(harness: Harness) -> Result<()> {
    for form in Flavor::MODULES {
        let mut limits = ModuleLimits::new().instances(1).queue_wait(Duration::from_secs(60));
        limits.memory = MEMORY;
        let grows = Program::new().say(&"x".repeat(1024)).step(Step::Double(13));
        let things = Controller::new("Things", "/")
            .get("grows", grows)
            .get("count", Program::new().step(Step::Count));
        let module = form.form(Guest::with(things)).build();
        let app = AppSpec::new().load_with(SHOP, module, ModuleOptions::new().limits(limits));
        let live = harness.start(app).await?;
        counts(&live, &["1", "2"]).await?;
        for _ in 0..3 {
            assert_eq!(live.get("/grows").await?.status, 200, "{form}");
            counts(&live, &["1", "2"]).await?;
        }
        live.crashes().expect_none()?;
        live.shutdown().await;
    }
    Ok(())
}

async fn instances_go_away_when_they_are_idle(harness: Harness) -> Result<()> {
    for form in Flavor::MODULES {
        let gate = watch::Gate::new();
        let idle = 4 * TICK;
        let options = ModuleOptions::new().limits(ModuleLimits::new().idle(idle));
        let time = TestClock::new();
        let live = harness.start(counting(form, options, &gate).timed(&time)).await?;
        for _ in 0..2 {
            counts(&live, &["1"]).await?;
            time.advance(idle).await;
            assert_eq!(status(&live)?.usage.instances, 1, "{form}");
            time.advance(TICK).await;
            assert_eq!(status(&live)?.usage.instances, 0, "{form}");
        }
        live.shutdown().await;
    }
    Ok(())
}
