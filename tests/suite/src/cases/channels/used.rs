//! The events that modules declare to use: warned of without a listener, and named in the difference of a change
//! (spec C4, S5).

use std::sync::Arc;

use anyhow::Result;
use pointwork::{ChangeKind, Diff};

use super::adding;
use crate::case::{Stage, cases};
use crate::guest::{Controller, Guest, Program};
use crate::home::Home;
use crate::subject::{AppSpec, Step};

cases![
    host;
    an_event_that_nobody_listens_to_is_warned_of_at_load_swap_and_remove: C4;
    a_change_tells_what_became_of_channels_listeners_and_events_used: S5;
];

/// A module with a route, the listener `{channel}:item:{event}`, and an event that it uses.
fn module(form: Home, channel: &str, event: &str, used: &str) -> Arc<[u8]> {
    let things = Controller::new("Things", "/").get(channel, Program::text("it"));
    let listens = adding(channel, &format!("item:{event}"), "it");
    form.form(Guest::of(things).channel(listens).uses(used)).build().into()
}

async fn an_event_that_nobody_listens_to_is_warned_of_at_load_swap_and_remove(stage: Stage) -> Result<()> {
    let expects = |step: &str, expected: &[&str]| {
        let warned = stage.logs().everywhere().into_iter();
        let warned = warned.filter(|line| line.level == tracing::Level::WARN && line.text.contains("used-by"));
        let warned: Vec<_> = warned.map(|line| line.text).collect();
        assert_eq!(warned.len(), expected.len(), "{step}: {warned:?}");
        for (warned, expected) in warned.iter().zip(expected) {
            assert!(warned.contains(expected), "{step}: {warned}");
        }
    };
    let load = |name: &str, component| Step::Load(name.to_owned(), component);
    let live = stage.start(AppSpec::new()).await?;
    let control = live.control();
    let caller = |event: &str| module(Home::Module, "front", "one", event);
    control
        .apply(load("stock", module(Home::Module, "stock", "one", "stock:item:one")))
        .await?;
    expects("the listener is its own", &[]);
    control.apply(load("used-by-front", caller("stock:item:on"))).await?;
    let nearest = "no channel listens to event `stock:item:on`; the nearest known is `stock:item:one` \
                   module=used-by-front event=stock:item:on";
    expects("load", &[nearest]);
    control
        .apply(Step::Swap("used-by-front".to_owned(), caller("stock:item:one")))
        .await?;
    expects("a swap to the right name", &[nearest]);
    control
        .apply(Step::Swap(
            "stock".to_owned(),
            module(Home::Module, "stock", "two", "x"),
        ))
        .await?;
    let lost = "module=used-by-front event=stock:item:one";
    expects("a swap that takes the listener away", &[nearest, lost]);
    control
        .apply(Step::Swap(
            "stock".to_owned(),
            module(Home::Module, "stock", "one", "x"),
        ))
        .await?;
    control.apply(Step::Remove("stock".to_owned())).await?;
    expects("remove", &[nearest, lost, lost]);
    live.shutdown().await;
    Ok(())
}

async fn a_change_tells_what_became_of_channels_listeners_and_events_used(stage: Stage) -> Result<()> {
    let diff = |added: &[&str], removed: &[&str], kept: &[&str]| {
        let list = |items: &[&str]| items.iter().map(|&item| item.to_owned()).collect();
        let mut diff = Diff::default();
        (diff.added, diff.removed, diff.kept) = (list(added), list(removed), list(kept));
        diff
    };
    for form in Home::MODULES {
        let live = stage
            .start(AppSpec::new().load("shop", module(form, "shop", "one", "old:event")))
            .await?;
        for next in ["two", "three"] {
            let next = module(form, "shop", next, "new:event");
            live.control().apply(Step::Swap("shop".to_owned(), next)).await?;
        }
        live.control().apply(Step::Remove("shop".to_owned())).await?;
        let changes = live.changes();
        changes
            .expect("the removal", |change| change.kind == ChangeKind::Removed)
            .await?;
        let [.., first, second, removal] = &changes.all()[..] else {
            panic!("{form}: {:?}", changes.all());
        };
        assert_eq!(first.channels, diff(&[], &[], &["shop"]), "{form}");
        assert_eq!(
            first.listeners,
            diff(&["shop:item:two"], &["shop:item:one"], &[]),
            "{form}"
        );
        assert_eq!(first.events_used, diff(&["new:event"], &["old:event"], &[]), "{form}");
        assert_eq!(second.events_used, diff(&[], &[], &["new:event"]), "{form}");
        assert_eq!(removal.channels, diff(&[], &["shop"], &[]), "{form}");
        assert_eq!(removal.listeners, diff(&[], &["shop:item:three"], &[]), "{form}");
        assert_eq!(removal.events_used, diff(&[], &["new:event"], &[]), "{form}");
        live.shutdown().await;
    }
    Ok(())
}
