//! Errors with headers and details, on their way from a guest to the client or to a caller (spec H4, H8, L6).

use anyhow::Result;
use pointwork_core::http::{HeaderValue, StatusCode};
use pointwork_core::{Context, CrashKind, Failure, FailureCode, JSON, Payload};
use pointwork_test_clock::real::until;
use tracing::Level;

use super::at_root;
use crate::case::{Harness, cases};
use crate::client::Request;
use crate::flavor::Flavor;
use crate::guest::{Channel, Controller, End, Guest, Program, Step};
use crate::logs::Line;
use crate::subject::AppSpec;

cases![
    sdk;
    a_thrown_error_has_headers_and_details: H4 of sdk and adapter;
    details_that_are_not_an_object_are_refused: H4;
    // In hosts: failures in C and Python once lost their headers and details.
    the_failure_of_a_listener_keeps_headers_and_details: H3, H4 in hosts;
    details_of_a_failure_that_are_not_an_object_are_dropped: H4;
    json_that_is_not_utf_8_is_a_bad_payload: H8;
    a_failure_is_logged_at_the_level_of_the_party_at_fault: E6 of host without guest;
    a_crash_is_told_with_exception_and_frames: E1;
    fields_of_a_log_line_stay_one_field: H9 in hosts;
    a_line_of_a_guest_stands_in_the_span_of_its_request: H9;
    a_line_of_a_native_handler_stands_in_the_span_that_it_takes: H9 of host without guest;
    an_extension_of_the_hosts_is_not_set_by_a_guest: H9 of host;
];

