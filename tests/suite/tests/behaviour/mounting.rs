//! Mounting as the application sees it: the paths that modules may claim, routes that a mount cannot serve, and an adapter
//! that is connected twice (spec A9, A10, G6). `examples/mount` runs a program for each framework and way of mounting, and
//! `tests/wire` has the rules of each framework.

use std::convert::Infallible;

use anyhow::{Context as _, Result};
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Empty};
use hyper::body::Bytes;
use pointwork::{App, ConnectOptions, Context, ServerRefused, StateDirectory};
use pointwork_hyper::{Hyper, HyperLayer};
use pointwork_suite::app::usual_options;
use pointwork_suite::guest::{Channel, Controller, Guest, Program};
use pointwork_suite::logs::Logs;
use tower::{Layer as _, ServiceExt as _, service_fn};
use tracing::Level;

use crate::trials;

trials! {
    a_module_that_claims_another_path_is_refused,
    a_swap_that_claims_another_path_is_refused,
    a_claim_is_compared_segment_by_segment,
    a_claim_begins_after_the_global_prefix,
    a_module_that_is_loaded_already_is_held_back_and_named,
    a_module_of_the_state_directory_is_held_back_at_a_restart,
    a_claim_with_a_parameter_is_refused,
    a_route_outside_the_prefix_is_shown_as_unavailable,
    an_adapter_is_connected_once,
    modules_without_routes_are_told_unless_they_are_meant,
    in_front_of_itself_the_outer_one_answers,
    a_prefix_given_to_the_application_and_to_the_mount_doubles_the_path,
}

/// A module with GET routes at these paths, which reply with their path.
fn module(paths: &[&str]) -> Vec<u8> {
    let things = paths.iter().fold(Controller::new("Things", "/"), |things, path| {
        things.get(path, Program::text(path))
    });
    Guest::with(things).build()
}

fn claiming(claims: &[&str]) -> ConnectOptions {
    ConnectOptions::new().claims(claims.iter().copied())
}

/// The status and the text of the reply to a GET, behind a layer; the service inside answers 404 with `theirs`.
async fn get(layer: &HyperLayer, target: &str) -> Result<(u16, String)> {
    let theirs = service_fn(async |_: Request<Empty<Bytes>>| {
        let mut reply = Response::new("theirs".to_owned());
        *reply.status_mut() = StatusCode::NOT_FOUND;
        Ok::<_, Infallible>(reply)
    });
    let request = Request::get(target).header("host", "a").body(Empty::new())?;
    let reply = layer.layer(theirs).oneshot(request).await?;
    let status = reply.status().as_u16();
    let body = reply
        .into_body()
        .collect()
        .await
        .map_err(|error| anyhow::anyhow!(error))?;
    Ok((status, String::from_utf8(body.to_bytes().to_vec())?))
}

async fn a_module_that_claims_another_path_is_refused() -> Result<()> {
    let (app, hyper) = (App::with_options(usual_options())?, Hyper::new());
    app.connect_to(hyper.clone(), claiming(&["shop"]))?;
    app.module("m").bytes(module(&["shop", "shop/:id"])).load().await?;
    let error = app.module("other").bytes(module(&["login"])).load().await.unwrap_err();
    let text = pointwork_core::error_chain(&error);
    for part in ["`other`", "GET /login", "Things.login", "`hyper`", "`/shop`"] {
        assert!(text.contains(part), "`{part}` is not in: {text}");
    }
    // The restriction is for modules: a native route of the application is its own.
    app.get("login", |_: Context| async { "native" })?;
    let layer = hyper.in_front();
    assert_eq!(get(&layer, "/shop/7").await?, (200, "shop/:id".to_owned()));
    assert_eq!(get(&layer, "/login").await?, (200, "native".to_owned()));
    Ok(())
}

async fn a_swap_that_claims_another_path_is_refused() -> Result<()> {
    let (app, hyper) = (App::with_options(usual_options())?, Hyper::new());
    app.connect_to(hyper.clone(), claiming(&["shop"]))?;
    app.module("m").bytes(module(&["shop"])).load().await?;
    for path in ["login", ":any", "*rest", "/"] {
        let error = app.module("m").bytes(module(&["shop", path])).swap().await.unwrap_err();
        assert!(
            pointwork_core::error_chain(&error).contains("modules may not claim"),
            "{path}: {}",
            pointwork_core::error_chain(&error)
        );
    }
    let layer = hyper.in_front();
    assert_eq!(get(&layer, "/shop").await?.0, 200);
    assert_eq!(get(&layer, "/login").await?, (404, "theirs".to_owned()));
    Ok(())
}

