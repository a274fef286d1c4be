//! How a route takes its body: not at all, whole, or chunk by chunk (spec H9). The host reads the body for it.

use anyhow::Result;
use pointwork_core::Payload;
use pointwork_test_clock::TestClock;

use super::at_root;
use crate::case::{Harness, Live, cases};
use crate::client::{Connection, Request};
use crate::flavor::Flavor;
use crate::guest::{Controller, End, Guest, Program, Step};
use crate::subject::{AppSpec, Limits};

cases![
    adapter;
    // In hosts: libmicrohttpd once sent no reply before the end of the body.
    a_handler_that_takes_no_body_never_waits_for_one: H9, A1 in hosts;
    a_handler_that_takes_the_whole_body_runs_when_it_is_there: H9, A1 moves clock;
    a_body_that_arrives_takes_no_instance: H9;
    a_handler_that_takes_a_stream_runs_at_once: H9, A1;
    a_handler_of_each_mode_reads_the_body_as_it_likes: H9 of sdk and adapter;
    a_body_that_is_not_utf_8_is_not_text: H9 of sdk and adapter;
];

/// `POST /none`, `/whole` and `/stream` emit `app:began` and reply with the body.
fn modes(form: Flavor) -> AppSpec {
    let program = || Program::new().emit("app:began").step(Step::Body);
    let things = Controller::new("Things", "/")
        .post("none", program())
        .takes("none")
        .post("whole", program())
        .post("stream", program())
        .takes("stream");
    AppSpec::new().load("m", form.form(Guest::with(things)).build())
}

/// Sends the head of a request, and two of the four bytes that it announces.
async fn begin(live: &Live, path: &str) -> Result<Connection> {
    let mut connection = live.connect().await?;
    let head = Request::new("POST", path).header("content-length", "4");
    connection.write(&head.to_bytes(&live.address().to_string())).await?;
    connection.write(b"ab").await?;
    Ok(connection)
}

async fn a_handler_that_takes_no_body_never_waits_for_one(harness: Harness) -> Result<()> {
    for form in Flavor::MODULES {
        let live = harness.start(modes(form)).await?;
        let mut connection = begin(&live, "/none").await?;
        let head = connection.read_head().await?;
        assert_eq!(head.status, 200, "{form}");
        drop(connection);
        assert_eq!(
            live.send(Request::new("POST", "/none").body("abcd")).await?.text(),
            "failed gone"
        );
        assert_eq!(live.send(Request::new("POST", "/none")).await?.text(), "failed gone");
        live.shutdown().await;
    }
    Ok(())
}

async fn a_handler_that_takes_the_whole_body_runs_when_it_is_there(harness: Harness) -> Result<()> {
    for form in Flavor::MODULES {
        let (app, mut began) = modes(form).hearing("began");
        let time = TestClock::new();
        let rests = harness.rests_during_uploads();
        let live = harness.start(if rests { app.timed(&time) } else { app }).await?;
        let mut connection = begin(&live, "/whole").await?;
        if rests {
            time.settle().await;
        } else {
            // The server answers one request after the head of the other.
            live.get("/missing").await?;
        }
        assert!(began.so_far().is_empty(), "{form}");
        connection.write(b"cd").await?;
        assert_eq!(connection.read_response("POST").await?.text(), "abcd", "{form}");
        assert_eq!(began.next().await?, "null");
        // Without a body there is nothing to wait for.
        assert_eq!(live.send(Request::new("POST", "/whole")).await?.text(), "");
        live.shutdown().await;
    }
    Ok(())
}

async fn a_body_that_arrives_takes_no_instance(harness: Harness) -> Result<()> {
    let app = modes(Flavor::Module).limits(Limits {
        instances: Some(1),
        ..Limits::default()
    });
    let live = harness
        .start(app.answers("app", "began", |_| Ok(Payload::null())))
        .await?;
    let mut slow = begin(&live, "/whole").await?;
    let other = live.send(Request::new("POST", "/whole").body("quick")).await?;
    assert_eq!(other.text(), "quick");
    slow.write(b"cd").await?;
    assert_eq!(slow.read_response("POST").await?.text(), "abcd");
    live.shutdown().await;
    Ok(())
}

async fn a_handler_that_takes_a_stream_runs_at_once(harness: Harness) -> Result<()> {
    for form in Flavor::MODULES {
        let (app, mut began) = modes(form).hearing("began");
        let live = harness.start(app).await?;
        let mut connection = begin(&live, "/stream").await?;
        assert_eq!(began.next().await?, "null", "{form}");
        connection.write(b"cd").await?;
        assert_eq!(connection.read_response("POST").await?.text(), "abcd", "{form}");
        live.shutdown().await;
    }
    Ok(())
}

async fn a_handler_of_each_mode_reads_the_body_as_it_likes(harness: Harness) -> Result<()> {
    for form in Flavor::MODULES {
        let mut things = Controller::new("Things", "/");
        for mode in ["whole", "stream"] {
            for (name, step) in [("body", Step::Body), ("text", Step::BodyText)] {
                things = things
                    .post(&format!("{mode}/{name}"), Program::new().step(step))
                    .takes(mode);
            }
        }
        // A stream that is echoed has cases of its own.
        let echo = Program::new().step(Step::Echo).ends(End::Deferred);
        things = things.post("whole/chunks", echo);
        let live = harness
            .start(AppSpec::new().load("m", form.form(Guest::with(things)).build()))
            .await?;
        for path in ["whole/body", "whole/text", "whole/chunks", "stream/body", "stream/text"] {
            let reply = live
                .send(Request::new("POST", &format!("/{path}")).body("grün"))
                .await?;
            assert_eq!(reply.text(), "grün", "{form}: {path}");
        }
        live.ends_without_a_crash().await?;
    }
    Ok(())
}

async fn a_body_that_is_not_utf_8_is_not_text(harness: Harness) -> Result<()> {
    for form in Flavor::MODULES {
        let program = Program::new().step(Step::BodyText).say("!").step(Step::Body);
        let things = Controller::new("Things", "/").post("it", program);
        let live = harness
            .start(AppSpec::new().load("m", form.form(Guest::with(things)).build()))
            .await?;
        let reply = live.send(Request::new("POST", "/it").body(b"a\xff".to_vec())).await?;
        // The failure makes a new text; the second one tells that the body was taken.
        assert_eq!(reply.text(), "failed gone", "{form}");
        let only = live.send(Request::new("POST", "/it").body("a")).await?;
        assert_eq!(only.text(), "failed gone", "{form}");
        live.shutdown().await;
    }
    let live = harness
        .start(AppSpec::new().load("m", at_root(|t| t.post("it", Program::new().step(Step::BodyText)))))
        .await?;
    let reply = live.send(Request::new("POST", "/it").body(b"a\xff".to_vec())).await?;
    assert_eq!(reply.text(), "failed bad-payload");
    live.shutdown().await;
    Ok(())
}
