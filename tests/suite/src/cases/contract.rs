//! The versions of the contract, and the capabilities of a module (spec C5, E3, D4).

use anyhow::{Context as _, Result};
use serde_json::json;

use super::fixed;
use crate::case::{Harness, cases};
use crate::client::Request;
use crate::fixtures::Fixture;
use crate::flavor::Flavor;
use crate::guest::{Channel, Controller, Guest, Program, of_world};
use crate::subject::{AppSpec, ModuleSettings, Step};

cases![
    host;
    a_component_of_every_released_version_serves [Kept]: D4, E3;
    a_module_of_a_later_patch_version_serves: D4;
    a_function_that_the_host_does_not_have_is_named: D4, E3 without guest;
    a_module_waits_in_its_own_form: D4, E3 without guest;
    a_module_without_channels_imports_nothing_but_the_contract: C5;
    a_module_without_channels_is_granted_nothing: C5;
    a_swap_to_a_module_without_channels_is_refused_its_grants: C5;
];

async fn a_component_of_every_released_version_serves(harness: Harness) -> Result<()> {
    let live = harness
        .start(AppSpec::new().load("kept", harness.fixture(Fixture::Kept).await?))
        .await?;
    assert_eq!(live.get("/kept/w%C3%B6rld").await?.text(), "hello wörld");
    assert_eq!(live.get("/kept/call/7").await?.text(), "7 heard");
    let sent = live.send(Request::new("POST", "/kept").body("a body")).await?;
    assert_eq!(sent.text(), "a body");
    let refused = live.get("/kept/missing").await?;
    assert_eq!(
        (
            refused.status,
            refused.text().as_str(),
            refused.header("x-kept").as_deref()
        ),
        (404, r#"{"message":"not kept","since":"0.2.0"}"#, Some("1"))
    );
    live.shutdown().await;
    Ok(())
}

fn greeting() -> Guest {
    Guest::with(Controller::new("Things", "/").get("it", Program::text("a")))
}

async fn a_module_of_a_later_patch_version_serves(harness: Harness) -> Result<()> {
    for form in Flavor::MODULES {
        let component = form.form(greeting()).contract_version("0.2.7").build();
        let live = harness.start(AppSpec::new().load("m", component)).await?;
        assert_eq!(live.get("/it").await?.text(), "a");
        let status = live.control().statuses().pop().context("no module")?;
        assert_eq!(status.info.version, "0.2.7");
        live.shutdown().await;
    }
    Ok(())
}

async fn a_function_that_the_host_does_not_have_is_named(harness: Harness) -> Result<()> {
    for form in Flavor::MODULES {
        let later = |contract: String| {
            let contract = contract.replace("0.2.0", "0.2.7");
            contract.replace("interface log {", "interface log { colour: func();")
        };
        let component = of_world(&format!("include {};", form.world()), later);
        let refusal = harness.refusal(AppSpec::new().load("suspect", component)).await?;
        for word in ["suspect", "pointwork:module/log@0.2.7", "`colour`", "update the host"] {
            assert!(refusal.contains(word), "`{word}` is not in: {refusal}");
        }
    }
    Ok(())
}

async fn a_module_waits_in_its_own_form(harness: Harness) -> Result<()> {
    for (form, found, expected) in [
        (Flavor::Module, "context-async", "context-sync"),
        (Flavor::AsyncModule, "context-sync", "context-async"),
    ] {
        let world = form.world();
        let items = format!("include {world}; import {found};");
        let component = of_world(&items, |contract| contract);
        let refusal = harness.refusal(AppSpec::new().load("suspect", component)).await?;
        let interface = |name: &str| format!("`pointwork:module/{name}`");
        for word in [
            "suspect",
            &interface(found),
            &interface(expected),
            &format!("`{world}`"),
        ] {
            assert!(refusal.contains(word), "`{word}` is not in: {refusal}");
        }
    }
    Ok(())
}

/// Checks that the refusal explains the rule.
fn explains(refusal: &str, words: &[&str]) {
    for word in words.iter().chain(&["a module without channels", "call channels"]) {
        assert!(refusal.contains(word), "`{word}` is not in: {refusal}");
    }
}

/// Checks that the refusal of a module that declares no channel explains the rule, and advises no grant.
fn explains_without_advice(refusal: &str, words: &[&str]) {
    explains(refusal, &["declares no channel"]);
    explains(refusal, words);
    for advice in ["[module.grant]", "not granted"] {
        assert!(!refusal.contains(advice), "`{advice}` is in: {refusal}");
    }
}

async fn a_module_without_channels_imports_nothing_but_the_contract(harness: Harness) -> Result<()> {
    for form in Flavor::MODULES {
        for import in ["wasi:filesystem/types@0.2.6", "wasi:random/random@0.2.6"] {
            let component = form.form(greeting()).importing(import).build();
            let refusal = harness.refusal(AppSpec::new().load("suspect", component)).await?;
            // Its channels are not known before it is compiled.
            explains(
                &refusal,
                &[
                    "suspect",
                    import,
                    "not granted",
                    "a module with channels",
                    "[module.grant]",
                ],
            );
        }
    }
    Ok(())
}

async fn a_module_without_channels_is_granted_nothing(harness: Harness) -> Result<()> {
    let directory = json!({ "host": "/tmp", "guest": "/data" });
    let granted = json!({ "clocks": true, "directories": [directory] });
    for component in [
        greeting().build(),
        greeting().importing("wasi:random/random@0.2.6").build(),
    ] {
        let mut granted = granted.clone();
        granted["random"] = json!(true);
        let app = AppSpec::new().load_with("suspect", component, ModuleSettings::granting(granted));
        explains_without_advice(&harness.refusal(app).await?, &["suspect"]);
    }
    let app = AppSpec::new().load_with("suspect", greeting().build(), ModuleSettings::granting(granted));
    let refusal = harness.refusal(app).await?;
    explains_without_advice(&refusal, &["`clocks`", "`directories /data (read-only)`"]);
    Ok(())
}

async fn a_swap_to_a_module_without_channels_is_refused_its_grants(harness: Harness) -> Result<()> {
    let random = "wasi:random/random@0.2.6";
    let options = || ModuleSettings::granting(json!({ "random": true }));
    let with_channel = greeting()
        .channel(Channel::new("db").on("one", Program::new()))
        .importing(random);
    let live = harness
        .start(AppSpec::new().load_with("m", with_channel.build(), options()))
        .await?;
    for component in [fixed("it", "b"), greeting().importing(random).build().into()] {
        let swap = Step::SwapWith("m".to_owned(), component, options());
        let refusal = live.control().apply(swap).await.err().context("the swap is refused")?;
        explains_without_advice(refusal.text(), &["`m`"]);
        assert_eq!(live.get("/it").await?.text(), "a");
    }
    // A swap without options keeps those of the version that serves.
    let swap = Step::Swap("m".to_owned(), fixed("it", "b"));
    let refusal = live.control().apply(swap).await.err().context("the swap is refused")?;
    explains_without_advice(refusal.text(), &["`m`", "`random`"]);
    let swap = Step::SwapWith("m".to_owned(), fixed("it", "b"), ModuleSettings::default());
    live.control().apply(swap).await?;
    assert_eq!(live.get("/it").await?.text(), "b");
    live.shutdown().await;
    Ok(())
}
