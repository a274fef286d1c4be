//! Routes that the embedder registers by hand (spec M1, M2, H1, X1).

use std::time::{Duration, Instant};

use anyhow::Result;
use pointwork_core::http::header::RETRY_AFTER;
use pointwork_core::http::{HeaderValue, Response, StatusCode};
use pointwork_core::{Body, Context, Failure, Json};
use pointwork_test_clock::real::PATIENCE;

use super::declarations::{ATTRIBUTES, has_no_body};
use super::fixed;
use crate::case::{Harness, cases};
use crate::client::Request;
use crate::subject::{AppSpec, Limits};

cases![
    host;
    every_attribute_has_its_operation: M1 of adapter without guest in hosts;
    register_route_takes_any_method: M2, A4 of adapter without guest in hosts;
    a_native_handler_sees_the_request: M1, H9, X1 of adapter without guest in hosts;
    a_native_handler_may_return_any_reply: H1, H5, M1 without guest in hosts;
    a_native_handler_may_wait: H1 without guest in hosts;
    a_native_handler_knows_its_client: H9 without guest in hosts;
    a_native_handler_reads_long_bodies_chunk_by_chunk: H9 without guest in hosts;
    a_native_handler_throws_headers_and_fields: H4 without guest in hosts;
    manual_and_declared_routes_stand_side_by_side: M1, M3 in hosts;
];

async fn every_attribute_has_its_operation(harness: Harness) -> Result<()> {
    let app = ATTRIBUTES.iter().fold(AppSpec::new(), |app, method| {
        let told = *method;
        app.register(method, "/it", move |_: Context| async move {
            let reply = Response::builder().header("x-told", told).body(Body::from(told));
            reply.unwrap_or_default()
        })
    });
    let app = app.register_all("/it", |_: Context| async { "all" });
    let live = harness.start(app).await?;
    for method in ATTRIBUTES {
        let response = live.call(method, "/it").await?;
        if !harness.is_the_servers_own(method, &response)? {
            assert_eq!(response.header("x-told").as_deref(), Some(method));
            assert_eq!(response.text(), if has_no_body(method) { "" } else { method });
        }
    }
    let response = live.call("BREW", "/it").await?;
    if !harness.is_the_servers_own("BREW", &response)? {
        assert_eq!(response.text(), "all");
    }
    live.shutdown().await;
    Ok(())
}

async fn register_route_takes_any_method(harness: Harness) -> Result<()> {
    let live = harness
        .start(AppSpec::new().register("MKWORKSPACE", "it", |_: Context| async { "made" }))
        .await?;
    assert_eq!(live.call("MKWORKSPACE", "/it").await?.text(), "made");
    assert_eq!(live.get("/it").await?.status, 405);
    live.shutdown().await;
    Ok(())
}

async fn a_native_handler_sees_the_request(harness: Harness) -> Result<()> {
    let tells = |ctx: Context| async move {
        let body = ctx.bytes().await?;
        let header = ctx
            .headers()
            .get("x-one")
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default()
            .to_owned();
        Ok::<_, pointwork_core::Failure>(format!(
            "{} {} {:?} {:?} {header} {}",
            ctx.method(),
            ctx.path(),
            ctx.query(),
            ctx.param("id"),
            String::from_utf8_lossy(&body)
        ))
    };
    let live = harness.start(AppSpec::new().register("PUT", "/a/:id", tells)).await?;
    let request = Request::new("PUT", "/a/x%20y?q=1&q=2")
        .header("x-one", "1")
        .body("body");
    assert_eq!(
        live.send(request).await?.text(),
        "PUT /a/x%20y Some(\"q=1&q=2\") Some(\"x y\") 1 body"
    );
    live.shutdown().await;
    Ok(())
}

async fn a_native_handler_may_return_any_reply(harness: Harness) -> Result<()> {
    let app = AppSpec::new()
        .register("GET", "/text", |_: Context| async { "text".to_owned() })
        .register("GET", "/json", |_: Context| async { Json(vec![1, 2]) })
        .register("GET", "/bytes", |_: Context| async { vec![0_u8, 255] })
        .register("GET", "/none", |_: Context| async { None::<String> })
        .register("GET", "/status", |_: Context| async { (StatusCode::CREATED, "made") });
    let live = harness.start(app).await?;
    let text = live.get("/text").await?;
    assert_eq!(
        (text.text().as_str(), text.header("content-type").as_deref()),
        ("text", Some("text/plain; charset=utf-8"))
    );
    let json = live.get("/json").await?;
    assert_eq!(
        (json.text().as_str(), json.header("content-type").as_deref()),
        ("[1,2]", Some("application/json"))
    );
    let bytes = live.get("/bytes").await?;
    assert_eq!(
        (bytes.body.as_slice(), bytes.header("content-type").as_deref()),
        (&[0, 255][..], Some("application/octet-stream"))
    );
    assert_eq!(live.get("/none").await?.status, 404);
    assert_eq!(live.get("/status").await?.status, 201);
    live.shutdown().await;
    Ok(())
}

