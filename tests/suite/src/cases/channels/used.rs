//! The events that modules declare to use: warned of without a listener, and named in the difference of a change
//! (spec C4, S5).

use std::sync::Arc;

use anyhow::Result;
use pointwork::{ChangeKind, Diff, ModuleOptions};
use pointwork_test_clock::real::until;

use super::adding;
use crate::case::{Harness, cases};
use crate::flavor::Flavor;
use crate::guest::{Channel, Controller, Guest, Program};
use crate::subject::{AppSpec, ModuleSettings, Refusal, Step};

cases![
    host;
    an_event_that_nobody_listens_to_is_warned_of_at_load_swap_and_remove: C4;
    a_change_tells_what_became_of_channels_listeners_and_events_used: S5;
    a_module_that_takes_an_event_in_use_is_refused_unless_it_is_allowed: C2, C4, S2, S5;
    a_swap_that_gives_an_event_in_use_up_is_refused_unless_it_is_allowed: C2, C4, S2, S5;
    a_module_that_uses_an_ambiguous_event_is_refused: C2, S2;
    a_roll_back_may_give_an_event_up: C2, S5;
    an_event_that_is_used_and_not_listed_is_warned_of_once: C4;
];

/// A module with a route, the listener `{channel}:item:{event}`, and an event that it uses.
fn module(form: Flavor, channel: &str, event: &str, used: &str) -> Arc<[u8]> {
    let things = Controller::new("Things", "/").get(channel, Program::text("it"));
    let listens = adding(channel, &format!("item:{event}"), "it");
    form.form(Guest::with(things).channel(listens).uses(used))
        .build()
        .into()
}

/// Options that allow a change of the names of a channel.
fn allowing(channel: &str) -> ModuleSettings {
    ModuleOptions::new().channels([channel.to_owned()]).into()
}

/// A module with a channel, without routes.
fn listening(form: Flavor, channel: &str, event: &str) -> Arc<[u8]> {
    let guest = Guest::new().channel(adding(channel, event, channel));
    form.form(guest).build().into()
}

/// `GET /it/7` calls the event, which the module declares to use.
fn shop(event: &str) -> Arc<[u8]> {
    let program = Program::new().say("\"").param("id").say("\"").call(event);
    let things = Controller::new("Things", "/").get("it/:id", program);
    Guest::with(things).uses(event).build().into()
}

fn names(refusal: &Refusal, words: &[&str]) {
    for word in words {
        assert!(refusal.text().contains(word), "`{word}` is not in: {refusal}");
    }
}

async fn an_event_that_nobody_listens_to_is_warned_of_at_load_swap_and_remove(harness: Harness) -> Result<()> {
    let expects = |step: &str, expected: &[&str]| {
        let warned = harness.logs().everywhere().into_iter();
        let warned = warned.filter(|line| line.level == tracing::Level::WARN && line.text.contains("used-by"));
        let warned: Vec<_> = warned.map(|line| line.text).collect();
        assert_eq!(warned.len(), expected.len(), "{step}: {warned:?}");
        for (warned, expected) in warned.iter().zip(expected) {
            assert!(warned.contains(expected), "{step}: {warned}");
        }
    };
    let load = |name: &str, component| Step::Load(name.to_owned(), component);
    let live = harness.start(AppSpec::new()).await?;
    let control = live.control();
    let caller = |event: &str| module(Flavor::Module, "front", "one", event);
    control
        .apply(load("stock", module(Flavor::Module, "stock", "one", "stock:item:one")))
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
        .apply(Step::SwapWith(
            "stock".to_owned(),
            module(Flavor::Module, "stock", "two", "x"),
            allowing("stock"),
        ))
        .await?;
    let lost = "module=used-by-front event=stock:item:one";
    expects("a swap that takes the listener away", &[nearest, lost]);
    control
        .apply(Step::Swap(
            "stock".to_owned(),
            module(Flavor::Module, "stock", "one", "x"),
        ))
        .await?;
    control.apply(Step::Remove("stock".to_owned())).await?;
    expects("remove", &[nearest, lost, lost]);
    live.shutdown().await;
    Ok(())
}

