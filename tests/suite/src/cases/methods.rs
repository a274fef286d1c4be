//! Methods: the handler that answers each, and the answer to methods without a route (spec A5 to A8).

use anyhow::Result;

use super::{at_root, fixed};
use crate::case::{Harness, cases};
use crate::guest::{Program, Step};
use crate::subject::{AppSpec, Limits};

cases![
    adapter;
    a_webdav_route_is_a_real_route: A6;
    a_route_that_the_framework_cannot_serve_is_told_once: A3;
    all_answers_every_method: A7, D2, A4;
    a_route_of_the_very_method_beats_all: A7;
    a_path_without_a_route_is_404: A8;
    a_path_without_that_method_is_405_with_allow: A8 in hosts;
    head_is_answered_by_get: A8 in hosts;
    a_declared_head_is_its_own: A8;
    options_is_answered_with_allow: A8;
    a_declared_options_is_its_own: A8;
    a_trailing_slash_is_another_path: A8;
    a_switch_lets_a_trailing_slash_match: A8;
    the_answers_of_the_server_are_json_messages: A8;
    a_more_specific_path_of_another_method_does_not_hide: A8, P6, A2;
];

async fn a_webdav_route_is_a_real_route(harness: Harness) -> Result<()> {
    let program = Program::new().step(Step::Method).say(" ").param("path").status(207);
    let live = harness
        .start(AppSpec::new().load(
            "m",
            at_root(|t| t.route("find", Some("PROPFIND"), &["dav/*path"], program)),
        ))
        .await?;
    let response = live.call("PROPFIND", "/dav/a/b").await?;
    assert_eq!((response.status, response.text().as_str()), (207, "PROPFIND a/b"));
    live.shutdown().await;
    Ok(())
}

/// `differences.toml` lists these methods; most adapters serve every method and warn about none.
async fn a_route_that_the_framework_cannot_serve_is_told_once(harness: Harness) -> Result<()> {
    const ASKED: [&str; 8] = [
        "GET",
        "PROPFIND",
        "SEARCH",
        "MKWORKSPACE",
        "PURGE",
        "NOTIFY",
        "M-SEARCH",
        "get",
    ];
    let module = at_root(|things| {
        ASKED.iter().fold(things, |things, method| {
            let path = format!("served/{}", method.to_lowercase());
            things.route(method, Some(method), &[&path, "shared"], Program::text(method))
        })
    });
    let live = harness.start(AppSpec::new().load("m", module)).await?;
    live.control()
        .apply(crate::subject::Step::Load("late".to_owned(), fixed("late", "late")))
        .await?;
    for route in live.control().routes() {
        let unserved = harness.instead(&route.method).is_some();
        let expected: &[&str] = if unserved { &[harness.adapter()] } else { &[] };
        assert_eq!(route.unavailable_on, expected, "{route:?}");
        let warnings = harness.logs().here().into_iter().filter(|line| {
            let told = format!("route {} {} is not available", route.method, route.path);
            line.level == tracing::Level::WARN && line.text.contains(&told)
        });
        // The warning comes once, also after another table was published.
        let warnings: Vec<_> = warnings.map(|line| line.text).collect();
        assert_eq!(warnings.len(), usize::from(unserved), "{route:?}: {warnings:?}");
    }
    for method in ASKED {
        for target in [format!("/served/{}", method.to_lowercase()), "/shared".to_owned()] {
            let response = live.call(method, &target).await?;
            if !harness.is_the_servers_own(method, &response)? {
                assert_eq!((response.status, response.text().as_str()), (200, method));
            }
        }
    }
    live.ends_without_a_crash().await?;
    Ok(())
}

async fn all_answers_every_method(harness: Harness) -> Result<()> {
    let live = harness
        .start(AppSpec::new().load(
            "m",
            at_root(|t| t.route("it", None, &["it"], Program::new().step(Step::Method))),
        ))
        .await?;
    for method in [
        "GET",
        "POST",
        "DELETE",
        "OPTIONS",
        "TRACE",
        "REPORT",
        "MKWORKSPACE",
        "x-own",
    ] {
        let response = live.call(method, "/it").await?;
        if !harness.is_the_servers_own(method, &response)? {
            assert_eq!(response.text(), method);
        }
    }
    assert_eq!(live.call("HEAD", "/it").await?.status, 200);
    live.shutdown().await;
    Ok(())
}

async fn a_route_of_the_very_method_beats_all(harness: Harness) -> Result<()> {
    let module = at_root(|t| {
        t.route("any", None, &["it"], Program::text("all"))
            .route("put", Some("PUT"), &["it"], Program::text("put"))
            .route("own", Some("x-own"), &["it"], Program::text("own"))
    });
    let live = harness.start(AppSpec::new().load("m", module)).await?;
    for (method, text) in [("GET", "all"), ("PUT", "put"), ("x-own", "own"), ("X-OWN", "all")] {
        let response = live.call(method, "/it").await?;
        if !harness.is_the_servers_own(method, &response)? {
            assert_eq!(response.text(), text, "{method}");
        }
    }
    live.shutdown().await;
    Ok(())
}

fn get_and_put() -> AppSpec {
    AppSpec::new().load(
        "m",
        at_root(|t| {
            t.get("it/:x", Program::text("got"))
                .route("put", Some("PUT"), &["it/:x"], Program::text("put"))
        }),
    )
}

