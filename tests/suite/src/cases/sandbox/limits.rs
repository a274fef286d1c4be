//! The limits of a module: the reply at each, and the report in `server:crashed` (spec A1, E1).

use std::time::Duration;

use anyhow::{Context as _, Result};
use pointwork::{ModuleLimits, ModuleOptions};
use pointwork_core::{Crash, Payload};
use pointwork_test_clock::TestClock;

use super::SHOP;
use crate::case::{Harness, Live, cases};
use crate::client::{Request, Response};
use crate::flavor::Flavor;
use crate::guest::{Controller, End, Guest, Program, Step, componentize};
use crate::languages::patience;
use crate::subject::AppSpec;

cases![
    host;
    growing_memory_ends_at_its_limit: A1, E1;
    a_growing_table_ends_at_its_limit: A1, E1 without guest;
    a_stack_that_is_used_up_ends_the_request: A1, E1;
    processor_time_ends_at_its_limit: A1, E1, L6;
    a_module_has_a_deadline_of_its_own: A1, E1 moves clock;
    a_module_has_a_body_limit_of_its_own: A1, E1;
    bodies_with_json_have_limits_of_their_own: A1, E1, H25;
    a_module_has_a_limit_for_headers: A1, E1;
    log_lines_end_at_their_limit: A1, E1;
    emitted_events_end_at_their_limit: A1, E1;
];

/// A module whose POST `/it` runs the program, beside `/ok`, with the given limits.
pub(super) fn limited(form: Flavor, program: Program, set: impl FnOnce(&mut ModuleLimits)) -> AppSpec {
    limited_with(form, program, set, ModuleOptions::new())
}

pub(super) fn limited_with(
    form: Flavor,
    program: Program,
    set: impl FnOnce(&mut ModuleLimits),
    options: ModuleOptions,
) -> AppSpec {
    let things = Controller::new("Things", "/")
        .post("it", program)
        .get("ok", Program::text("ok"));
    let mut limits = ModuleLimits::new();
    // Enough for a guest, and quickly filled.
    limits.memory = 2 * 1024 * 1024;
    set(&mut limits);
    let component = form.form(Guest::with(things)).build();
    AppSpec::new().load_with(SHOP, component, options.limits(limits))
}

/// The reply has that status, `server:crashed` names the limit and the module, and the module keeps serving.
pub(super) async fn names(live: &Live, reply: &Response, status: u16, limit: &str) -> Result<()> {
    assert_eq!(reply.status, status, "{limit}: {}", reply.text());
    let crash = live
        .crashes()
        .expect(&format!("the limit `{limit}`"), |crash| {
            crash.limit.as_deref() == Some(limit)
        })
        .await?;
    assert_eq!(crash.module.as_deref(), Some(SHOP), "{limit}");
    assert_eq!(crash.route.as_deref(), Some("POST /it"), "{limit}");
    assert!(crash.request_id.is_some(), "{limit}");
    let mut served = live.get("/ok").await?.text();
    // Beside other cases, a new instance of an interpreter may take longer than the deadline that is tried.
    for _ in 0..(patience() - 1) * 8 {
        if served != "ok" {
            served = live.get("/ok").await?.text();
        }
    }
    assert_eq!(served, "ok", "{limit}: the module serves on");
    Ok(())
}

/// The request within the limit was not a crash: only the one beyond it was reported by the end.
async fn ends_with_one_crash(live: Live, form: Flavor) {
    let crashes = live.crashes().clone();
    live.shutdown().await;
    let all = crashes.all();
    assert_eq!(all.len(), 1, "{form}: {all:#?}");
}

async fn ends(harness: &Harness, form: Flavor, program: Program, status: u16, limit: &str) -> Result<()> {
    ends_with(harness, form, program, |_| {}, status, limit).await
}

async fn ends_with(
    harness: &Harness,
    form: Flavor,
    program: Program,
    set: impl FnOnce(&mut ModuleLimits),
    status: u16,
    limit: &str,
) -> Result<()> {
    let live = harness.start(limited(form, program, set)).await?;
    let reply = live.call("POST", "/it").await?;
    names(&live, &reply, status, limit)
        .await
        .with_context(|| format!("{form}"))?;
    live.shutdown().await;
    Ok(())
}

async fn growing_memory_ends_at_its_limit(harness: Harness) -> Result<()> {
    for form in Flavor::MODULES {
        ends(&harness, form, Program::new().ends(End::Hog), 500, "memory").await?;
    }
    Ok(())
}

