//! Events that must not reach a listener (spec C4, H3, H8).

use anyhow::Result;
use pointwork_core::events::events;
use pointwork_core::{Context, CrashKind, Failure, Payload};

use super::{adds, calling, routing};
use crate::case::{Harness, Live, cases};
use crate::flavor::Flavor;
use crate::guest::{Channel, Program, Step};
use crate::subject::{AppSpec, Limits};

cases![
    sdk;
    an_empty_event_name_is_an_unknown_event: C4;
    an_event_name_that_is_not_utf8_ends_its_caller: C4, E1;
    a_listeners_event_name_that_is_not_utf8_fails_its_caller: C4, E1;
    a_payload_over_the_limit_is_refused: C3, H8;
    a_result_over_the_limit_is_refused: C3, H8 of host;
    an_emitted_payload_over_the_limit_is_counted_and_logged: C3, H3 of host;
    a_hand_over_with_a_payload_over_the_limit_fails: C3, H6 of host;
    a_failure_with_a_status_that_is_none_is_500: C3, H3;
    a_result_of_the_wrong_type_is_told_to_a_typed_caller: C3, H8;
];

events! {
    /// The name of the product with that id.
    ProductName = "db:product:name": u64 => String;
}

async fn an_empty_event_name_is_an_unknown_event(harness: Harness) -> Result<()> {
    for flavor in Flavor::ALL {
        let program = Program::text("1").call("").say(" - ").call("db:calls");
        let channel = Channel::new("db").on("calls", Program::new().call("").say("!"));
        let live = harness
            .start(routing(Flavor::Module, "it", program).channel(flavor, channel))
            .await?;
        let text = live.get("/it").await?.text();
        assert!(
            text.starts_with("failed unknown-event: ") && text.ends_with('!'),
            "{flavor}: {text}"
        );
        live.ends_without_a_crash().await?;
        let program = Program::text("1").emit("").say("went on");
        let live = harness.start(routing(Flavor::Module, "it", program)).await?;
        assert_eq!(live.get("/it").await?.text(), "went on");
        assert_eq!(live.control().events_refused(), 1);
        live.shutdown().await;
    }
    Ok(())
}

fn not_utf8() -> Step {
    Step::CallBytes(b"db:\xff\xfe".to_vec())
}

async fn an_event_name_that_is_not_utf8_ends_its_caller(harness: Harness) -> Result<()> {
    for form in Flavor::MODULES {
        let live = harness
            .start(routing(form, "it", Program::text("1").step(not_utf8())))
            .await?;
        for _ in 0..2 {
            assert_eq!(live.get("/it").await?.status, 500, "{form}");
        }
        let crash = live
            .crashes()
            .expect("the trap", |crash| crash.kind == CrashKind::Trap)
            .await?;
        assert_eq!(crash.module.as_deref(), Some("caller"), "{form}");
        live.shutdown().await;
    }
    Ok(())
}

async fn a_listeners_event_name_that_is_not_utf8_fails_its_caller(harness: Harness) -> Result<()> {
    for flavor in Flavor::MODULES {
        let channel = Channel::new("db")
            .on("bad", Program::new().step(not_utf8()))
            .on("good", adds("good"));
        let program = Program::text("1").call("db:bad").say(" - ").call("db:good");
        let live = harness
            .start(routing(Flavor::Module, "it", program).channel(flavor, channel))
            .await?;
        let text = live.get("/it").await?.text();
        assert!(
            text.starts_with("failed failed: ") && text.ends_with("-  good"),
            "{flavor}: {text}"
        );
        let crash = live
            .crashes()
            .expect("the trap", |crash| crash.kind == CrashKind::Trap)
            .await?;
        assert_eq!(crash.module, flavor.module("db"), "{flavor}");
        live.shutdown().await;
    }
    Ok(())
}

const LIMIT: usize = 1000;

async fn start_limited(harness: &Harness, app: AppSpec) -> Result<Live> {
    let limits = Limits {
        payload: Some(LIMIT),
        ..Limits::default()
    };
    Ok(harness.start(app.limits(limits)).await?)
}

async fn a_payload_over_the_limit_is_refused(harness: Harness) -> Result<()> {
    for flavor in Flavor::ALL {
        for form in Flavor::MODULES {
            for (size, passes) in [(LIMIT, true), (LIMIT + 1, false)] {
                let program = Program::text(&"x".repeat(size)).call("db:one");
                let counts = Program::new().emit("app:ran").say("ran");
                let (app, mut ran) = routing(form, "it", program)
                    .channel(flavor, Channel::new("db").on("one", counts))
                    .hearing("ran");
                let live = start_limited(&harness, app).await?;
                let text = live.get("/it").await?.text();
                if passes {
                    assert_eq!(text, "ran", "{flavor}, called from {form}");
                } else {
                    assert!(
                        text.starts_with("failed too-large: "),
                        "{flavor}, called from {form}: {text}"
                    );
                    assert!(text.contains("1000"), "the message has the limit: {text}");
                }
                live.ends_without_a_crash().await?;
                assert_eq!(ran.so_far().len(), usize::from(passes), "{flavor}, called from {form}");
            }
        }
    }
    Ok(())
}

