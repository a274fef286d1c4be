//! Contexts that a handler hands over to a channel, which replies in its place (spec H4, H6, H7).

use anyhow::Result;
use pointwork_core::{Context, CrashKind, Payload};

use super::{handing_over, routing};
use crate::case::{Harness, cases};
use crate::client::Framing;
use crate::flavor::Flavor;
use crate::guest::{Channel, Program, Step};
use crate::subject::AppSpec;

cases![
    sdk;
    a_channel_replies_wherever_it_lives: C3, H6 of sdk and adapter in hosts;
    // In hosts: functions in C and Python once had a context of their own.
    a_native_handler_gives_its_context_to_a_module: C3, H6 in hosts;
    the_context_handed_over_still_reads_the_request: C3, H6, H9 in hosts;
    a_channel_throws_on_the_context: C3, H4, H6 in hosts;
    a_channel_streams_the_reply: C3, H4, H6 of sdk and adapter in hosts;
    a_channel_hands_the_context_on: C3, H6 in hosts;
    a_context_can_be_taken_once: C3, H6;
    the_first_of_two_replies_counts: C3, H7 in hosts;
    a_reply_of_the_handler_beats_the_channels: C3, H7;
    an_invalid_reply_of_a_channel_is_refused: C3, H4, H7 in hosts;
    a_hand_over_to_an_unknown_event_fails_at_once: C4, H6, H7;
];

fn sends() -> Program {
    Program::new().take_context().step(Step::Send(202))
}

async fn a_channel_replies_wherever_it_lives(harness: Harness) -> Result<()> {
    for flavor in Flavor::ALL {
        for form in Flavor::MODULES {
            let app = handing_over(form, "response:send").channel(flavor, Channel::new("response").on("send", sends()));
            let live = harness.start(app).await?;
            for id in ["7", "8"] {
                let response = live.get(&format!("/it/{id}")).await?;
                assert_eq!(
                    (response.status, response.text()),
                    (202, format!("\"{id}\"")),
                    "{flavor}, handed over by {form}"
                );
                assert_eq!(response.framing, Framing::Length, "{flavor}");
            }
            live.ends_without_a_crash().await?;
        }
    }
    Ok(())
}

async fn a_native_handler_gives_its_context_to_a_module(harness: Harness) -> Result<()> {
    for flavor in Flavor::ALL {
        let gives = |context: Context| async move { context.hand_over_raw("response:send", Payload::json("given")?) };
        let app = AppSpec::new()
            .register("GET", "/it", gives)
            .channel(flavor, Channel::new("response").on("send", sends()));
        let live = harness.start(app).await?;
        assert_eq!(live.get("/it").await?.text(), "\"given\"", "{flavor}");
        live.shutdown().await;
    }
    Ok(())
}

async fn the_context_handed_over_still_reads_the_request(harness: Harness) -> Result<()> {
    for flavor in Flavor::ALL {
        let reads = Program::new()
            .take_context()
            .say(" of ")
            .param("id")
            .say(" and ")
            .param("other")
            .step(Step::Send(200));
        let app =
            handing_over(Flavor::Module, "response:send").channel(flavor, Channel::new("response").on("send", reads));
        let live = harness.start(app).await?;
        assert_eq!(
            live.get("/it/a%2Fb").await?.text(),
            "\"a/b\" of a/b and (none)",
            "{flavor}"
        );
        live.shutdown().await;
    }
    Ok(())
}

async fn a_channel_throws_on_the_context(harness: Harness) -> Result<()> {
    for flavor in Flavor::ALL {
        let throws = Program::new()
            .take_context()
            .say(" is no teapot")
            .step(Step::ThrowNow(418));
        let app = handing_over(Flavor::Module, "response:throw")
            .channel(flavor, Channel::new("response").on("throw", throws));
        let live = harness.start(app).await?;
        let response = live.get("/it/7").await?;
        assert_eq!(
            (response.status, response.message().as_deref()),
            (418, Some("\"7\" is no teapot")),
            "{flavor}"
        );
        live.ends_without_a_crash().await?;
    }
    Ok(())
}

async fn a_channel_streams_the_reply(harness: Harness) -> Result<()> {
    for flavor in Flavor::ALL {
        let chunks = ["one ", "two ", "three"].map(str::to_owned).to_vec();
        let streams = Program::new()
            .take_context()
            .step(Step::Stream(203, chunks))
            .step(Step::Finish);
        let app = handing_over(Flavor::Module, "response:stream")
            .channel(flavor, Channel::new("response").on("stream", streams));
        let live = harness.start(app).await?;
        let response = live.get("/it/7").await?;
        assert_eq!(
            (response.status, response.text().as_str()),
            (203, "one two three"),
            "{flavor}"
        );
        live.shutdown().await;
    }
    Ok(())
}