fn growing_table(form: Flavor) -> Result<Vec<u8>> {
    let mut text = include_str!("growing_table.wat").to_owned();
    if form == Flavor::AsyncModule {
        text = text
            .replace("handlers@", "handlers-async@")
            .replace("listeners@", "listeners-async@");
    }
    componentize(wat::parse_str(text)?, form.world())
}

async fn a_growing_table_ends_at_its_limit(harness: Harness) -> Result<()> {
    for form in Flavor::MODULES {
        let module = growing_table(form)?;
        let live = harness.start(AppSpec::new().load(SHOP, module)).await?;
        let reply = live.call("POST", "/it").await?;
        names(&live, &reply, 500, "table-elements").await?;
        live.shutdown().await;
    }
    Ok(())
}

async fn a_stack_that_is_used_up_ends_the_request(harness: Harness) -> Result<()> {
    for form in Flavor::MODULES {
        ends(&harness, form, Program::new().ends(End::Overflow), 500, "stack").await?;
    }
    Ok(())
}

async fn processor_time_ends_at_its_limit(harness: Harness) -> Result<()> {
    for form in Flavor::MODULES {
        let little = |limits: &mut ModuleLimits| limits.cpu = Duration::from_millis(100);
        let program = Program::new().call("app:first").call("app:last").ends(End::Loop);
        let answer = |_| Ok(Payload::null());
        let app = limited(form, program, little);
        let app = app.answers("app", "first", answer).answers("app", "last", answer);
        let live = harness.start(app).await?;
        let reply = live.call("POST", "/it").await?;
        names(&live, &reply, 504, "cpu").await?;
        let told = "the limit `cpu` of 100 ms was hit after the event `app:last`";
        let tells = |crash: &Crash| crash.message.starts_with(told);
        live.crashes().expect("where it was", tells).await?;
        live.shutdown().await;
    }
    Ok(())
}

async fn a_module_has_a_deadline_of_its_own(harness: Harness) -> Result<()> {
    for form in Flavor::MODULES {
        let (time, deadline) = (TestClock::new(), Duration::from_secs(7));
        let soon = |limits: &mut ModuleLimits| limits.deadline = Some(deadline);
        // The gate never opens: the deadline ends the wait.
        let gate = super::watch::Gate::new();
        let app = limited(form, Program::new().call("app:gate"), soon).gate("gate", &gate);
        let live = harness.start(app.timed(&time)).await?;
        let reply = time.elapse(deadline, live.call("POST", "/it")).await?;
        names(&live, &reply, 504, "deadline").await?;
        live.shutdown().await;
    }
    Ok(())
}

async fn a_module_has_a_body_limit_of_its_own(harness: Harness) -> Result<()> {
    for form in Flavor::MODULES {
        let reads = Program::new().step(Step::Body);
        let live = harness
            .start(limited(form, reads, |limits| limits.body = Some(1000)))
            .await?;
        let fits = live.send(Request::new("POST", "/it").body("x".repeat(1000))).await?;
        assert_eq!((fits.status, fits.body.len()), (200, 1000), "{form}");
        let over = live.send(Request::new("POST", "/it").body("x".repeat(1001))).await?;
        assert_eq!(over.status, 413, "{form}");
        assert!(over.message().is_some_and(|text| text.contains("1000")), "{form}");
        names(&live, &over, 413, "body").await?;
        ends_with_one_crash(live, form).await;
    }
    Ok(())
}

async fn bodies_with_json_have_limits_of_their_own(harness: Harness) -> Result<()> {
    for form in Flavor::MODULES {
        let app = limited(form, Program::new().step(Step::Body), |limits| {
            (limits.json_body, limits.json_values, limits.body) = (100, 10, Some(150));
        });
        let live = harness.start(app).await?;
        let client = *live;
        let post = async |content_type: Option<&str>, body: &str| {
            let request = Request::new("POST", "/it").body(body.as_bytes().to_vec());
            let declared = content_type.map(|content_type| ("content-type", content_type));
            let headers = declared.into_iter();
            client
                .send(headers.fold(request, |request, (name, value)| request.header(name, value)))
                .await
        };
        let json = Some("application/json");
        let (fits, over) = ("[[],{},3,4,5,6,7,8,9]", "[[],{},3,4,5,6,7,8,9,0]");
        for content_type in [json, None, Some("Application/Problem+JSON; charset=utf-8")] {
            assert_eq!(post(content_type, fits).await?.text(), fits, "{form}");
        }
        live.crashes().expect_none()?;
        for content_type in [json, None] {
            let reply = post(content_type, over).await?;
            names(&live, &reply, 413, "json-values").await?;
        }
        assert_eq!(post(Some("text/csv"), over).await?.text(), over, "{form}");
        let (fits, over) = (format!("\"{:98}\"", ","), format!("\"{:99}\"", ","));
        assert_eq!(
            post(json, &fits).await?.text(),
            fits,
            "{form}: commas in a text are no values"
        );
        names(&live, &post(json, &over).await?, 413, "json-body").await?;
        assert_eq!(post(Some("text/plain"), &over).await?.text(), over, "{form}");
        let long = post(Some("text/plain"), &"x".repeat(151)).await?;
        names(&live, &long, 413, "body").await?;
        live.shutdown().await;
    }
    Ok(())
}

