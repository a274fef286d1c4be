//! The manifest of a module: where it is read, its bounds, and what is kept of it (spec D5, D10, C5, S2).

use anyhow::{Context as _, Result};
use pointwork::ModuleInfo;

use super::at_root;
use crate::case::{Harness, Live, cases};
use crate::flavor::Flavor;
use crate::guest::{Channel, Controller, Discovery, Flood, Guest, Program, Step};
use crate::subject::AppSpec;

cases![
    host;
    a_manifest_that_differs_when_it_is_read_again_is_refused: D5, D9;
    a_manifest_over_its_bounds_is_refused: D10;
    a_manifest_over_its_size_is_refused: D10;
    an_unknown_body_mode_is_refused_with_its_place: H9, D10;
    metadata_is_kept_and_shown: D5 of sdk;
    a_schema_that_is_not_json_is_refused_with_its_place: D10 of sdk;
    a_used_event_without_a_fit_name_is_refused: C4, D10 of sdk;
    the_package_the_sdk_and_the_used_events_are_shown: C4, D5 of sdk;
];

async fn refusal(harness: &Harness, guest: Guest, words: &[&str]) -> Result<()> {
    let refusal = harness.refusal(AppSpec::new().load("suspect", guest.build())).await?;
    for word in words.iter().chain(&["suspect"]) {
        assert!(refusal.contains(word), "`{word}` is not in: {refusal}");
    }
    Ok(())
}

fn info(live: &Live) -> Result<ModuleInfo> {
    let status = live.control().statuses().pop().context("no module")?;
    Ok(status.info)
}

async fn a_manifest_that_differs_when_it_is_read_again_is_refused(harness: Harness) -> Result<()> {
    for form in Flavor::MODULES {
        let first = Controller::new("First", "a").get("the-same", Program::text("a"));
        let second = Controller::new("Second", "b").route("show", Some("GET"), &["one", "two-a"], Program::text("b"));
        let guest = form
            .form(Guest::with(first).controller(second))
            .discovery(Discovery::Differs);
        refusal(&harness, guest, &["controllers[1].routes[0].paths[1]"]).await?;
    }
    Ok(())
}

async fn a_manifest_over_its_bounds_is_refused(harness: Harness) -> Result<()> {
    for (list, declared) in [
        (Flood::Controllers, "controllers"),
        (Flood::Routes, "routes"),
        (Flood::Paths, "routes"),
        (Flood::Channels, "channels"),
        (Flood::Listeners, "listeners"),
        (Flood::Events, "used events"),
    ] {
        let things = Controller::new("Things", "/").get("it", Program::new());
        let db = Channel::new("db").on("one", Program::new());
        let guest = Guest::with(things).channel(db).uses("db:one").flood(list, 10_001);
        refusal(&harness, guest, &["10001", declared, "10000"]).await?;
    }
    Ok(())
}

async fn a_manifest_over_its_size_is_refused(harness: Harness) -> Result<()> {
    let long = "x".repeat(128 * 1024);
    let guest = Guest::new().metadata("description", &long).flood(Flood::Metadata, 64);
    refusal(&harness, guest, &["its manifest is over 8388608 bytes"]).await
}

async fn an_unknown_body_mode_is_refused_with_its_place(harness: Harness) -> Result<()> {
    for word in ["all", "", "Whole", "stream\n"] {
        let things = Controller::new("Things", "/").get("show", Program::new()).takes(word);
        let printed = format!("`{}`", word.escape_debug());
        let words = ["Things", "show", &printed, "`none`, `whole` or `stream`"];
        refusal(&harness, Guest::with(things), &words).await?;
    }
    Ok(())
}

