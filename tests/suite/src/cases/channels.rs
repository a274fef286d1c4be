//! Calls and events toward native channels (spec C, H3, H8).

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result};
use pointwork_core::http::StatusCode;
use pointwork_core::{Failure, FailureCode, Payload};
use tokio::sync::{Notify, mpsc};

use super::at_root;
use crate::case::{Stage, cases};
use crate::client::PATIENCE;
use crate::guest::{Program, ReplyBody};
use crate::subject::AppSpec;

cases![
    a_call_returns_what_the_listener_returns: C1, C3, H3;
    a_call_waits_for_its_listener: H3;
    an_emit_returns_at_once: H3;
    emitted_events_arrive_in_order: H3, C1;
    the_first_part_names_the_channel: C2;
    a_name_without_a_channel_is_a_plain_event: C2;
    a_plain_name_of_two_channels_is_ambiguous: C2;
    an_unknown_event_names_the_nearest: C4;
    emitting_an_unknown_event_is_logged: C4;
    a_failure_of_the_listener_reaches_the_caller: H3;
    a_payload_of_the_wrong_type_is_a_decode_error: H8;
    a_listener_that_panics_ends_the_call_only: H3, E1;
    a_call_without_a_payload_is_null: H3;
];

/// An application whose `/it/:id` calls `event` with the id as a JSON text and replies with the result.
fn calling(event: &str) -> AppSpec {
    let program = Program::new().say("\"").param("id").say("\"").call(event);
    AppSpec::new().load(
        "caller",
        at_root(|t| t.get("it/:id", program.replies(ReplyBody::Bytes))),
    )
}

fn told(text: &'static str) -> impl Fn(Payload) -> Result<Payload, Failure> + Send + Sync + 'static {
    move |payload| Payload::json(&format!("{text} {}", payload.to::<String>()?))
}

async fn a_call_returns_what_the_listener_returns(stage: Stage) -> Result<()> {
    let live = stage.start(calling("db:one").answers("db", "one", told("row"))).await?;
    assert_eq!(live.get("/it/7").await?.text(), "\"row 7\"");
    live.shutdown().await;
    Ok(())
}

async fn a_call_waits_for_its_listener(stage: Stage) -> Result<()> {
    let app = calling("db:slow").listen("db", "slow", |_, _| async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        Payload::json("slow")
    });
    let live = stage.start(app).await?;
    assert_eq!(live.get("/it/7").await?.text(), "\"slow\"");
    live.shutdown().await;
    Ok(())
}

async fn an_emit_returns_at_once(stage: Stage) -> Result<()> {
    let (gate, done) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (opens, tells) = (gate.clone(), done.clone());
    let program = Program::new().emit("log:line").say("emitted");
    let app = AppSpec::new()
        .load("m", at_root(|t| t.get("it", program)))
        .listen("log", "line", move |_, _| {
            let (gate, done) = (gate.clone(), done.clone());
            async move {
                gate.notified().await;
                done.notify_one();
                Ok(Payload::null())
            }
        });
    let live = stage.start(app).await?;
    assert_eq!(
        live.get("/it").await?.text(),
        "emitted",
        "the reply does not wait for the listener"
    );
    opens.notify_one();
    tokio::time::timeout(PATIENCE, tells.notified())
        .await
        .context("the event was lost")?;
    live.shutdown().await;
    Ok(())
}

async fn emitted_events_arrive_in_order(stage: Stage) -> Result<()> {
    let (seen, mut heard) = mpsc::unbounded_channel();
    let program = (0..20).fold(Program::new(), |program, at| {
        program.say(&at.to_string()).emit("log:line")
    });
    let app = AppSpec::new()
        .load("m", at_root(|t| t.get("it", program)))
        .answers("log", "line", move |payload| {
            let _ = seen.send(payload.to::<u32>()?);
            Ok(Payload::null())
        });
    let live = stage.start(app).await?;
    live.get("/it").await?;
    for expected in 0..20 {
        assert_eq!(tokio::time::timeout(PATIENCE, heard.recv()).await?, Some(expected));
    }
    live.shutdown().await;
    Ok(())
}