async fn a_module_has_a_limit_for_headers(harness: Harness) -> Result<()> {
    for form in Flavor::MODULES {
        let live = harness
            .start(limited(form, Program::text("fits"), |limits| limits.headers = 1000))
            .await?;
        let with = |length: usize| Request::new("POST", "/it").header("x-long", "x".repeat(length));
        assert_eq!(live.send(with(800)).await?.text(), "fits", "{form}");
        let over = live.send(with(1000)).await?;
        names(&live, &over, 431, "headers").await?;
        ends_with_one_crash(live, form).await;
    }
    Ok(())
}

async fn log_lines_end_at_their_limit(harness: Harness) -> Result<()> {
    let lines = |count: usize| (0..count).fold(Program::new(), |program, _| program.say("line").step(Step::Log));
    // Calls that share an instance lose lines instead.
    let three = |limits: &mut ModuleLimits| (limits.log_lines, limits.in_flight) = (3, 1);
    for form in Flavor::MODULES {
        let live = harness.start(limited(form, lines(3).say("said"), three)).await?;
        for _ in 0..2 {
            assert_eq!(live.call("POST", "/it").await?.text(), "said", "{form}");
        }
        live.ends_without_a_crash().await?;
        ends_with(&harness, form, lines(4), three, 500, "log-lines").await?;
        let prints = |text: &str| Program::text(text).step(Step::Print).say("said");
        ends_with(&harness, form, prints("1\n2\n3\n4\n"), three, 500, "log-lines").await?;
        // The line that the call ends itself comes too late to end the call.
        let live = harness.start(limited(form, prints("1\n2\n3\nthe rest"), three)).await?;
        assert_eq!(live.call("POST", "/it").await?.text(), "said", "{form}");
        live.ends_without_a_crash().await?;
    }
    let lines = ["first", "second"].map(|line| format!("the {line} of a call that may log one"));
    let logs = lines
        .iter()
        .fold(Program::new(), |program, line| program.say(line).step(Step::Log));
    let app = limited(Flavor::AsyncModule, logs.say("said"), |limits| limits.log_lines = 1);
    let live = harness.start(app).await?;
    assert_eq!(live.call("POST", "/it").await?.text(), "said");
    live.ends_without_a_crash().await?;
    harness
        .logs()
        .containing("`log-lines` of 1 lines was hit: lines are dropped", 1)
        .await?;
    let written = harness.logs().containing("of a call that may log one", 1).await?;
    assert!(
        written.len() == 1 && written[0].text.starts_with(&lines[0]),
        "{written:#?}"
    );
    Ok(())
}

async fn emitted_events_end_at_their_limit(harness: Harness) -> Result<()> {
    let emits = |count: usize| (0..count).fold(Program::new(), |program, _| program.emit("app:seen"));
    let three = |limits: &mut ModuleLimits| limits.emits = 3;
    for form in Flavor::MODULES {
        let (app, mut seen) = limited(form, emits(3).say("said"), three).hearing("seen");
        let live = harness.start(app).await?;
        for _ in 0..2 {
            assert_eq!(live.call("POST", "/it").await?.text(), "said", "{form}");
            for _ in 0..3 {
                seen.next().await?;
            }
        }
        live.ends_without_a_crash().await?;
        let (app, mut seen) = limited(form, emits(4), three).hearing("seen");
        let live = harness.start(app).await?;
        let reply = live.call("POST", "/it").await?;
        names(&live, &reply, 500, "emits").await?;
        for _ in 0..3 {
            seen.next().await?;
        }
        assert!(seen.so_far().is_empty(), "{form}: the fourth was not emitted");
        live.shutdown().await;
    }
    Ok(())
}
