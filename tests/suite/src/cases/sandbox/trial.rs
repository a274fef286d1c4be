//! A version that fails more often than the version before is rolled back automatically (spec S6).

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use pointwork::{Breaker, Change, ChangeKind, ModuleOptions, ModuleState, Trial};
use pointwork_test_clock::TestClock;

use super::{SHOP, TICK, serves, status, version};
use crate::case::{Harness, Live, cases};
use crate::client::Request;
use crate::flavor::Flavor;
use crate::guest::{Channel, Controller, End, Guest, Program, Step as Does};
use crate::subject::{AppSpec, Step};

cases![
    host;
    a_version_that_traps_is_taken_back: S2, S6, E1;
    a_version_that_raises_exceptions_is_taken_back: S2, S6, E4;
    a_route_that_fails_equally_in_both_versions_undoes_nothing: S6 moves clock;
    calls_of_a_healthy_route_do_not_hide_a_failing_one: S6 moves clock;
    each_path_of_a_handler_is_compared: S6 moves clock;
    a_new_route_is_compared_with_the_others: S6 moves clock;
    a_breaker_that_opens_fails_the_trial: S6, A1 moves clock;
    a_listener_is_compared_by_its_event: S6 moves clock;
    a_trial_ends_by_time: S6 moves clock;
    a_trial_can_be_waived: S6 moves clock;
];

/// The number of calls from which a route is compared, by default.
const CALLS: usize = 20;

fn guest(form: Flavor, things: Controller) -> Arc<[u8]> {
    form.form(Guest::with(things)).build().into()
}

/// Without a circuit breaker, so that each call runs.
fn without_breaker() -> ModuleOptions {
    ModuleOptions::new().breaker(Breaker::new().crashes(0))
}

pub(super) async fn swap_with(live: &Live, component: Arc<[u8]>, options: ModuleOptions) -> Result<()> {
    let step = Step::SwapWith(SHOP.to_owned(), component, options.into());
    Ok(live.control().apply(step).await?)
}

async fn calls(live: &Live, path: &str, times: usize, expected: u16) -> Result<()> {
    for call in 0..times {
        assert_eq!(live.get(path).await?.status, expected, "call {call} of {path}");
    }
    Ok(())
}

async fn is_rolled_back(live: &Live) -> Result<Change> {
    live.changes()
        .expect("the roll-back", |change| change.kind == ChangeKind::RolledBack)
        .await
}

/// Lets the trial be judged, and checks that the version goes on.
pub(super) async fn goes_on(live: &Live, time: &TestClock) -> Result<()> {
    time.advance(TICK).await;
    assert_eq!(status(live)?.state, ModuleState::OnTrial);
    let changes = live.changes().all();
    assert!(
        changes.iter().all(|change| change.kind != ChangeKind::RolledBack),
        "{changes:?}"
    );
    Ok(())
}

/// Lets the trial be judged, and checks that the version is rolled back. Returns the reason.
async fn fails(live: &Live, time: &TestClock) -> Result<String> {
    time.advance(TICK).await;
    Ok(is_rolled_back(live).await?.reason.expect("nobody asked for it"))
}

async fn a_version_that_traps_is_taken_back(harness: Harness) -> Result<()> {
    is_taken_back(&harness, End::Trap).await
}

async fn a_version_that_raises_exceptions_is_taken_back(harness: Harness) -> Result<()> {
    is_taken_back(&harness, End::Raise).await
}

/// A version whose calls end so fails its trial.
async fn is_taken_back(harness: &Harness, end: End) -> Result<()> {
    for form in Flavor::MODULES {
        let live = harness.start(AppSpec::new().load(SHOP, version(form, "a"))).await?;
        let good = status(&live)?.info.digest;
        let fails = Controller::new("Things", "/")
            .get("kept", Program::new().ends(end))
            .get("only-b", Program::text("b"));
        swap_with(&live, guest(form, fails), ModuleOptions::new()).await?;
        let bad = status(&live)?;
        assert_eq!(bad.state, ModuleState::OnTrial, "{form}");
        calls(&live, "/kept", CALLS, 500).await?;
        let change = is_rolled_back(&live).await?;
        assert_eq!(change.digest.as_ref(), Some(&good), "{form}");
        assert_eq!(change.previous, Some(bad.info.digest), "{form}");
        let reason = change.reason.expect("nobody asked for it");
        assert!(
            reason.contains("`GET /kept` failed in 20 of 20 calls"),
            "{form}: {reason}"
        );
        serves(&live, "a", "b").await?;
        let now = status(&live)?;
        assert_eq!((now.info.digest, now.state), (good, ModuleState::Serving), "{form}");
        live.shutdown().await;
    }
    Ok(())
}

