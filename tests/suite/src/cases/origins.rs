//! The list of routes and the origin of each route (spec M3, M4, M5, E3).

use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use pointwork_core::{Context, Origin};
use pointwork_test_clock::TestClock;
use tracing::Level;

use super::fixed;
use crate::case::{Harness, cases};
use crate::guest::{Channel, Controller, Guest, Program};
use crate::subject::{AppSpec, Step};

cases![
    host;
    records_name_module_controller_and_handler: M3 in hosts;
    routes_loaded_before_the_adapter_are_replayed: M4 of adapter;
    a_module_loaded_while_serving_answers: M4 of adapter in hosts;
    a_module_loaded_while_serving_leaves_the_others_alone: M4;
    the_route_count_is_the_length_of_the_list: M5 in hosts;
    a_swapped_module_answers_with_its_new_routes: M5 of adapter in hosts;
    a_refused_swap_leaves_the_old_module_serving: M5;
    a_removed_module_answers_no_more: M5;
    an_adapter_without_routes_logs_one_error: E3 of adapter in hosts;
    modules_without_routes_beside_a_manual_route_log_one_error: E3 of adapter;
    an_adapter_that_serves_without_a_route_logs_one_error: E3 without guest moves clock;
    an_adapter_connected_before_the_first_load_logs_no_error: E3 of adapter;
    an_adapter_with_only_manual_routes_logs_no_error: E3 without guest;
    an_adapter_with_replayed_routes_logs_no_error: E3;
];

async fn native(_: Context) -> &'static str {
    "native"
}

async fn records_name_module_controller_and_handler(harness: Harness) -> Result<()> {
    let things = Controller::new("Things", "things").route("show", Some("GET"), &[":id"], Program::text("t"));
    let app = AppSpec::new()
        .load("shop", Guest::with(things).build())
        .register("POST", "/by-hand", native);
    let live = harness.start(app).await?;
    let routes = live.control().routes();
    let [declared, manual] = routes.as_slice() else {
        panic!("expected two routes, got {routes:?}")
    };
    assert_eq!(
        (declared.method.as_str(), declared.path.as_str()),
        ("GET", "/things/:id")
    );
    assert_eq!(declared.module.as_deref(), Some("shop"));
    assert_eq!(declared.controller.as_deref(), Some("Things"));
    assert_eq!(declared.handler.as_deref(), Some("show"));
    assert_eq!((manual.method.as_str(), manual.path.as_str()), ("POST", "/by-hand"));
    assert_eq!((manual.origin, manual.module.as_deref()), (Origin::Manual, None));
    live.shutdown().await;
    Ok(())
}

async fn routes_loaded_before_the_adapter_are_replayed(harness: Harness) -> Result<()> {
    let live = harness.start(AppSpec::new().load("m", fixed("early", "early"))).await?;
    assert_eq!(live.control().routes()[0].origin, Origin::Replay);
    assert_eq!(live.get("/early").await?.text(), "early");
    live.shutdown().await;
    Ok(())
}

async fn a_module_loaded_while_serving_answers(harness: Harness) -> Result<()> {
    let live = harness.start(AppSpec::new().load("m", fixed("early", "early"))).await?;
    assert_eq!(live.get("/late").await?.status, 404);
    live.control()
        .apply(Step::Load("late".to_owned(), fixed("late", "late")))
        .await?;
    assert_eq!(live.get("/late").await?.text(), "late");
    let origins: Vec<_> = live.control().routes().iter().map(|route| route.origin).collect();
    assert_eq!(origins, [Origin::Replay, Origin::Decorator]);
    live.shutdown().await;
    Ok(())
}

async fn a_module_loaded_while_serving_leaves_the_others_alone(harness: Harness) -> Result<()> {
    let live = harness.start(AppSpec::new().load("m", fixed("early", "early"))).await?;
    let mut connection = live.connect().await?;
    for step in 0..3 {
        let get = crate::client::Request::new("GET", "/early").to_bytes("localhost");
        connection.write(&get).await?;
        assert_eq!(connection.read_response("GET").await?.text(), "early");
        let name = format!("late-{step}");
        let module = fixed(&name, "late");
        live.control().apply(Step::Load(name, module)).await?;
    }
    live.shutdown().await;
    Ok(())
}

async fn the_route_count_is_the_length_of_the_list(harness: Harness) -> Result<()> {
    let live = harness
        .start(AppSpec::new().load("m", fixed("a", "a")).register("GET", "/b", native))
        .await?;
    assert_eq!(live.control().route_count(), 2);
    live.control()
        .apply(Step::Load("late".to_owned(), fixed("c", "c")))
        .await?;
    assert_eq!(live.control().route_count(), 3);
    assert_eq!(live.control().routes().len(), 3);
    live.shutdown().await;
    Ok(())
}

fn replay_errors(harness: &Harness) -> Vec<String> {
    let errors = harness
        .logs()
        .here()
        .into_iter()
        .filter(|line| line.level == Level::ERROR);
    errors
        .map(|line| line.text)
        .filter(|text| text.contains("replay"))
        .collect()
}

