//! Paths, precedence and parameters (spec P).

use anyhow::Result;

use super::at_root;
use crate::case::{Harness, cases};
use crate::guest::{Controller, Guest, Program, Step};
use crate::subject::AppSpec;

cases![
    adapter;
    prefix_and_path_join_as_the_table_says: P1, P2, P3, P5 of sdk and adapter;
    slashes_at_the_seam_change_nothing: P3, P2 of sdk and adapter;
    a_parameter_captures_one_segment: P4 of sdk and adapter;
    several_parameters_stand_in_the_order_of_the_pattern: P4 of sdk and adapter;
    a_rest_segment_captures_slashes: P6 of sdk and adapter;
    literal_beats_parameter: P6;
    parameter_beats_rest: P6;
    a_longer_literal_wins_deeper_in_the_path: P6;
    precedence_falls_back_when_the_better_branch_ends: P6;
    parameters_of_different_routes_may_differ_in_name: P7;
    different_methods_do_not_conflict: P7;
    parameters_are_decoded_once: P8 of sdk and adapter in hosts;
    an_encoded_slash_stays_in_its_segment: P8 of sdk and adapter in hosts;
    an_invalid_escape_is_400: P8;
    invalid_utf8_is_400: P8;
    a_doubled_slash_is_another_path: P4, A8;
];

async fn prefix_and_path_join_as_the_table_says(harness: Harness) -> Result<()> {
    let route = || Program::new().step(Step::Route);
    let guest = Guest::with(
        Controller::new("Products", "products")
            .route("list", Some("GET"), &[], route())
            .get(":id", route())
            .get("search", route()),
    )
    .controller(Controller::new("Api", "api/v1").get("/health", route()))
    .controller(
        Controller::new("Root", "/")
            .route("home", Some("GET"), &[], route())
            .get("/health", route()),
    );
    let live = harness.start(AppSpec::new().load("m", guest.build())).await?;
    let table = [
        "/products",
        "/products/:id",
        "/products/search",
        "/api/v1/health",
        "/",
        "/health",
    ];
    assert_eq!(live.routes(), table.map(|path| format!("GET {path}")));
    for (request, route) in [
        ("/products/9", "/products/:id"),
        ("/products/search", "/products/search"),
        ("/", "/"),
    ] {
        assert_eq!(live.get(request).await?.text(), route);
    }
    for path in ["/products", "/api/v1/health", "/health"] {
        assert_eq!(live.get(path).await?.text(), path);
    }
    live.shutdown().await;
    Ok(())
}

async fn slashes_at_the_seam_change_nothing(harness: Harness) -> Result<()> {
    let forms = [("a", "x"), ("/b", "x"), ("c", "/x"), ("/d/", "/x"), ("/e/", "x/")];
    let guest = forms.iter().fold(Guest::new(), |guest, (prefix, path)| {
        guest.controller(Controller::new("Form", prefix).get(path, Program::new().step(Step::Route)))
    });
    let live = harness.start(AppSpec::new().load("m", guest.build())).await?;
    for path in ["/a/x", "/b/x", "/c/x", "/d/x", "/e/x"] {
        assert_eq!(live.get(path).await?.text(), path);
    }
    live.shutdown().await;
    Ok(())
}

async fn a_parameter_captures_one_segment(harness: Harness) -> Result<()> {
    let live = harness
        .start(AppSpec::new().load("m", at_root(|t| t.get("a/:id", Program::new().param("id")))))
        .await?;
    assert_eq!(live.get("/a/17").await?.text(), "17");
    assert_eq!(live.get("/a/x.y~z").await?.text(), "x.y~z");
    assert_eq!(live.get("/a/17/b").await?.status, 404);
    assert_eq!(live.get("/a/").await?.status, 404, "a parameter is never empty");
    assert_eq!(live.get("/a").await?.status, 404);
    live.shutdown().await;
    Ok(())
}

async fn several_parameters_stand_in_the_order_of_the_pattern(harness: Harness) -> Result<()> {
    let module = at_root(|t| t.get(":z/x/:a/*m", Program::new().step(Step::Params)));
    let live = harness.start(AppSpec::new().load("m", module)).await?;
    assert_eq!(live.get("/1/x/2/3/4").await?.text(), "z=1\na=2\nm=3/4\n");
    live.shutdown().await;
    Ok(())
}

async fn a_rest_segment_captures_slashes(harness: Harness) -> Result<()> {
    let live = harness
        .start(AppSpec::new().load("m", at_root(|t| t.get("files/*path", Program::new().param("path")))))
        .await?;
    assert_eq!(live.get("/files/a").await?.text(), "a");
    assert_eq!(live.get("/files/a/b/c.txt").await?.text(), "a/b/c.txt");
    live.shutdown().await;
    Ok(())
}

