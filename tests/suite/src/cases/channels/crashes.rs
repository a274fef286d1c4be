//! Listeners that crash, and listeners of `server:crashed` (spec E1, E2).

use std::time::Duration;

use anyhow::Result;
use pointwork_core::{Crash, CrashKind};

use super::{adds, calling, routing};
use crate::case::{Harness, cases};
use crate::client::Request;
use crate::flavor::Flavor;
use crate::guest::{Channel, Controller, End, Guest, Program, Step};
use crate::subject::{AppSpec, Limits};

cases![
    host;
    a_listener_that_crashes_fails_its_caller_only: C3, E1, H3 of sdk in hosts;
    the_message_of_a_listeners_panic_is_reported: C3, E1 of sdk;
    a_listener_in_an_endless_loop_ends_at_the_requests_deadline: C3, E1;
    a_listener_that_hogs_memory_ends_at_its_limit: E1;
    a_channel_module_hears_of_crashes_as_native_code_does: C3, E1, E2 of sdk;
    a_channel_module_hears_of_another_channels_crash: C3, E1, E2;
    several_channels_hear_of_one_crash: C3, E2 in hosts;
    nobody_calls_the_servers_events: C3, E2;
    a_subscriber_that_breaks_sets_off_no_storm: E1, E2;
];

async fn a_listener_that_crashes_fails_its_caller_only(harness: Harness) -> Result<()> {
    for flavor in Flavor::ALL {
        let program = Program::new().say("\"").param("id").say("\"").call("db:bad").say(" - ");
        let db = Channel::new("db")
            .on("bad", Program::new().ends(End::Trap))
            .on("good", adds("good"));
        // The caller goes on, and the next call runs in a new instance.
        let app = routing(Flavor::Module, "it/:id", program.call("db:good")).channel(flavor, db);
        let live = harness.start(app).await?;
        for round in 0..3 {
            let request = Request::new("GET", "/it/7").header("x-request-id", format!("round-{round}"));
            let is_exception = flavor == Flavor::Native && harness.kind_of_native_crash() == CrashKind::Exception;
            let ended = if is_exception { "raised an exception" } else { "crashed" };
            assert_eq!(
                live.send(request).await?.text(),
                format!("failed failed: the listener of `db:bad` {ended} -  good"),
                "{flavor}"
            );
            let id = format!("round-{round}");
            let crash = live
                .crashes()
                .expect("the crash", |crash| crash.request_id.as_ref() == Some(&id))
                .await?;
            assert_eq!(crash.module, flavor.module("db"), "{flavor}");
            let (kind, word) = match flavor {
                Flavor::Native => (harness.kind_of_native_crash(), "a panic on purpose"),
                Flavor::Module | Flavor::AsyncModule => (CrashKind::Trap, "unreachable"),
            };
            assert_eq!(crash.kind, kind, "{flavor}");
            assert!(crash.message.contains(word), "{flavor}: {}", crash.message);
        }
        live.shutdown().await;
    }
    Ok(())
}

async fn the_message_of_a_listeners_panic_is_reported(harness: Harness) -> Result<()> {
    for flavor in Flavor::MODULES {
        let program = Program::text(" is index 7 of 3").step(Step::Panicked).ends(End::Trap);
        let live = harness
            .start(calling("db:one").channel(flavor, Channel::new("db").on("one", program)))
            .await?;
        let text = live.get("/it/7").await?.text();
        assert!(text.starts_with("failed failed"), "{flavor}: {text}");
        assert!(!text.contains("index 7"), "{flavor}: {text}");
        let crash = live
            .crashes()
            .expect("the panic", |crash| crash.kind == CrashKind::Trap)
            .await?;
        assert!(crash.message.contains("index 7 of 3"), "{flavor}: {}", crash.message);
        live.shutdown().await;
    }
    Ok(())
}

async fn a_listener_in_an_endless_loop_ends_at_the_requests_deadline(harness: Harness) -> Result<()> {
    for flavor in Flavor::MODULES {
        let db = Channel::new("db")
            .on("loop", Program::new().call("app:began").ends(End::Loop))
            .on("good", adds("good"));
        let things = Controller::new("Things", "/")
            .get("loop", Program::text("1").call("db:loop"))
            .get("good", Program::text("a").call("db:good"))
            .get("plain", Program::text("plain"));
        let (app, mut began) = AppSpec::new()
            .load("caller", Guest::with(things).build())
            .channel(flavor, db)
            .hearing("began");
        let live = harness
            .start(app.limits(Limits {
                deadline: Some(Duration::from_secs(1)),
                ..Limits::default()
            }))
            .await?;
        let client = *live;
        let looping = tokio::spawn(async move { client.get("/loop").await });
        began.next().await?;
        assert_eq!(
            live.get("/plain").await?.text(),
            "plain",
            "{flavor}: a neighbour is held up"
        );
        // An instance of the asynchronous form is shared, and a guest that does not yield blocks all its calls.
        if flavor == Flavor::Module {
            assert_eq!(
                live.get("/good").await?.text(),
                "a good",
                "{flavor}: a neighbour is held up"
            );
        }
        assert_eq!(looping.await??.status, 504, "{flavor}");
        let crash = live
            .crashes()
            .expect("the deadline", |crash| crash.kind == CrashKind::Deadline)
            .await?;
        assert_eq!(crash.route.as_deref(), Some("GET /loop"), "{flavor}");
        live.shutdown().await;
    }
    Ok(())
}