async fn metadata_is_kept_and_shown(harness: Harness) -> Result<()> {
    let things = Controller::new("Things", "things")
        .metadata("tag", "shop")
        .metadata("tag", "public")
        .get("show", Program::new())
        .metadata("summary", "Shows\nit")
        .metadata("response-schema", r#"{"type":"string"}"#)
        .takes("none");
    let db = Channel::new("db")
        .metadata("driver", "none")
        .on("one", Program::new())
        .metadata("x-unknown", "");
    let guest = Guest::with(things).channel(db).metadata("x-of-ours", "7");
    let live = harness.start(AppSpec::new().load("m", guest.build())).await?;
    let info = info(&live)?;
    let pairs = |pairs: &[(&str, &str)]| -> Vec<_> {
        let owned = pairs
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        owned.collect()
    };
    assert_eq!(info.metadata, pairs(&[("x-of-ours", "7")]));
    let [controller] = &*info.controllers else {
        panic!("one controller, not {:?}", info.controllers)
    };
    assert_eq!(
        (controller.name.as_str(), controller.prefix.as_str()),
        ("Things", "things")
    );
    assert_eq!(controller.metadata, pairs(&[("tag", "shop"), ("tag", "public")]));
    let [handler] = &*controller.handlers else {
        panic!("one handler, not {:?}", controller.handlers)
    };
    assert_eq!((handler.name.as_str(), handler.body.as_str()), ("show", "none"));
    assert_eq!(
        (handler.method.as_deref(), &*handler.paths),
        (Some("GET"), &["show".to_owned()][..])
    );
    let summary = [("summary", "Shows\nit"), ("response-schema", r#"{"type":"string"}"#)];
    assert_eq!(handler.metadata, pairs(&summary));
    assert_eq!(info.channels[0].metadata, pairs(&[("driver", "none")]));
    assert_eq!(info.channels[0].listeners[0].metadata, pairs(&[("x-unknown", "")]));
    live.shutdown().await;
    Ok(())
}

async fn a_schema_that_is_not_json_is_refused_with_its_place(harness: Harness) -> Result<()> {
    let things = Controller::new("Things", "/")
        .get("show", Program::new())
        .metadata("request-schema", "{type: string}");
    refusal(
        &harness,
        Guest::with(things),
        &["Things", "show", "`request-schema`", "JSON"],
    )
    .await?;
    let db = Channel::new("db")
        .on("one", Program::new())
        .metadata("response-schema", "");
    refusal(&harness, Guest::new().channel(db), &["db", "`response-schema`", "JSON"]).await?;
    let guest = Guest::new().metadata("response-schema", "]");
    refusal(&harness, guest, &["`response-schema`", "JSON"]).await
}

async fn a_used_event_without_a_fit_name_is_refused(harness: Harness) -> Result<()> {
    for (event, problem) in [
        ("".to_owned(), "empty"),
        ("x".repeat(256), "256 bytes"),
        ("a\nb".to_owned(), "\\u{a}"),
    ] {
        refusal(&harness, Guest::new().uses(&event), &["used events", problem]).await?;
    }
    Ok(())
}

async fn the_package_the_sdk_and_the_used_events_are_shown(harness: Harness) -> Result<()> {
    let guest = Guest::with(Controller::new("Things", "/").get("it", Program::new().step(Step::Count)))
        .package("shop", "1.2.3")
        .uses("db:one")
        .uses("plain");
    let live = harness.start(AppSpec::new().load("m", guest.build())).await?;
    let told = info(&live)?;
    assert_eq!(
        (told.package.as_deref(), told.package_version.as_deref()),
        (Some("shop"), Some("1.2.3"))
    );
    let sdk = concat!("pointwork-guest ", env!("CARGO_PKG_VERSION"));
    assert_eq!((told.sdk.as_str(), told.language.as_str()), (sdk, "program"));
    assert_eq!(told.events_used, ["db:one", "plain"]);
    assert_eq!(
        live.get("/it").await?.text(),
        "1",
        "the manifest is read on other instances"
    );
    live.shutdown().await;
    let live = harness
        .start(AppSpec::new().load("m", at_root(|t| t.get("it", Program::new()))))
        .await?;
    let told = info(&live)?;
    assert_eq!((told.package, told.package_version), (None, None));
    live.shutdown().await;
    Ok(())
}
