//! Request bodies that a module keeps unread: other modules get theirs all the same (spec A1, H9).

use anyhow::Result;
use futures_util::future::try_join_all;
use pointwork_core::CrashKind;

use super::SHOP;
use super::watch::Gate;
use crate::case::{Harness, Live, cases};
use crate::client::{Request, Response};
use crate::flavor::Flavor;
use crate::guest::{Channel, Controller, End, Guest, Program, Step};
use crate::subject::{AppSpec, Limits};

cases![
    host;
    a_body_that_nobody_took_goes_with_the_last_call_of_its_request: A1, H9;
    a_body_is_there_for_a_listener_that_has_its_context: H6, H9 of sdk;
    a_module_keeps_half_of_the_memory_for_bodies_at_most: A1, E1, H9;
];

/// The memory for bodies. A body has a quarter of it.
const MEMORY: u64 = 64 * 1024;

/// The module `shop` with that handler of `POST /it`, and the module `other`, which echoes the body of `POST /other`.
fn beside(form: Flavor, program: Program) -> AppSpec {
    let shop = Guest::with(Controller::new("Things", "/").post("it", program));
    let echo = Controller::new("Echo", "/").post("other", Program::new().step(Step::Body));
    let limits = Limits {
        body_memory: Some(MEMORY),
        ..Limits::default()
    };
    AppSpec::new()
        .load(SHOP, form.form(shop).build())
        .load("other", Guest::with(echo).build())
        .limits(limits)
}

async fn post(live: &Live, path: &str, bytes: u64) -> Result<Response> {
    let body = vec![b'x'; usize::try_from(bytes)?];
    Ok(live.send(Request::new("POST", path).body(body)).await?)
}

async fn a_body_that_nobody_took_goes_with_the_last_call_of_its_request(harness: Harness) -> Result<()> {
    let keeps = || Program::text("kept").step(Step::Send(200)).ends(End::Keep);
    let listener = Channel::new("replies").on(
        "keep",
        Program::new().take_context().step(Step::Send(200)).ends(End::Keep),
    );
    for form in Flavor::MODULES {
        let handlers = [keeps(), Program::text("kept").hands_over("replies:keep")];
        for handler in handlers {
            let live = harness
                .start(beside(form, handler).channel(form, listener.clone()))
                .await?;
            for turn in 0..12 {
                assert_eq!(post(&live, "/it", MEMORY / 4).await?.status, 200, "{form}: {turn}");
                let other = post(&live, "/other", MEMORY / 4).await?;
                assert_eq!(other.status, 200, "{form}: {turn}: {}", other.text());
            }
            // The contexts that are kept count as requests in flight.
            let crashes = live.crashes().clone();
            live.shutdown().await;
            crashes.expect_none()?;
        }
    }
    Ok(())
}

async fn a_body_is_there_for_a_listener_that_has_its_context(harness: Harness) -> Result<()> {
    for form in Flavor::MODULES {
        let gate = Gate::new();
        // The listener reads after the handler's end and after its own reply.
        let reads = Program::new()
            .take_context()
            .call("app:gate")
            .step(Step::Send(200))
            .step(Step::Body);
        let listener = Channel::new("replies").on("read", reads.call("app:read"));
        let (app, mut read) = beside(form, Program::text("1").hands_over("replies:read"))
            .channel(form, listener)
            .gate("gate", &gate)
            .hearing("read");
        let live = harness.start(app).await?;
        let client = *live;
        let asked = tokio::spawn(async move { client.send(Request::new("POST", "/it").body("whole")).await });
        gate.arrived(1).await?;
        gate.open();
        assert_eq!(asked.await??.status, 200, "{form}");
        assert!(read.next().await?.ends_with("whole"), "{form}");
        live.ends_without_a_crash().await?;
    }
    Ok(())
}

async fn a_module_keeps_half_of_the_memory_for_bodies_at_most(harness: Harness) -> Result<()> {
    for form in Flavor::MODULES {
        let gate = Gate::new();
        let waits = Program::text("1").call("app:gate").step(Step::Body);
        let live = harness.start(beside(form, waits).gate("gate", &gate)).await?;
        let client = *live;
        let body = vec![b'x'; usize::try_from(MEMORY / 4)?];
        let ask = || {
            let request = Request::new("POST", "/it").body(body.clone());
            tokio::spawn(async move { client.send(request).await })
        };
        let asked = [ask(), ask()];
        gate.arrived(2).await?;
        let refused = post(&live, "/it", MEMORY / 4).await?;
        assert_eq!(
            (refused.status, refused.header("retry-after").as_deref()),
            (503, Some("1")),
            "{form}"
        );
        let crash = live
            .crashes()
            .expect("the limit", |crash| crash.kind == CrashKind::Limit)
            .await?;
        assert_eq!(crash.limit.as_deref(), Some("body-memory"), "{form}");
        assert_eq!(crash.module.as_deref(), Some(SHOP), "{form}");
        for _ in 0..4 {
            assert_eq!(post(&live, "/other", MEMORY / 2).await?.status, 200, "{form}");
        }
        gate.open();
        for reply in try_join_all(asked).await? {
            assert_eq!(reply?.status, 200, "{form}");
        }
        assert_eq!(
            post(&live, "/it", MEMORY / 4).await?.status,
            200,
            "{form}: there is room again"
        );
        live.shutdown().await;
    }
    Ok(())
}
