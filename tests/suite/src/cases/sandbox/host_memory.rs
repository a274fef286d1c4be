//! The memory that the host keeps for a module: each way to fill it ends at a limit, and the other routes go on (spec A1,
//! E1).

use std::time::Duration;

use anyhow::{Context as _, Result};
use pointwork::{Breaker, ModuleLimits, ModuleOptions, ModuleState};
use pointwork_core::CrashKind;
use pointwork_test_clock::real::{until, until_async};

use super::limits::{limited, limited_with, names};
use super::{SHOP, status, watch};
use crate::case::{Harness, Live, cases};
use crate::client::{Connection, Request};
use crate::fixtures::Fixture;
use crate::flavor::Flavor;
use crate::guest::{Channel, Controller, End, Guest, Program, Step};
use crate::subject::AppSpec;

cases![
    host;
    request_extensions_end_at_the_limit: A1, E1, H9;
    emitted_events_end_at_the_limit_of_memory: A1, E1, H3;
    an_event_that_is_handed_over_ends_at_the_limit: A1, E1, H6;
    an_event_that_is_called_ends_at_the_limit: A1, E1, H8;
    replies_that_nobody_takes_leave_others_503: A1, E1, H5;
    a_reply_that_alone_is_too_long_is_500: A1, E1, H5;
    chunks_of_replies_that_nobody_takes_end_at_the_limit: A1, E1;
    a_call_past_the_limit_leaves_its_neighbours_alone [RustAsync]: A1, E1, H1;
    what_a_guest_passes_at_once_is_bounded: A1, E1;
    the_headers_of_a_reply_are_bounded: A1, E1, H5;
    the_parts_of_an_error_are_bounded: A1, C3, H4;
    an_instance_that_loses_handles_is_retired: A1;
    contexts_that_await_a_reply_keep_their_instance: A1, H7;
];

/// Two texts of the cases fit, three do not.
const LIMIT: u64 = 320 * 1024;

/// Appends a text of 128 KiB.
pub(super) fn long(program: Program) -> Program {
    program.say(&"x".repeat(1024)).step(Step::Double(7))
}

/// Runs a step with a long text, so many times.
fn times(count: usize, step: impl Fn(usize) -> Step) -> Program {
    (0..count).fold(Program::new(), |program, number| long(program).step(step(number)))
}

fn hoarding(form: Flavor, program: Program) -> AppSpec {
    limited(form, program, |limits| limits.host_memory = LIMIT)
}

/// The bytes that the host keeps for the module.
fn kept(live: &Live) -> Result<u64> {
    Ok(status(live)?.usage.host_memory)
}

/// Waits until the host keeps what it kept before, or less.
async fn comes_back(live: &Live, before: u64) -> Result<()> {
    let is_back = || kept(live).is_ok_and(|kept| kept <= before);
    until("the host keeps nothing any more", is_back).await
}

/// What fits is no crash; what does not fit ends its request alone, and nothing of it is kept.
async fn ends_at_the_limit(harness: &Harness, app: impl Fn(usize) -> AppSpec) -> Result<()> {
    let live = harness.start(app(2)).await?;
    let before = kept(&live)?;
    assert!(before > 0, "the declarations count");
    for _ in 0..3 {
        assert_eq!(live.call("POST", "/it").await?.status, 200);
        comes_back(&live, before).await?;
    }
    live.ends_without_a_crash().await?;
    let live = harness.start(app(3)).await?;
    let reply = live.call("POST", "/it").await?;
    names(&live, &reply, 500, "host-memory").await?;
    comes_back(&live, before).await?;
    live.shutdown().await;
    Ok(())
}

async fn request_extensions_end_at_the_limit(harness: Harness) -> Result<()> {
    for form in Flavor::MODULES {
        let keys = |count| times(count, |number| Step::SetExtension(format!("key-{number}")));
        ends_at_the_limit(&harness, |count| hoarding(form, keys(count))).await?;
        // A key that is set again replaces its value.
        let same = times(4, |_| Step::SetExtension("key".to_owned())).say("said");
        let live = harness.start(hoarding(form, same)).await?;
        let reply = live.call("POST", "/it").await?;
        assert_eq!((reply.status, reply.text()), (200, "said".to_owned()), "{form}");
        live.ends_without_a_crash().await?;
    }
    Ok(())
}

