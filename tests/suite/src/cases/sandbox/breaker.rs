//! The circuit breakers: a handler that crashes repeatedly is held back, and later let through again (spec A1, E1, E5).

use std::time::Duration;

use anyhow::Result;
use pointwork::{Breaker, HeldBackState, ModuleLimits, ModuleOptions, ModuleState};
use pointwork_test_clock::TestClock;
use pointwork_test_clock::real::until;

use super::{SHOP, TICK, comes_to, status, version, watch};
use crate::case::{Harness, Live, cases};
use crate::flavor::Flavor;
use crate::guest::{Controller, End, Guest, Program};
use crate::subject::AppSpec;

cases![
    host;
    a_handler_that_crashes_again_and_again_is_held_back: A1, E1, E5 moves clock;
    a_module_is_held_back_while_most_of_its_handlers_are: A1, E5 moves clock;
    a_crash_counts_against_no_neighbour: A1, E5 moves clock;
    a_breaker_can_be_waived: A1, E1;
];

/// The first pause of the breaker.
const PAUSE: Duration = Duration::from_secs(7);

const MOMENT: Duration = Duration::from_millis(1);

/// The module, whose handlers are held back after three crashes in a row.
async fn after_three(harness: &Harness, form: Flavor, time: &TestClock) -> Result<Live> {
    let breaker = Breaker::new().crashes(3).pause(PAUSE).longest(PAUSE * 2);
    let options = ModuleOptions::new().breaker(breaker);
    let app = AppSpec::new()
        .load_with(SHOP, version(form, "a"), options)
        .register("GET", "/other", |_| async { "other" })
        .timed(time);
    Ok(harness.start(app).await?)
}

async fn traps(live: &Live, times: usize) -> Result<()> {
    for _ in 0..times {
        assert_eq!(live.get("/trap").await?.status, 500);
    }
    Ok(())
}

/// The number of `server:crashed` events with the limit `breaker`.
fn pauses(live: &Live) -> usize {
    let crashes = live.crashes().all();
    let of_breaker = crashes.iter().filter(|crash| crash.limit.as_deref() == Some("breaker"));
    of_breaker.filter(|crash| crash.module.as_deref() == Some(SHOP)).count()
}

/// The handlers and listeners that are held back.
fn held_back(live: &Live) -> Result<Vec<(String, HeldBackState)>> {
    let held_back = status(live)?.held_back.into_iter();
    Ok(held_back.map(|handler| (handler.name, handler.state)).collect())
}

/// The handler is held back after that many pauses, and the others of its module serve.
async fn is_held_back(live: &Live, times: usize) -> Result<()> {
    until("the pause is told", || pauses(live) == times).await?;
    let reply = live.get("/trap").await?;
    assert_eq!(reply.status, 503, "{}", reply.text());
    assert!(reply.header("retry-after").is_some());
    let handlers = held_back(live)?;
    assert!(matches!(&handlers[..], [(_, HeldBackState::Open)]), "{handlers:?}");
    assert_eq!(status(live)?.state, ModuleState::Serving);
    assert_eq!(live.get("/kept").await?.text(), "a");
    assert_eq!(live.get("/other").await?.text(), "other");
    Ok(())
}

async fn a_handler_that_crashes_again_and_again_is_held_back(harness: Harness) -> Result<()> {
    for form in Flavor::MODULES {
        let time = TestClock::new();
        let live = after_three(&harness, form, &time).await?;
        traps(&live, 3).await?;
        is_held_back(&live, 1).await?;
        assert!(status(&live)?.usage.refused >= 1, "{form}");
        // The pause is random within a quarter of its length.
        time.advance(PAUSE * 3 / 4 - MOMENT).await;
        assert_eq!(live.get("/trap").await?.status, 503, "{form}");
        time.advance(PAUSE / 2 + MOMENT).await;
        let handlers = held_back(&live)?;
        assert!(
            matches!(&handlers[..], [(_, HeldBackState::HalfOpen)]),
            "{form}: {handlers:?}"
        );
        // One call is let through; it crashes too, and that one crash holds the handler back again.
        assert_eq!(live.get("/trap").await?.status, 500, "{form}");
        is_held_back(&live, 2).await?;
        assert_eq!(pauses(&live), 2, "{form}: one event for each pause");
        live.shutdown().await;
    }
    Ok(())
}

