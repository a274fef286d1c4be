//! The one reply of a request (spec H4 to H7).

use anyhow::Result;
use pointwork_core::{CrashKind, Payload};
use pointwork_test_clock::real::{PATIENCE, within};

use super::at_root;
use crate::case::{Harness, cases};
use crate::client::{Framing, Request};
use crate::flavor::Flavor;
use crate::guest::{Channel, End, Program, ReplyBody, Step};
use crate::subject::{AppSpec, Limits};

cases![
    sdk and adapter;
    a_returned_value_is_the_reply: H5, H1;
    headers_of_a_reply_keep_their_order_and_duplicates: H5 in hosts;
    a_reply_may_name_its_own_content_type: H5;
    a_thrown_error_is_its_status_and_message: H4;
    send_replies_at_once: H4;
    throw_on_the_context_ends_the_request: H4;
    a_second_reply_is_refused: H7;
    a_value_after_a_send_is_refused_and_reported: H7;
    nobody_replying_is_500_at_once: H7;
    a_kept_context_ends_at_the_deadline: H7, E1;
    a_channel_may_reply_in_the_handlers_stead: H6;
    a_hand_over_to_nobody_is_500: H6, C4;
    a_streamed_reply_arrives_whole: H4 in hosts;
    a_streamed_reply_without_an_end_breaks_off: H4 in hosts;
    an_invalid_status_is_refused: H4;
    json_that_is_none_is_refused: H5;
    every_reply_has_the_id_of_its_request: H9;
];

async fn a_returned_value_is_the_reply(harness: Harness) -> Result<()> {
    let module = at_root(|t| {
        t.get("text", Program::text("héllo"))
            .get("json", Program::text("{\"a\":[1,null]}").replies(ReplyBody::Json))
            .get("bytes", Program::text("raw").replies(ReplyBody::Bytes))
            .get("empty", Program::text("ignored").replies(ReplyBody::Empty))
            .get("created", Program::text("made").status(201))
    });
    let live = harness.start(AppSpec::new().load("m", module)).await?;
    let cases = [
        ("/text", 200, "héllo", Some("text/plain; charset=utf-8")),
        ("/json", 200, "{\"a\":[1,null]}", Some("application/json")),
        ("/bytes", 200, "raw", Some("application/octet-stream")),
        ("/empty", 200, "", None),
        ("/created", 201, "made", Some("text/plain; charset=utf-8")),
    ];
    for (path, status, text, content_type) in cases {
        let response = live.get(path).await?;
        let got = (response.status, response.text(), response.header("content-type"));
        assert_eq!(
            got,
            (status, text.to_owned(), content_type.map(str::to_owned)),
            "{path}"
        );
        assert_eq!(response.framing, Framing::Length, "{path}: a whole reply has a length");
    }
    live.shutdown().await;
    Ok(())
}

async fn headers_of_a_reply_keep_their_order_and_duplicates(harness: Harness) -> Result<()> {
    let program = Program::text("x")
        .header("set-cookie", "a=1")
        .header("x-one", "1")
        .header("set-cookie", "b=2");
    let live = harness
        .start(AppSpec::new().load("m", at_root(|t| t.get("it", program))))
        .await?;
    let response = live.get("/it").await?;
    assert_eq!(response.all("set-cookie"), ["a=1", "b=2"]);
    assert_eq!(response.all("x-one"), ["1"]);
    live.shutdown().await;
    Ok(())
}

async fn a_reply_may_name_its_own_content_type(harness: Harness) -> Result<()> {
    let program = Program::text("<p>").header("content-type", "text/html");
    let live = harness
        .start(AppSpec::new().load("m", at_root(|t| t.get("it", program))))
        .await?;
    assert_eq!(live.get("/it").await?.all("content-type"), ["text/html"]);
    live.shutdown().await;
    Ok(())
}