async fn emitted_events_end_at_the_limit_of_memory(harness: Harness) -> Result<()> {
    for form in Flavor::MODULES {
        let gate = watch::Gate::new();
        let emits = |count| times(count, |_| Step::Emit("app:gate".to_owned())).say("said");
        let live = harness.start(hoarding(form, emits(2)).gate("gate", &gate)).await?;
        let before = kept(&live)?;
        assert_eq!(live.call("POST", "/it").await?.text(), "said", "{form}");
        gate.arrived(1).await?;
        assert!(kept(&live)? >= 2 * 128 * 1024, "one is heard, one waits");
        let reply = live.call("POST", "/it").await?;
        names(&live, &reply, 500, "host-memory").await?;
        gate.open();
        comes_back(&live, before).await?;
        assert_eq!(live.call("POST", "/it").await?.text(), "said", "{form}");
        live.shutdown().await;
        // An event that is emitted by a listener.
        let gate = watch::Gate::new();
        let tells = times(1, |_| Step::Emit("told:it".to_owned())).say("said");
        let told = Channel::new("told").on("it", Program::new().step(Step::Double(2)).emit("app:gate"));
        let guest = Guest::with(
            Controller::new("Things", "/")
                .post("it", tells)
                .get("ok", Program::text("ok")),
        );
        // A listener that shares its instance loses the event instead.
        let limits = ModuleLimits::new().host_memory(LIMIT).in_flight(1);
        let options = ModuleOptions::new().limits(limits);
        let app = AppSpec::new().load_with(SHOP, form.form(guest.channel(told)).build(), options);
        let live = harness.start(app.gate("gate", &gate)).await?;
        assert_eq!(live.call("POST", "/it").await?.text(), "said", "{form}");
        let crash = |crash: &pointwork_core::Crash| crash.limit.as_deref() == Some("host-memory");
        live.crashes().expect("the listener emits too much", crash).await?;
        assert_eq!(live.get("/ok").await?.text(), "ok", "{form}");
        comes_back(&live, before + LIMIT / 2).await?;
        gate.open();
        live.shutdown().await;
    }
    Ok(())
}

async fn an_event_that_is_handed_over_ends_at_the_limit(harness: Harness) -> Result<()> {
    for form in Flavor::MODULES {
        let gives = |doubles| {
            let program = long(Program::new()).step(Step::Double(doubles));
            program
                .step(Step::HandOver("replies:it".to_owned()))
                .ends(End::Deferred)
        };
        let replies = Channel::new("replies").on("it", Program::new().take_context().say(".").step(Step::Send(200)));
        let app = |doubles| hoarding(form, gives(doubles)).channel(Flavor::Module, replies.clone());
        let live = harness.start(app(1)).await?;
        let before = kept(&live)?;
        assert_eq!(live.call("POST", "/it").await?.body.len(), 256 * 1024 + 1, "{form}");
        comes_back(&live, before).await?;
        live.shutdown().await;
        let live = harness.start(app(2)).await?;
        let reply = live.call("POST", "/it").await?;
        names(&live, &reply, 500, "host-memory").await?;
        live.shutdown().await;
    }
    Ok(())
}

async fn an_event_that_is_called_ends_at_the_limit(harness: Harness) -> Result<()> {
    for form in Flavor::MODULES {
        let calls = |doubles| long(Program::new()).step(Step::Double(doubles)).call("app:size");
        let app = |doubles| {
            hoarding(form, calls(doubles)).answers("app", "size", |payload| {
                Ok(pointwork_core::Payload::json(&payload.data().len())?)
            })
        };
        let live = harness.start(app(1)).await?;
        assert_eq!(live.call("POST", "/it").await?.text(), "262144", "{form}");
        live.ends_without_a_crash().await?;
        let live = harness.start(app(2)).await?;
        let reply = live.call("POST", "/it").await?;
        names(&live, &reply, 500, "host-memory").await?;
        live.shutdown().await;
    }
    Ok(())
}

