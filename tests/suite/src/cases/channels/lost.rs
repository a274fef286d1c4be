//! Contexts that are lost on their way (spec H7): the client gets its answer at once all the same, not at the deadline,
//! which is far beyond the client's timeout here.

use std::future::pending;
use std::sync::Arc;

use anyhow::Result;
use pointwork_core::{Context, CrashKind, Failure, Payload};
use pointwork_test_clock::real::within;
use tokio::sync::Notify;

use super::handing_over;
use super::watch::Gate;
use crate::case::{Harness, cases};
use crate::client::Request;
use crate::flavor::Flavor;
use crate::guest::{Channel, Controller, End, Guest, Program, Step};
use crate::subject::{AppSpec, Limits};

cases![
    sdk;
    a_channel_that_never_replies_is_500_at_once: C3, E1, H7 of sdk and adapter in hosts;
    a_channel_that_ignores_the_context_is_500_at_once: C3, H7 in hosts;
    a_channel_that_fails_with_the_context_is_500_at_once: C3, E1, H7 in hosts;
    a_channel_that_crashes_with_the_context_is_500_at_once: C3, E1, H7;
    a_reply_before_a_crash_counts: C3, H7;
    a_context_kept_by_a_channel_ends_at_the_deadline: C3, E1, H7;
    a_context_kept_for_ever_keeps_no_application: C3, H7 of host in hosts;
    // In hosts: libmicrohttpd and uvicorn once kept calls of clients that had left.
    a_reply_to_a_client_that_went_away_is_gone: C3, H7 of sdk and adapter in hosts;
];

fn response(event: &str, program: Program) -> Channel {
    Channel::new("response").on(event, program)
}

async fn a_channel_that_never_replies_is_500_at_once(harness: Harness) -> Result<()> {
    for flavor in Flavor::ALL {
        let silent = Program::new().take_context().ends(End::Deferred);
        let live = harness
            .start(handing_over(Flavor::Module, "response:silent").channel(flavor, response("silent", silent)))
            .await?;
        let request = Request::new("GET", "/it/7").header("x-request-id", "lost-1");
        assert_eq!(live.send(request).await?.status, 500, "{flavor}");
        let crash = live
            .crashes()
            .expect("no reply", |crash| crash.kind == CrashKind::NoReply)
            .await?;
        assert_eq!(crash.route.as_deref(), Some("GET /it/:id"), "{flavor}");
        assert_eq!(crash.request_id.as_deref(), Some("lost-1"), "{flavor}");
        live.shutdown().await;
    }
    Ok(())
}

async fn a_channel_that_ignores_the_context_is_500_at_once(harness: Harness) -> Result<()> {
    for flavor in Flavor::ALL {
        let live = harness
            .start(handing_over(Flavor::Module, "response:deaf").channel(flavor, response("deaf", Program::new())))
            .await?;
        assert_eq!(live.get("/it/7").await?.status, 500, "{flavor}");
        live.crashes()
            .expect("no reply", |crash| crash.kind == CrashKind::NoReply)
            .await?;
        live.shutdown().await;
    }
    Ok(())
}

async fn a_channel_that_fails_with_the_context_is_500_at_once(harness: Harness) -> Result<()> {
    for flavor in Flavor::ALL {
        let fails = Program::new()
            .take_context()
            .say(" cannot be shown")
            .fails("no-view", 404);
        let live = harness
            .start(handing_over(Flavor::Module, "response:fail").channel(flavor, response("fail", fails)))
            .await?;
        let response = live.get("/it/7").await?;
        assert_eq!(
            response.status, 500,
            "{flavor}: an emitted event's failure is not the client's"
        );
        assert!(
            !response.text().contains("cannot be shown"),
            "{flavor}: {}",
            response.text()
        );
        let crash = live
            .crashes()
            .expect("the listener", |crash| crash.kind == CrashKind::Listener)
            .await?;
        assert!(crash.message.contains("cannot be shown"), "{flavor}: {}", crash.message);
        assert_eq!(crash.module, flavor.module("response"), "{flavor}");
        live.shutdown().await;
    }
    Ok(())
}