async fn a_claim_is_compared_segment_by_segment() -> Result<()> {
    let app = App::with_options(usual_options())?;
    app.connect_to(Hyper::new(), claiming(&["admin/reports", "caf%C3%A9"]))?;
    for (number, (path, allowed)) in [
        ("admin/reports", true),
        ("admin/reports/:id", true),
        ("café", true),
        ("admin", false),
        ("admin/reportsx", false),
        ("admin/:what", false),
        ("adminreports", false),
        ("x/admin/reports", false),
    ]
    .into_iter()
    .enumerate()
    {
        let loaded = app.module(format!("m{number}")).bytes(module(&[path])).load().await;
        assert_eq!(loaded.is_ok(), allowed, "{path}");
    }
    Ok(())
}

async fn a_claim_begins_after_the_global_prefix() -> Result<()> {
    let (app, hyper) = (App::with_options(usual_options())?, Hyper::new());
    app.connect_to(hyper.clone(), claiming(&["shop"]).prefix("api"))?;
    app.module("m").bytes(module(&["shop"])).load().await?;
    assert!(app.module("n").bytes(module(&["api/shop"])).load().await.is_err());
    assert_eq!(get(&hyper.below(), "/api/shop").await?.0, 200);
    Ok(())
}

async fn a_module_that_is_loaded_already_is_held_back_and_named() -> Result<()> {
    let (app, hyper) = (App::with_options(usual_options())?, Hyper::new());
    let (refusals, mut refused) = tokio::sync::mpsc::unbounded_channel();
    app.channel("server").on(ServerRefused, move |refusal| {
        let _ = refusals.send(refusal);
        async {}
    })?;
    app.module("shop").bytes(module(&["shop"])).load().await?;
    app.module("greedy").bytes(module(&["login"])).load().await?;
    app.connect_to(hyper.clone(), claiming(&["shop"]))?;
    let refusal = refused.recv().await.context("`server:refused`")?;
    assert_eq!(refusal.module, "greedy");
    assert!(refusal.reason.contains("GET /login"), "{}", refusal.reason);
    assert_eq!(app.modules().len(), 1);
    let layer = hyper.in_front();
    assert_eq!(get(&layer, "/shop").await?.0, 200);
    assert_eq!(get(&layer, "/login").await?, (404, "theirs".to_owned()));
    Ok(())
}

async fn a_module_of_the_state_directory_is_held_back_at_a_restart() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let options = || Ok::<_, anyhow::Error>(usual_options().state(StateDirectory::open(folder.path())?));
    let base = module(&["shop"]);
    {
        let app = App::with_options(options()?)?;
        app.connect_to(Hyper::new(), ConnectOptions::new())?;
        app.module("shop").bytes(base.clone()).restore().await?;
        app.module("shop").bytes(module(&["shop", "login"])).swap().await?;
        app.close().await;
    }
    // Restored before the connection, and after it.
    let app = App::with_options(options()?)?;
    app.module("shop").bytes(base.clone()).restore().await?;
    let hyper = Hyper::new();
    app.connect_to(hyper.clone(), claiming(&["shop"]))?;
    assert!(app.modules().is_empty());
    assert_eq!(get(&hyper.in_front(), "/login").await?.1, "theirs");
    app.close().await;

    let app = App::with_options(options()?)?;
    app.connect_to(Hyper::new(), claiming(&["shop"]))?;
    let error = app.module("shop").bytes(base).restore().await.unwrap_err();
    assert!(
        pointwork_core::error_chain(&error).contains("GET /login"),
        "{}",
        pointwork_core::error_chain(&error)
    );
    Ok(())
}

async fn a_claim_with_a_parameter_is_refused() -> Result<()> {
    let app = App::with_options(usual_options())?;
    for claim in [":any", "*rest", "a/:b"] {
        let error = app.connect_to(Hyper::new(), claiming(&[claim])).unwrap_err();
        assert!(
            pointwork_core::error_chain(&error).contains(&format!("`{claim}`")),
            "{}",
            pointwork_core::error_chain(&error)
        );
    }
    Ok(())
}

