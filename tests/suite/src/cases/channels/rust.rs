//! Controllers and channels of one module, written with the Rust SDK, in both forms (spec C, E, H3, H6 to H8).

use anyhow::Result;
use pointwork_core::events::events;
use pointwork_core::{Context, Crash, CrashKind, Delivery, Failure, Payload};
use serde_json::{Value, json};

use super::watch::{Gate, Heard};
use crate::case::{Harness, cases};
use crate::client::Request;
use crate::fixtures::Fixture;
use crate::subject::AppSpec;

cases![
    sdk;
    a_rust_controller_calls_its_modules_channel [RustChannels]: C1, C3, H3, H8;
    a_rust_listener_calls_itself_down_to_the_end [RustChannels]: C3, H3;
    a_rust_listener_that_goes_too_deep_is_told [RustChannels]: H3;
    a_rust_listener_calls_another_owner [RustChannels]: C3, H3;
    a_payload_that_is_no_value_of_a_rust_listeners_type_is_the_callers_mistake [RustChannels]: C3, H8, E6;
    bytes_cross_a_typed_event_unchanged [RustChannels]: C3, H8;
    a_rust_channel_replies [RustChannels, RustChannelsAsync]: H6 of sdk and adapter;
    a_rust_channel_that_says_nothing_is_500_at_once [RustChannels]: H7;
    a_rust_channel_is_refused_a_second_reply [RustChannels]: H7;
    a_rust_controller_emits [RustChannels]: H3;
    a_rust_listeners_failure_keeps_code_and_status [RustChannels]: H3;
    a_panic_of_a_rust_listener_is_reported_to_a_rust_channel [RustChannels]: E1, E2;
    two_calls_of_an_asynchronous_handler_are_in_flight_at_once [RustChannelsAsync]: H3;
    two_calls_of_an_asynchronous_listener_are_in_flight_at_once [RustChannelsAsync]: C3, H3;
    requests_share_an_asynchronous_module [RustChannelsAsync]: H1, H3;
    an_asynchronous_channel_may_have_plain_listeners [RustChannelsAsync]: C1, C3 in hosts;
];

/// The synchronous fixture with the native channel that its listeners call, and listeners for its notes and crashes.
async fn shop(harness: &Harness) -> Result<(AppSpec, Heard, Heard)> {
    let (app, noted) = AppSpec::new().hearing("noted");
    let (app, crashed) = app.hearing("crashed");
    let app = app
        .load("shop", harness.fixture(Fixture::RustChannels).await?)
        .answers("app", "answer", |payload| {
            Ok(Payload::json(&format!("answer to {}", payload.to::<String>()?))?)
        });
    Ok((app, noted, crashed))
}

async fn a_rust_controller_calls_its_modules_channel(harness: Harness) -> Result<()> {
    let (app, ..) = shop(&harness).await?;
    let live = harness.start(app).await?;
    let found = live.get("/shop/7").await?;
    assert_eq!(found.status, 200, "{}", found.text());
    assert_eq!(found.json::<Value>()?, json!({"id": 7, "name": "tea"}));
    assert_eq!(live.get("/shop/8").await?.status, 404);
    live.ends_without_a_crash().await?;
    Ok(())
}

async fn a_rust_listener_calls_itself_down_to_the_end(harness: Harness) -> Result<()> {
    let (app, ..) = shop(&harness).await?;
    let live = harness.start(app).await?;
    for depth in [0, 1, 5] {
        let reply = live.get(&format!("/shop/nested/{depth}")).await?;
        assert_eq!(reply.text(), depth.to_string());
    }
    live.shutdown().await;
    Ok(())
}

async fn a_rust_listener_that_goes_too_deep_is_told(harness: Harness) -> Result<()> {
    let (app, ..) = shop(&harness).await?;
    let live = harness
        .start(app.register("GET", "/native", failure_of("db:nest", json!(50))))
        .await?;
    let message = live.get("/native").await?.text();
    assert!(message.contains("`db:nest` → `db:nest`"), "{message}");
    let reply = live.get("/shop/nested/50").await?;
    assert_eq!(reply.status, 500, "{}", reply.text());
    assert!(
        !reply.text().contains("db:nest"),
        "a client learns nothing of it: {}",
        reply.text()
    );
    live.ends_without_a_crash().await?;
    Ok(())
}

/// Calls an event from the host application; the reply is the result or the failure.
fn calls(event: &'static str, payload: Value) -> impl pointwork_core::Handler {
    move |context: Context| {
        let payload = payload.clone();
        async move {
            let result = context.call_raw(event, Payload::json(&payload)?).await?;
            Ok::<_, Failure>(result.into_data())
        }
    }
}

