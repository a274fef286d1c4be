//! Failures of handlers and adapters, and their reports to the application (spec E1, E2).

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::Result;
use pointwork::{Breaker, ModuleOptions, Usage};
use pointwork_core::{Context, CrashKind};
use pointwork_test_clock::real::until;

use super::watch::Heard;
use super::{at_root, fixed};
use crate::case::{Harness, Live, cases};
use crate::client::Request;
use crate::guest::{Channel, Controller, End, Guest, Program, Step};
use crate::subject::{AppSpec, Limits};

cases![
    host;
    a_trap_is_500_and_reported: E1, E2 of sdk and adapter;
    a_trap_ends_one_request_only: E1;
    a_trap_tells_the_client_nothing: E1 of sdk;
    the_message_of_a_guests_panic_is_reported: E1 of sdk;
    an_exception_is_500_and_no_crash: E4 of sdk;
    an_exception_of_a_listener_is_500_and_no_crash: E4 of sdk;
    an_endless_loop_ends_at_the_deadline: E1 of adapter in hosts;
    an_endless_loop_does_not_hold_up_others: E1;
    a_native_handler_that_panics_is_500_and_reported: E1 without guest in hosts;
];

fn trapping() -> AppSpec {
    let things = Controller::new("Things", "/").route("breaks", Some("GET"), &["trap"], Program::new().ends(End::Trap));
    AppSpec::new().load("shaky", Guest::with(things.get("ok", Program::text("ok"))).build())
}

async fn a_trap_is_500_and_reported(harness: Harness) -> Result<()> {
    let now = || {
        SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map(|since| since.as_millis())
    };
    let live = harness.start(trapping()).await?;
    let request = Request::new("GET", "/trap").header("x-request-id", "trap-1");
    let before = now()?;
    assert_eq!(live.send(request).await?.status, 500);
    let crash = live
        .crashes()
        .expect("the trap", |crash| crash.kind == CrashKind::Trap)
        .await?;
    assert_eq!(crash.adapter.as_deref(), Some(harness.adapter()));
    assert_eq!(crash.module.as_deref(), Some("shaky"));
    assert_eq!(crash.route.as_deref(), Some("GET /trap"));
    assert_eq!(crash.request_id.as_deref(), Some("trap-1"));
    assert!(crash.message.contains("unreachable"), "{}", crash.message);
    let (time, after) = (u128::from(crash.time), now()?);
    assert!(
        (before..=after).contains(&time),
        "{time} is not from {before} to {after}"
    );
    live.shutdown().await;
    Ok(())
}

async fn a_trap_ends_one_request_only(harness: Harness) -> Result<()> {
    let live = harness.start(trapping()).await?;
    for _ in 0..5 {
        assert_eq!(live.get("/trap").await?.status, 500);
        assert_eq!(live.get("/ok").await?.text(), "ok");
    }
    live.shutdown().await;
    Ok(())
}

async fn a_trap_tells_the_client_nothing(harness: Harness) -> Result<()> {
    let live = harness.start(trapping()).await?;
    let response = live.get("/trap").await?;
    let all = format!("{} {:?}", response.text(), response.headers);
    for secret in ["unreachable", "wasm", "shaky", "trap", "breaks"] {
        assert!(!all.contains(secret), "`{secret}` is in: {all}");
    }
    live.shutdown().await;
    Ok(())
}

async fn the_message_of_a_guests_panic_is_reported(harness: Harness) -> Result<()> {
    let program = Program::text("index 7 of 3").step(Step::Panicked).ends(End::Trap);
    let live = harness
        .start(AppSpec::new().load("m", at_root(|t| t.get("it", program))))
        .await?;
    let response = live.get("/it").await?;
    assert_eq!(response.status, 500);
    assert!(!response.text().contains("index 7"), "{}", response.text());
    let crash = live
        .crashes()
        .expect("the panic", |crash| crash.kind == CrashKind::Trap)
        .await?;
    assert!(crash.message.contains("index 7 of 3"), "{}", crash.message);
    live.shutdown().await;
    Ok(())
}

/// Options of a module that three crashes in a row hold back.
fn held_back_after_three() -> ModuleOptions {
    ModuleOptions::new().breaker(Breaker::new().crashes(3))
}

fn usage(live: &Live) -> Option<Usage> {
    live.control()
        .statuses()
        .into_iter()
        .find(|status| status.info.name == "m")
        .map(|status| status.usage)
}

