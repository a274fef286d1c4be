//! Listeners that fail on emitted events: the failure is reported to the application and not to the caller (spec H3,
//! E1).

use std::time::Duration;

use anyhow::Result;
use pointwork_core::{Context, CrashKind, Failure, Payload};

use super::watch::Gate;
use super::{emitting, routing};
use crate::case::{Harness, cases};
use crate::client::Request;
use crate::flavor::Flavor;
use crate::guest::{Channel, Controller, End, Guest, Program};
use crate::languages::patience;
use crate::subject::{AppSpec, Limits};

cases![
    sdk;
    a_listener_that_fails_on_an_emitted_event_is_reported: C3, E1;
    a_listener_that_crashes_on_an_emitted_event_is_reported: C3, E1 in hosts;
    a_listener_that_never_ends_is_cut_off: E1 of host;
];

async fn a_listener_that_fails_on_an_emitted_event_is_reported(harness: Harness) -> Result<()> {
    for flavor in Flavor::ALL {
        let program = Program::new().say(" is no line").fails("no-line", 409);
        let (app, mut seen) = emitting("log:line")
            .channel(
                flavor,
                Channel::new("log")
                    .on("line", program)
                    .on("next", Program::new().call("app:seen")),
            )
            .register("GET", "/next", |context: Context| async move {
                context.emit_raw("log:next", Payload::json("next")?);
                Ok::<_, Failure>("emitted")
            })
            .hearing("seen");
        let live = harness.start(app).await?;
        let request = Request::new("GET", "/it/7").header("x-request-id", "emit-2");
        let response = live.send(request).await?;
        assert_eq!(
            (response.status, response.text().as_str()),
            (200, "emitted"),
            "{flavor}"
        );
        let crash = live
            .crashes()
            .expect("the listener", |crash| crash.kind == CrashKind::Listener)
            .await?;
        assert_eq!(crash.module, flavor.module("log"), "{flavor}");
        assert_eq!(crash.request_id.as_deref(), Some("emit-2"), "{flavor}");
        for word in ["log:line", "\"7\" is no line"] {
            assert!(crash.message.contains(word), "{flavor}: {}", crash.message);
        }
        live.get("/next").await?;
        assert_eq!(seen.next().await?, "\"next\"", "{flavor}: the queue goes on");
        live.shutdown().await;
    }
    Ok(())
}

async fn a_listener_that_crashes_on_an_emitted_event_is_reported(harness: Harness) -> Result<()> {
    for flavor in Flavor::ALL {
        let program = Program::text("1").emit("log:bad").say("2").emit("log:good").say("ok");
        let log = Channel::new("log")
            .on("bad", Program::new().ends(End::Trap))
            .on("good", Program::new().call("app:seen"));
        let (app, mut seen) = routing(Flavor::Module, "it", program)
            .channel(flavor, log)
            .hearing("seen");
        let live = harness.start(app).await?;
        assert_eq!(live.get("/it").await?.text(), "ok", "{flavor}");
        let kind = match flavor {
            Flavor::Native => harness.kind_of_native_crash(),
            Flavor::Module | Flavor::AsyncModule => CrashKind::Trap,
        };
        let crash = live.crashes().expect("the crash", |crash| crash.kind == kind).await?;
        assert_eq!(crash.module, flavor.module("log"), "{flavor}");
        assert_eq!(seen.next().await?, "2", "{flavor}: the queue goes on");
        live.shutdown().await;
    }
    Ok(())
}

#[expect(
    clippy::disallowed_methods,
    reason = "the host cuts off a loop in real time, and the loop may take events with it: the case emits again and again"
)]
async fn a_listener_that_never_ends_is_cut_off(harness: Harness) -> Result<()> {
    for flavor in Flavor::ALL {
        // A native listener waits for ever; one in a module may also loop for ever.
        let ends = if flavor == Flavor::Native {
            End::Deferred
        } else {
            End::Loop
        };
        let gate = Gate::new();
        let log = Channel::new("log")
            .on("bad", Program::new().call("app:stuck").ends(ends))
            .on("good", Program::new().call("app:seen"));
        let things = Controller::new("Things", "/")
            .get("bad", Program::text("1").emit("log:bad").say("emitted"))
            .get("good", Program::text("2").emit("log:good").say("emitted"));
        let stuck = if flavor == Flavor::Native { "stuck" } else { "unused" };
        let (app, mut seen) = AppSpec::new()
            .load("caller", Guest::with(things).build())
            .channel(flavor, log)
            .gate(stuck, &gate)
            .hearing("seen");
        let live = harness
            .start(app.limits(Limits {
                event_deadline: Some(Duration::from_millis(500)),
                ..Limits::default()
            }))
            .await?;
        live.get("/bad").await?;
        let crash = live
            .crashes()
            .expect("the listener", |crash| crash.message.contains("log:bad"))
            .await?;
        assert_eq!(crash.module, flavor.module("log"), "{flavor}");
        // The host takes a moment to drop an instance of the asynchronous form that does not yield, and its events with
        // it; a longer one beside a busy machine, since the instance has a low priority by then.
        let mut rounds = 0;
        while seen.so_far().is_empty() {
            rounds += 1;
            assert!(rounds < 300 * patience(), "{flavor}: the queue does not go on");
            live.get("/good").await?;
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
        live.shutdown().await;
    }
    Ok(())
}