async fn a_module_is_held_back_while_most_of_its_handlers_are(harness: Harness) -> Result<()> {
    for form in Flavor::MODULES {
        let time = TestClock::new();
        let mut things = Controller::new("Things", "/").get("kept", Program::text("a"));
        for name in ["trap-1", "trap-2", "trap-3"] {
            things = things.get(name, Program::new().ends(End::Trap));
        }
        let options = ModuleOptions::new().breaker(Breaker::new().crashes(1).pause(PAUSE));
        let module = form.form(Guest::with(things)).build();
        let live = harness
            .start(AppSpec::new().load_with(SHOP, module, options).timed(&time))
            .await?;
        for name in ["/trap-1", "/trap-2"] {
            assert_eq!(live.get(name).await?.status, 500, "{form}");
        }
        time.advance(TICK).await;
        assert_eq!(live.get("/kept").await?.text(), "a", "{form}: two are too few");
        assert_eq!(live.get("/trap-3").await?.status, 500, "{form}");
        time.advance(TICK).await;
        comes_to(&live, ModuleState::HeldBack).await?;
        let reply = live.get("/kept").await?;
        assert_eq!(
            (reply.status, reply.header("retry-after").is_some()),
            (503, true),
            "{form}"
        );
        time.advance(PAUSE * 5 / 4).await;
        comes_to(&live, ModuleState::Serving).await?;
        assert_eq!(live.get("/kept").await?.text(), "a", "{form}");
        live.shutdown().await;
    }
    Ok(())
}

/// A call that crashes in a shared instance ends the calls beside it, and only its own handler is held back for that.
async fn a_crash_counts_against_no_neighbour(harness: Harness) -> Result<()> {
    // A panic names its call. An exhausted stack does not: the first one makes a suspect of each call of the instance, and counts
    // for none of them.
    for end in [End::Trap, End::Overflow] {
        let gate = watch::Gate::new();
        let things = Controller::new("Things", "/")
            .get("waits", Program::text("through").call("app:gate"))
            .get("trap", Program::new().ends(end));
        // The calls share the one instance.
        let options = ModuleOptions::new()
            .breaker(Breaker::new().crashes(3).pause(PAUSE))
            .limits(ModuleLimits::new().instances(1));
        let module = Flavor::AsyncModule.form(Guest::with(things)).build();
        let app = AppSpec::new().load_with(SHOP, module, options).gate("gate", &gate);
        let live = harness.start(app.timed(&TestClock::new())).await?;
        let client = *live;
        let ask = |path: &'static str| tokio::spawn(async move { client.get(path).await });
        let waits = ask("/waits");
        gate.arrived(1).await?;
        traps(&live, 1).await?;
        assert_eq!(waits.await??.status, 500, "{end:?}");
        let waits = ask("/waits");
        gate.arrived(1).await?;
        if end == End::Trap {
            traps(&live, 1).await?;
            assert_eq!(waits.await??.status, 500);
            let cause = "a call of `Things.trap` in the same instance crashed: ";
            let lines = harness.logs().containing(cause, 2).await?;
            assert!(lines.iter().all(|line| line.text.contains("/waits")), "{lines:#?}");
        } else {
            let trap = ask("/trap");
            until("the other suspect has to wait", || {
                status(&live).is_ok_and(|status| status.usage.waiting == 1)
            })
            .await?;
            gate.open();
            assert_eq!(waits.await??.status, 200, "suspects run alone");
            assert_eq!(trap.await??.status, 500);
            traps(&live, 1).await?;
        }
        assert_eq!(pauses(&live), 0, "{end:?}: too few count");
        traps(&live, 1).await?;
        until("the handler is held back", || pauses(&live) == 1).await?;
        let handlers = held_back(&live)?;
        assert!(
            matches!(&handlers[..], [(name, _)] if name.contains("trap")),
            "{end:?}: {handlers:?}"
        );
        live.shutdown().await;
    }
    Ok(())
}

async fn a_breaker_can_be_waived(harness: Harness) -> Result<()> {
    let breaker = Breaker::new().crashes(0);
    let options = ModuleOptions::new().breaker(breaker);
    let app = AppSpec::new().load_with(SHOP, version(Flavor::Module, "a"), options);
    let live = harness.start(app).await?;
    traps(&live, 30).await?;
    assert_eq!(live.get("/kept").await?.text(), "a");
    assert_eq!(status(&live)?.state, ModuleState::Serving);
    live.shutdown().await;
    Ok(())
}
