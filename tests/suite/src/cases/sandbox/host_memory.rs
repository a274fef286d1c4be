//! The memory that the host keeps for a module, and the log that a module writes: each way to fill them ends at a limit,
//! and the other routes go on (spec A1, D10, E1).

use std::time::Duration;

use anyhow::{Context as _, Result};
use pointwork::{Breaker, ModuleLimits, ModuleOptions};
use pointwork_core::CrashKind;

use super::limits::{limited, names};
use super::{SHOP, status, watch};
use crate::case::{Live, Stage, cases};
use crate::client::{Connection, Request};
use crate::fixtures::Fixture;
use crate::guest::{Channel, Controller, End, Flood, Guest, Program, Step, with_module};
use crate::home::Home;
use crate::subject::AppSpec;

cases![
    host;
    request_extensions_end_at_the_limit: A1, E1, H9;
    emitted_events_end_at_the_limit_of_memory: A1, E1, H3;
    an_event_that_is_handed_over_ends_at_the_limit: A1, E1, H6;
    an_event_that_is_called_ends_at_the_limit: A1, E1, H8;
    replies_that_nobody_takes_end_at_the_limit: A1, E1, H5;
    pieces_of_replies_that_nobody_takes_end_at_the_limit: A1, E1;
    a_call_past_the_limit_leaves_its_neighbours_alone [RustAsync]: A1, E1, H1;
    what_a_guest_passes_at_once_is_bounded: A1, E1;
    the_headers_of_a_reply_are_bounded: A1, E1, H5;
    the_parts_of_an_error_are_bounded: A1, C3, H4;
    a_log_line_is_bounded_and_stays_one_line: A1, E1;
    the_report_of_a_crash_forges_no_line: E1;
    a_long_event_name_is_not_logged_whole: A1, C4;
    an_instance_that_loses_handles_is_retired: A1;
    contexts_that_await_a_reply_keep_their_instance: A1, H7;
    a_manifest_past_the_limit_is_refused: A1, D10;
    a_flood_of_declarations_is_refused: A1, D10;
    long_names_are_not_repeated_in_errors: D10;
];

/// Two texts of the cases fit, three do not.
const LIMIT: u64 = 320 * 1024;

/// Appends a text of 128 KiB.
fn long(program: Program) -> Program {
    program.say(&"x".repeat(1024)).step(Step::Double(7))
}

/// Runs a step with a long text, so many times.
fn times(count: usize, step: impl Fn(usize) -> Step) -> Program {
    (0..count).fold(Program::new(), |program, number| long(program).step(step(number)))
}

fn hoarding(form: Home, program: Program) -> AppSpec {
    limited(form, program, |limits| limits.host_memory = LIMIT)
}

/// The bytes that the host keeps for the module.
fn kept(live: &Live) -> Result<u64> {
    Ok(status(live)?.usage.host_memory)
}

/// Waits until the host keeps what it kept before, or less.
async fn comes_back(live: &Live, before: u64) -> Result<()> {
    let is_back = || kept(live).is_ok_and(|kept| kept <= before);
    watch::eventually("the host keeps nothing any more", is_back).await
}

/// What fits is no crash; what does not fit ends its request alone, and nothing of it is kept.
async fn ends_at_the_limit(stage: &Stage, app: impl Fn(usize) -> AppSpec) -> Result<()> {
    let live = stage.start(app(2)).await?;
    let before = kept(&live)?;
    assert!(before > 0, "the declarations count");
    for _ in 0..3 {
        assert_eq!(live.call("POST", "/it").await?.status, 200);
        comes_back(&live, before).await?;
    }
    live.ends_without_a_crash().await?;
    let live = stage.start(app(3)).await?;
    let reply = live.call("POST", "/it").await?;
    names(&live, &reply, 500, "host-memory").await?;
    comes_back(&live, before).await?;
    live.shutdown().await;
    Ok(())
}

async fn request_extensions_end_at_the_limit(stage: Stage) -> Result<()> {
    for form in Home::MODULES {
        let keys = |count| times(count, |number| Step::SetExtension(format!("key-{number}")));
        ends_at_the_limit(&stage, |count| hoarding(form, keys(count))).await?;
        // A key that is set anew replaces its value.
        let same = times(4, |_| Step::SetExtension("key".to_owned())).say("said");
        let live = stage.start(hoarding(form, same)).await?;
        let reply = live.call("POST", "/it").await?;
        assert_eq!((reply.status, reply.text()), (200, "said".to_owned()), "{form}");
        live.ends_without_a_crash().await?;
    }
    Ok(())
}