/// Checks the same expectations for two orders of declaration.
async fn in_any_order(harness: Harness, paths: [&str; 2], expected: &[(&str, &str)]) -> Result<()> {
    for order in [[0, 1], [1, 0]] {
        let module = at_root(|things| {
            order
                .iter()
                .fold(things, |t, &at| t.get(paths[at], Program::new().step(Step::Route)))
        });
        let live = harness.start(AppSpec::new().load("m", module)).await?;
        for (request, route) in expected {
            assert_eq!(live.get(request).await?.text(), *route, "{request}");
        }
        live.shutdown().await;
    }
    Ok(())
}

async fn literal_beats_parameter(harness: Harness) -> Result<()> {
    in_any_order(
        harness,
        ["a/:id", "a/new"],
        &[("/a/new", "/a/new"), ("/a/old", "/a/:id")],
    )
    .await
}

async fn parameter_beats_rest(harness: Harness) -> Result<()> {
    in_any_order(
        harness,
        ["a/*rest", "a/:id"],
        &[("/a/x", "/a/:id"), ("/a/x/y", "/a/*rest")],
    )
    .await
}

async fn a_longer_literal_wins_deeper_in_the_path(harness: Harness) -> Result<()> {
    let expected = [("/a/b/c", "/a/:x/c"), ("/a/b/d", "/a/:x/:y")];
    in_any_order(harness, ["a/:x/:y", "a/:x/c"], &expected).await
}

async fn precedence_falls_back_when_the_better_branch_ends(harness: Harness) -> Result<()> {
    in_any_order(
        harness,
        ["a/b/c", ":x/b/d"],
        &[("/a/b/c", "/a/b/c"), ("/a/b/d", "/:x/b/d")],
    )
    .await
}

async fn parameters_of_different_routes_may_differ_in_name(harness: Harness) -> Result<()> {
    let module = at_root(|t| {
        t.get("a/:x/b", Program::new().step(Step::Params))
            .get("a/:y/c", Program::new().step(Step::Params))
    });
    let live = harness.start(AppSpec::new().load("m", module)).await?;
    assert_eq!(live.get("/a/1/b").await?.text(), "x=1\n");
    assert_eq!(live.get("/a/1/c").await?.text(), "y=1\n");
    live.shutdown().await;
    Ok(())
}

async fn different_methods_do_not_conflict(harness: Harness) -> Result<()> {
    let module = at_root(|t| {
        t.get("a/:x", Program::new().say("get ").param("x"))
            .post("a/:y", Program::new().say("post ").param("y"))
    });
    let live = harness.start(AppSpec::new().load("m", module)).await?;
    assert_eq!(live.get("/a/1").await?.text(), "get 1");
    assert_eq!(live.call("POST", "/a/1").await?.text(), "post 1");
    live.shutdown().await;
    Ok(())
}

fn echo() -> AppSpec {
    AppSpec::new().load(
        "m",
        at_root(|t| {
            t.get("p/:v", Program::new().param("v"))
                .get("r/*v", Program::new().param("v"))
        }),
    )
}

async fn parameters_are_decoded_once(harness: Harness) -> Result<()> {
    let live = harness.start(echo()).await?;
    for (sent, expected) in [
        ("a%20b", "a b"),
        ("%C3%A9", "é"),
        ("%2541", "%41"),
        ("a+b", "a+b"),
        ("%3a", ":"),
    ] {
        assert_eq!(live.get(&format!("/p/{sent}")).await?.text(), expected, "{sent}");
        assert_eq!(live.get(&format!("/r/{sent}")).await?.text(), expected, "{sent}");
    }
    live.shutdown().await;
    Ok(())
}

async fn an_encoded_slash_stays_in_its_segment(harness: Harness) -> Result<()> {
    let live = harness.start(echo()).await?;
    assert_eq!(live.get("/p/a%2Fb").await?.text(), "a/b");
    assert_eq!(
        live.get("/p%2Fa").await?.status,
        404,
        "an encoded slash separates nothing"
    );
    live.shutdown().await;
    Ok(())
}

async fn an_invalid_escape_is_400(harness: Harness) -> Result<()> {
    let live = harness.start(echo()).await?;
    for sent in ["%", "%4", "%zz", "a%2"] {
        let response = live.get(&format!("/p/{sent}")).await?;
        assert_eq!(response.status, 400, "{sent}");
        assert!(response.message().is_some(), "{sent}: {}", response.text());
    }
    live.ends_without_a_crash().await?;
    Ok(())
}

async fn invalid_utf8_is_400(harness: Harness) -> Result<()> {
    let live = harness.start(echo()).await?;
    for sent in ["%ff", "%C3", "a%80b"] {
        assert_eq!(live.get(&format!("/p/{sent}")).await?.status, 400, "{sent}");
    }
    live.shutdown().await;
    Ok(())
}

async fn a_doubled_slash_is_another_path(harness: Harness) -> Result<()> {
    let live = harness.start(echo()).await?;
    assert_eq!(live.get("//p/a").await?.status, 404);
    assert_eq!(live.get("/p//a").await?.status, 404);
    live.shutdown().await;
    Ok(())
}