async fn the_first_part_names_the_channel(stage: Stage) -> Result<()> {
    let app = calling("db:product:all")
        .answers("db", "product:all", told("db"))
        .answers("other", "product:all", told("no"));
    let live = stage.start(app).await?;
    assert_eq!(live.get("/it/7").await?.text(), "\"db 7\"");
    live.shutdown().await;
    Ok(())
}

async fn a_name_without_a_channel_is_a_plain_event(stage: Stage) -> Result<()> {
    for event in ["all", "product:all"] {
        let live = stage.start(calling(event).answers("db", event, told("plain"))).await?;
        assert_eq!(live.get("/it/7").await?.text(), "\"plain 7\"", "{event}");
        live.shutdown().await;
    }
    Ok(())
}

async fn a_plain_name_of_two_channels_is_ambiguous(stage: Stage) -> Result<()> {
    let live = stage
        .start(
            calling("all")
                .answers("one", "all", told("1"))
                .answers("two", "all", told("2")),
        )
        .await?;
    let text = live.get("/it/7").await?.text();
    assert!(text.starts_with("failed ambiguous-event"), "{text}");
    assert!(text.contains("`one:all`") && text.contains("`two:all`"), "{text}");
    live.shutdown().await;
    Ok(())
}

async fn an_unknown_event_names_the_nearest(stage: Stage) -> Result<()> {
    let live = stage
        .start(calling("db:product:al").answers("db", "product:all", told("row")))
        .await?;
    let text = live.get("/it/7").await?.text();
    assert!(text.starts_with("failed unknown-event"), "{text}");
    assert!(
        text.contains("`db:product:al`") && text.contains("`db:product:all`"),
        "{text}"
    );
    live.shutdown().await;
    Ok(())
}

async fn emitting_an_unknown_event_is_logged(stage: Stage) -> Result<()> {
    let event = "emitting_an_unknown_event:is_logged";
    let module = at_root(|t| t.get("it", Program::new().emit(event).say("went on")));
    let live = stage.start(AppSpec::new().load("m", module)).await?;
    assert_eq!(live.get("/it").await?.text(), "went on");
    let logged = stage
        .logs()
        .everywhere()
        .into_iter()
        .any(|line| line.text.contains(event));
    assert!(logged, "no log line names the event");
    live.shutdown().await;
    Ok(())
}

async fn a_failure_of_the_listener_reaches_the_caller(stage: Stage) -> Result<()> {
    let app = calling("db:one").answers("db", "one", |_| {
        Err(Failure::with_code(
            FailureCode::new("no-such-row"),
            StatusCode::NOT_FOUND,
            "there is no such row",
        ))
    });
    let live = stage.start(app).await?;
    assert_eq!(
        live.get("/it/7").await?.text(),
        "failed no-such-row: there is no such row"
    );
    live.crashes().expect_none().await?;
    live.shutdown().await;
    Ok(())
}

async fn a_payload_of_the_wrong_type_is_a_decode_error(stage: Stage) -> Result<()> {
    let live = stage
        .start(calling("db:one").answers("db", "one", |payload| Payload::json(&payload.to::<u32>()?)))
        .await?;
    let text = live.get("/it/seven").await?.text();
    assert!(text.starts_with("failed bad-payload: "), "{text}");
    live.shutdown().await;
    Ok(())
}

async fn a_listener_that_panics_ends_the_call_only(stage: Stage) -> Result<()> {
    let app = calling("db:one").answers("db", "one", |payload| {
        assert_ne!(payload.to::<String>()?, "bad", "a panic on purpose");
        Payload::json("fine")
    });
    let live = stage.start(app).await?;
    let text = live.get("/it/bad").await?.text();
    assert!(text.starts_with("failed failed"), "{text}");
    assert_eq!(live.get("/it/good").await?.text(), "\"fine\"");
    live.shutdown().await;
    Ok(())
}

async fn a_call_without_a_payload_is_null(stage: Stage) -> Result<()> {
    let module = at_root(|t| t.get("it", Program::new().call("db:one")));
    let app = AppSpec::new().load("m", module).answers("db", "one", Ok);
    let live = stage.start(app).await?;
    assert_eq!(live.get("/it").await?.text(), "null");
    live.shutdown().await;
    Ok(())
}
