//! The listeners that a module may declare, and the declarations that refuse the whole module (spec C1, C2, C5).

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use pointwork::{ModuleLimits, ModuleOptions};

use super::{adding, calling};
use crate::case::{Harness, cases};
use crate::flavor::Flavor;
use crate::guest::{Channel, Controller, Discovery, Guest, Program, of_world};
use crate::subject::{AppSpec, Step};

cases![
    host;
    a_channel_without_a_fit_name_refuses_the_module: C1 of sdk;
    an_event_without_a_fit_name_refuses_the_module: C1 of sdk;
    an_event_twice_in_a_channel_refuses_the_module: C1 of sdk;
    two_modules_with_one_listener_are_both_named: C1, C3;
    a_module_and_the_host_with_one_listener_are_both_named: C1, C3;
    two_modules_may_share_a_channel: C1, C3;
    a_refused_channel_module_leaves_the_application_as_it_was: C1, C3;
    two_forms_in_one_module_are_refused: C3 without guest;
    a_module_of_channels_alone_has_no_routes: C1, C3, M5 of sdk;
    a_channel_module_gets_no_capability_by_default: C5;
    a_module_that_traps_when_asked_for_its_channels_is_refused: C1;
    a_module_that_loops_when_asked_for_its_channels_is_refused: C1;
];

/// A module that also has a route, so that a refusal has to undo more than channels.
fn with_route(form: Flavor, channels: impl IntoIterator<Item = Channel>) -> Arc<[u8]> {
    let guest = Guest::with(Controller::new("Things", "/").get("suspect", Program::text("served")));
    let guest = channels.into_iter().fold(guest, Guest::channel);
    form.form(guest).build().into()
}

async fn is_refused(harness: &Harness, component: Arc<[u8]>, words: &[&str]) -> Result<()> {
    let refusal = harness.refusal(AppSpec::new().load("suspect", component)).await?;
    for word in words.iter().chain(&["suspect"]) {
        assert!(refusal.contains(word), "`{word}` is not in: {refusal}");
    }
    Ok(())
}

async fn a_channel_without_a_fit_name_refuses_the_module(harness: Harness) -> Result<()> {
    for form in Flavor::MODULES {
        for name in ["", "a:b", ":", "a b", "a\n"] {
            let printed = name.escape_debug().to_string();
            let channel = adding(name, "one", "row");
            is_refused(&harness, with_route(form, [channel]), &["channel", &printed]).await?;
        }
    }
    Ok(())
}

async fn an_event_without_a_fit_name_refuses_the_module(harness: Harness) -> Result<()> {
    for form in Flavor::MODULES {
        for name in ["", "a b", "a\n"] {
            let printed = name.escape_debug().to_string();
            let channel = adding("db", name, "row");
            is_refused(&harness, with_route(form, [channel]), &["event", &printed]).await?;
        }
    }
    Ok(())
}

async fn an_event_twice_in_a_channel_refuses_the_module(harness: Harness) -> Result<()> {
    for form in Flavor::MODULES {
        let twice = adding("db", "one", "first").on("one", Program::new());
        is_refused(&harness, with_route(form, [twice]), &["db", "one"]).await?;
        // A channel may be listed in two parts, but the parts must not overlap.
        let parts = [adding("db", "one", "first"), adding("db", "one", "second")];
        is_refused(&harness, with_route(form, parts), &["db", "one"]).await?;
    }
    Ok(())
}

async fn two_modules_with_one_listener_are_both_named(harness: Harness) -> Result<()> {
    for (first, second) in [
        (Flavor::Module, Flavor::AsyncModule),
        (Flavor::AsyncModule, Flavor::Module),
    ] {
        let app = AppSpec::new()
            .load("shop", with_route(first, [adding("db", "one", "first")]))
            .load(
                "suspect",
                second.form(Guest::new().channel(adding("db", "one", "second"))).build(),
            );
        let refusal = harness.refusal(app).await?;
        for word in ["shop", "suspect", "db", "one"] {
            assert!(refusal.contains(word), "`{word}` is not in: {refusal}");
        }
    }
    Ok(())
}

async fn a_module_and_the_host_with_one_listener_are_both_named(harness: Harness) -> Result<()> {
    let words = ["shop", "the host application", "db", "one"];
    for flavor in Flavor::MODULES {
        let module = flavor.form(Guest::new().channel(adding("db", "one", "module"))).build();
        let module_last = AppSpec::new()
            .channel(Flavor::Native, adding("db", "one", "native"))
            .load("shop", module.clone());
        let native_last = AppSpec::new()
            .load("shop", module)
            .channel(Flavor::Native, adding("db", "one", "native"));
        let refusal = harness.refusal(module_last).await?;
        for word in words {
            assert!(refusal.contains(word), "`{word}` is not in: {refusal}");
        }
        // The host application registers here, so the refusal need not name it.
        let refusal = harness.refusal(native_last).await?;
        for word in ["shop", "db", "one"] {
            assert!(refusal.contains(word), "`{word}` is not in: {refusal}");
        }
    }
    Ok(())
}