fn methods(allow: Option<String>) -> Vec<String> {
    let mut methods: Vec<_> = allow
        .unwrap_or_default()
        .split(',')
        .map(|method| method.trim().to_owned())
        .filter(|m| !m.is_empty())
        .collect();
    methods.sort();
    methods
}

async fn a_path_without_a_route_is_404(harness: Harness) -> Result<()> {
    let live = harness.start(get_and_put()).await?;
    for method in ["GET", "POST", "PROPFIND", "OPTIONS", "x-own"] {
        let response = live.call(method, "/other").await?;
        if !harness.is_the_servers_own(method, &response)? {
            assert_eq!(response.status, 404, "{method}");
        }
    }
    live.shutdown().await;
    Ok(())
}

async fn a_path_without_that_method_is_405_with_allow(harness: Harness) -> Result<()> {
    let live = harness.start(get_and_put()).await?;
    for method in ["POST", "DELETE", "PROPFIND", "x-own"] {
        let response = live.call(method, "/it/1").await?;
        if harness.is_the_servers_own(method, &response)? {
            continue;
        }
        assert_eq!(response.status, 405, "{method}");
        let allow = methods(response.header("allow"));
        assert!(
            allow.contains(&"GET".to_owned()) && allow.contains(&"PUT".to_owned()),
            "{allow:?}"
        );
        assert!(!allow.contains(&method.to_owned()), "{allow:?}");
    }
    live.shutdown().await;
    Ok(())
}

async fn head_is_answered_by_get(harness: Harness) -> Result<()> {
    let live = harness.start(get_and_put()).await?;
    let response = live.call("HEAD", "/it/1").await?;
    assert_eq!((response.status, response.body.len()), (200, 0));
    assert_eq!(
        response.header("content-length").as_deref(),
        Some("3"),
        "the length of what GET would send"
    );
    assert_eq!(live.call("HEAD", "/other").await?.status, 404);
    live.shutdown().await;
    Ok(())
}

async fn a_declared_head_is_its_own(harness: Harness) -> Result<()> {
    let module = at_root(|t| {
        t.get("it", Program::text("got"))
            .route("head", Some("HEAD"), &["it"], Program::new().header("x-own", "head"))
    });
    let live = harness.start(AppSpec::new().load("m", module)).await?;
    assert_eq!(live.call("HEAD", "/it").await?.header("x-own").as_deref(), Some("head"));
    live.shutdown().await;
    Ok(())
}

async fn options_is_answered_with_allow(harness: Harness) -> Result<()> {
    let live = harness.start(get_and_put()).await?;
    let response = live.call("OPTIONS", "/it/1").await?;
    assert_eq!((response.status, response.body.len()), (204, 0));
    assert_eq!(methods(response.header("allow")), ["GET", "HEAD", "OPTIONS", "PUT"]);
    live.shutdown().await;
    Ok(())
}

async fn a_declared_options_is_its_own(harness: Harness) -> Result<()> {
    let module = at_root(|t| {
        t.get("it", Program::text("got"))
            .route("o", Some("OPTIONS"), &["it"], Program::text("own"))
    });
    let live = harness.start(AppSpec::new().load("m", module)).await?;
    assert_eq!(live.call("OPTIONS", "/it").await?.text(), "own");
    live.shutdown().await;
    Ok(())
}

async fn a_trailing_slash_is_another_path(harness: Harness) -> Result<()> {
    let live = harness.start(AppSpec::new().load("m", fixed("a/b", "x"))).await?;
    assert_eq!(live.get("/a/b").await?.status, 200);
    assert_eq!(live.get("/a/b/").await?.status, 404);
    live.shutdown().await;
    Ok(())
}

async fn a_switch_lets_a_trailing_slash_match(harness: Harness) -> Result<()> {
    let limits = Limits {
        ignore_trailing_slash: true,
        ..Limits::default()
    };
    let live = harness
        .start(AppSpec::new().load("m", fixed("a/b", "x")).limits(limits))
        .await?;
    assert_eq!(live.get("/a/b/").await?.text(), "x");
    assert_eq!(live.get("/a/b").await?.text(), "x");
    assert_eq!(live.get("/a/b//").await?.status, 404, "one slash, not several");
    live.shutdown().await;
    Ok(())
}

async fn the_answers_of_the_server_are_json_messages(harness: Harness) -> Result<()> {
    let live = harness.start(get_and_put()).await?;
    for (method, path, status) in [("GET", "/other", 404), ("POST", "/it/1", 405), ("GET", "/it/%ff", 400)] {
        let response = live.call(method, path).await?;
        assert_eq!(response.status, status);
        assert_eq!(response.header("content-type").as_deref(), Some("application/json"));
        assert!(
            response.message().is_some_and(|message| !message.is_empty()),
            "{}",
            response.text()
        );
    }
    live.shutdown().await;
    Ok(())
}

async fn a_more_specific_path_of_another_method_does_not_hide(harness: Harness) -> Result<()> {
    let module = at_root(|t| {
        t.get("a/:x", Program::new().say("get ").param("x"))
            .post("a/new", Program::text("post new"))
    });
    let live = harness.start(AppSpec::new().load("m", module)).await?;
    assert_eq!(live.get("/a/new").await?.text(), "get new");
    assert_eq!(live.call("POST", "/a/new").await?.text(), "post new");
    live.shutdown().await;
    Ok(())
}