async fn an_exception_is_500_and_no_crash(harness: Harness) -> Result<()> {
    const TIMES: u64 = 10;
    let raises = Program::text("x is not a function")
        .step(Step::Panicked)
        .ends(End::Raise);
    let module = at_root(|t| t.get("raise", raises).get("ok", Program::text("ok")));
    let live = harness
        .start(AppSpec::new().load_with("m", module, held_back_after_three()))
        .await?;
    for round in 0..TIMES {
        let id = format!("round-{round}");
        let response = live
            .send(Request::new("GET", "/raise").header("x-request-id", &id))
            .await?;
        assert_eq!(
            (response.status, response.text().contains("not a function")),
            (500, false)
        );
        let crash = live
            .crashes()
            .expect("the exception", |crash| crash.request_id.as_ref() == Some(&id))
            .await?;
        assert_eq!(
            (crash.kind, crash.route.as_deref()),
            (CrashKind::Exception, Some("GET /raise"))
        );
        assert!(crash.message.contains("x is not a function"), "{}", crash.message);
    }
    assert_eq!(live.get("/ok").await?.text(), "ok");
    let usage = usage(&live).expect("the module has a status");
    assert_eq!((usage.exceptions, usage.crashes, usage.refused), (TIMES, 0, 0));
    assert_eq!(usage.instances, 1, "the instance serves on");
    assert_eq!(
        live.crashes().all().len() as u64,
        TIMES,
        "each exception is reported once"
    );
    live.shutdown().await;
    Ok(())
}

async fn an_exception_of_a_listener_is_500_and_no_crash(harness: Harness) -> Result<()> {
    let raises = || Program::text("no such row").step(Step::Panicked).ends(End::Raise);
    let guest = Guest::with(
        Controller::new("Things", "/")
            .get("call", Program::new().call("db:one"))
            .get("emit", Program::new().emit("db:one").say("emitted")),
    );
    let guest = guest.channel(Channel::new("db").on("one", raises()));
    let live = harness
        .start(AppSpec::new().load_with("m", guest.build(), held_back_after_three()))
        .await?;
    for _ in 0..5 {
        let response = live.get("/call").await?;
        assert!(!response.text().contains("no such row"), "{}", response.text());
        assert_eq!(live.get("/emit").await?.text(), "emitted");
    }
    let told = || {
        live.crashes()
            .all()
            .iter()
            .filter(|crash| crash.message.contains("no such row"))
            .count()
    };
    until("each exception is reported", || told() == 10).await?;
    let crashes = live.crashes().all();
    assert!(
        crashes.iter().all(|crash| crash.kind == CrashKind::Exception),
        "{crashes:?}"
    );
    let usage = usage(&live).expect("the module has a status");
    assert_eq!((usage.exceptions, usage.crashes, usage.refused), (10, 0, 0));
    live.shutdown().await;
    Ok(())
}

/// A module whose `/loop` emits the event `app:began` and never ends.
fn looping(deadline: Duration) -> (AppSpec, Heard) {
    let module = at_root(|t| {
        t.get("loop", Program::new().call("app:began").ends(End::Loop))
            .get("ok", Program::text("ok"))
    });
    let limits = Limits {
        deadline: Some(deadline),
        ..Limits::default()
    };
    AppSpec::new().load("m", module).limits(limits).hearing("began")
}

async fn an_endless_loop_ends_at_the_deadline(harness: Harness) -> Result<()> {
    let (app, _began) = looping(Duration::from_millis(500));
    let live = harness.start(app).await?;
    assert_eq!(live.get("/loop").await?.status, 504);
    let crash = live
        .crashes()
        .expect("the deadline", |crash| crash.kind == CrashKind::Deadline)
        .await?;
    assert_eq!(crash.route.as_deref(), Some("GET /loop"));
    assert_eq!(live.get("/ok").await?.text(), "ok");
    live.shutdown().await;
    Ok(())
}

async fn an_endless_loop_does_not_hold_up_others(harness: Harness) -> Result<()> {
    // Long enough for a slow machine to answer the other request within it.
    let (app, mut began) = looping(Duration::from_secs(2));
    let live = harness.start(app.load("other", fixed("other", "other"))).await?;
    let client = *live;
    let looping = tokio::spawn(async move { client.get("/loop").await });
    began.next().await?;
    assert_eq!(live.get("/other").await?.text(), "other");
    assert!(!looping.is_finished(), "the other request waited until the loop ended");
    assert_eq!(looping.await??.status, 504);
    live.shutdown().await;
    Ok(())
}

async fn a_native_handler_that_panics_is_500_and_reported(harness: Harness) -> Result<()> {
    let panics = |ctx: Context| async move {
        assert!(ctx.query().is_none(), "a panic on purpose");
        "calm"
    };
    let live = harness.start(AppSpec::new().register("GET", "/it", panics)).await?;
    assert_eq!(live.get("/it?x").await?.status, 500);
    let crash = live
        .crashes()
        .expect("the panic", |crash| crash.kind == harness.kind_of_native_crash())
        .await?;
    assert!(crash.message.contains("a panic on purpose"), "{}", crash.message);
    assert_eq!(live.get("/it").await?.text(), "calm");
    live.shutdown().await;
    Ok(())
}