/// The length of a reply that no socket takes whole.
const HUGE: u64 = 16 * 1024 * 1024;

fn huge(form: Flavor, end: Step) -> AppSpec {
    let program = Program::new().say(&"x".repeat(1024)).step(Step::Double(14)).step(end);
    let set = |limits: &mut ModuleLimits| {
        // The texts of two calls do not fit one instance.
        (limits.memory, limits.in_flight) = (64 * 1024 * 1024, 1);
        limits.host_memory = HUGE + HUGE / 2;
    };
    // A single crash would hold the module back.
    let options = ModuleOptions::new().breaker(Breaker::new().crashes(1));
    limited_with(form, program.ends(End::Deferred), set, options)
}

/// Asks, and reads no more than the beginning.
async fn unread(live: &Live) -> Result<Connection> {
    let mut connection = live.connect().await?;
    let request = Request::new("POST", "/it").to_bytes("localhost");
    connection.write(&request).await?;
    let is_kept = || kept(live).is_ok_and(|kept| kept >= HUGE);
    until("the reply is kept", is_kept).await?;
    Ok(connection)
}

async fn replies_that_nobody_takes_leave_others_503(harness: Harness) -> Result<()> {
    for form in Flavor::MODULES {
        let live = harness.start(huge(form, Step::Send(200))).await?;
        let before = kept(&live)?;
        let connection = unread(&live).await?;
        for _ in 0..3 {
            let reply = live.call("POST", "/it").await?;
            names(&live, &reply, 503, "host-memory").await?;
            assert_eq!(reply.header("retry-after").as_deref(), Some("1"), "{form}");
        }
        let now = status(&live)?;
        assert_eq!(now.state, ModuleState::Serving, "{form}");
        assert_eq!((now.usage.crashes, now.usage.refused), (0, 3), "{form}");
        drop(connection);
        comes_back(&live, before).await?;
        assert_eq!(live.call("POST", "/it").await?.body.len() as u64, HUGE, "{form}");
        comes_back(&live, before).await?;
        live.shutdown().await;
    }
    Ok(())
}

async fn a_reply_that_alone_is_too_long_is_500(harness: Harness) -> Result<()> {
    for form in Flavor::MODULES {
        let reply = Program::new().say(&"x".repeat(1024)).step(Step::Double(10));
        let program = reply.step(Step::Send(200)).ends(End::Deferred);
        let set = |limits: &mut ModuleLimits| {
            limits.memory = 64 * 1024 * 1024;
            limits.host_memory = 1024 * 1024;
        };
        let live = harness.start(limited(form, program, set)).await?;
        let reply = live.call("POST", "/it").await?;
        names(&live, &reply, 500, "host-memory").await?;
        live.shutdown().await;
    }
    Ok(())
}

async fn chunks_of_replies_that_nobody_takes_end_at_the_limit(harness: Harness) -> Result<()> {
    for form in Flavor::MODULES {
        let live = harness.start(huge(form, Step::StreamText(200))).await?;
        let before = kept(&live)?;
        let connection = unread(&live).await?;
        let cut = live.call("POST", "/it").await;
        assert!(cut.is_err(), "{form}: the reply breaks off: {cut:?}");
        let crash = |crash: &pointwork_core::Crash| crash.limit.as_deref() == Some("host-memory");
        let crash = live.crashes().expect("the limit", crash).await?;
        assert_eq!(crash.kind, CrashKind::Limit, "{form}");
        assert_eq!(status(&live)?.usage.crashes, 0, "{form}");
        assert_eq!(live.get("/ok").await?.text(), "ok", "{form}");
        drop(connection);
        comes_back(&live, before).await?;
        live.shutdown().await;
    }
    Ok(())
}

