//! What is on the wire: framing, connections, both versions of HTTP (spec A1, A5, A8).

use std::time::Duration;

use anyhow::Result;

use super::watch::Gate;
use super::{at_root, fixed};
use crate::case::{Stage, cases};
use crate::client::Request;
use crate::guest::{End, Program, Step};
use crate::subject::AppSpec;

cases![
    a_connection_serves_request_after_request: A1, A5;
    pipelined_requests_are_answered_in_order: A1;
    http2_gives_the_same_answers: A5 needs Http2;
    http2_requests_run_side_by_side: A5 needs Http2;
    framing_headers_of_a_guest_are_dropped: A1;
    a_body_with_204_or_304_is_dropped: A1;
    a_body_to_head_is_dropped: A8;
    a_request_without_a_host_is_refused: A1;
    a_request_with_two_hosts_is_refused: A1;
    a_request_that_is_no_http_is_refused: A1;
    a_header_with_a_line_break_is_refused: A1;
    shutdown_lets_the_request_in_flight_end: A5;
    after_shutdown_nobody_listens: A5;
];

/// A server that does not wait for a request in flight cuts it at once. That it waits shows in time alone.
const A_WHILE: Duration = Duration::from_millis(200);

async fn a_connection_serves_request_after_request(stage: Stage) -> Result<()> {
    let module = at_root(|t| t.route("it", None, &["it/:n"], Program::new().param("n")));
    let live = stage.start(AppSpec::new().load("m", module)).await?;
    let mut connection = live.connect().await?;
    for n in 0..5 {
        let method = ["GET", "POST", "HEAD"][n % 3];
        let request = Request::new(method, &format!("/it/{n}")).body(if method == "POST" { "body unread" } else { "" });
        connection.write(&request.to_bytes("localhost")).await?;
        let response = connection.read_response(method).await?;
        assert_eq!(
            response.text(),
            if method == "HEAD" { String::new() } else { n.to_string() }
        );
        assert!(!connection.has_unread(), "bytes behind the end of reply {n}");
    }
    live.shutdown().await;
    Ok(())
}

async fn pipelined_requests_are_answered_in_order(stage: Stage) -> Result<()> {
    let module = at_root(|t| t.get("it/:n", Program::new().param("n")));
    let live = stage.start(AppSpec::new().load("m", module)).await?;
    let mut connection = live.connect().await?;
    let requests: Vec<u8> = (0..4)
        .flat_map(|n| Request::new("GET", &format!("/it/{n}")).to_bytes("localhost"))
        .collect();
    connection.write(&requests).await?;
    for n in 0..4 {
        assert_eq!(connection.read_response("GET").await?.text(), n.to_string());
    }
    live.shutdown().await;
    Ok(())
}

async fn http2_gives_the_same_answers(stage: Stage) -> Result<()> {
    let module = at_root(|t| {
        t.route(
            "it",
            None,
            &["it/:x"],
            Program::new()
                .param("x")
                .say(" ")
                .step(Step::Query)
                .say(" ")
                .step(Step::Body),
        )
    });
    let live = stage.start(AppSpec::new().load("m", module)).await?;
    let http2 = live.connect_http2().await?;
    let request = || Request::new("POST", "/it/a%20b?q").body("body");
    assert_eq!(http2.send(request()).await?.text(), "a b q body");
    assert_eq!(live.send(request()).await?.text(), "a b q body");
    assert_eq!(http2.send(Request::new("GET", "/none")).await?.status, 404);
    assert_eq!(http2.send(Request::new("GET", "/it/%ff")).await?.status, 400);
    live.shutdown().await;
    Ok(())
}

async fn http2_requests_run_side_by_side(stage: Stage) -> Result<()> {
    let module = at_root(|t| {
        t.get("slow", Program::new().call("app:gate").say(" slow"))
            .get("fast", Program::text("fast"))
    });
    let gate = Gate::new();
    let live = stage
        .start(AppSpec::new().load("m", module).gate("gate", &gate))
        .await?;
    let http2 = live.connect_http2().await?;
    let fast = async {
        gate.arrived(1).await?;
        // The slow one cannot end before this one is answered.
        let fast = http2.send(Request::new("GET", "/fast")).await;
        gate.open();
        anyhow::Ok(fast?)
    };
    let (slow, fast) = tokio::join!(http2.send(Request::new("GET", "/slow")), fast);
    assert_eq!(fast?.text(), "fast");
    assert_eq!(slow?.text(), "null slow");
    live.shutdown().await;
    Ok(())
}