#[expect(
    clippy::disallowed_methods,
    reason = "the handler waits for a timer of tokio, as a user's handler may"
)]
async fn a_native_handler_may_wait(harness: Harness) -> Result<()> {
    let waits = |_: Context| async {
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        "waited"
    };
    let live = harness.start(AppSpec::new().register("GET", "/wait", waits)).await?;
    assert_eq!(live.get("/wait").await?.text(), "waited");
    live.shutdown().await;
    Ok(())
}

#[expect(
    clippy::disallowed_methods,
    reason = "the handler compares its deadline with the time, with many seconds to spare"
)]
async fn a_native_handler_knows_its_client(harness: Harness) -> Result<()> {
    let tells = |ctx: Context| async move {
        let address = ctx.remote_address().unwrap_or_default();
        let time = ctx.received_at().elapsed().unwrap_or_default();
        let left = ctx.deadline().map(|deadline| deadline.duration_since(Instant::now()));
        let is_soon = time < PATIENCE && left.is_some_and(|left| left > Duration::from_secs(10));
        format!(
            "{} {address} {:?} {is_soon} {}",
            ctx.scheme(),
            ctx.http_version(),
            ctx.is_cancelled()
        )
    };
    let live = harness.start(AppSpec::new().register("GET", "/it", tells)).await?;
    let told = live.get("/it").await?.text();
    assert!(told.starts_with("http 127.0.0.1:"), "{told}");
    assert!(told.ends_with(" HTTP/1.1 true false"), "{told}");
    live.shutdown().await;
    Ok(())
}

async fn a_native_handler_reads_long_bodies_chunk_by_chunk(harness: Harness) -> Result<()> {
    let counts = |ctx: Context| async move {
        let mut reader = ctx.open_body()?;
        let mut length = 0;
        while let Some(chunk) = reader.read(100).await? {
            length += chunk.len();
        }
        Ok::<_, Failure>(length.to_string())
    };
    let app = AppSpec::new()
        .register("POST", "/chunks", counts)
        .register("POST", "/text", |ctx: Context| async move { ctx.text().await })
        .limits(Limits {
            body: Some(1000),
            ..Limits::default()
        });
    let live = harness.start(app).await?;
    let post = |path, length| live.send(Request::new("POST", path).body("x".repeat(length)));
    assert_eq!(post("/chunks", 5000).await?.text(), "5000");
    assert_eq!(post("/text", 1000).await?.text().len(), 1000);
    let refused = post("/text", 1001).await?;
    assert_eq!(refused.status, 413);
    let message = refused.message().unwrap_or_default();
    assert!(message.contains("1000 bytes, the limit `body`"), "{message}");
    let crash = live
        .crashes()
        .expect("the limit", |crash| crash.limit.as_deref() == Some("body"))
        .await?;
    assert_eq!(crash.route.as_deref(), Some("POST /text"));
    live.shutdown().await;
    Ok(())
}

async fn a_native_handler_throws_headers_and_fields(harness: Harness) -> Result<()> {
    let throws = |ctx: Context| async move {
        let error = ctx.throw(StatusCode::TOO_MANY_REQUESTS, "slower");
        let error = error.header(RETRY_AFTER, HeaderValue::from_static("7"));
        Err::<(), _>(error.detail("limit", 10).detail("message", "ignored"))
    };
    let live = harness.start(AppSpec::new().register("GET", "/it", throws)).await?;
    let reply = live.get("/it").await?;
    assert_eq!(
        (reply.status, reply.text().as_str()),
        (429, r#"{"message":"slower","limit":10}"#)
    );
    assert_eq!(reply.all("retry-after"), ["7"]);
    live.ends_without_a_crash().await?;
    Ok(())
}

async fn manual_and_declared_routes_stand_side_by_side(harness: Harness) -> Result<()> {
    let app = AppSpec::new()
        .load("m", fixed("declared", "declared"))
        .register("GET", "/manual", |_: Context| async { "manual" });
    let live = harness.start(app).await?;
    assert_eq!(live.get("/declared").await?.text(), "declared");
    assert_eq!(live.get("/manual").await?.text(), "manual");
    live.shutdown().await;
    Ok(())
}