async fn a_result_over_the_limit_is_refused(harness: Harness) -> Result<()> {
    for flavor in Flavor::ALL {
        let grows = Program::new().say(&"x".repeat(LIMIT));
        let app = calling("db:one").channel(flavor, Channel::new("db").on("one", grows));
        let live = start_limited(&harness, app).await?;
        let text = live.get("/it/7").await?.text();
        assert!(text.starts_with("failed too-large: "), "{flavor}: {text}");
        live.shutdown().await;
    }
    Ok(())
}

async fn an_emitted_payload_over_the_limit_is_counted_and_logged(harness: Harness) -> Result<()> {
    for flavor in Flavor::ALL {
        // Cases run concurrently and share one log, so the name must be unique to this flavor and adapter.
        let channel = format!("large-{flavor:?}-{}", harness.subject());
        let event = format!("{channel}:line");
        let program = Program::text(&"x".repeat(LIMIT + 1)).emit(&event).say("emitted");
        let (app, mut seen) = routing(Flavor::Module, "it", program)
            .channel(
                flavor,
                Channel::new(&channel).on("line", Program::new().call("app:seen")),
            )
            .hearing("seen");
        let live = start_limited(&harness, app).await?;
        assert_eq!(live.get("/it").await?.text(), "emitted", "{flavor}");
        assert_eq!(live.control().events_refused(), 1, "{flavor}");
        let lines = harness.logs().containing(&event, 1).await?;
        assert!(
            lines.iter().any(|line| line.text.contains("1000")),
            "{flavor}: no log line names `{event}` and the limit"
        );
        live.shutdown().await;
        assert!(seen.so_far().is_empty(), "{flavor}");
    }
    Ok(())
}

async fn a_hand_over_with_a_payload_over_the_limit_fails(harness: Harness) -> Result<()> {
    for flavor in Flavor::ALL {
        let gives = Program::text(&"x".repeat(LIMIT + 1)).step(Step::HandOver("response:send".to_owned()));
        let sends = Program::new().take_context().step(Step::Send(202));
        let app = routing(Flavor::Module, "it", gives).channel(flavor, Channel::new("response").on("send", sends));
        let live = start_limited(&harness, app).await?;
        let reply = live.get("/it").await?;
        assert_eq!(
            (reply.status, reply.text().as_str()),
            (200, "failed too-large"),
            "{flavor}"
        );
        live.shutdown().await;
    }
    Ok(())
}

async fn a_failure_with_a_status_that_is_none_is_500(harness: Harness) -> Result<()> {
    let ask = |context: Context| async move {
        let result = context.call_raw("db:odd", Payload::null()).await?;
        Ok::<_, Failure>(result.into_data())
    };
    for flavor in Flavor::ALL {
        for status in [0, 99, 200, 302, 600, 999] {
            let odd = Program::new().say(" is odd").fails("odd", status);
            let app = AppSpec::new()
                .register("GET", "/it", ask)
                .channel(flavor, Channel::new("db").on("odd", odd));
            let live = harness.start(app).await?;
            let reply = live.get("/it").await?;
            assert_eq!(reply.status, 500, "{flavor}, {status}: {}", reply.text());
            live.shutdown().await;
        }
    }
    Ok(())
}

async fn a_result_of_the_wrong_type_is_told_to_a_typed_caller(harness: Harness) -> Result<()> {
    let ask = |context: Context| async move {
        match context.call::<ProductName>(7).await {
            Ok(name) => name,
            Err(failure) => format!("{}: {}", failure.code(), failure.message()),
        }
    };
    for flavor in Flavor::ALL {
        for (result, right) in [("\"lamp\"", true), ("7", false), ("no JSON", false)] {
            // The payload is `7`; a channel that ignores its payload returns the result of its own call.
            let names = Program::new().call("app:name");
            let app = AppSpec::new()
                .register("GET", "/it", ask)
                .channel(flavor, Channel::new("db").on("product:name", names))
                .answers("app", "name", move |_| Ok(Payload::new("application/json", result)));
            let live = harness.start(app).await?;
            let text = live.get("/it").await?.text();
            if right {
                assert_eq!(text, "lamp", "{flavor}");
            } else {
                assert!(text.starts_with("bad-payload: "), "{flavor}: {text}");
                assert!(text.contains("db:product:name"), "{flavor}: {text}");
            }
            live.shutdown().await;
        }
    }
    Ok(())
}