async fn a_route_outside_the_prefix_is_shown_as_unavailable() -> Result<()> {
    let (app, hyper) = (App::with_options(usual_options())?, Hyper::new());
    app.get("early", |_: Context| async { "early" })?;
    app.connect_to(hyper.clone(), ConnectOptions::new().prefix("api"))?;
    app.get("late", |_: Context| async { "late" })?;
    let shown = || -> Vec<_> {
        let routes = app.routes().into_iter();
        routes.map(|route| (route.path, route.unavailable_on)).collect()
    };
    let both = [("/early".to_owned(), vec![]), ("/api/late".to_owned(), vec![])];
    assert_eq!(shown(), both, "its own server would serve both");
    let layer = hyper.below();
    let below = [("/early".to_owned(), vec!["hyper".to_owned()]), both[1].clone()];
    assert_eq!(shown(), below);
    assert_eq!(get(&layer, "/early").await?, (404, "theirs".to_owned()));
    app.set_global_prefix("other")?
        .get("later", |_: Context| async { "later" })?;
    assert_eq!(app.routes()[2].unavailable_on, ["hyper"]);
    Ok(())
}

async fn an_adapter_is_connected_once() -> Result<()> {
    let (app, hyper) = (App::with_options(usual_options())?, Hyper::new());
    // A connection that was refused is none.
    assert!(
        app.connect_to(hyper.clone(), ConnectOptions::new().prefix("%"))
            .is_err()
    );
    app.connect_to(hyper.clone(), ConnectOptions::new())?;
    for again in [&app, &App::with_options(usual_options())?] {
        let error = again.connect_to(hyper.clone(), ConnectOptions::new()).unwrap_err();
        assert!(
            pointwork_core::error_chain(&error).contains("connected before"),
            "{}",
            pointwork_core::error_chain(&error)
        );
    }
    Ok(())
}

async fn modules_without_routes_are_told_unless_they_are_meant() -> Result<()> {
    let logs = Logs::begin();
    for (options, expected) in [
        (ConnectOptions::new(), 1),
        (ConnectOptions::new().without_module_routes(), 0),
    ] {
        let app = App::with_options(usual_options())?;
        app.get("health", |_: Context| async { "well" })?;
        let channel = Guest::new().channel(Channel::new("db").on("one", Program::new()));
        let name = format!("meant-{expected}");
        app.module(&name).bytes(&*channel.build()).load().await?;
        app.connect_to(Hyper::new(), options)?;
        let errors = logs.everywhere().into_iter().filter(|line| line.level == Level::ERROR);
        assert_eq!(errors.filter(|line| line.text.contains(&name)).count(), expected);
    }
    Ok(())
}

async fn in_front_of_itself_the_outer_one_answers() -> Result<()> {
    let (app, hyper) = (App::with_options(usual_options())?, Hyper::new());
    app.get("a", |_: Context| async { "a" })?;
    app.connect_to(hyper.clone(), ConnectOptions::new())?;
    let theirs = service_fn(async |_: Request<Empty<Bytes>>| Ok::<_, Infallible>(Response::new("theirs".to_owned())));
    let twice = hyper.in_front().layer(hyper.in_front().layer(theirs));
    for (target, expected) in [("/a", "a"), ("/b", "theirs")] {
        let request = Request::get(target).header("host", "a").body(Empty::new())?;
        let body = twice.clone().oneshot(request).await?.into_body().collect().await;
        let body = body.map_err(|error| anyhow::anyhow!(error))?.to_bytes();
        assert_eq!(body, expected);
    }
    Ok(())
}

/// A router of the user's that takes the prefix off, and one that does not (spec G6).
async fn a_prefix_given_to_the_application_and_to_the_mount_doubles_the_path() -> Result<()> {
    let (app, hyper) = (App::with_options(usual_options())?, Hyper::new());
    app.set_global_prefix("api")?.get("a", |_: Context| async { "a" })?;
    app.connect_to(hyper.clone(), ConnectOptions::new())?;
    let (whole, stripped) = (hyper.below(), hyper.service());
    assert_eq!(get(&whole, "/api/a").await?.0, 200);
    for (rest, status) in [("/a", 404), ("/api/a", 200)] {
        let request = Request::get(rest).header("host", "a").body(Empty::<Bytes>::new())?;
        let reply = stripped.clone().oneshot(request).await?;
        assert_eq!(reply.status(), status, "the client sent /api{rest}");
    }
    Ok(())
}