async fn a_call_past_the_limit_leaves_its_neighbours_alone(harness: Harness) -> Result<()> {
    let options = ModuleOptions::new().limits(ModuleLimits::new().host_memory(1024 * 1024).instances(1));
    for hoard in ["extension", "event"] {
        let gate = watch::Gate::new();
        let pass = gate.clone();
        let app = AppSpec::new()
            .load_with(SHOP, harness.fixture(Fixture::RustAsync).await?, options.clone())
            .listen("clock", "wait", move |_, _| {
                let pass = pass.clone();
                async move {
                    pass.pass().await;
                    Ok(pointwork_core::Payload::null())
                }
            })
            .answers("response", "send", |_| Ok(pointwork_core::Payload::null()));
        let live = harness.start(app).await?;
        let client = *live;
        let neighbour = tokio::spawn(async move { client.get("/waits/1/begun").await });
        gate.arrived(1).await?;
        let fits = live.get(&format!("/hoards/{hoard}/500000")).await?;
        assert_eq!(fits.status, 200, "{hoard}");
        let over = live.get(&format!("/hoards/{hoard}/1100000")).await?;
        assert_eq!(over.status, 500, "{hoard}");
        let crash = |crash: &pointwork_core::Crash| crash.limit.as_deref() == Some("host-memory");
        let crash = live.crashes().expect("the limit", crash).await?;
        assert_eq!(crash.module.as_deref(), Some(SHOP), "{hoard}");
        gate.open();
        assert_eq!(neighbour.await??.text(), "0", "{hoard}: the neighbour goes on");
        assert_eq!(
            live.get("/waits/1/begun").await?.text(),
            "1",
            "{hoard}: so does the instance"
        );
        live.shutdown().await;
    }
    Ok(())
}

async fn what_a_guest_passes_at_once_is_bounded(harness: Harness) -> Result<()> {
    // The same text many times: more than the memory of the guest.
    let long = "x".repeat(64 * 1024);
    let field = ("field".to_owned(), long);
    let logs = |count| Program::new().step(Step::LogRepeated(field.clone(), count));
    for form in Flavor::MODULES {
        let live = harness.start(hoarding(form, logs(8))).await?;
        assert_eq!(live.call("POST", "/it").await?.status, 200, "{form}");
        live.ends_without_a_crash().await?;
        let live = harness.start(hoarding(form, logs(64))).await?;
        let reply = live.call("POST", "/it").await?;
        names(&live, &reply, 500, "host-memory").await?;
        live.shutdown().await;
    }
    Ok(())
}

async fn the_headers_of_a_reply_are_bounded(harness: Harness) -> Result<()> {
    let with = |count: usize| {
        let headers = (0..count).map(|number| format!("x-{number:03}"));
        headers.fold(Program::new(), |program, name| program.header(&name, "x".repeat(1000)))
    };
    for form in Flavor::MODULES {
        let fits = harness.start(limited(form, with(60), |_| {})).await?;
        assert_eq!(fits.call("POST", "/it").await?.status, 200, "{form}");
        fits.ends_without_a_crash().await?;
        let live = harness.start(limited(form, with(70), |_| {})).await?;
        assert_eq!(live.call("POST", "/it").await?.status, 500, "{form}");
        let refused = |crash: &pointwork_core::Crash| crash.kind == CrashKind::Reply;
        let crash = live.crashes().expect("the headers", refused).await?;
        for part in ["70 headers", "65536"] {
            assert!(crash.message.contains(part), "{form}: {}", crash.message);
        }
        assert_eq!(live.get("/ok").await?.text(), "ok", "{form}");
        live.shutdown().await;
    }
    Ok(())
}