async fn a_channel_hands_the_context_on(harness: Harness) -> Result<()> {
    for first in Flavor::ALL {
        for second in Flavor::ALL {
            let passes = Program::new()
                .take_context()
                .say(" passed on")
                .hands_over("response:send");
            let app = handing_over(Flavor::Module, "desk:take")
                .channel(first, Channel::new("desk").on("take", passes))
                .channel(second, Channel::new("response").on("send", sends()));
            let live = harness.start(app).await?;
            assert_eq!(
                live.get("/it/7").await?.text(),
                "\"7\" passed on",
                "{first}, then {second}"
            );
            live.ends_without_a_crash().await?;
        }
    }
    Ok(())
}

async fn a_context_can_be_taken_once(harness: Harness) -> Result<()> {
    for flavor in Flavor::ALL {
        let twice = Program::new().take_context().step(Step::Send(200)).take_context();
        let app = handing_over(Flavor::Module, "response:send")
            .channel(flavor, Channel::new("response").on("send", twice.call("app:told")));
        let (app, mut told) = app.hearing("told");
        let live = harness.start(app).await?;
        assert_eq!(live.get("/it/7").await?.text(), "\"7\"", "{flavor}");
        assert_eq!(told.next().await?, "(none)", "{flavor}");
        live.shutdown().await;
    }
    Ok(())
}

async fn the_first_of_two_replies_counts(harness: Harness) -> Result<()> {
    for flavor in Flavor::ALL {
        for second in [Step::Send(500), Step::ThrowNow(500), Step::Stream(500, Vec::new())] {
            let twice = sends().step(second.clone()).call("app:told");
            let (app, mut told) = handing_over(Flavor::Module, "response:twice")
                .channel(flavor, Channel::new("response").on("twice", twice))
                .hearing("told");
            let live = harness.start(app).await?;
            let response = live.get("/it/7").await?;
            assert_eq!(
                (response.status, response.text().as_str()),
                (202, "\"7\""),
                "{flavor}, {second:?}"
            );
            assert_eq!(told.next().await?, "failed already-replied", "{flavor}, {second:?}");
            live.ends_without_a_crash().await?;
        }
    }
    Ok(())
}

async fn a_reply_of_the_handler_beats_the_channels(harness: Harness) -> Result<()> {
    for flavor in Flavor::ALL {
        let program = Program::text("first").step(Step::Send(200)).hands_over("response:send");
        let (app, mut told) = routing(Flavor::Module, "it", program)
            .channel(flavor, Channel::new("response").on("send", sends().call("app:told")))
            .hearing("told");
        let live = harness.start(app).await?;
        let response = live.get("/it").await?;
        assert_eq!((response.status, response.text().as_str()), (200, "first"), "{flavor}");
        assert_eq!(told.next().await?, "failed already-replied", "{flavor}");
        live.ends_without_a_crash().await?;
    }
    Ok(())
}

async fn an_invalid_reply_of_a_channel_is_refused(harness: Harness) -> Result<()> {
    let header = |name: &str, value: &str| Step::SendWith(200, vec![(name.to_owned(), value.into())]);
    let invalid = [
        Step::Send(99),
        Step::Send(101),
        Step::Send(600),
        header("bad name", "x"),
        header("", "x"),
        header("x-split", "a\r\nx-more: b"),
    ];
    for flavor in Flavor::ALL {
        for step in &invalid {
            // The refused reply does not count, so another may follow.
            let program = Program::new()
                .take_context()
                .step(step.clone())
                .call("app:told")
                .step(Step::Send(203));
            let (app, mut told) = handing_over(Flavor::Module, "response:send")
                .channel(flavor, Channel::new("response").on("send", program))
                .hearing("told");
            let live = harness.start(app).await?;
            let response = live.get("/it/7").await?;
            assert_eq!(told.next().await?, "failed invalid-reply", "{flavor}, {step:?}");
            assert_eq!(
                (response.status, response.text().as_str()),
                (203, "null"),
                "{flavor}, {step:?}"
            );
            live.shutdown().await;
        }
    }
    Ok(())
}

async fn a_hand_over_to_an_unknown_event_fails_at_once(harness: Harness) -> Result<()> {
    for form in Flavor::MODULES {
        let told = Program::new().step(Step::HandOver("response:nobody".to_owned()));
        let live = harness.start(routing(form, "it", told)).await?;
        assert_eq!(live.get("/it").await?.text(), "failed unknown-event", "{form}");
        live.shutdown().await;
        let silent = Program::new().hands_over("response:nobody");
        let live = harness.start(routing(form, "it", silent)).await?;
        assert_eq!(live.get("/it").await?.status, 500, "{form}");
        live.crashes()
            .expect("no reply", |crash| crash.kind == CrashKind::NoReply)
            .await?;
        live.shutdown().await;
    }
    Ok(())
}
