//! Limits that hold by default, and their effect on a client (spec A1, E1).

use anyhow::Result;
use futures_util::future::join_all;
use pointwork_core::CrashKind;

use super::at_root;
use super::watch::Gate;
use crate::case::{Harness, cases};
use crate::client::Request;
use crate::guest::{Program, Step};
use crate::languages::patience;
use crate::subject::{AppSpec, Limits};

cases![
    host;
    a_body_over_the_limit_is_413: A1 of adapter in hosts;
    a_streamed_body_over_its_limit_is_told_to_the_guest: A1, H9 of sdk;
    many_requests_at_once_are_all_answered: A1 of adapter in hosts;
];

async fn a_body_over_the_limit_is_413(harness: Harness) -> Result<()> {
    let module = at_root(|t| t.post("it", Program::new().step(Step::Body)));
    let app = AppSpec::new().load("m", module).limits(Limits {
        body: Some(1000),
        ..Limits::default()
    });
    let live = harness.start(app).await?;
    let response = live.send(Request::new("POST", "/it").body("x".repeat(1001))).await?;
    assert_eq!(response.status, 413);
    assert!(
        response.message().is_some_and(|message| message.contains("1000")),
        "{}",
        response.text()
    );
    let crash = live
        .crashes()
        .expect("the limit", |crash| crash.limit.as_deref() == Some("body"))
        .await?;
    assert_eq!((crash.kind, crash.module.as_deref()), (CrashKind::Limit, Some("m")));
    live.shutdown().await;
    Ok(())
}

async fn a_streamed_body_over_its_limit_is_told_to_the_guest(harness: Harness) -> Result<()> {
    let module = at_root(|t| {
        t.post("it", Program::new().step(Step::Body))
            .takes("stream")
            .post("whole", Program::new().step(Step::Body))
    });
    let app = AppSpec::new().load("m", module).limits(Limits {
        stream_body: Some(1000),
        ..Limits::default()
    });
    let live = harness.start(app).await?;
    let chunked = |path: &str, length: usize| {
        let body = format!("{length:x}\r\n{}\r\n0\r\n\r\n", "x".repeat(length));
        Request::new("POST", path)
            .header("transfer-encoding", "chunked")
            .body(body)
    };
    // The guest gets the error while it reads, and reports it.
    assert_eq!(live.send(chunked("/it", 1001)).await?.text(), "failed too-large");
    assert_eq!(live.send(chunked("/it", 1000)).await?.text(), "x".repeat(1000));
    assert_eq!(
        live.send(chunked("/whole", 1001)).await?.text(),
        "x".repeat(1001),
        "the limit is that of streamed bodies"
    );
    live.shutdown().await;
    Ok(())
}

async fn many_requests_at_once_are_all_answered(harness: Harness) -> Result<()> {
    let many = 64 / patience();
    let gate = Gate::new();
    let module = at_root(|t| t.get("it/:n", Program::new().say("\"").param("n").say("\"").call("app:gate")));
    let live = harness
        .start(AppSpec::new().load("m", module).gate("gate", &gate))
        .await?;
    let client = *live;
    let ask = |n| async move { client.get(&format!("/it/{n}")).await };
    let asked = tokio::spawn(join_all((0..many).map(ask)));
    // No request is answered before all have arrived.
    gate.arrived(many).await?;
    gate.open();
    for (n, reply) in asked.await?.into_iter().enumerate() {
        assert_eq!(reply?.text(), format!("\"{n}\""));
    }
    live.shutdown().await;
    Ok(())
}
