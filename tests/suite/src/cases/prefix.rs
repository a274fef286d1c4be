//! The global prefix (spec G).

use anyhow::Result;
use pointwork_core::Context;

use super::{at_root, fixed};
use crate::case::{Harness, cases};
use crate::guest::{Program, Step};
use crate::subject::AppSpec;

cases![
    host;
    connect_to_takes_a_prefix: G1 of adapter in hosts;
    set_global_prefix_prefixes_what_comes_afterwards: G1, G2 in hosts;
    what_came_before_the_prefix_has_none: G2 without guest;
    one_module_serves_under_any_prefix: G3, D4;
    a_prefix_that_is_set_twice_applies_once: G4;
    a_prefix_of_both_calls_applies_once: G4;
    the_context_shows_the_path_with_the_prefix: G5 of sdk and adapter in hosts;
    the_route_is_the_full_pattern: G5, P1 of sdk;
];

async fn connect_to_takes_a_prefix(harness: Harness) -> Result<()> {
    let live = harness
        .start(AppSpec::new().load("m", fixed("a", "a")).attach(Some("api")))
        .await?;
    assert_eq!(live.get("/api/a").await?.text(), "a");
    assert_eq!(live.get("/a").await?.status, 404);
    assert_eq!(live.routes(), ["GET /api/a"]);
    live.shutdown().await;
    Ok(())
}

async fn set_global_prefix_prefixes_what_comes_afterwards(harness: Harness) -> Result<()> {
    let app =
        AppSpec::new()
            .prefix("/api/v1/")
            .load("m", fixed("a", "a"))
            .register("GET", "/native", |_: Context| async { "native" });
    let live = harness.start(app).await?;
    assert_eq!(live.get("/api/v1/a").await?.text(), "a");
    assert_eq!(live.get("/api/v1/native").await?.text(), "native");
    live.shutdown().await;
    Ok(())
}

async fn what_came_before_the_prefix_has_none(harness: Harness) -> Result<()> {
    let app = AppSpec::new()
        .register("GET", "/before", |_: Context| async { "before" })
        .prefix("api")
        .register("GET", "/after", |_: Context| async { "after" });
    let live = harness.start(app).await?;
    assert_eq!(live.get("/before").await?.text(), "before");
    assert_eq!(live.get("/api/after").await?.text(), "after");
    assert_eq!(live.get("/api/before").await?.status, 404);
    assert_eq!(live.get("/after").await?.status, 404);
    live.shutdown().await;
    Ok(())
}

async fn one_module_serves_under_any_prefix(harness: Harness) -> Result<()> {
    let module = fixed("a", "a");
    for prefix in ["one", "two/deep"] {
        let live = harness
            .start(AppSpec::new().prefix(prefix).load("m", module.clone()))
            .await?;
        assert_eq!(live.get(&format!("/{prefix}/a")).await?.text(), "a");
        live.shutdown().await;
    }
    Ok(())
}

async fn a_prefix_that_is_set_twice_applies_once(harness: Harness) -> Result<()> {
    let live = harness
        .start(AppSpec::new().prefix("api").prefix("api").load("m", fixed("a", "a")))
        .await?;
    assert_eq!(live.routes(), ["GET /api/a"]);
    assert_eq!(live.get("/api/a").await?.text(), "a");
    assert_eq!(live.get("/api/api/a").await?.status, 404);
    live.shutdown().await;
    Ok(())
}

async fn a_prefix_of_both_calls_applies_once(harness: Harness) -> Result<()> {
    let live = harness
        .start(
            AppSpec::new()
                .prefix("api")
                .load("m", fixed("a", "a"))
                .attach(Some("/api")),
        )
        .await?;
    assert_eq!(live.get("/api/a").await?.text(), "a");
    assert_eq!(live.get("/api/api/a").await?.status, 404);
    live.shutdown().await;
    Ok(())
}

async fn the_context_shows_the_path_with_the_prefix(harness: Harness) -> Result<()> {
    let module = at_root(|t| t.get("a/:x", Program::new().step(Step::Path)));
    let live = harness.start(AppSpec::new().prefix("api").load("m", module)).await?;
    assert_eq!(live.get("/api/a/b%20c?q=1").await?.text(), "/api/a/b%20c");
    live.shutdown().await;
    Ok(())
}

async fn the_route_is_the_full_pattern(harness: Harness) -> Result<()> {
    let module = at_root(|t| t.get("a/:x", Program::new().step(Step::Route)));
    let live = harness.start(AppSpec::new().prefix("api").load("m", module)).await?;
    assert_eq!(live.get("/api/a/b").await?.text(), "/api/a/:x");
    live.shutdown().await;
    Ok(())
}
