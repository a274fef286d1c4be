//! The declarations of modules, and the routes and refusals that follow from them (spec D).

use anyhow::Result;

use super::{at_root, fixed};
use crate::case::{Harness, cases};
use crate::guest::{Controller, Guest, Program, Step};
use crate::subject::AppSpec;

cases![
    sdk;
    every_attribute_method_has_routes: D2 of sdk and adapter;
    any_token_is_a_method: D2, D10, A2, A4 of sdk and adapter in hosts;
    each_path_of_a_list_is_a_route_of_its_own: D3;
    no_path_is_the_prefix_itself: D3, D1;
    discovery_runs_no_handler: D5;
    routes_stand_in_the_order_of_modules_and_declarations: D9;
    two_starts_list_the_same_routes: D9 of host;
    two_controllers_of_a_module_are_both_served: D1;
];

/// The methods of the SDK's attributes, without `all`.
pub(super) const ATTRIBUTES: [&str; 20] = [
    "GET",
    "POST",
    "PUT",
    "PATCH",
    "DELETE",
    "HEAD",
    "OPTIONS",
    "TRACE",
    "CONNECT",
    "PURGE",
    "SEARCH",
    "PROPFIND",
    "PROPPATCH",
    "MKCOL",
    "COPY",
    "MOVE",
    "LOCK",
    "UNLOCK",
    "ACL",
    "REPORT",
];

/// Whether a reply of status 200 to that method has no body; a reply to CONNECT would open a tunnel.
pub(super) fn has_no_body(method: &str) -> bool {
    matches!(method, "HEAD" | "CONNECT")
}

async fn every_attribute_method_has_routes(harness: Harness) -> Result<()> {
    let module = at_root(|mut things| {
        for method in ATTRIBUTES {
            let program = Program::new().step(Step::Method).header("x-answered", method);
            things = things.route(
                method,
                Some(method),
                &[&format!("on-{}", method.to_lowercase())],
                program,
            );
        }
        things
    });
    let live = harness.start(AppSpec::new().load("m", module)).await?;
    for method in ATTRIBUTES {
        let response = live.call(method, &format!("/on-{}", method.to_lowercase())).await?;
        if harness.is_the_servers_own(method, &response)? {
            continue;
        }
        assert_eq!(response.status, 200, "{method}");
        assert_eq!(response.header("x-answered").as_deref(), Some(method));
        assert_eq!(response.text(), if has_no_body(method) { "" } else { method });
    }
    live.shutdown().await;
    Ok(())
}

async fn any_token_is_a_method(harness: Harness) -> Result<()> {
    let module = at_root(|mut things| {
        for method in ["MKWORKSPACE", "NOTIFY", "x-own!", "get"] {
            things = things.route("it", Some(method), &["it"], Program::new().step(Step::Method));
        }
        things
    });
    let live = harness.start(AppSpec::new().load("m", module)).await?;
    for method in ["MKWORKSPACE", "NOTIFY", "x-own!", "get"] {
        let response = live.call(method, "/it").await?;
        if !harness.is_the_servers_own(method, &response)? {
            assert_eq!(response.text(), method);
        }
    }
    assert_eq!(live.call("GET", "/it").await?.status, 405, "methods differ by case");
    live.shutdown().await;
    Ok(())
}

async fn each_path_of_a_list_is_a_route_of_its_own(harness: Harness) -> Result<()> {
    let program = Program::new().step(Step::Route).say(" ").param("id");
    let things = Controller::new("Things", "things").route("show", Some("GET"), &["one", ":id", ":id/more"], program);
    let live = harness
        .start(AppSpec::new().load("m", Guest::with(things).build()))
        .await?;
    assert_eq!(live.get("/things/one").await?.text(), "/things/one (none)");
    assert_eq!(live.get("/things/7").await?.text(), "/things/:id 7");
    assert_eq!(live.get("/things/7/more").await?.text(), "/things/:id/more 7");
    assert_eq!(live.control().route_count(), 3);
    live.shutdown().await;
    Ok(())
}

async fn no_path_is_the_prefix_itself(harness: Harness) -> Result<()> {
    let things = Controller::new("Things", "things").route("list", Some("GET"), &[], Program::text("list"));
    let root = Controller::new("Root", "/").route("home", Some("GET"), &[], Program::text("home"));
    let live = harness
        .start(AppSpec::new().load("m", Guest::with(things).controller(root).build()))
        .await?;
    assert_eq!(live.get("/things").await?.text(), "list");
    assert_eq!(live.get("/").await?.text(), "home");
    live.shutdown().await;
    Ok(())
}

async fn discovery_runs_no_handler(harness: Harness) -> Result<()> {
    let module = at_root(|things| {
        things
            .get("count", Program::new().step(Step::Count))
            .get("trap", Program::new().ends(crate::guest::End::Trap))
    });
    let live = harness.start(AppSpec::new().load("m", module)).await?;
    assert_eq!(
        live.get("/count").await?.text(),
        "1",
        "the first run of a handler is the request's"
    );
    live.ends_without_a_crash().await?;
    Ok(())
}

fn several() -> AppSpec {
    let first = Guest::with(
        Controller::new("B", "b")
            .get("2", Program::text("b2"))
            .get("1", Program::text("b1")),
    )
    .controller(Controller::new("A", "a").route("both", Some("PUT"), &["z", "y"], Program::text("a")));
    AppSpec::new()
        .load("second", fixed("second", "s"))
        .load("first", first.build())
}

const SEVERAL: [&str; 5] = ["GET /second", "GET /b/2", "GET /b/1", "PUT /a/z", "PUT /a/y"];

async fn routes_stand_in_the_order_of_modules_and_declarations(harness: Harness) -> Result<()> {
    let live = harness.start(several()).await?;
    assert_eq!(live.routes(), SEVERAL);
    live.shutdown().await;
    Ok(())
}

async fn two_starts_list_the_same_routes(harness: Harness) -> Result<()> {
    for _ in 0..2 {
        let live = harness.start(several()).await?;
        assert_eq!(live.routes(), SEVERAL);
        live.shutdown().await;
    }
    Ok(())
}

async fn two_controllers_of_a_module_are_both_served(harness: Harness) -> Result<()> {
    let guest = Guest::with(Controller::new("A", "a").get("x", Program::text("a")))
        .controller(Controller::new("B", "b").get("x", Program::text("b")));
    let live = harness.start(AppSpec::new().load("m", guest.build())).await?;
    assert_eq!(live.get("/a/x").await?.text(), "a");
    assert_eq!(live.get("/b/x").await?.text(), "b");
    live.shutdown().await;
    Ok(())
}