async fn a_change_tells_what_became_of_channels_listeners_and_events_used(harness: Harness) -> Result<()> {
    let diff = |added: &[&str], removed: &[&str], kept: &[&str]| {
        let list = |items: &[&str]| items.iter().map(|&item| item.to_owned()).collect();
        let mut diff = Diff::default();
        (diff.added, diff.removed, diff.kept) = (list(added), list(removed), list(kept));
        diff
    };
    for form in Flavor::MODULES {
        let live = harness
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

async fn a_module_that_takes_an_event_in_use_is_refused_unless_it_is_allowed(harness: Harness) -> Result<()> {
    let both = [
        "`product:viewed` of module `taker`",
        "`db:product:viewed`",
        "`channels = [\"product\"]`",
    ];
    for flavor in Flavor::ALL {
        for form in Flavor::MODULES {
            let app = AppSpec::new()
                .channel(flavor, adding("db", "product:viewed", "db"))
                .load("shop", shop("product:viewed"));
            let live = harness.start(app).await?;
            let control = live.control();
            let load = || ("taker".to_owned(), listening(form, "product", "viewed"));
            let (name, taker) = load();
            let refusal = control.apply(Step::Load(name, taker)).await.expect_err("a load");
            names(&refusal, &both);
            names(&refusal, &["which module `shop` uses"]);
            // A channel of that name takes the event from the other one, too, which then reaches nobody.
            let channel = listening(form, "product", "bought");
            let refusal = control.apply(Step::Load("taker".to_owned(), channel)).await;
            names(&refusal.expect_err("a channel"), &both[1..]);
            let harmless = listening(form, "harmless", "viewed");
            control.apply(Step::Load("taker".to_owned(), harmless.clone())).await?;
            let (name, taker) = load();
            names(
                &control.apply(Step::Swap(name, taker)).await.expect_err("a swap"),
                &both,
            );
            assert_eq!(live.get("/it/7").await?.text(), "\"7\" db", "{flavor}, {form}");
            let (name, taker) = load();
            control.apply(Step::SwapWith(name, taker, allowing("product"))).await?;
            let text = live.get("/it/7").await?.text();
            assert!(text.starts_with("failed ambiguous-event"), "{flavor}, {form}: {text}");
            live.shutdown().await;
        }
    }
    // Without a user the name of the listener itself would be lost.
    let app = AppSpec::new()
        .channel(Flavor::Native, adding("db", "product:viewed", "db"))
        .load("taker", listening(Flavor::Module, "product", "viewed"));
    let refusal = harness.refusal(app).await?;
    names(&Refusal::told(refusal), &both);
    Ok(())
}

async fn a_swap_that_gives_an_event_in_use_up_is_refused_unless_it_is_allowed(harness: Harness) -> Result<()> {
    for form in Flavor::MODULES {
        // The listener comes after its user.
        let app = AppSpec::new()
            .load("shop", shop("viewed"))
            .load("db", listening(form, "db", "viewed"));
        let live = harness.start(app).await?;
        let control = live.control();
        for (next, then) in [
            (listening(form, "db", "bought"), "no listener"),
            (listening(form, "log", "viewed"), "`log:viewed` of module `db`"),
        ] {
            let refusal = control.apply(Step::Swap("db".to_owned(), next)).await;
            names(
                &refusal.expect_err("a swap"),
                &["`db:viewed` of module `db`", then, "`channels = ["],
            );
            assert_eq!(live.get("/it/7").await?.text(), "\"7\" db", "{form}");
        }
        let moved = listening(form, "log", "viewed");
        control
            .apply(Step::SwapWith("db".to_owned(), moved, allowing("log")))
            .await?;
        assert_eq!(live.get("/it/7").await?.text(), "\"7\" log", "{form}");
        let gone = listening(form, "log", "bought");
        control.apply(Step::Swap("db".to_owned(), gone)).await?;
        let text = live.get("/it/7").await?.text();
        assert!(text.starts_with("failed unknown-event"), "{form}: {text}");
        live.shutdown().await;
    }
    Ok(())
}

async fn a_module_that_uses_an_ambiguous_event_is_refused(harness: Harness) -> Result<()> {
    let channels = || {
        AppSpec::new()
            .channel(Flavor::Native, adding("one", "all", "1"))
            .channel(Flavor::Module, adding("two", "all", "2"))
    };
    let refusal = harness.refusal(channels().load("shop", shop("all"))).await?;
    names(
        &Refusal::told(refusal),
        &["`one:all`", "`two:all` of module `two-module`"],
    );
    let live = harness
        .start(channels().load_with("shop", shop("all"), allowing("one")))
        .await?;
    live.shutdown().await;
    Ok(())
}

async fn a_roll_back_may_give_an_event_up(harness: Harness) -> Result<()> {
    let app = AppSpec::new()
        .load("db", listening(Flavor::Module, "db", "bought"))
        .load("shop", shop("viewed"));
    let live = harness.start(app).await?;
    let control = live.control();
    let next = listening(Flavor::Module, "db", "viewed");
    control.apply(Step::Swap("db".to_owned(), next)).await?;
    assert_eq!(live.get("/it/7").await?.text(), "\"7\" db");
    control.apply(Step::RollBack("db".to_owned())).await?;
    assert!(live.get("/it/7").await?.text().starts_with("failed unknown-event"));
    live.shutdown().await;
    Ok(())
}

async fn an_event_that_is_used_and_not_listed_is_warned_of_once(harness: Harness) -> Result<()> {
    for form in Flavor::MODULES {
        // Cases run concurrently and share one log.
        let name = format!("lists-little-{form:?}-{}", harness.subject()).to_lowercase();
        let component = |text: &str| -> Arc<[u8]> {
            let calls = Program::new()
                .call("little:listed")
                .call("little:called")
                .emit("little:emitted")
                .say(text);
            let things = Controller::new("Things", "/").get("it", calls);
            let channel = Channel::new("little")
                .on("listed", Program::text("1"))
                .on("called", Program::text("2"))
                .on("emitted", Program::new().call("little:called"));
            let guest = Guest::with(things).channel(channel).uses("little:listed");
            form.form(guest).build().into()
        };
        let warned = || {
            let lines = harness.logs().everywhere().into_iter();
            let of_module = lines.filter(|line| line.text.contains("does not list it") && line.text.contains(&name));
            let mut events: Vec<_> = of_module
                .filter_map(|line| line.text.split('`').nth(1).map(str::to_owned))
                .collect();
            events.sort_unstable();
            events
        };
        let live = harness.start(AppSpec::new().load(&name, component("one"))).await?;
        for _ in 0..3 {
            assert_eq!(live.get("/it").await?.status, 200, "{form}");
        }
        until("both are warned of", || warned().len() >= 2).await?;
        assert_eq!(warned(), ["little:called", "little:emitted"], "{form}");
        // Each version tells it.
        live.control().apply(Step::Swap(name.clone(), component("two"))).await?;
        assert_eq!(live.get("/it").await?.status, 200, "{form}");
        until("the new version is warned of", || warned().len() >= 4).await?;
        live.shutdown().await;
        assert_eq!(warned().len(), 4, "{form}");
    }
    Ok(())
}