async fn emitted_events_end_at_the_limit_of_memory(stage: Stage) -> Result<()> {
    for form in Home::MODULES {
        let gate = watch::Gate::new();
        let emits = |count| times(count, |_| Step::Emit("app:gate".to_owned())).say("said");
        let live = stage.start(hoarding(form, emits(2)).gate("gate", &gate)).await?;
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
        let guest = Guest::of(
            Controller::new("Things", "/")
                .post("it", tells)
                .get("ok", Program::text("ok")),
        );
        let options = ModuleOptions::new().limits(ModuleLimits::new().host_memory(LIMIT));
        let app = AppSpec::new().load_with(SHOP, form.form(guest.channel(told)).build(), options);
        let live = stage.start(app.gate("gate", &gate)).await?;
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

async fn an_event_that_is_handed_over_ends_at_the_limit(stage: Stage) -> Result<()> {
    for form in Home::MODULES {
        let gives = |doubles| {
            let program = long(Program::new()).step(Step::Double(doubles));
            program
                .step(Step::HandOver("replies:it".to_owned()))
                .ends(End::Deferred)
        };
        let replies = Channel::new("replies").on("it", Program::new().take_context().say(".").step(Step::Send(200)));
        let app = |doubles| hoarding(form, gives(doubles)).channel(Home::Module, replies.clone());
        let live = stage.start(app(1)).await?;
        let before = kept(&live)?;
        assert_eq!(live.call("POST", "/it").await?.body.len(), 256 * 1024 + 1, "{form}");
        comes_back(&live, before).await?;
        live.shutdown().await;
        let live = stage.start(app(2)).await?;
        let reply = live.call("POST", "/it").await?;
        names(&live, &reply, 500, "host-memory").await?;
        live.shutdown().await;
    }
    Ok(())
}

async fn an_event_that_is_called_ends_at_the_limit(stage: Stage) -> Result<()> {
    for form in Home::MODULES {
        let calls = |doubles| long(Program::new()).step(Step::Double(doubles)).call("app:size");
        let app = |doubles| {
            hoarding(form, calls(doubles)).answers("app", "size", |payload| {
                pointwork_core::Payload::json(&payload.data().len())
            })
        };
        let live = stage.start(app(1)).await?;
        assert_eq!(live.call("POST", "/it").await?.text(), "262144", "{form}");
        live.ends_without_a_crash().await?;
        let live = stage.start(app(2)).await?;
        let reply = live.call("POST", "/it").await?;
        names(&live, &reply, 500, "host-memory").await?;
        live.shutdown().await;
    }
    Ok(())
}

/// The length of a reply that no socket takes whole.
const HUGE: u64 = 16 * 1024 * 1024;

fn huge(form: Home, end: Step) -> AppSpec {
    let program = Program::new().say(&"x".repeat(1024)).step(Step::Double(14)).step(end);
    limited(form, program.ends(End::Deferred), |limits| {
        limits.memory = 64 * 1024 * 1024;
        limits.host_memory = HUGE + HUGE / 2;
    })
}

/// Asks, and reads no more than the beginning.
async fn unread(live: &Live) -> Result<Connection> {
    let mut connection = live.connect().await?;
    let request = Request::new("POST", "/it").to_bytes("localhost");
    connection.write(&request).await?;
    let is_kept = || kept(live).is_ok_and(|kept| kept >= HUGE);
    watch::eventually("the reply is kept", is_kept).await?;
    Ok(connection)
}

async fn replies_that_nobody_takes_end_at_the_limit(stage: Stage) -> Result<()> {
    for form in Home::MODULES {
        let live = stage.start(huge(form, Step::Send(200))).await?;
        let before = kept(&live)?;
        let connection = unread(&live).await?;
        let reply = live.call("POST", "/it").await?;
        names(&live, &reply, 500, "host-memory").await?;
        drop(connection);
        comes_back(&live, before).await?;
        assert_eq!(live.call("POST", "/it").await?.body.len() as u64, HUGE, "{form}");
        comes_back(&live, before).await?;
        live.shutdown().await;
    }
    Ok(())
}

async fn pieces_of_replies_that_nobody_takes_end_at_the_limit(stage: Stage) -> Result<()> {
    for form in Home::MODULES {
        let live = stage.start(huge(form, Step::StreamText(200))).await?;
        let before = kept(&live)?;
        let connection = unread(&live).await?;
        let cut = live.call("POST", "/it").await;
        assert!(cut.is_err(), "{form}: the reply breaks off");
        let crash = |crash: &pointwork_core::Crash| crash.limit.as_deref() == Some("host-memory");
        live.crashes().expect("the limit", crash).await?;
        assert_eq!(live.get("/ok").await?.text(), "ok", "{form}");
        drop(connection);
        comes_back(&live, before).await?;
        live.shutdown().await;
    }
    Ok(())
}

async fn a_call_past_the_limit_leaves_its_neighbours_alone(stage: Stage) -> Result<()> {
    let options = ModuleOptions::new().limits(ModuleLimits::new().host_memory(1024 * 1024).instances(1));
    for hoard in ["extension", "event"] {
        let gate = watch::Gate::new();
        let pass = gate.clone();
        let app = AppSpec::new()
            .load_with(SHOP, stage.fixture(Fixture::RustAsync).await?, options.clone())
            .listen("clock", "wait", move |_, _| {
                let pass = pass.clone();
                async move {
                    pass.pass().await;
                    Ok(pointwork_core::Payload::null())
                }
            })
            .answers("response", "send", |_| Ok(pointwork_core::Payload::null()));
        let live = stage.start(app).await?;
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

async fn what_a_guest_passes_at_once_is_bounded(stage: Stage) -> Result<()> {
    // The same text many times: more than the memory of the guest.
    let long = "x".repeat(64 * 1024);
    let fields = |count| vec![("field".to_owned(), long.clone()); count];
    for form in Home::MODULES {
        let live = stage
            .start(hoarding(form, Program::new().step(Step::LogWith(fields(8)))))
            .await?;
        assert_eq!(live.call("POST", "/it").await?.status, 200, "{form}");
        live.ends_without_a_crash().await?;
        let live = stage
            .start(hoarding(form, Program::new().step(Step::LogWith(fields(64)))))
            .await?;
        let reply = live.call("POST", "/it").await?;
        names(&live, &reply, 500, "host-memory").await?;
        live.shutdown().await;
    }
    Ok(())
}

async fn the_headers_of_a_reply_are_bounded(stage: Stage) -> Result<()> {
    let with = |count: usize| {
        let headers = (0..count).map(|number| format!("x-{number:03}"));
        headers.fold(Program::new(), |program, name| program.header(&name, "x".repeat(1000)))
    };
    for form in Home::MODULES {
        let fits = stage.start(limited(form, with(60), |_| {})).await?;
        assert_eq!(fits.call("POST", "/it").await?.status, 200, "{form}");
        fits.ends_without_a_crash().await?;
        let live = stage.start(limited(form, with(70), |_| {})).await?;
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

async fn the_parts_of_an_error_are_bounded(stage: Stage) -> Result<()> {
    for form in Home::MODULES {
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
        let live = stage
            .start(AppSpec::new().load(SHOP, form.form(Guest::of(things).channel(db)).build()))
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

async fn a_log_line_is_bounded_and_stays_one_line(stage: Stage) -> Result<()> {
    let from_a_long_target = Program::text("the line").step(Step::LogFrom("t".repeat(100_000)));
    let fields = vec![("f".to_owned(), "y".repeat(100_000))];
    let logs = long(from_a_long_target.say("long")).step(Step::LogWith(fields));
    let forges = "forges\n2024-01-01T00:00:00Z ERROR pointwork: forged\u{1b}[2J\r\u{202e}";
    for form in Home::MODULES {
        let live = stage
            .start(limited(form, logs.clone().say(forges).step(Step::Log), |_| {}))
            .await?;
        assert_eq!(live.call("POST", "/it").await?.status, 200, "{form}");
        live.shutdown().await;
    }
    let lines = stage.logs().everywhere();
    let ours = |line: &&crate::logs::Line| line.text.contains(" module=shop from=");
    let ours: Vec<_> = lines.iter().filter(ours).map(|line| &line.text).collect();
    let found = |start: &str| {
        ours.iter()
            .filter(|line| line.starts_with(start))
            .copied()
            .collect::<Vec<_>>()
    };
    for start in ["the line", "longx"] {
        let lines = found(start);
        assert_eq!(lines.len(), 2, "{start}");
        for line in lines {
            // The fields of its request stand behind it, in a host of another language.
            assert!(line.len() <= 8 * 1024 + 200, "{start}: {} bytes", line.len());
            assert!(line.contains('…'), "{start}: {line:.100}");
        }
    }
    let lines = found("forges");
    assert_eq!(lines.len(), 2, "{ours:#?}");
    for line in lines {
        let shown = r"forges\n2024-01-01T00:00:00Z ERROR pointwork: forged\u{1b}[2J\r\u{202e}";
        assert!(line.starts_with(shown), "{line}");
    }
    Ok(())
}

async fn the_report_of_a_crash_forges_no_line(stage: Stage) -> Result<()> {
    let forges = "panics\n2024-01-01T00:00:00Z ERROR pointwork: forged by a crash\u{1b}[2J";
    for form in Home::MODULES {
        let panics = Program::text(forges).step(Step::Panicked).ends(End::Trap);
        let live = stage.start(limited(form, panics, |_| {})).await?;
        assert_eq!(live.call("POST", "/it").await?.status, 500, "{form}");
        live.crashes()
            .expect("the panic", |crash| crash.message.contains("panics"))
            .await?;
        live.shutdown().await;
        // A failure of a listener is reported as well.
        let db = Channel::new("db").on("fails", Program::text(forges).fails("failed", 500));
        let tells = Controller::new("Things", "/").get("it", Program::new().emit("db:fails"));
        let live = stage
            .start(AppSpec::new().load(SHOP, form.form(Guest::of(tells).channel(db)).build()))
            .await?;
        assert_eq!(live.get("/it").await?.status, 200, "{form}");
        live.crashes()
            .expect("the failure", |crash| crash.message.contains("panics"))
            .await?;
        live.shutdown().await;
    }
    let lines = stage.logs().everywhere();
    let forged: Vec<_> = lines
        .iter()
        .filter(|line| line.text.contains("forged by a crash"))
        .collect();
    assert_eq!(forged.len(), 4, "{forged:#?}");
    for line in forged {
        assert!(
            !line.text.contains("\n2024") && !line.text.contains('\u{1b}'),
            "{}",
            line.text
        );
    }
    Ok(())
}

async fn a_long_event_name_is_not_logged_whole(stage: Stage) -> Result<()> {
    let name = format!("long-name-{}", "n".repeat(100_000));
    for form in Home::MODULES {
        let program = Program::new().emit(&name).call(&name);
        let live = stage.start(limited(form, program, |_| {})).await?;
        let reply = live.call("POST", "/it").await?;
        assert!(
            reply.text().starts_with("failed unknown-event: "),
            "{form}: {:.100}",
            reply.text()
        );
        assert!(reply.body.len() < 1000, "{form}: {} bytes", reply.body.len());
        live.shutdown().await;
    }
    let lines = stage.logs().everywhere();
    let lines: Vec<_> = lines.iter().filter(|line| line.text.contains("long-name-")).collect();
    assert_eq!(lines.len(), 2, "one for each form");
    assert!(lines.iter().all(|line| line.text.len() < 1000));
    Ok(())
}

/// A module whose `/it` replies and keeps its context, and whose `/count` returns the number of calls of its instance.
fn leaking(form: Home, program: Program) -> AppSpec {
    let things = Controller::new("Things", "/")
        .post("it", program.ends(End::Keep))
        .get("count", Program::new().step(Step::Count));
    // All calls come into one instance; its retirement must not look like a crash.
    let limits = ModuleLimits::new().instances(1).queue_wait(Duration::from_secs(60));
    let options = ModuleOptions::new().limits(limits).breaker(Breaker::new().crashes(1));
    AppSpec::new().load_with(SHOP, form.form(Guest::of(things)).build(), options)
}

async fn an_instance_that_loses_handles_is_retired(stage: Stage) -> Result<()> {
    for form in Home::MODULES {
        let live = stage
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
    let lines = stage.logs().everywhere();
    let retired = |line: &&crate::logs::Line| line.text.contains("an instance was retired");
    let retired: Vec<_> = lines.iter().filter(retired).collect();
    // Another case may retire instances of a module of the same name at this time.
    assert!(retired.len() >= 6, "three of each form: {retired:#?}");
    assert!(retired.iter().all(|line| line.text.contains("module=shop")));
    Ok(())
}

async fn contexts_that_await_a_reply_keep_their_instance(stage: Stage) -> Result<()> {
    for form in Home::MODULES {
        let live = stage.start(leaking(form, Program::new())).await?;
        let mut waiting = Vec::new();
        for number in 1..=80 {
            let mut connection = live.connect().await?;
            let request = Request::new("POST", "/it").to_bytes("localhost");
            connection.write(&request).await?;
            waiting.push(connection);
            // One after the other, so that all come into one instance.
            let is_there =
                || status(&live).is_ok_and(|status| status.usage.calls == number && status.usage.in_flight == 0);
            watch::eventually("the call has ended", is_there).await?;
        }
        assert_eq!(live.get("/count").await?.text(), "81", "{form}");
        drop(waiting);
        // Nobody waits any more: now they are lost.
        watch::eventually("the clients are gone", || live.control().requests_in_flight() <= 80).await?;
        let is_replaced = async {
            loop {
                if live.get("/count").await?.text() == "1" {
                    return anyhow::Ok(());
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(crate::client::PATIENCE, is_replaced).await??;
        live.shutdown().await;
    }
    Ok(())
}

async fn a_manifest_past_the_limit_is_refused(stage: Stage) -> Result<()> {
    let options = |limit| ModuleOptions::new().limits(ModuleLimits::new().host_memory(limit));
    for (length, words) in [
        (60_000, ["module `suspect`", "the limit `host-memory` of 100000 bytes"]),
        (200_000, ["suspect", "over 100000 bytes, the limit `host-memory`"]),
    ] {
        let guest = Guest::new().metadata("description", &"x".repeat(length)).build();
        let app = |limit| AppSpec::new().load_with("suspect", guest.clone(), options(limit));
        let refusal = stage.refusal(app(100_000)).await?;
        for word in words {
            assert!(refusal.contains(word), "`{word}` is not in: {refusal}");
        }
        let live = stage.start(app(1_000_000)).await?;
        let statuses = live.control().statuses();
        let kept = statuses[0].usage.host_memory;
        assert!(kept >= length as u64 && kept <= 1_000_000, "{kept}");
        live.shutdown().await;
    }
    Ok(())
}

async fn a_flood_of_declarations_is_refused(stage: Stage) -> Result<()> {
    for list in Flood::ALL {
        let guest = Guest::of(Controller::new("Things", "/")).channel(Channel::new("db"));
        let component = guest.flood(list, 1_000_000).build();
        assert!(component.len() < 100 * 1024, "{list:?}: {} bytes", component.len());
        let refusal = stage.refusal(AppSpec::new().load("suspect", component)).await?;
        for word in ["suspect", "its manifest is over 8388608 bytes"] {
            assert!(refusal.contains(word), "{list:?}: `{word}` is not in: {refusal}");
        }
    }
    Ok(())
}

async fn long_names_are_not_repeated_in_errors(stage: Stage) -> Result<()> {
    let long = "n".repeat(100_000);
    let routes = (0..100).fold(Controller::new(&long, "/"), |things, number| {
        things.route(&format!("r{number}"), Some("NO METHOD"), &[], Program::new())
    });
    let listeners = (0..100).fold(Channel::new(&long), |channel, number| {
        channel.on(&number.to_string(), Program::new())
    });
    let event = Channel::new("db").on(&long, Program::new());
    let guests = [
        (Guest::of(routes), "the name has 100000 bytes"),
        (Guest::new().channel(listeners), "the name of a channel"),
        (Guest::new().channel(event), "the event of a listener"),
        (
            Guest::new().importing(&format!("{}:things/it@1.0.0", &long[..50_000])),
            "imports `nnn",
        ),
    ];
    for (guest, word) in guests {
        let refusal = stage
            .refusal(AppSpec::new().load("suspect", guest.without_code().build()))
            .await?;
        assert!(refusal.contains(word), "`{word}` is not in: {refusal:.1000}");
        assert!(refusal.len() < 20_000, "{word}: {} bytes", refusal.len());
    }
    // The name of a function stands in each frame of a backtrace.
    let named = |length| {
        with_module(
            &Guest::new().build(),
            &format!("(module (func ${}))", "f".repeat(length)),
        )
    };
    let refusal = stage
        .refusal(AppSpec::new().load("suspect", named(64 * 1024 + 1)))
        .await?;
    for word in ["suspect", "the name of function 0 has 65537 bytes"] {
        assert!(refusal.contains(word), "`{word}` is not in: {refusal:.1000}");
    }
    stage
        .start(AppSpec::new().load("fits", named(64 * 1024)))
        .await?
        .shutdown()
        .await;
    Ok(())
}
