//! Routes that the embedder registers by hand (spec M1, M2, H1, X1).

use anyhow::Result;
use pointwork_core::http::{Response, StatusCode};
use pointwork_core::{Body, Context, Json};

use super::declarations::{ATTRIBUTES, has_no_body};
use super::fixed;
use crate::case::{Stage, cases};
use crate::client::Request;
use crate::subject::AppSpec;

cases![
    host;
    every_attribute_has_its_operation: M1 on all;
    register_route_takes_any_method: M2, A4 on all;
    a_native_handler_sees_the_request: M1, H9, X1 on all;
    a_native_handler_may_return_any_reply: H1, H5, M1;
    a_native_handler_may_wait: H1;
    manual_and_declared_routes_stand_side_by_side: M1, M3;
];

async fn every_attribute_has_its_operation(stage: Stage) -> Result<()> {
    let app = ATTRIBUTES.iter().fold(AppSpec::new(), |app, method| {
        let told = *method;
        app.register(method, "/it", move |_: Context| async move {
            let reply = Response::builder().header("x-told", told).body(Body::from(told));
            reply.unwrap_or_default()
        })
    });
    let app = app.register_all("/it", |_: Context| async { "all" });
    let live = stage.start(app).await?;
    for method in ATTRIBUTES {
        let response = live.call(method, "/it").await?;
        if !stage.is_the_servers_own(method, &response)? {
            assert_eq!(response.header("x-told").as_deref(), Some(method));
            assert_eq!(response.text(), if has_no_body(method) { "" } else { method });
        }
    }
    let response = live.call("BREW", "/it").await?;
    if !stage.is_the_servers_own("BREW", &response)? {
        assert_eq!(response.text(), "all");
    }
    live.shutdown().await;
    Ok(())
}

async fn register_route_takes_any_method(stage: Stage) -> Result<()> {
    let live = stage
        .start(AppSpec::new().register("MKWORKSPACE", "it", |_: Context| async { "made" }))
        .await?;
    assert_eq!(live.call("MKWORKSPACE", "/it").await?.text(), "made");
    assert_eq!(live.get("/it").await?.status, 405);
    live.shutdown().await;
    Ok(())
}

async fn a_native_handler_sees_the_request(stage: Stage) -> Result<()> {
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
    let live = stage.start(AppSpec::new().register("PUT", "/a/:id", tells)).await?;
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

async fn a_native_handler_may_return_any_reply(stage: Stage) -> Result<()> {
    let app = AppSpec::new()
        .register("GET", "/text", |_: Context| async { "text".to_owned() })
        .register("GET", "/json", |_: Context| async { Json(vec![1, 2]) })
        .register("GET", "/bytes", |_: Context| async { vec![0_u8, 255] })
        .register("GET", "/none", |_: Context| async { None::<String> })
        .register("GET", "/status", |_: Context| async { (StatusCode::CREATED, "made") });
    let live = stage.start(app).await?;
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

async fn a_native_handler_may_wait(stage: Stage) -> Result<()> {
    let waits = |_: Context| async {
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        "waited"
    };
    let live = stage.start(AppSpec::new().register("GET", "/wait", waits)).await?;
    assert_eq!(live.get("/wait").await?.text(), "waited");
    live.shutdown().await;
    Ok(())
}

async fn manual_and_declared_routes_stand_side_by_side(stage: Stage) -> Result<()> {
    let app = AppSpec::new()
        .load("m", fixed("declared", "declared"))
        .register("GET", "/manual", |_: Context| async { "manual" });
    let live = stage.start(app).await?;
    assert_eq!(live.get("/declared").await?.text(), "declared");
    assert_eq!(live.get("/manual").await?.text(), "manual");
    live.shutdown().await;
    Ok(())
}