async fn a_thrown_error_is_its_status_and_message(harness: Harness) -> Result<()> {
    let module = at_root(|t| {
        t.get(
            "it/:id",
            Program::new().say("no thing ").param("id").ends(End::Throw(404)),
        )
    });
    let live = harness.start(AppSpec::new().load("m", module)).await?;
    let response = live.get("/it/7").await?;
    assert_eq!(
        (response.status, response.text().as_str()),
        (404, r#"{"message":"no thing 7"}"#)
    );
    assert_eq!(response.header("content-type").as_deref(), Some("application/json"));
    live.ends_without_a_crash().await?;
    Ok(())
}

async fn send_replies_at_once(harness: Harness) -> Result<()> {
    let program = Program::text("sent").step(Step::Send(202)).ends(End::Deferred);
    let live = harness
        .start(AppSpec::new().load("m", at_root(|t| t.get("it", program))))
        .await?;
    let response = live.get("/it").await?;
    assert_eq!((response.status, response.text().as_str()), (202, "sent"));
    live.ends_without_a_crash().await?;
    Ok(())
}

async fn throw_on_the_context_ends_the_request(harness: Harness) -> Result<()> {
    let program = Program::text("teapot").step(Step::ThrowNow(418)).ends(End::Deferred);
    let live = harness
        .start(AppSpec::new().load("m", at_root(|t| t.get("it", program))))
        .await?;
    let response = live.get("/it").await?;
    assert_eq!((response.status, response.message().as_deref()), (418, Some("teapot")));
    live.shutdown().await;
    Ok(())
}

async fn a_second_reply_is_refused(harness: Harness) -> Result<()> {
    let second = Program::text("first")
        .step(Step::Send(200))
        .step(Step::Send(500))
        .emit("seen:second");
    let (seen, mut heard) = tokio::sync::mpsc::unbounded_channel();
    let app = AppSpec::new()
        .load("m", at_root(|t| t.get("it", second.ends(End::Deferred))))
        .answers("seen", "second", move |payload| {
            let _ = seen.send(payload.into_data());
            Ok(Payload::null())
        });
    let live = harness.start(app).await?;
    assert_eq!(live.get("/it").await?.text(), "first");
    let told = within("the second reply", heard.recv()).await?;
    assert_eq!(told.as_deref(), Some(&b"failed already-replied"[..]));
    live.shutdown().await;
    Ok(())
}

async fn a_value_after_a_send_is_refused_and_reported(harness: Harness) -> Result<()> {
    let program = Program::text("first").step(Step::Send(200)).say(" second");
    let live = harness
        .start(AppSpec::new().load("m", at_root(|t| t.get("it", program))))
        .await?;
    let response = live.get("/it").await?;
    assert_eq!((response.status, response.text().as_str()), (200, "first"));
    let crash = live
        .crashes()
        .expect("the second reply", |crash| crash.kind == CrashKind::Reply)
        .await?;
    assert_eq!(crash.route.as_deref(), Some("GET /it"));
    live.shutdown().await;
    Ok(())
}

async fn nobody_replying_is_500_at_once(harness: Harness) -> Result<()> {
    // The client's timeout is far shorter than the deadline: the end of the handler produces the answer.
    let limits = Limits {
        deadline: Some(60 * PATIENCE),
        ..Limits::default()
    };
    let module = at_root(|t| t.get("it", Program::new().ends(End::Deferred)));
    let live = harness.start(AppSpec::new().load("m", module).limits(limits)).await?;
    assert_eq!(live.get("/it").await?.status, 500);
    let crash = live
        .crashes()
        .expect("no reply", |crash| crash.kind == CrashKind::NoReply)
        .await?;
    assert_eq!(
        (crash.route.as_deref(), crash.module.as_deref()),
        (Some("GET /it"), Some("m"))
    );
    live.shutdown().await;
    Ok(())
}

async fn a_kept_context_ends_at_the_deadline(harness: Harness) -> Result<()> {
    let limits = Limits {
        deadline: Some(std::time::Duration::from_millis(300)),
        ..Limits::default()
    };
    let module = at_root(|t| t.get("it", Program::new().ends(End::Keep)));
    let live = harness.start(AppSpec::new().load("m", module).limits(limits)).await?;
    assert_eq!(live.get("/it").await?.status, 504);
    live.crashes()
        .expect("the deadline", |crash| crash.kind == CrashKind::Deadline)
        .await?;
    live.shutdown().await;
    Ok(())
}

async fn a_channel_may_reply_in_the_handlers_stead(harness: Harness) -> Result<()> {
    let program = Program::new()
        .say("\"for ")
        .param("id")
        .say("\"")
        .step(Step::HandOver("response:send".to_owned()));
    let replies = Program::new().take_context().say(" at ").step(Step::Path);
    let replies = replies.step(Step::Send(200)).ends(End::Deferred);
    let app = AppSpec::new()
        .load("m", at_root(|t| t.get("it/:id", program.ends(End::Deferred))))
        .channel(Flavor::Native, Channel::new("response").on("send", replies));
    let live = harness.start(app).await?;
    assert_eq!(live.get("/it/7").await?.text(), "\"for 7\" at /it/7");
    live.ends_without_a_crash().await?;
    Ok(())
}

async fn a_hand_over_to_nobody_is_500(harness: Harness) -> Result<()> {
    let program = Program::new()
        .step(Step::HandOver("nobody:home".to_owned()))
        .ends(End::Deferred);
    let live = harness
        .start(AppSpec::new().load("m", at_root(|t| t.get("it", program))))
        .await?;
    assert_eq!(live.get("/it").await?.status, 500);
    live.shutdown().await;
    Ok(())
}

async fn a_streamed_reply_arrives_whole(harness: Harness) -> Result<()> {
    let chunks = vec!["one ".to_owned(), "two ".to_owned(), "three".to_owned()];
    let program = Program::new()
        .step(Step::Stream(203, chunks))
        .step(Step::Finish)
        .ends(End::Deferred);
    let live = harness
        .start(AppSpec::new().load("m", at_root(|t| t.get("it", program))))
        .await?;
    let response = live.get("/it").await?;
    assert_eq!((response.status, response.text().as_str()), (203, "one two three"));
    live.ends_without_a_crash().await?;
    Ok(())
}

async fn a_streamed_reply_without_an_end_breaks_off(harness: Harness) -> Result<()> {
    let program = Program::new()
        .step(Step::Stream(200, vec!["begun".to_owned()]))
        .ends(End::Trap);
    let live = harness
        .start(AppSpec::new().load("m", at_root(|t| t.get("it", program))))
        .await?;
    let error = live
        .get("/it")
        .await
        .expect_err("a client must be able to tell that the reply is not whole");
    assert!(error.to_string().contains("GET /it"), "{error}");
    live.shutdown().await;
    Ok(())
}

async fn an_invalid_status_is_refused(harness: Harness) -> Result<()> {
    for status in [0, 101, 199, 600, 65535] {
        let module = at_root(|t| {
            t.get("it", Program::text("x").status(status))
                .get("ok", Program::text("ok"))
        });
        let live = harness.start(AppSpec::new().load("m", module)).await?;
        assert_eq!(live.get("/it").await?.status, 500, "{status}");
        live.crashes()
            .expect("the invalid reply", |crash| crash.kind == CrashKind::Reply)
            .await?;
        assert_eq!(live.get("/ok").await?.text(), "ok");
        live.shutdown().await;
    }
    Ok(())
}

async fn json_that_is_none_is_refused(harness: Harness) -> Result<()> {
    let module = at_root(|t| t.get("it", Program::text("{\"a\":").replies(ReplyBody::Json)));
    let live = harness.start(AppSpec::new().load("m", module)).await?;
    assert_eq!(live.get("/it").await?.status, 500);
    live.crashes()
        .expect("the invalid reply", |crash| crash.kind == CrashKind::Reply)
        .await?;
    live.shutdown().await;
    Ok(())
}

async fn every_reply_has_the_id_of_its_request(harness: Harness) -> Result<()> {
    let module = at_root(|t| {
        t.get("it", Program::text("fine").header("x-request-id", "its own"))
            .get("thrown", Program::text("no").ends(End::Throw(409)))
            .get("trap", Program::new().ends(End::Trap))
            .get("nothing", Program::new().ends(End::Deferred))
    });
    let live = harness.start(AppSpec::new().load("m", module)).await?;
    let targets = [
        ("/it", 200),
        ("/thrown", 409),
        ("/trap", 500),
        ("/nothing", 500),
        ("/nowhere", 404),
    ];
    for (target, status) in targets {
        let reply = live.get(target).await?;
        assert_eq!((reply.status, reply.all("x-request-id").len()), (status, 1), "{target}");
        assert_ne!(reply.all("x-request-id"), ["its own"]);
        let reply = live
            .send(Request::new("GET", target).header("x-request-id", "mine-1"))
            .await?;
        assert_eq!(reply.all("x-request-id"), ["mine-1"], "{target}");
    }
    let crash = live
        .crashes()
        .expect("the trap", |crash| crash.request_id.as_deref() == Some("mine-1"))
        .await?;
    assert!(
        matches!(crash.kind, CrashKind::Trap | CrashKind::NoReply),
        "{:?}",
        crash.kind
    );
    live.shutdown().await;
    Ok(())
}