async fn an_adapter_without_routes_logs_one_error(harness: Harness) -> Result<()> {
    let no_controllers = Guest::new().channel(Channel::new("db").on("one", Program::new()));
    let live = harness.start(AppSpec::new().load("db", no_controllers.build())).await?;
    let errors = replay_errors(&harness);
    assert_eq!(errors.len(), 1, "{errors:?}");
    let error = errors.first().context("just counted")?;
    for cause in [harness.adapter(), "answers 404", "no controllers", "`db`", "older"] {
        assert!(error.contains(cause), "`{cause}` is not in: {error}");
    }
    live.shutdown().await;
    Ok(())
}

async fn modules_without_routes_beside_a_manual_route_log_one_error(harness: Harness) -> Result<()> {
    let channel = Guest::new().channel(Channel::new("db").on("one", Program::new()));
    let app = AppSpec::new()
        .load("db", channel.build())
        .register("GET", "/health", native);
    let live = harness.start(app).await?;
    let errors = replay_errors(&harness);
    let [error] = &errors[..] else { bail!("{errors:?}") };
    assert!(error.contains("registered by hand"), "{error}");
    assert_eq!(live.get("/health").await?.text(), "native");
    live.shutdown().await;
    Ok(())
}

async fn an_adapter_that_serves_without_a_route_logs_one_error(harness: Harness) -> Result<()> {
    let time = TestClock::new();
    let live = harness.start(AppSpec::new().timed(&time)).await?;
    assert_eq!(replay_errors(&harness), [""; 0]);
    let late = || {
        let lines = harness.logs().everywhere().into_iter();
        lines.filter(|line| line.text.contains("no module is loaded")).count()
    };
    time.advance(Duration::from_secs(9)).await;
    assert_eq!(late(), 0);
    time.advance(Duration::from_secs(20)).await;
    assert_eq!(late(), 1);
    live.shutdown().await;
    Ok(())
}

async fn an_adapter_connected_before_the_first_load_logs_no_error(harness: Harness) -> Result<()> {
    let app = AppSpec::new().attach(Some("api")).load("m", fixed("a", "a"));
    let live = harness.start(app).await?;
    assert_eq!(replay_errors(&harness), [""; 0]);
    assert_eq!(live.get("/api/a").await?.text(), "a");
    live.shutdown().await;
    Ok(())
}

async fn an_adapter_with_only_manual_routes_logs_no_error(harness: Harness) -> Result<()> {
    let live = harness.start(AppSpec::new().register("GET", "/b", native)).await?;
    assert_eq!(replay_errors(&harness), [""; 0]);
    assert_eq!(live.get("/b").await?.text(), "native");
    live.shutdown().await;
    Ok(())
}

async fn an_adapter_with_replayed_routes_logs_no_error(harness: Harness) -> Result<()> {
    let live = harness.start(AppSpec::new().load("m", fixed("a", "a"))).await?;
    assert_eq!(replay_errors(&harness), [""; 0]);
    live.shutdown().await;
    Ok(())
}

async fn a_swapped_module_answers_with_its_new_routes(harness: Harness) -> Result<()> {
    let app = AppSpec::new()
        .load("m", fixed("old", "old"))
        .register("GET", "/native", native);
    let live = harness.start(app).await?;
    assert_eq!(live.get("/old").await?.text(), "old");
    let two = Controller::new("Things", "/")
        .get("one", Program::text("one"))
        .get("two", Program::text("two"));
    live.control()
        .apply(Step::Swap("m".to_owned(), Guest::with(two).build().into()))
        .await?;
    assert_eq!(live.get("/old").await?.status, 404);
    assert_eq!(live.get("/two").await?.text(), "two");
    assert_eq!(live.get("/native").await?.text(), "native");
    assert_eq!(live.control().route_count(), 3);
    live.shutdown().await;
    Ok(())
}

async fn a_refused_swap_leaves_the_old_module_serving(harness: Harness) -> Result<()> {
    let app = AppSpec::new()
        .load("m", fixed("old", "old"))
        .register("GET", "/native", native);
    let live = harness.start(app).await?;
    let conflict = fixed("native", "mine");
    let swap = live.control().apply(Step::Swap("m".to_owned(), conflict)).await;
    let refusal = swap.expect_err("the swap").text().to_owned();
    assert!(refusal.contains("`m`") && refusal.contains("/native"), "{refusal}");
    assert_eq!(live.get("/old").await?.text(), "old");
    assert_eq!(live.control().route_count(), 2);
    live.shutdown().await;
    Ok(())
}

async fn a_removed_module_answers_no_more(harness: Harness) -> Result<()> {
    let app = AppSpec::new()
        .load("m", fixed("old", "old"))
        .register("GET", "/native", native);
    let live = harness.start(app).await?;
    live.control().apply(Step::Remove("m".to_owned())).await?;
    assert_eq!(live.get("/old").await?.status, 404);
    assert_eq!(live.control().route_count(), 1);
    let again = live.control().apply(Step::Remove("m".to_owned())).await;
    assert!(again.expect_err("the second removal").text().contains("`m`"));
    live.shutdown().await;
    Ok(())
}
