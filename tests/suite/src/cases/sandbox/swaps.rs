//! A module is swapped, loaded, removed and rolled back while the application serves (spec S1).

use anyhow::Result;
use pointwork::{ChangeKind, Diff, ModuleLimits, ModuleOptions};

use super::{SHOP, serves, status, swap, version};
use crate::case::{Harness, Live, cases};
use crate::flavor::Flavor;
use crate::subject::{AppSpec, Step};

cases![
    host;
    modules_come_and_go_while_the_application_serves: S1, M5 in hosts;
    a_swap_tells_what_became_of_the_routes: S1 in hosts;
    a_swap_may_change_the_form: S1;
    a_swap_to_the_same_bytes_changes_nothing: S4;
    a_swap_to_the_same_bytes_with_another_limit_is_a_swap: S4;
    a_module_is_rolled_back_and_back_again: S1 in hosts;
    a_module_that_was_never_swapped_is_not_rolled_back: S1, S2;
];

async fn modules_come_and_go_while_the_application_serves(harness: Harness) -> Result<()> {
    for form in Flavor::MODULES {
        let live = harness
            .start(AppSpec::new().register("GET", "/manual", |_| async { "manual" }))
            .await?;
        let control = live.control();
        for round in 1..=3 {
            control.apply(Step::Load(SHOP.to_owned(), version(form, "a"))).await?;
            serves(&live, "a", "b").await?;
            assert_eq!(control.route_count(), 4, "{form}, round {round}");
            control.apply(Step::Remove(SHOP.to_owned())).await?;
            for path in ["/kept", "/only-a", "/trap"] {
                assert_eq!(live.get(path).await?.status, 404, "{form}, round {round}: {path}");
            }
            assert_eq!(live.get("/manual").await?.text(), "manual", "{form}, round {round}");
            assert!(control.statuses().is_empty(), "{form}, round {round}");
        }
        let told = live.changes();
        told.expect("the last removal", |change| {
            change.kind == ChangeKind::Removed && told.all().len() == 6
        })
        .await?;
        let kinds: Vec<_> = told.all().iter().map(|change| change.kind).collect();
        assert_eq!(kinds, [ChangeKind::Loaded, ChangeKind::Removed].repeat(3), "{form}");
        live.shutdown().await;
    }
    Ok(())
}

async fn a_swap_tells_what_became_of_the_routes(harness: Harness) -> Result<()> {
    for form in Flavor::MODULES {
        let live = harness.start(AppSpec::new().load(SHOP, version(form, "a"))).await?;
        let before = status(&live)?;
        assert_eq!(before.previous, None, "{form}");
        live.control().apply(swap(version(form, "b"))).await?;
        let change = live
            .changes()
            .expect("the swap", |change| change.kind == ChangeKind::Swapped)
            .await?;
        assert_eq!(change.module, SHOP);
        let mut routes = Diff::default();
        routes.added = vec!["GET /only-b".to_owned()];
        routes.removed = vec!["GET /only-a".to_owned()];
        routes.kept = vec!["GET /kept".to_owned(), "GET /trap".to_owned()];
        assert_eq!(change.routes, routes, "{form}");
        assert_eq!(change.previous.as_ref(), Some(&before.info.digest), "{form}");
        assert_eq!(change.reason, None, "{form}");
        let after = status(&live)?;
        assert_eq!(change.digest.as_ref(), Some(&after.info.digest), "{form}");
        assert_eq!(after.previous, change.previous, "{form}");
        assert_ne!(change.digest, change.previous, "{form}");
        live.shutdown().await;
    }
    Ok(())
}

async fn a_swap_may_change_the_form(harness: Harness) -> Result<()> {
    let live = harness
        .start(AppSpec::new().load(SHOP, version(Flavor::Module, "a")))
        .await?;
    for (form, word, other) in [(Flavor::AsyncModule, "b", "a"), (Flavor::Module, "a", "b")] {
        live.control().apply(swap(version(form, word))).await?;
        serves(&live, word, other).await?;
    }
    live.shutdown().await;
    Ok(())
}

