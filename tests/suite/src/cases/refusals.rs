//! Modules that the host refuses as a whole, each with the reason (spec D10, P7, and the invalid input of a load).

use std::time::Duration;

use anyhow::Result;
use pointwork::{ModuleLimits, ModuleOptions};
use pointwork_core::Context;

use super::{at_root, fixed};
use crate::case::{Harness, cases};
use crate::guest::{Controller, Discovery, Guest, Program, core_module, foreign_component, truncated_component};
use crate::subject::{AppSpec, Step};

cases![
    host;
    a_file_that_is_no_component_is_refused: D10 without guest;
    a_core_module_is_refused: D10 without guest;
    a_truncated_component_is_refused: D10;
    a_component_of_another_world_is_refused: D10 without guest;
    a_component_of_another_contract_version_is_refused: D10, E3;
    an_import_that_a_controller_may_not_have_is_named: C5, D10;
    a_method_that_is_no_token_refuses_the_module: D10 of sdk;
    a_pattern_that_does_not_parse_refuses_the_module: P4, P6 of sdk;
    a_conflict_within_a_module_names_both_handlers: P7 of sdk;
    a_conflict_between_modules_names_both: P7;
    a_conflict_with_a_manual_route_names_both: P7 in hosts;
    a_refused_load_leaves_the_table_as_it_was: P7;
    a_module_that_traps_in_discovery_is_refused: D5;
    a_module_that_loops_in_discovery_is_refused: D5;
];

async fn is_refused(harness: &Harness, component: impl Into<std::sync::Arc<[u8]>>, words: &[&str]) -> Result<String> {
    let refusal = harness.refusal(AppSpec::new().load("suspect", component)).await?;
    for word in words.iter().chain(&["suspect"]) {
        assert!(refusal.contains(word), "`{word}` is not in: {refusal}");
    }
    Ok(refusal)
}

async fn a_file_that_is_no_component_is_refused(harness: Harness) -> Result<()> {
    for bytes in [&b"Dear Sir or Madam"[..], b"", b"\0asm", b"\x7fELF\x02\x01\x01"] {
        is_refused(&harness, bytes, &["component"]).await?;
    }
    Ok(())
}

async fn a_core_module_is_refused(harness: Harness) -> Result<()> {
    is_refused(&harness, core_module(), &["core module", "component"]).await?;
    Ok(())
}

async fn a_truncated_component_is_refused(harness: Harness) -> Result<()> {
    let whole = fixed("a", "a");
    is_refused(&harness, truncated_component(&whole)?, &["export"]).await?;
    let broken = &whole[..whole.len() - 10];
    is_refused(&harness, broken, &[]).await?;
    Ok(())
}

async fn a_component_of_another_world_is_refused(harness: Harness) -> Result<()> {
    is_refused(&harness, foreign_component(), &["pointwork:module", "manifest"]).await?;
    Ok(())
}

async fn a_component_of_another_contract_version_is_refused(harness: Harness) -> Result<()> {
    let guest = Guest::with(Controller::new("Things", "/").get("a", Program::text("a")));
    for (version, advice) in [
        ("0.1.0", "rebuild"),
        ("0.3.0", "update the host"),
        ("9.0.0", "update the host"),
    ] {
        let component = guest.clone().contract_version(version).build();
        is_refused(&harness, component, &[version, "0.2.x", advice]).await?;
    }
    Ok(())
}

async fn an_import_that_a_controller_may_not_have_is_named(harness: Harness) -> Result<()> {
    for import in ["wasi:filesystem/types@0.2.6", "somebody:else/thing@1.0.0"] {
        let guest = Guest::with(Controller::new("Things", "/").get("a", Program::text("a"))).importing(import);
        is_refused(&harness, guest.build(), &[import]).await?;
    }
    Ok(())
}

async fn a_method_that_is_no_token_refuses_the_module(harness: Harness) -> Result<()> {
    for method in ["GE T", "", "GET\n", "GÉT", "GET,PUT"] {
        let things = Controller::new("Things", "/").route("odd", Some(method), &["a"], Program::new());
        let printed = method.escape_debug().to_string();
        is_refused(&harness, Guest::with(things).build(), &["Things", "odd", &printed]).await?;
    }
    Ok(())
}

async fn a_pattern_that_does_not_parse_refuses_the_module(harness: Harness) -> Result<()> {
    for path in ["a/*rest/more", "a/:", "a/*", "a/:x/:x", "a//b", "a?b", "a#b"] {
        let things = Controller::new("Things", "/").route("odd", Some("GET"), &[path], Program::new());
        is_refused(&harness, Guest::with(things).build(), &["Things", "odd", path]).await?;
    }
    Ok(())
}

async fn a_conflict_within_a_module_names_both_handlers(harness: Harness) -> Result<()> {
    let things = Controller::new("Things", "/")
        .route("first", Some("GET"), &["a/:x"], Program::new())
        .route("second", Some("GET"), &["a/:y"], Program::new());
    is_refused(
        &harness,
        Guest::with(things).build(),
        &["first", "second", "/a/:x", "/a/:y"],
    )
    .await?;
    Ok(())
}

async fn a_conflict_between_modules_names_both(harness: Harness) -> Result<()> {
    let app = AppSpec::new()
        .load("shop", at_root(|t| t.get("users/:id", Program::new())))
        .load("admin", at_root(|t| t.get("users/:name", Program::new())));
    let refusal = harness.refusal(app).await?;
    for word in ["shop", "admin", "/users/:id", "/users/:name", "GET"] {
        assert!(refusal.contains(word), "`{word}` is not in: {refusal}");
    }
    Ok(())
}

async fn a_conflict_with_a_manual_route_names_both(harness: Harness) -> Result<()> {
    let app = AppSpec::new()
        .register("GET", "/users/:who", |_: Context| async { "manual" })
        .load("shop", at_root(|t| t.get("users/:id", Program::new())));
    let refusal = harness.refusal(app).await?;
    for word in ["shop", "/users/:id", "/users/:who"] {
        assert!(refusal.contains(word), "`{word}` is not in: {refusal}");
    }
    Ok(())
}

async fn a_refused_load_leaves_the_table_as_it_was(harness: Harness) -> Result<()> {
    let live = harness
        .start(AppSpec::new().load("shop", at_root(|t| t.get("a", Program::text("old")))))
        .await?;
    let rival = at_root(|t| t.get("b", Program::text("new")).get("a", Program::text("new")));
    assert!(
        live.control()
            .apply(Step::Load("rival".to_owned(), rival))
            .await
            .is_err()
    );
    assert_eq!(live.get("/a").await?.text(), "old");
    assert_eq!(
        live.get("/b").await?.status,
        404,
        "no part of a refused module is served"
    );
    assert_eq!(live.routes(), ["GET /a"]);
    live.shutdown().await;
    Ok(())
}

async fn a_module_that_traps_in_discovery_is_refused(harness: Harness) -> Result<()> {
    let guest = Guest::with(Controller::new("Things", "/")).discovery(Discovery::Traps);
    is_refused(&harness, guest.build(), &["describe"]).await?;
    Ok(())
}

async fn a_module_that_loops_in_discovery_is_refused(harness: Harness) -> Result<()> {
    let guest = Guest::with(Controller::new("Things", "/")).discovery(Discovery::Loops);
    let limits = ModuleLimits::new().probe(Duration::from_millis(500));
    let app = AppSpec::new().load_with("suspect", guest.build(), ModuleOptions::new().limits(limits));
    let refusal = harness.refusal(app).await?;
    assert!(refusal.contains("suspect"), "{refusal}");
    Ok(())
}
