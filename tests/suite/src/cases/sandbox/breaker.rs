//! The circuit breaker: a module that crashes repeatedly is held back, and later let through again (spec A1, E1).

use std::time::Duration;

use anyhow::Result;
use pointwork::{Breaker, ModuleOptions, ModuleState};
use pointwork_test_clock::TestClock;
use pointwork_test_clock::real::until;

use super::{SHOP, comes_to, status, version};
use crate::case::{Harness, Live, cases};
use crate::flavor::Flavor;
use crate::subject::AppSpec;

cases![
    host;
    a_module_that_crashes_again_and_again_is_held_back: A1, E1 moves clock;
    a_crash_between_good_calls_holds_nothing_back: A1, E1 moves clock;
    a_breaker_can_be_waived: A1, E1;
];

/// The first pause of the breaker.
const PAUSE: Duration = Duration::from_secs(7);

const MOMENT: Duration = Duration::from_millis(1);

/// The module, which is held back after three crashes in a row.
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

async fn is_held_back(live: &Live, times: usize) -> Result<()> {
    until("the pause is told", || pauses(live) == times).await?;
    let reply = live.get("/kept").await?;
    assert_eq!(reply.status, 503, "{}", reply.text());
    assert!(reply.header("retry-after").is_some());
    assert_eq!(status(live)?.state, ModuleState::HeldBack);
    assert_eq!(live.get("/other").await?.text(), "other");
    Ok(())
}

async fn a_module_that_crashes_again_and_again_is_held_back(harness: Harness) -> Result<()> {
    for form in Flavor::MODULES {
        let time = TestClock::new();
        let live = after_three(&harness, form, &time).await?;
        traps(&live, 3).await?;
        is_held_back(&live, 1).await?;
        assert!(status(&live)?.usage.refused >= 1, "{form}");
        // One call is let through; it crashes too, and that one crash holds the module back again.
        time.advance(PAUSE - MOMENT).await;
        assert_eq!(live.get("/trap").await?.status, 503, "{form}");
        time.advance(MOMENT).await;
        assert_eq!(live.get("/trap").await?.status, 500, "{form}");
        is_held_back(&live, 2).await?;
        // The next call that is let through succeeds.
        time.advance(2 * PAUSE - MOMENT).await;
        assert_eq!(live.get("/kept").await?.status, 503, "{form}");
        time.advance(MOMENT).await;
        assert_eq!(live.get("/kept").await?.text(), "a", "{form}");
        comes_to(&live, ModuleState::Serving).await?;
        traps(&live, 2).await?;
        assert_eq!(live.get("/kept").await?.text(), "a", "{form}");
        assert_eq!(pauses(&live), 2, "{form}: one event for each pause");
        live.shutdown().await;
    }
    Ok(())
}

async fn a_crash_between_good_calls_holds_nothing_back(harness: Harness) -> Result<()> {
    for form in Flavor::MODULES {
        let live = after_three(&harness, form, &TestClock::new()).await?;
        for _ in 0..4 {
            traps(&live, 2).await?;
            assert_eq!(live.get("/kept").await?.text(), "a", "{form}");
        }
        assert_eq!(pauses(&live), 0, "{form}");
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