async fn a_failure_is_logged_at_the_level_of_the_party_at_fault(harness: Harness) -> Result<()> {
    let fails = |ctx: Context| async move {
        let failure = |code| Failure::of(code, "a failure on purpose");
        match ctx.param("fault").unwrap_or_default() {
            "module" => ctx.call_raw("fault:nobody", Payload::null()).await.map(drop),
            "over" => ctx.hand_over_raw("fault:nobody", Payload::null()),
            "channel" => Err(failure(FailureCode::UNREACHABLE)),
            "host" => Err(failure(FailureCode::DEADLINE)),
            "full" => Err(failure(FailureCode::OVERLOADED)),
            "own" => Err(Failure::new(StatusCode::BAD_GATEWAY, "a failure on purpose")),
            _ => Err(Failure::new(StatusCode::NOT_FOUND, "a failure on purpose")),
        }
    };
    // Cases run at the same time and share one log.
    let route = format!("/{}/:fault", harness.subject());
    let live = harness.start(AppSpec::new().register("GET", &route, fails)).await?;
    let expected = [
        ("module", 500, Some((Level::WARN, "unknown-event"))),
        ("over", 500, Some((Level::WARN, "unknown-event"))),
        ("channel", 503, Some((Level::WARN, "unreachable"))),
        ("host", 504, Some((Level::ERROR, "deadline"))),
        // The queue that is full writes a line by itself.
        ("full", 503, None),
        ("own", 502, Some((Level::WARN, "failed"))),
        ("client", 404, None),
    ];
    for (fault, status, line) in expected {
        let id = format!("{fault}-{}", harness.subject());
        let path = format!("/{}/{fault}", harness.subject());
        let reply = live
            .send(Request::new("GET", &path).header("x-request-id", &*id))
            .await?;
        assert_eq!(reply.status, status, "{fault}");
        assert_eq!(status == 503, !reply.all("retry-after").is_empty(), "{fault}");
        if status == 500 {
            assert_eq!(reply.text(), r#"{"message":"internal error"}"#, "{fault}");
        }
        let lines = harness.logs().everywhere();
        let of_request = |line: &&Line| line.text.contains(&id) && line.level <= Level::WARN;
        let lines: Vec<_> = lines.iter().filter(of_request).collect();
        // The second failure of one code on one route belongs to the burst of the first.
        let Some((level, code)) = line.filter(|_| fault != "over") else {
            assert!(lines.is_empty(), "{fault}: {lines:?}");
            continue;
        };
        assert_eq!(lines.len(), 1, "{fault}: {lines:?}");
        assert_eq!(lines[0].level, level, "{fault}");
        assert!(
            lines[0].text.contains(code) && lines[0].text.contains(&route),
            "{fault}: {lines:?}"
        );
    }
    live.ends_without_a_crash().await
}

fn throwing(details: &str) -> Program {
    Program::text("it is taken")
        .header("x-one", "1")
        .header("x-one", "2")
        .header("content-type", "application/problem+json")
        .details(details)
        .ends(End::Throw(409))
}

async fn a_thrown_error_has_headers_and_details(harness: Harness) -> Result<()> {
    for form in Flavor::MODULES {
        let details = r#"{"by": {"id": 7}, "message": "never this one"}"#;
        let things = Controller::new("Things", "/").get("it", throwing(details));
        let live = harness
            .start(AppSpec::new().load("m", form.form(Guest::with(things)).build()))
            .await?;
        let reply = live.get("/it").await?;
        assert_eq!(reply.status, 409);
        assert_eq!(reply.text(), r#"{"message":"it is taken","by":{"id":7}}"#);
        assert_eq!(reply.all("x-one"), ["1", "2"]);
        assert_eq!(reply.all("content-type"), ["application/problem+json"]);
        live.ends_without_a_crash().await?;
    }
    Ok(())
}

async fn details_that_are_not_an_object_are_refused(harness: Harness) -> Result<()> {
    for details in ["[1]", "7", "", "{", r#"{"a":1}x"#] {
        let live = harness
            .start(AppSpec::new().load("m", at_root(|t| t.get("it", throwing(details).bytes()))))
            .await?;
        assert_eq!(live.get("/it").await?.status, 500, "{details}");
        let crash = live
            .crashes()
            .expect("the refusal", |crash| crash.kind == CrashKind::Reply)
            .await?;
        assert!(crash.message.contains("details"), "{}", crash.message);
        live.shutdown().await;
    }
    Ok(())
}

/// A native route that passes the result of `db:one` on.
fn passing(app: AppSpec) -> AppSpec {
    app.register("GET", "/it", |context: Context| async move {
        let result = context.call_raw("db:one", Payload::null()).await?;
        Ok::<_, Failure>(String::from_utf8_lossy(result.data()).into_owned())
    })
}

async fn the_failure_of_a_listener_keeps_headers_and_details(harness: Harness) -> Result<()> {
    for form in Flavor::MODULES {
        let fails = Program::new()
            .step(Step::Log)
            .say("it is taken")
            .header("x-one", "1")
            .details(r#"{"by":7}"#)
            .fails("conflict", 409);
        let live = harness
            .start(passing(AppSpec::new()).channel(form, Channel::new("db").on("one", fails)))
            .await?;
        let reply = live.get("/it").await?;
        assert_eq!(
            (reply.status, reply.text().as_str(), reply.header("x-one").as_deref()),
            (409, r#"{"message":"it is taken","by":7}"#, Some("1")),
            "{form}"
        );
        live.ends_without_a_crash().await?;
    }
    // A guest that calls gets them as well; this one shows code and message.
    let fails = |_: Payload| {
        let failure = Failure::with_code(
            FailureCode::new("conflict"),
            409.try_into().unwrap_or_default(),
            "taken",
        );
        let value = HeaderValue::from_static("1");
        Err(failure
            .header("x-one".try_into().expect("a name"), value)
            .detail("by", 7))
    };
    let app = AppSpec::new().load("m", at_root(|t| t.get("it", Program::new().call("db:one"))));
    let live = harness.start(app.answers("db", "one", fails)).await?;
    assert_eq!(live.get("/it").await?.text(), "failed conflict: taken");
    live.shutdown().await;
    Ok(())
}

async fn details_of_a_failure_that_are_not_an_object_are_dropped(harness: Harness) -> Result<()> {
    let fails = Program::new()
        .step(Step::Log)
        .say("it is taken")
        .header("x-bad\n", "1")
        .details("[]")
        .fails("conflict", 409)
        .bytes();
    let live = harness
        .start(passing(AppSpec::new()).channel(Flavor::Module, Channel::new("db").on("one", fails)))
        .await?;
    let reply = live.get("/it").await?;
    assert_eq!(
        (reply.status, reply.text().as_str()),
        (409, r#"{"message":"it is taken"}"#)
    );
    for part in ["the details are not a JSON object", "cannot be the name of a header"] {
        let lines = harness.logs().containing(part, 1).await?;
        assert!(lines.iter().any(|line| line.text.contains("db-module")), "{lines:#?}");
    }
    live.ends_without_a_crash().await
}

async fn json_that_is_not_utf_8_is_a_bad_payload(harness: Harness) -> Result<()> {
    let bad = || Payload::new(format!("{JSON}; charset=utf-8"), &b"\"\xff\""[..]);
    for form in Flavor::MODULES {
        let things = Controller::new("Things", "/").get("guest", Program::new().call("native:bad"));
        let app = AppSpec::new()
            .load("m", form.form(Guest::with(things)).build())
            .answers("native", "bad", move |_| Ok(bad()))
            .channel(form, Channel::new("db").on("one", Program::text("heard")))
            .register("GET", "/native", move |context: Context| async move {
                match context.call_raw("db:one", bad()).await {
                    Ok(_) => "heard".to_owned(),
                    Err(failure) => format!("{}: {failure}", failure.code()),
                }
            });
        let live = harness.start(app).await?;
        for path in ["/guest", "/native"] {
            let text = live.get(path).await?.text();
            assert!(
                text.contains("bad-payload") && text.contains("not UTF-8"),
                "{form}: {path}: {text}"
            );
        }
        live.ends_without_a_crash().await?;
    }
    Ok(())
}

async fn a_crash_is_told_with_exception_and_frames(harness: Harness) -> Result<()> {
    for form in Flavor::MODULES {
        let frames = vec![("show", "src/shop.ts", 7), ("native", "", 0)];
        let program = Program::text("x is not a function")
            .step(Step::PanickedAt("TypeError", frames))
            .ends(End::Trap);
        let things = Controller::new("Things", "/").get("it", program);
        let live = harness
            .start(AppSpec::new().load("m", form.form(Guest::with(things)).build()))
            .await?;
        let reply = live.get("/it").await?;
        assert!(!reply.text().contains("TypeError"), "{}", reply.text());
        let crash = live
            .crashes()
            .expect("the trap", |crash| crash.kind == CrashKind::Trap)
            .await?;
        let frames = "TypeError: x is not a function\n    at show (src/shop.ts:7)\n    at native";
        assert!(crash.message.contains(frames), "{form}: {}", crash.message);
        live.shutdown().await;
    }
    Ok(())
}

async fn fields_of_a_log_line_stay_one_field(harness: Harness) -> Result<()> {
    for form in Flavor::MODULES {
        let fields = [("count", "7"), ("text", "two words"), ("forged", "1\nmodule=other")];
        let fields = fields.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let program = Program::text("a line with fields").step(Step::LogWith(fields.to_vec()));
        let things = Controller::new("Things", "/").get("it", program);
        let live = harness
            .start(AppSpec::new().load("fields", form.form(Guest::with(things)).build()))
            .await?;
        live.get("/it").await?;
        let lines = harness.logs().containing("a line with fields", 1).await?;
        let expected = r#"fields="count=7 text=\"two words\" forged=\"1\\nmodule=other\"""#;
        assert!(lines[0].text.contains(expected), "{form}: {lines:?}");
        live.shutdown().await;
    }
    Ok(())
}

async fn a_line_of_a_guest_stands_in_the_span_of_its_request(harness: Harness) -> Result<()> {
    for form in Flavor::MODULES {
        let heard = Channel::new("db").on("one", Program::text("a line of the listener").step(Step::Log));
        let program = Program::text("a line of the handler").step(Step::Log).call("db:one");
        let things = Controller::new("Things", "/").get("it", program);
        let guest = form.form(Guest::with(things).channel(heard));
        let live = harness.start(AppSpec::new().load("spans", guest.build())).await?;
        let id = format!("a-line-{}", if form == Flavor::Module { "sync" } else { "async" });
        live.send(Request::new("GET", "/it").header("x-request-id", &id))
            .await?;
        for of in ["handler", "listener"] {
            let text = format!("a line of the {of}");
            let requests = || -> Vec<_> {
                let lines = harness.logs().everywhere().into_iter();
                let lines = lines.filter(|line| line.text.contains(&text));
                lines.map(|line| line.request).collect()
            };
            // The same lines are there from other subjects.
            until(&text, || requests().contains(&Some(id.clone()))).await?;
            assert!(!requests().contains(&None), "{form}: {of}");
        }
        live.shutdown().await;
    }
    Ok(())
}

async fn a_line_of_a_native_handler_stands_in_the_span_that_it_takes(harness: Harness) -> Result<()> {
    let app = AppSpec::new()
        .register("GET", "/native", |context: Context| async move {
            tracing::info!(target: "pointwork::test", parent: &context.span(), "a line of the native handler");
            context.call_raw("native:hear", Payload::null()).await.map(|_| "heard")
        })
        .channel(Flavor::Native, Channel::new("native").on("hear", Program::new()));
    let live = harness.start(app).await?;
    live.send(Request::new("GET", "/native").header("x-request-id", "a-native-line"))
        .await?;
    let lines = harness.logs().containing("a line of the native handler", 1).await?;
    assert_eq!(lines[0].request.as_deref(), Some("a-native-line"));
    live.ends_without_a_crash().await
}

async fn an_extension_of_the_hosts_is_not_set_by_a_guest(harness: Harness) -> Result<()> {
    let program = Program::text("a")
        .step(Step::SetExtension("pointwork.own".to_owned()))
        .step(Step::Extension("pointwork.own".to_owned()))
        .say(" b")
        .step(Step::SetExtension("own".to_owned()))
        .step(Step::Extension("own".to_owned()));
    let live = harness
        .start(AppSpec::new().load("extended", at_root(|t| t.get("it", program))))
        .await?;
    assert_eq!(live.get("/it").await?.text(), "(none) b");
    harness.logs().containing("`pointwork.own` is ignored", 1).await?;
    live.shutdown().await;
    Ok(())
}
