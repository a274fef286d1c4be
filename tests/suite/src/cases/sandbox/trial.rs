//! A version that traps on its first requests is rolled back automatically (spec S1, S2).

use std::sync::Arc;

use anyhow::Result;
use pointwork::{ChangeKind, ModuleOptions, ModuleState, Trial};

use super::{SHOP, comes_to, serves, status, version};
use crate::case::{Harness, Live, cases};
use crate::flavor::Flavor;
use crate::guest::{Controller, End, Guest, Program};
use crate::subject::{AppSpec, Step};

cases![
    host;
    a_version_that_traps_at_once_is_taken_back: S1, S2, E1;
    a_version_that_raises_exceptions_at_once_is_taken_back: S1, S2, E4;
    a_version_that_stands_its_trial_stays: S1;
    a_trial_can_be_waived: S1;
];

fn on_trial(calls: u64, crashes: u64) -> ModuleOptions {
    let trial = Trial::new().calls(calls).crashes(crashes);
    ModuleOptions::new().trial(trial)
}

async fn swap_on_trial(live: &Live, component: Arc<[u8]>, calls: u64, crashes: u64) -> Result<()> {
    let step = Step::SwapWith(SHOP.to_owned(), component, on_trial(calls, crashes).into());
    Ok(live.control().apply(step).await?)
}

async fn a_version_that_traps_at_once_is_taken_back(harness: Harness) -> Result<()> {
    is_taken_back(&harness, End::Trap).await
}

async fn a_version_that_raises_exceptions_at_once_is_taken_back(harness: Harness) -> Result<()> {
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
        let bad = form.form(Guest::with(fails)).build().into();
        swap_on_trial(&live, bad, 10, 2).await?;
        let bad = status(&live)?;
        assert_eq!(bad.state, ModuleState::OnTrial, "{form}");
        // One failed call does not fail the trial.
        assert_eq!(live.get("/kept").await?.status, 500, "{form}");
        assert_eq!(live.get("/only-b").await?.text(), "b", "{form}");
        assert_eq!(live.get("/kept").await?.status, 500, "{form}");
        let change = live
            .changes()
            .expect("the roll-back", |change| change.kind == ChangeKind::RolledBack)
            .await?;
        assert_eq!(change.digest.as_ref(), Some(&good), "{form}");
        assert_eq!(change.previous, Some(bad.info.digest), "{form}");
        assert!(change.reason.is_some(), "{form}: nobody asked for it");
        serves(&live, "a", "b").await?;
        let now = status(&live)?;
        assert_eq!((now.info.digest, now.state), (good, ModuleState::Serving), "{form}");
        live.shutdown().await;
    }
    Ok(())
}

async fn a_version_that_stands_its_trial_stays(harness: Harness) -> Result<()> {
    for form in Flavor::MODULES {
        let live = harness.start(AppSpec::new().load(SHOP, version(form, "a"))).await?;
        swap_on_trial(&live, version(form, "b"), 3, 1).await?;
        for _ in 0..3 {
            assert_eq!(live.get("/kept").await?.text(), "b", "{form}");
        }
        comes_to(&live, ModuleState::Serving).await?;
        // After the trial, crashes do not roll the version back.
        for _ in 0..3 {
            assert_eq!(live.get("/trap").await?.status, 500, "{form}");
        }
        serves(&live, "b", "a").await?;
        live.changes()
            .expect("the swap", |change| change.kind == ChangeKind::Swapped)
            .await?;
        let kinds: Vec<_> = live.changes().all().iter().map(|change| change.kind).collect();
        assert_eq!(kinds, [ChangeKind::Loaded, ChangeKind::Swapped], "{form}");
        live.shutdown().await;
    }
    Ok(())
}

async fn a_trial_can_be_waived(harness: Harness) -> Result<()> {
    let form = Flavor::Module;
    let live = harness.start(AppSpec::new().load(SHOP, version(form, "a"))).await?;
    swap_on_trial(&live, version(form, "b"), 100, 0).await?;
    assert_eq!(status(&live)?.state, ModuleState::Serving);
    for _ in 0..5 {
        assert_eq!(live.get("/trap").await?.status, 500);
    }
    serves(&live, "b", "a").await?;
    live.shutdown().await;
    Ok(())
}