async fn two_modules_may_share_a_channel(harness: Harness) -> Result<()> {
    let part = |form: Flavor, event: &str| form.form(Guest::new().channel(adding("db", event, event))).build();
    let program = Program::text("a").call("db:one").call("db:two").call("db:three");
    let app = super::routing(Flavor::Module, "it", program)
        .load("first", part(Flavor::Module, "one"))
        .load("second", part(Flavor::AsyncModule, "two"))
        .channel(Flavor::Native, adding("db", "three", "three"));
    let live = harness.start(app).await?;
    assert_eq!(live.get("/it").await?.text(), "a one two three");
    live.shutdown().await;
    Ok(())
}

async fn a_refused_channel_module_leaves_the_application_as_it_was(harness: Harness) -> Result<()> {
    for form in Flavor::MODULES {
        let app = calling("db:one").channel(form, adding("db", "one", "old"));
        let live = harness.start(app).await?;
        // The first listener would be accepted, the event of the second is taken.
        let rival = with_route(form, [adding("db", "two", "new"), adding("db", "one", "new")]);
        assert!(
            live.control()
                .apply(Step::Load("rival".to_owned(), rival))
                .await
                .is_err()
        );
        let (unnamed, twice) = (
            adding("", "one", "new"),
            adding("new", "a", "new").on("a", Program::new()),
        );
        for broken in [unnamed, twice] {
            let rival = with_route(form, [adding("db", "two", "new"), broken]);
            assert!(
                live.control()
                    .apply(Step::Load("rival".to_owned(), rival))
                    .await
                    .is_err()
            );
        }
        assert_eq!(live.get("/it/7").await?.text(), "\"7\" old", "{form}");
        assert_eq!(
            live.get("/suspect").await?.status,
            404,
            "{form}: no part of it is served"
        );
        assert_eq!(live.routes(), ["GET /it/:id"], "{form}");
        // The module's name and the first event are still free.
        let two = form
            .form(Guest::new().channel(adding("db", "two", "two")))
            .build()
            .into();
        live.control().apply(Step::Load("rival".to_owned(), two)).await?;
        live.shutdown().await;
    }
    Ok(())
}

async fn two_forms_in_one_module_are_refused(harness: Harness) -> Result<()> {
    let component = of_world("include module; include module-async;", |contract| contract);
    is_refused(&harness, component.into(), &["handlers", "handlers-async"]).await
}

async fn a_module_of_channels_alone_has_no_routes(harness: Harness) -> Result<()> {
    for flavor in Flavor::MODULES {
        let live = harness
            .start(AppSpec::new().channel(flavor, adding("db", "one", "row")))
            .await?;
        assert_eq!(
            (live.routes(), live.control().route_count()),
            (Vec::new(), 0),
            "{flavor}"
        );
        assert_eq!(live.get("/").await?.status, 404, "{flavor}");
        live.shutdown().await;
    }
    Ok(())
}

async fn a_channel_module_gets_no_capability_by_default(harness: Harness) -> Result<()> {
    for form in Flavor::MODULES {
        for import in [
            "wasi:filesystem/types@0.2.6",
            "wasi:random/random@0.2.6",
            "somebody:else/thing@1.0.0",
        ] {
            let guest = form.form(Guest::new().channel(adding("db", "one", "row")));
            is_refused(&harness, guest.importing(import).build().into(), &[import]).await?;
        }
    }
    Ok(())
}

async fn a_module_that_traps_when_asked_for_its_channels_is_refused(harness: Harness) -> Result<()> {
    for form in Flavor::MODULES {
        let guest = Guest::new()
            .channel(adding("db", "one", "row"))
            .discovery(Discovery::Traps);
        is_refused(&harness, form.form(guest).build().into(), &["describe"]).await?;
    }
    Ok(())
}

async fn a_module_that_loops_when_asked_for_its_channels_is_refused(harness: Harness) -> Result<()> {
    for form in Flavor::MODULES {
        let guest = Guest::new()
            .channel(adding("db", "one", "row"))
            .discovery(Discovery::Loops);
        let limits = ModuleLimits::new().probe(Duration::from_millis(500));
        let options = ModuleOptions::new().limits(limits);
        let app = AppSpec::new().load_with("suspect", form.form(guest).build(), options);
        let refusal = harness.refusal(app).await?;
        assert!(refusal.contains("suspect"), "{refusal}");
    }
    Ok(())
}