/// Calls an event from the host application, and replies with the code and the message of the failure.
fn failure_of(event: &'static str, payload: Value) -> impl pointwork_core::Handler {
    move |context: Context| {
        let payload = payload.clone();
        async move {
            let result = context.call_raw(event, Payload::json(&payload)?).await;
            let failure = result.err().map(|failure| format!("{}: {failure}", failure.code()));
            Ok::<_, Failure>(failure)
        }
    }
}

async fn a_rust_listener_calls_another_owner(harness: Harness) -> Result<()> {
    let (app, ..) = shop(&harness).await?;
    let live = harness
        .start(app.register("GET", "/native", calls("db:ask", json!("why"))))
        .await?;
    assert_eq!(live.get("/native").await?.text(), "\"answer to why\"");
    assert_eq!(live.get("/shop/ask/what").await?.text(), "answer to what");
    live.shutdown().await;
    Ok(())
}

events! {
    /// As the fixture declares it.
    Picture = "db:picture": u64 => Payload;
    /// As the fixture declares it.
    Look = "db:look": Payload => (String, usize);
}

async fn bytes_cross_a_typed_event_unchanged(harness: Harness) -> Result<()> {
    const PICTURE: &[u8] = &[0x89, b'P', b'N', b'G', 0, 0xff];
    let (app, ..) = shop(&harness).await?;
    let native = |context: Context| async move {
        let picture = context.call::<Picture>(7).await?;
        let (content_type, size) = context.call::<Look>(picture).await?;
        Ok::<_, Failure>(format!("{content_type} {size}"))
    };
    let live = harness.start(app.register("GET", "/native", native)).await?;
    let reply = live.get("/shop/pictures/7").await?;
    assert_eq!(reply.header("content-type").as_deref(), Some("image/png"));
    assert_eq!(reply.body, PICTURE);
    assert_eq!(live.get("/shop/pictures/8").await?.status, 404);
    assert_eq!(live.get("/native").await?.text(), "image/png 6");
    let bytes: Vec<u8> = (0..=255).cycle().take(100_000).collect();
    for content_type in [
        "application/octet-stream",
        "application/json; charset=utf-8",
        "text/plain",
    ] {
        let request = Request::new("POST", "/shop/pictures").header("content-type", content_type);
        let reply = live.send(request.body(bytes.clone())).await?;
        if content_type.starts_with("application/json") {
            // It says that it is JSON, which is UTF-8: a mistake of the handler that passes it on.
            assert_eq!(reply.status, 500, "{}", reply.text());
        } else {
            assert_eq!(reply.json::<Value>()?, json!([content_type, 100_000]));
        }
    }
    live.shutdown().await;
    Ok(())
}

async fn a_payload_that_is_no_value_of_a_rust_listeners_type_is_the_callers_mistake(harness: Harness) -> Result<()> {
    let (app, ..) = shop(&harness).await?;
    let live = harness
        .start(
            app.register("GET", "/ask", calls("db:product:by-id", json!("seven")))
                .register("GET", "/failure", failure_of("db:product:by-id", json!("seven"))),
        )
        .await?;
    let reply = live.get("/ask").await?;
    assert_eq!(
        (reply.status, reply.message().as_deref()),
        (500, Some("internal error"))
    );
    let failure = live.get("/failure").await?.text();
    assert!(failure.starts_with("bad-payload: "), "{failure}");
    live.ends_without_a_crash().await?;
    Ok(())
}

async fn a_rust_channel_replies(harness: Harness) -> Result<()> {
    let (app, ..) = shop(&harness).await?;
    let app = app.load("both", harness.fixture(Fixture::RustChannelsAsync).await?);
    let live = harness.start(app).await?;
    for path in ["/shop/7/label", "/both/7/label"] {
        let reply = live.get(path).await?;
        assert_eq!((reply.status, reply.text().as_str()), (200, "label of 7"), "{path}");
    }
    live.ends_without_a_crash().await?;
    Ok(())
}

async fn a_rust_channel_that_says_nothing_is_500_at_once(harness: Harness) -> Result<()> {
    let (app, ..) = shop(&harness).await?;
    let live = harness.start(app).await?;
    assert_eq!(live.get("/shop/silent").await?.status, 500);
    let crash = live
        .crashes()
        .expect("no reply", |crash| crash.kind == CrashKind::NoReply)
        .await?;
    assert_eq!(crash.route.as_deref(), Some("GET /shop/silent"));
    live.shutdown().await;
    Ok(())
}