async fn a_route_that_fails_equally_in_both_versions_undoes_nothing(harness: Harness) -> Result<()> {
    for options in [without_breaker(), ModuleOptions::new()] {
        for form in Flavor::MODULES {
            let time = TestClock::new();
            let app = AppSpec::new()
                .load_with(SHOP, version(form, "a"), options.clone())
                .timed(&time);
            let live = harness.start(app).await?;
            calls(&live, "/trap", CALLS, 500).await?;
            swap_with(&live, version(form, "b"), options.clone()).await?;
            calls(&live, "/trap", 3, 500).await?;
            goes_on(&live, &time).await?;
            // With a breaker, the last call opens it, as it did in the version before.
            calls(&live, "/trap", CALLS - 3, 500).await?;
            goes_on(&live, &time).await?;
            serves(&live, "b", "a").await?;
            live.shutdown().await;
        }
    }
    Ok(())
}

async fn calls_of_a_healthy_route_do_not_hide_a_failing_one(harness: Harness) -> Result<()> {
    for form in Flavor::MODULES {
        let time = TestClock::new();
        let old = Controller::new("Things", "/")
            .get("well", Program::text("well"))
            .get("kept", Program::text("a"));
        let app = AppSpec::new()
            .load_with(SHOP, guest(form, old), without_breaker())
            .timed(&time);
        let live = harness.start(app).await?;
        // Its handlers have other numbers, and other names.
        let new = Controller::new("Others", "/")
            .get("kept", Program::new().ends(End::Raise))
            .get("well", Program::text("well"));
        swap_with(&live, guest(form, new), without_breaker()).await?;
        calls(&live, "/well", 500, 200).await?;
        calls(&live, "/kept", CALLS - 1, 500).await?;
        goes_on(&live, &time).await?;
        calls(&live, "/kept", 1, 500).await?;
        let reason = fails(&live, &time).await?;
        assert!(reason.contains("`GET /kept`"), "{form}: {reason}");
        assert_eq!(live.get("/kept").await?.text(), "a", "{form}");
        live.shutdown().await;
    }
    Ok(())
}

async fn each_path_of_a_handler_is_compared(harness: Harness) -> Result<()> {
    for form in Flavor::MODULES {
        let time = TestClock::new();
        let things = |program: Program| {
            let paths = ["things", "things/:id"];
            guest(
                form,
                Controller::new("Things", "/").route("things", Some("GET"), &paths, program),
            )
        };
        let old = things(Program::text("a"));
        let live = harness
            .start(AppSpec::new().load_with(SHOP, old, without_breaker()).timed(&time))
            .await?;
        // The text outgrows the memory unless it is empty, as it is without a parameter.
        let new = things(Program::new().step(Does::Params).step(Does::Double(30)));
        swap_with(&live, new, without_breaker()).await?;
        calls(&live, "/things", 25 * CALLS, 200).await?;
        calls(&live, "/things/5", CALLS, 500).await?;
        let reason = fails(&live, &time).await?;
        assert!(reason.contains("`GET /things/:id`"), "{form}: {reason}");
        live.shutdown().await;
    }
    Ok(())
}

async fn a_new_route_is_compared_with_the_others(harness: Harness) -> Result<()> {
    for form in Flavor::MODULES {
        let time = TestClock::new();
        let things = || {
            Controller::new("Things", "/")
                .get("well", Program::text("well"))
                .get("fails", Program::new().ends(End::Raise))
        };
        let live = harness
            .start(AppSpec::new().load(SHOP, guest(form, things())).timed(&time))
            .await?;
        // A fifth of the calls fail.
        calls(&live, "/well", 80, 200).await?;
        calls(&live, "/fails", 20, 500).await?;
        let new = things().get("new", Program::new().ends(End::Raise));
        swap_with(&live, guest(form, new), ModuleOptions::new()).await?;
        calls(&live, "/fails", CALLS, 500).await?;
        goes_on(&live, &time).await?;
        calls(&live, "/new", CALLS, 500).await?;
        let reason = fails(&live, &time).await?;
        assert!(
            reason.contains("`GET /new`") && reason.contains("20 of 100"),
            "{form}: {reason}"
        );
        live.shutdown().await;
    }
    Ok(())
}