async fn the_parts_of_an_error_are_bounded(harness: Harness) -> Result<()> {
    for form in Flavor::MODULES {
        let code: &'static str = "c".repeat(1000).leak();
        let db = Channel::new("db").on("fails", long(Program::new()).fails(code, 404));
        let things = Controller::new("Things", "/")
            .get("asks", Program::new().call("db:fails"))
            .get("throws", long(Program::new()).ends(End::Throw(400)))
            .get(
                "details",
                Program::new()
                    .details(&format!("{{\"a\":\"{}\"}}", "x".repeat(70_000)))
                    .ends(End::Throw(400)),
            );
        let live = harness
            .start(AppSpec::new().load(SHOP, form.form(Guest::with(things).channel(db)).build()))
            .await?;
        let asked = live.get("/asks").await?.text();
        assert!(
            asked.starts_with(&format!("failed {}…: nullxxx", "c".repeat(255))),
            "{form}: {asked:.400}"
        );
        assert!(asked.len() < 9 * 1024, "{form}: {} bytes", asked.len());
        let thrown = live.get("/throws").await?;
        let message = thrown.message().context("an error has a message")?;
        assert!(
            thrown.status == 400 && message.ends_with('…'),
            "{form}: {}",
            message.len()
        );
        assert!(message.len() < 9 * 1024, "{form}: {} bytes", message.len());
        live.crashes().expect_none()?;
        assert_eq!(live.get("/details").await?.status, 500, "{form}");
        let refused = |crash: &pointwork_core::Crash| crash.message.contains("65536");
        live.crashes().expect("the details", refused).await?;
        live.shutdown().await;
    }
    Ok(())
}

/// A module whose `/it` replies and keeps its context, and whose `/count` returns the number of calls of its instance.
fn leaking(form: Flavor, program: Program) -> AppSpec {
    let things = Controller::new("Things", "/")
        .post("it", program.ends(End::Keep))
        .get("count", Program::new().step(Step::Count));
    // All calls come into one instance; its retirement must not look like a crash.
    let limits = ModuleLimits::new().instances(1).queue_wait(Duration::from_secs(60));
    let options = ModuleOptions::new().limits(limits).breaker(Breaker::new().crashes(1));
    AppSpec::new().load_with(SHOP, form.form(Guest::with(things)).build(), options)
}

async fn an_instance_that_loses_handles_is_retired(harness: Harness) -> Result<()> {
    for form in Flavor::MODULES {
        let live = harness
            .start(leaking(form, Program::text("kept").step(Step::Send(200))))
            .await?;
        for _ in 0..200 {
            assert_eq!(live.call("POST", "/it").await?.text(), "kept", "{form}");
            assert!(status(&live)?.usage.held <= 64, "{form}");
        }
        let count: u32 = live.get("/count").await?.text().parse()?;
        assert!(count <= 66, "{form}: the instance served {count} calls");
        live.crashes().expect_none()?;
        live.shutdown().await;
    }
    // Three of each form. Another case may retire instances of a module of the same name at this time.
    let retired = harness.logs().containing("an instance was retired", 6).await?;
    assert!(retired.iter().all(|line| line.text.contains("module=shop")));
    Ok(())
}

async fn contexts_that_await_a_reply_keep_their_instance(harness: Harness) -> Result<()> {
    for form in Flavor::MODULES {
        let live = harness.start(leaking(form, Program::new())).await?;
        let mut waiting = Vec::new();
        for number in 1..=80 {
            let mut connection = live.connect().await?;
            let request = Request::new("POST", "/it").to_bytes("localhost");
            connection.write(&request).await?;
            waiting.push(connection);
            // One after the other, so that all come into one instance.
            let is_there =
                || status(&live).is_ok_and(|status| status.usage.calls == number && status.usage.in_flight == 0);
            until("the call has ended", is_there).await?;
        }
        assert_eq!(live.get("/count").await?.text(), "81", "{form}");
        drop(waiting);
        // Nobody waits any more: now they are lost.
        until("the clients are gone", || live.control().requests_in_flight() <= 80).await?;
        let client = *live;
        let is_replaced = || async move { client.get("/count").await.is_ok_and(|reply| reply.text() == "1") };
        until_async("the instance is replaced", is_replaced).await?;
        live.shutdown().await;
    }
    Ok(())
}