async fn a_channel_that_crashes_with_the_context_is_500_at_once(harness: Harness) -> Result<()> {
    for flavor in Flavor::ALL {
        for before in [Program::new(), Program::new().take_context()] {
            let crashes = response("crash", before.ends(End::Trap))
                .on("send", Program::new().take_context().step(Step::Send(200)));
            let things = Controller::new("Things", "/")
                .get("crash", Program::new().hands_over("response:crash"))
                .get("send", Program::text("sent").hands_over("response:send"));
            let app = AppSpec::new()
                .load("caller", Guest::with(things).build())
                .channel(flavor, crashes);
            let live = harness.start(app).await?;
            assert_eq!(live.get("/crash").await?.status, 500, "{flavor}");
            let kind = match flavor {
                Flavor::Native => harness.kind_of_native_crash(),
                Flavor::Module | Flavor::AsyncModule => CrashKind::Trap,
            };
            let crash = live.crashes().expect("the crash", |crash| crash.kind == kind).await?;
            assert_eq!(crash.module, flavor.module("response"), "{flavor}");
            assert_eq!(live.get("/send").await?.text(), "sent", "{flavor}: the channel goes on");
            live.shutdown().await;
        }
    }
    Ok(())
}

async fn a_reply_before_a_crash_counts(harness: Harness) -> Result<()> {
    for flavor in Flavor::ALL {
        let program = Program::new().take_context().step(Step::Send(200)).ends(End::Trap);
        let live = harness
            .start(handing_over(Flavor::Module, "response:send").channel(flavor, response("send", program)))
            .await?;
        let reply = live.get("/it/7").await?;
        assert_eq!((reply.status, reply.text().as_str()), (200, "\"7\""), "{flavor}");
        live.crashes()
            .expect("the crash", |crash| {
                matches!(crash.kind, CrashKind::Panic | CrashKind::Exception | CrashKind::Trap)
            })
            .await?;
        live.shutdown().await;
    }
    Ok(())
}

async fn a_context_kept_by_a_channel_ends_at_the_deadline(harness: Harness) -> Result<()> {
    for flavor in Flavor::ALL {
        let keeps = Program::new().take_context().ends(End::Keep);
        let limits = Limits {
            deadline: Some(std::time::Duration::from_millis(500)),
            ..Limits::default()
        };
        let app = handing_over(Flavor::Module, "response:keep").channel(flavor, response("keep", keeps));
        let live = harness.start(app.limits(limits)).await?;
        assert_eq!(live.get("/it/7").await?.status, 504, "{flavor}");
        live.crashes()
            .expect("the deadline", |crash| crash.kind == CrashKind::Deadline)
            .await?;
        live.shutdown().await;
    }
    Ok(())
}

async fn a_context_kept_for_ever_keeps_no_application(harness: Harness) -> Result<()> {
    for flavor in Flavor::MODULES {
        let keeps = Program::new().take_context().ends(End::Keep);
        let limits = Limits {
            deadline: Some(std::time::Duration::from_millis(100)),
            ..Limits::default()
        };
        let gone = Arc::new(Notify::new());
        let tells = Tells(gone.clone());
        let app = handing_over(Flavor::Module, "response:keep")
            .channel(flavor, response("keep", keeps))
            .answers("app", "unused", move |payload| {
                let _ = &tells;
                Ok(payload)
            });
        let live = harness.start(app.limits(limits)).await?;
        assert_eq!(live.get("/it/7").await?.status, 504, "{flavor}");
        live.shutdown().await;
        let freed = within("the end of the application", gone.notified()).await;
        assert!(
            freed.is_ok(),
            "{flavor}: the application is still there, and its pool of instances"
        );
    }
    Ok(())
}

/// Notifies when it is dropped.
struct Tells(Arc<Notify>);

impl Drop for Tells {
    fn drop(&mut self) {
        self.0.notify_one();
    }
}

async fn a_reply_to_a_client_that_went_away_is_gone(harness: Harness) -> Result<()> {
    for flavor in Flavor::ALL {
        let gate = Gate::new();
        let late = Program::new()
            .take_context()
            .call("app:gate")
            .step(Step::Send(200))
            .call("app:told");
        let went = Arc::new(Notify::new());
        let tells = went.clone();
        // The handler waits for ever; its drop shows that the server has noticed the client's disconnect.
        let waits = move |context: Context| {
            let tells = Tells(tells.clone());
            async move {
                let _tells = tells;
                context.hand_over_raw("response:late", Payload::null())?;
                pending::<Result<(), Failure>>().await
            }
        };
        let (app, mut told) = AppSpec::new()
            .register("GET", "/it", waits)
            .channel(flavor, response("late", late))
            .gate("gate", &gate)
            .hearing("told");
        let live = harness.start(app).await?;
        let mut connection = live.connect().await?;
        connection
            .write(&Request::new("GET", "/it").to_bytes(&live.address().to_string()))
            .await?;
        gate.arrived(1).await?;
        drop(connection);
        within("the drop of the handler", went.notified()).await?;
        gate.open();
        assert_eq!(told.next().await?, "failed gone", "{flavor}");
        live.ends_without_a_crash().await?;
    }
    Ok(())
}