async fn a_breaker_that_opens_fails_the_trial(harness: Harness) -> Result<()> {
    for form in Flavor::MODULES {
        let time = TestClock::new();
        let doubles = |times: u32| {
            let program = Program::new().step(Does::Body).step(Does::Double(times));
            guest(form, Controller::new("Things", "/").post("kept", program))
        };
        let live = harness
            .start(AppSpec::new().load(SHOP, doubles(1)).timed(&time))
            .await?;
        swap_with(&live, doubles(30), ModuleOptions::new()).await?;
        for _ in 0..25 * CALLS {
            assert_eq!(live.send(Request::new("POST", "/kept")).await?.status, 200, "{form}");
        }
        goes_on(&live, &time).await?;
        // Fewer than one call in twenty; the breaker refuses the next ones.
        for _ in 0..CALLS {
            assert_eq!(
                live.send(Request::new("POST", "/kept").body("x")).await?.status,
                500,
                "{form}"
            );
        }
        let reason = fails(&live, &time).await?;
        assert!(reason.contains("circuit breaker"), "{form}: {reason}");
        live.shutdown().await;
    }
    Ok(())
}

async fn a_listener_is_compared_by_its_event(harness: Harness) -> Result<()> {
    for form in Flavor::MODULES {
        let time = TestClock::new();
        let (well, raises) = (Program::text("null"), Program::new().ends(End::Raise));
        let calling = Controller::new("Things", "/")
            .get("well", Program::new().call("shop:well"))
            .get("bad", Program::new().call("shop:bad"));
        let module = |channel: Channel| -> Arc<[u8]> {
            let guest = Guest::with(calling.clone()).channel(channel);
            form.form(guest).build().into()
        };
        let old = Channel::new("shop").on("well", well.clone()).on("bad", raises.clone());
        let app = AppSpec::new().load(SHOP, module(old)).timed(&time);
        let live = harness.start(app).await?;
        calls(&live, "/bad", 1, 200).await?;
        // The listeners have each other's numbers.
        let new = Channel::new("shop").on("bad", raises.clone()).on("well", raises);
        swap_with(&live, module(new), ModuleOptions::new()).await?;
        calls(&live, "/bad", CALLS, 200).await?;
        goes_on(&live, &time).await?;
        calls(&live, "/well", CALLS, 200).await?;
        let reason = fails(&live, &time).await?;
        assert!(reason.contains("`shop:well`"), "{form}: {reason}");
        live.shutdown().await;
    }
    Ok(())
}

async fn a_trial_ends_by_time(harness: Harness) -> Result<()> {
    for form in Flavor::MODULES {
        let time = TestClock::new();
        let live = harness
            .start(AppSpec::new().load(SHOP, version(form, "a")).timed(&time))
            .await?;
        let length = Duration::from_secs(20);
        let options = without_breaker().trial(Trial::new().time(length));
        swap_with(&live, version(form, "b"), options).await?;
        // Too few to compare, so that time alone ends the trial.
        calls(&live, "/trap", CALLS - 1, 500).await?;
        time.advance(length - 2 * TICK).await;
        goes_on(&live, &time).await?;
        time.advance(TICK).await;
        assert_eq!(status(&live)?.state, ModuleState::Serving, "{form}");
        calls(&live, "/trap", 2 * CALLS, 500).await?;
        stays(&live, &time).await?;
        live.shutdown().await;
    }
    Ok(())
}

async fn a_trial_can_be_waived(harness: Harness) -> Result<()> {
    let (form, time) = (Flavor::Module, TestClock::new());
    let live = harness
        .start(AppSpec::new().load(SHOP, version(form, "a")).timed(&time))
        .await?;
    let options = without_breaker().trial(Trial::new().calls(0));
    swap_with(&live, version(form, "b"), options).await?;
    assert_eq!(status(&live)?.state, ModuleState::Serving);
    calls(&live, "/trap", 2 * CALLS, 500).await?;
    stays(&live, &time).await?;
    live.shutdown().await;
    Ok(())
}

/// Checks that no trial takes the version `b` back.
async fn stays(live: &Live, time: &TestClock) -> Result<()> {
    time.advance(2 * TICK).await;
    serves(live, "b", "a").await?;
    let kinds: Vec<_> = live.changes().all().iter().map(|change| change.kind).collect();
    assert_eq!(kinds, [ChangeKind::Loaded, ChangeKind::Swapped]);
    Ok(())
}