async fn a_listener_that_hogs_memory_ends_at_its_limit(harness: Harness) -> Result<()> {
    for flavor in Flavor::MODULES {
        let db = Channel::new("db")
            .on("hog", Program::new().ends(End::Hog))
            .on("good", adds("good"));
        let program = Program::text("1").call("db:hog").say(" - ").call("db:good");
        let app = routing(Flavor::Module, "it", program).channel(flavor, db);
        let limits = Limits {
            memory: Some(4 * 1024 * 1024),
            ..Limits::default()
        };
        let live = harness.start(app.limits(limits)).await?;
        assert_eq!(
            live.get("/it").await?.text(),
            "failed failed: the listener of `db:hog` crashed -  good",
            "{flavor}"
        );
        let crashes = live.crashes().clone();
        live.shutdown().await;
        let all = crashes.all();
        let told: Vec<_> = all
            .iter()
            .map(|crash| (crash.kind, crash.limit.as_deref(), crash.module.clone()))
            .collect();
        let expected = (CrashKind::Trap, Some("memory"), flavor.module("db"));
        assert_eq!(told, [expected], "{flavor}");
    }
    Ok(())
}

fn trapping() -> AppSpec {
    routing(Flavor::Module, "trap", Program::new().ends(End::Trap))
}

/// A channel that emits `app:told` for every crash.
fn telling() -> Channel {
    Channel::new("server").on("crashed", Program::new().call("app:told"))
}

async fn a_channel_module_hears_of_crashes_as_native_code_does(harness: Harness) -> Result<()> {
    for flavor in Flavor::ALL {
        let (app, mut told) = trapping().channel(flavor, telling()).hearing("told");
        let live = harness.start(app).await?;
        let request = Request::new("GET", "/trap").header("x-request-id", "trap-7");
        assert_eq!(live.send(request).await?.status, 500, "{flavor}");
        let heard: Crash = serde_json::from_str(&told.next().await?)?;
        let recorded = live
            .crashes()
            .expect("the trap", |crash| crash.kind == CrashKind::Trap)
            .await?;
        assert_eq!(heard, recorded, "{flavor}");
        let parties = [&heard.adapter, &heard.module, &heard.route, &heard.request_id].map(Option::as_deref);
        let expected = [harness.adapter(), "caller", "GET /trap", "trap-7"].map(Some);
        assert_eq!(parties, expected, "{flavor}");
        assert!(
            heard.time > 0 && heard.message.contains("unreachable"),
            "{flavor}: {heard:?}"
        );
        live.shutdown().await;
    }
    Ok(())
}

async fn a_channel_module_hears_of_another_channels_crash(harness: Harness) -> Result<()> {
    for flavor in Flavor::ALL {
        let (app, mut told) = calling("db:bad")
            .channel(flavor, Channel::new("db").on("bad", Program::new().ends(End::Trap)))
            .channel(flavor, telling())
            .hearing("told");
        let live = harness.start(app).await?;
        live.get("/it/7").await?;
        let heard: Crash = serde_json::from_str(&told.next().await?)?;
        assert_eq!(heard.module, flavor.module("db"), "{flavor}");
        live.shutdown().await;
    }
    Ok(())
}

async fn several_channels_hear_of_one_crash(harness: Harness) -> Result<()> {
    let guest = |form: Flavor| form.form(Guest::new().channel(telling())).build();
    let (app, mut told) = trapping()
        .load("first", guest(Flavor::Module))
        .load("second", guest(Flavor::AsyncModule))
        .channel(Flavor::Native, telling())
        .hearing("told");
    let live = harness.start(app).await?;
    live.get("/trap").await?;
    let first = told.next().await?;
    for _ in 0..2 {
        assert_eq!(told.next().await?, first);
    }
    live.shutdown().await;
    assert!(told.so_far().is_empty());
    Ok(())
}

async fn nobody_calls_the_servers_events(harness: Harness) -> Result<()> {
    for flavor in Flavor::ALL {
        for event in ["server:crashed", "crashed"] {
            let (app, mut told) = calling(event).channel(flavor, telling()).hearing("told");
            let live = harness.start(app).await?;
            let text = live.get("/it/7").await?.text();
            assert!(text.starts_with("failed unknown-event"), "{flavor}, {event}: {text}");
            live.shutdown().await;
            assert!(told.so_far().is_empty(), "{flavor}");
        }
    }
    Ok(())
}

async fn a_subscriber_that_breaks_sets_off_no_storm(harness: Harness) -> Result<()> {
    for flavor in Flavor::ALL {
        for end in [End::Trap, End::Fail("failed", 500)] {
            let breaks = Channel::new("server").on("crashed", Program::new().ends(end));
            let live = harness.start(trapping().channel(flavor, breaks)).await?;
            assert_eq!(live.get("/trap").await?.status, 500, "{flavor}");
            let crashes = live.crashes().clone();
            crashes.expect("the trap", |_| true).await?;
            // Every event has been delivered by the end.
            live.shutdown().await;
            let all = crashes.all();
            assert_eq!(all.len(), 1, "{flavor}, {end:?}: {all:#?}");
        }
    }
    Ok(())
}