async fn a_swap_to_the_same_bytes_changes_nothing(harness: Harness) -> Result<()> {
    for form in Flavor::MODULES {
        let live = harness.start(AppSpec::new().load(SHOP, version(form, "a"))).await?;
        let first = status(&live)?.info.digest;
        live.control().apply(swap(version(form, "b"))).await?;
        serves(&live, "b", "a").await?;
        let before = status(&live)?;
        live.control().apply(swap(version(form, "b"))).await?;
        let after = status(&live)?;
        assert_eq!(after, before, "{form}: the same instances, counters and time");
        assert_eq!(
            after.previous.as_ref(),
            Some(&first),
            "{form}: the target of a roll-back"
        );
        live.control().apply(Step::RollBack(SHOP.to_owned())).await?;
        serves(&live, "a", "b").await?;
        let changes = live.changes();
        changes
            .expect("the roll-back", |change| change.kind == ChangeKind::RolledBack)
            .await?;
        let swaps = changes
            .all()
            .iter()
            .filter(|change| change.kind == ChangeKind::Swapped)
            .count();
        assert_eq!(swaps, 1, "{form}: no event of a swap that changed nothing");
        live.shutdown().await;
    }
    Ok(())
}

async fn a_swap_to_the_same_bytes_with_another_limit_is_a_swap(harness: Harness) -> Result<()> {
    let options = |in_flight| ModuleOptions::new().limits(ModuleLimits::new().in_flight(in_flight));
    for form in Flavor::MODULES {
        let app = AppSpec::new().load_with(SHOP, version(form, "a"), options(2));
        let live = harness.start(app).await?;
        let digest = status(&live)?.info.digest;
        for (in_flight, previous) in [(2, None), (3, Some(&digest))] {
            let step = Step::SwapWith(SHOP.to_owned(), version(form, "a"), options(in_flight).into());
            live.control().apply(step).await?;
            assert_eq!(status(&live)?.previous.as_ref(), previous, "{form}, {in_flight}");
        }
        serves(&live, "a", "b").await?;
        live.shutdown().await;
    }
    Ok(())
}

/// Checks the number of roll-backs among the changes.
async fn rolled_back(live: &Live, times: usize) -> Result<()> {
    let changes = live.changes();
    let rolled = |kind| kind == ChangeKind::RolledBack;
    changes
        .expect("the roll-back", |_| {
            changes.all().iter().filter(|change| rolled(change.kind)).count() == times
        })
        .await?;
    Ok(())
}

async fn a_module_is_rolled_back_and_back_again(harness: Harness) -> Result<()> {
    for form in Flavor::MODULES {
        let live = harness.start(AppSpec::new().load(SHOP, version(form, "a"))).await?;
        let first = status(&live)?.info.digest;
        live.control().apply(swap(version(form, "b"))).await?;
        let second = status(&live)?.info.digest;
        let steps = [("a", "b", &first, &second), ("b", "a", &second, &first)];
        for (times, (word, other, current, previous)) in (1..).zip(steps) {
            live.control().apply(Step::RollBack(SHOP.to_owned())).await?;
            serves(&live, word, other).await?;
            let status = status(&live)?;
            assert_eq!(&status.info.digest, current, "{form}");
            assert_eq!(status.previous.as_ref(), Some(previous), "{form}");
            rolled_back(&live, times).await?;
        }
        live.shutdown().await;
    }
    Ok(())
}

async fn a_module_that_was_never_swapped_is_not_rolled_back(harness: Harness) -> Result<()> {
    let live = harness
        .start(AppSpec::new().load(SHOP, version(Flavor::Module, "a")))
        .await?;
    for name in [SHOP, "nobody"] {
        let refused = live.control().apply(Step::RollBack(name.to_owned())).await;
        let refusal = refused.err().map(|refusal| refusal.text().to_owned());
        assert!(
            refusal.as_ref().is_some_and(|text| text.contains(name)),
            "the error names `{name}`: {refusal:?}"
        );
    }
    serves(&live, "a", "b").await?;
    live.shutdown().await;
    Ok(())
}