async fn a_rust_channel_is_refused_a_second_reply(harness: Harness) -> Result<()> {
    let (app, mut noted, _) = shop(&harness).await?;
    let live = harness.start(app).await?;
    assert_eq!(live.get("/shop/twice").await?.text(), "sent twice");
    assert_eq!(noted.next().await?, "\"already-replied\"");
    live.shutdown().await;
    Ok(())
}

async fn a_rust_controller_emits(harness: Harness) -> Result<()> {
    let (app, mut noted, _) = shop(&harness).await?;
    let live = harness.start(app).await?;
    assert_eq!(live.get("/shop/emit/hello").await?.text(), "emitted");
    assert_eq!(noted.next().await?, "\"hello\"");
    live.shutdown().await;
    Ok(())
}

async fn a_rust_listeners_failure_keeps_code_and_status(harness: Harness) -> Result<()> {
    let (app, ..) = shop(&harness).await?;
    let live = harness.start(app).await?;
    assert_eq!(live.get("/shop/fail").await?.text(), "conflict 409 the store says no");
    live.shutdown().await;
    Ok(())
}

async fn a_panic_of_a_rust_listener_is_reported_to_a_rust_channel(harness: Harness) -> Result<()> {
    let (app, _, mut crashed) = shop(&harness).await?;
    let live = harness.start(app).await?;
    let request = Request::new("GET", "/shop/trap").header("x-request-id", "rust-1");
    let reply = live.send(request).await?;
    assert!(!reply.text().contains("panicked"), "{}", reply.text());
    let heard: Crash = serde_json::from_str(&crashed.next().await?)?;
    assert_eq!(
        (heard.kind, heard.module.as_deref(), heard.request_id.as_deref()),
        (CrashKind::Trap, Some("shop"), Some("rust-1"))
    );
    assert_eq!(live.get("/shop/nested/1").await?.text(), "1", "the channel goes on");
    live.shutdown().await;
    Ok(())
}

/// The asynchronous fixture; its `clock:wait` is a gate.
async fn both(harness: &Harness, gate: &Gate) -> Result<AppSpec> {
    let module = harness.fixture(Fixture::RustChannelsAsync).await?;
    let gate = gate.clone();
    let waits = move |_: Delivery, _: Payload| {
        let gate = gate.clone();
        async move {
            gate.pass().await;
            Ok(Payload::null())
        }
    };
    Ok(AppSpec::new().load("both", module).listen("clock", "wait", waits))
}

/// The gate opens only after both calls have arrived, so calls in sequence would never end.
async fn both_arrive(harness: Harness, path: &'static str, text: &str) -> Result<()> {
    let gate = Gate::new();
    let live = harness.start(both(&harness, &gate).await?).await?;
    let client = *live;
    let asked = tokio::spawn(async move { client.get(path).await });
    gate.arrived(2).await?;
    gate.open();
    assert_eq!(asked.await??.text(), text);
    live.shutdown().await;
    Ok(())
}

async fn two_calls_of_an_asynchronous_handler_are_in_flight_at_once(harness: Harness) -> Result<()> {
    both_arrive(harness, "/both/5", "both waited").await
}

async fn two_calls_of_an_asynchronous_listener_are_in_flight_at_once(harness: Harness) -> Result<()> {
    both_arrive(harness, "/both/listener/5", "the listener waited for both").await
}

async fn requests_share_an_asynchronous_module(harness: Harness) -> Result<()> {
    let gate = Gate::new();
    let app = both(&harness, &gate).await?.limits(crate::subject::Limits {
        instances: Some(1),
        ..Default::default()
    });
    let live = harness.start(app).await?;
    let client = *live;
    // A tenth of the calls that may share an instance; each handler has two calls in flight.
    let asked: Vec<_> = (0..6)
        .map(|_| tokio::spawn(async move { client.get("/both/5").await }))
        .collect();
    gate.arrived(12).await?;
    gate.open();
    for asked in asked {
        assert_eq!(asked.await??.status, 200);
    }
    live.shutdown().await;
    Ok(())
}

async fn an_asynchronous_channel_may_have_plain_listeners(harness: Harness) -> Result<()> {
    let app = both(&harness, &Gate::new())
        .await?
        .register("GET", "/echo", calls("relay:echo", json!({"a": 1})))
        .register("GET", "/again", calls("relay:echo:again", json!([2])))
        .register("GET", "/name", calls("names:event", Value::Null));
    let live = harness.start(app).await?;
    assert_eq!(live.get("/echo").await?.text(), r#"{"a":1}"#);
    assert_eq!(live.get("/again").await?.text(), "[2]");
    let request = Request::new("GET", "/name").header("x-request-id", "rust-2");
    assert_eq!(live.send(request).await?.text(), r#"["event","rust-2"]"#);
    live.shutdown().await;
    Ok(())
}
