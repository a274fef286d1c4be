//! Guests in other languages than the suite's own show that the contract is neutral (spec D4, A1, H).

use anyhow::Result;
use pointwork_core::{CrashKind, Payload};

use super::at_root;
use crate::case::{Harness, cases};
use crate::client::Request;
use crate::guest::{Controller, Guest, Program, Step};
use crate::subject::AppSpec;

cases![
    adapter;
    a_hand_written_component_answers [Wat]: D4, A1;
    a_javascript_controller_answers [Js]: D4, A1, H5;
    a_javascript_controller_uses_the_context [Js]: H3, H4, H9 of host;
    an_exception_in_javascript_is_a_trap [Js]: E1 of host;
    the_asynchronous_form_answers_too: D4, H1 of sdk and adapter;
];

async fn a_hand_written_component_answers(harness: Harness) -> Result<()> {
    let live = harness
        .start(AppSpec::new().load("wat", harness.fixture(crate::fixtures::Fixture::Wat).await?))
        .await?;
    assert_eq!(live.get("/wat").await?.text(), "hello from text");
    assert_eq!(live.get("/wat/w%C3%B6rld").await?.text(), "hello wörld");
    assert_eq!(live.routes(), ["GET /wat", "GET /wat/:name"]);
    live.shutdown().await;
    Ok(())
}

async fn javascript(harness: &Harness) -> Result<AppSpec> {
    Ok(AppSpec::new().load("js", harness.fixture(crate::fixtures::Fixture::Js).await?))
}

async fn a_javascript_controller_answers(harness: Harness) -> Result<()> {
    let live = harness.start(javascript(&harness).await?).await?;
    assert_eq!(live.get("/js/hello/w%C3%B6rld").await?.text(), "hello wörld");
    let echo = live.post_json("/js/echo", r#"{"é":[1,2]}"#).await?;
    assert_eq!(
        (echo.text().as_str(), echo.header("content-type").as_deref()),
        (r#"{"received":{"é":[1,2]}}"#, Some("application/json"))
    );
    let bad = live.post_json("/js/echo", "{").await?;
    assert_eq!(bad.status, 400);
    let missing = live.get("/js/missing").await?;
    let body: serde_json::Value = missing.json()?;
    assert_eq!(
        (missing.status, body),
        (
            404,
            serde_json::json!({ "message": "no such greeting", "greeting": "missing" })
        )
    );
    assert_eq!(missing.header("x-hint").as_deref(), Some("ask again"));
    assert_eq!(live.get("/js/with-headers").await?.all("set-cookie"), ["a=1", "b=2"]);
    assert_eq!(
        live.call("REPORT", "/js/reports").await?.text(),
        "report at /js/reports"
    );
    assert_eq!(
        live.call("REPORT", "/js/reports/latest").await?.text(),
        "report at /js/reports/latest"
    );
    live.shutdown().await;
    Ok(())
}

async fn a_javascript_controller_uses_the_context(harness: Harness) -> Result<()> {
    let app = javascript(&harness)
        .await?
        .answers("echo", "say", |payload: Payload| Ok(payload));
    let live = harness.start(app).await?;
    assert_eq!(live.get("/js/call/hi").await?.text(), r#"{"text":"hi"}"#);
    let request = Request::new("GET", "/js/header/x-one").header("x-one", "1");
    let told: serde_json::Value = live.send(request).await?.json()?;
    assert_eq!(told["one"], "1");
    let told: serde_json::Value = live.call("PATCH", "/js/request/a/b?q=1").await?.json()?;
    assert_eq!(told["method"], "PATCH");
    assert_eq!(told["path"], "/js/request/a/b");
    assert_eq!(told["query"], "q=1");
    assert_eq!(told["route"], "/js/request/*rest");
    assert_eq!(told["params"], serde_json::json!([{ "name": "rest", "value": "a/b" }]));
    assert_eq!(told["scheme"], "http");
    assert_eq!(told["authority"], live.address().to_string());
    assert_eq!(told["version"], "1.1");
    assert_eq!(
        (&told["hasDeadline"], &told["cancelled"]),
        (&true.into(), &false.into())
    );
    let sent = live.get("/js/sends").await?;
    assert_eq!((sent.status, sent.text().as_str()), (201, "sent"));
    assert_eq!(live.get("/js/silent").await?.status, 500);
    live.crashes()
        .expect("no reply", |crash| crash.kind == CrashKind::NoReply)
        .await?;
    live.shutdown().await;
    Ok(())
}

async fn an_exception_in_javascript_is_a_trap(harness: Harness) -> Result<()> {
    let live = harness.start(javascript(&harness).await?).await?;
    assert_eq!(live.get("/js/breaks").await?.status, 500);
    let crash = live
        .crashes()
        .expect("the trap", |crash| crash.kind == CrashKind::Trap)
        .await?;
    for part in ["Error: broken on purpose", "controller.js:"] {
        assert!(crash.message.contains(part), "`{part}` is not in: {}", crash.message);
    }
    assert_eq!(live.get("/js/hello/again").await?.text(), "hello again");
    live.shutdown().await;
    Ok(())
}

async fn the_asynchronous_form_answers_too(harness: Harness) -> Result<()> {
    let things = Controller::new("Things", "/").get("it/:x", Program::new().param("x").say(" ").step(Step::Path));
    let live = harness
        .start(
            AppSpec::new()
                .load("async", Guest::with(things).asynchronous().build())
                .load("sync", at_root(|t| t.get("sync", Program::text("s")))),
        )
        .await?;
    assert_eq!(live.get("/it/7").await?.text(), "7 /it/7");
    assert_eq!(live.get("/sync").await?.text(), "s");
    live.shutdown().await;
    Ok(())
}