async fn framing_headers_of_a_guest_are_dropped(stage: Stage) -> Result<()> {
    let program = Program::text("12345")
        .header("content-length", "3")
        .header("transfer-encoding", "chunked")
        .header("connection", "upgrade")
        .header("x-kept", "yes");
    let live = stage
        .start(AppSpec::new().load("m", at_root(|t| t.get("it", program))))
        .await?;
    let response = live.get("/it").await?;
    assert_eq!(response.text(), "12345");
    assert_eq!(response.header("x-kept").as_deref(), Some("yes"));
    assert_ne!(response.header("connection").as_deref(), Some("upgrade"));
    live.shutdown().await;
    Ok(())
}

async fn a_body_with_204_or_304_is_dropped(stage: Stage) -> Result<()> {
    let module = at_root(|t| {
        t.get("204", Program::text("body").status(204))
            .get("304", Program::text("body").status(304))
    });
    let live = stage.start(AppSpec::new().load("m", module)).await?;
    for status in [204, 304] {
        assert_eq!(live.get(&format!("/{status}")).await?.status, status);
    }
    live.shutdown().await;
    Ok(())
}

async fn a_body_to_head_is_dropped(stage: Stage) -> Result<()> {
    let module = at_root(|t| t.route("head", Some("HEAD"), &["it"], Program::text("body")));
    let live = stage.start(AppSpec::new().load("m", module)).await?;
    assert_eq!(live.call("HEAD", "/it").await?.status, 200);
    live.shutdown().await;
    Ok(())
}

async fn refused(stage: Stage, requests: &[&str]) -> Result<()> {
    let live = stage.start(AppSpec::new().load("m", fixed("it", "served"))).await?;
    for request in requests {
        let response = live.send_bytes(request).await?;
        assert_eq!(response.status, 400, "{request:?}: {}", response.text());
    }
    assert_eq!(live.get("/it").await?.text(), "served");
    live.shutdown().await;
    Ok(())
}

async fn a_request_without_a_host_is_refused(stage: Stage) -> Result<()> {
    refused(stage, &["GET /it HTTP/1.1\r\n\r\n"]).await
}

async fn a_request_with_two_hosts_is_refused(stage: Stage) -> Result<()> {
    refused(
        stage,
        &[
            "GET /it HTTP/1.1\r\nhost: a\r\nhost: b\r\n\r\n",
            "GET /it HTTP/1.1\r\nhost: a\r\nHost: a\r\n\r\n",
        ],
    )
    .await
}

async fn a_request_that_is_no_http_is_refused(stage: Stage) -> Result<()> {
    refused(
        stage,
        &[
            "G=T= /it HTTP/1.1\r\n =\r\n\r\n",
            "GET /i t HTTP/1.1\r\nhost: a\r\n\r\n",
        ],
    )
    .await
}

async fn a_header_with_a_line_break_is_refused(stage: Stage) -> Result<()> {
    let module = at_root(|t| {
        t.get("it", Program::text("x").header("x-split", "a\r\nx-injected: b"))
            .get("ok", Program::text("ok"))
    });
    let live = stage.start(AppSpec::new().load("m", module)).await?;
    let response = live.get("/it").await?;
    assert_eq!(
        response.status, 500,
        "a reply that cannot be sent is the module's fault"
    );
    assert!(response.all("x-injected").is_empty());
    assert_eq!(live.get("/ok").await?.text(), "ok");
    live.shutdown().await;
    Ok(())
}

async fn shutdown_lets_the_request_in_flight_end(stage: Stage) -> Result<()> {
    let gate = Gate::new();
    let module = at_root(|t| {
        t.get("slow", Program::new().call("app:gate").say(" slow"))
            .get("ok", Program::text("ok"))
    });
    let live = stage
        .start(AppSpec::new().load("m", module).gate("gate", &gate))
        .await?;
    let client = *live;
    let mut idle = live.connect().await?;
    idle.write(&Request::new("GET", "/ok").to_bytes("localhost")).await?;
    assert_eq!(idle.read_response("GET").await?.text(), "ok");
    let mut slow = tokio::spawn(async move { client.get("/slow").await });
    gate.arrived(1).await?;
    let ending = tokio::spawn(live.shutdown());
    // The end of the idle connection tells that the shutdown has begun.
    idle.expect_end().await?;
    let cut = tokio::time::timeout(A_WHILE, &mut slow).await;
    assert!(cut.is_err() && !ending.is_finished(), "it did not wait: {cut:?}");
    gate.open();
    assert_eq!(slow.await??.text(), "null slow");
    ending.await?;
    Ok(())
}

async fn after_shutdown_nobody_listens(stage: Stage) -> Result<()> {
    let module = at_root(|t| {
        t.get("it", Program::new().ends(End::Deferred))
            .get("ok", Program::text("ok"))
    });
    let live = stage.start(AppSpec::new().load("m", module)).await?;
    let client = *live;
    assert_eq!(client.get("/ok").await?.text(), "ok");
    live.shutdown().await;
    assert!(client.connect().await.is_err(), "the port is still open");
    Ok(())
}
