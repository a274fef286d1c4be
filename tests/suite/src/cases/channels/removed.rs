//! Modules that are removed while they hold a context, or are about to (spec H7): the client gets its answer at once
//! all the same, not at the deadline, which is far beyond the client's timeout here.

use std::sync::Arc;

use anyhow::{Context as _, Result};
use pointwork_core::{Context, Failure, Payload};
use pointwork_test_clock::real::within;
use tokio::sync::Semaphore;

use super::handing_over;
use super::watch::Gate;
use crate::case::{Harness, cases};
use crate::client::Response;
use crate::flavor::Flavor;
use crate::guest::{Channel, Controller, End, Guest, Program, Step};
use crate::subject::{AppSpec, Step as Do};

cases![
    host;
    a_module_removed_with_a_kept_context_is_500_at_once: C3, H7;
    a_module_removed_before_it_hears_answers_all_the_same: C3, H7;
    a_module_removed_within_a_slow_call_answers_all_the_same: C3, H7;
    a_module_removed_while_its_own_channel_replies_answers_all_the_same: C3, H7;
];

fn response(event: &str, program: Program) -> Channel {
    Channel::new("response").on(event, program)
}

/// Keeps the context at the gate, and then replies.
fn slow() -> Program {
    Program::new().take_context().call("app:gate").step(Step::Send(200))
}

/// The replies of a removed module may be lost, but the client must get an answer.
fn is_answered(flavor: Flavor, reply: &Response, text: &str) {
    let answered = reply.status == 200 && reply.text() == text;
    assert!(
        answered || reply.status == 500,
        "{flavor}: {} {}, expected {text} or a 500",
        reply.status,
        reply.text()
    );
}

async fn a_module_removed_with_a_kept_context_is_500_at_once(harness: Harness) -> Result<()> {
    for flavor in Flavor::MODULES {
        let keeps = Program::new().call("app:kept").take_context().ends(End::Keep);
        // The second event is handled after the first: by then the context is kept.
        let channel = response("keep", keeps).on("after", Program::new().call("app:after"));
        let things = Controller::new("Things", "/")
            .get("keep", Program::new().hands_over("response:keep"))
            .get("after", Program::text("1").emit("response:after").say("emitted"));
        let (app, mut kept) = AppSpec::new()
            .load("caller", Guest::with(things).build())
            .channel(flavor, channel)
            .hearing("kept");
        let (app, mut after) = app.hearing("after");
        let live = harness.start(app).await?;
        let client = *live;
        let asked = tokio::spawn(async move { client.get("/keep").await });
        kept.next().await?;
        live.get("/after").await?;
        after.next().await?;
        assert!(!asked.is_finished(), "{flavor}: the context is kept");
        live.control().apply(Do::Remove("response-module".to_owned())).await?;
        let reply = asked.await?.with_context(|| format!("{flavor}"))?;
        assert_eq!(reply.status, 500, "{flavor}");
        live.shutdown().await;
    }
    Ok(())
}

async fn a_module_removed_before_it_hears_answers_all_the_same(harness: Harness) -> Result<()> {
    for flavor in Flavor::MODULES {
        let gate = Gate::new();
        let handed = Arc::new(Semaphore::new(0));
        let tells = handed.clone();
        let gives = move |context: Context| {
            let tells = tells.clone();
            async move {
                let id = Payload::json(context.param("id").unwrap_or_default())?;
                context.hand_over_raw("response:slow", id)?;
                tells.add_permits(1);
                Ok::<_, Failure>(())
            }
        };
        let app = AppSpec::new()
            .register("GET", "/it/:id", gives)
            .channel(flavor, response("slow", slow()))
            .gate("gate", &gate);
        let live = harness.start(app).await?;
        let client = *live;
        let ids = ["1", "2", "3"];
        let asked = ids.map(|id| tokio::spawn(async move { client.get(&format!("/it/{id}")).await }));
        gate.arrived(1).await?;
        // One context has reached its listener, the other two wait in the queue.
        within("the handing over", handed.acquire_many(3)).await??.forget();
        live.control().apply(Do::Remove("response-module".to_owned())).await?;
        gate.open();
        for (asked, id) in asked.into_iter().zip(ids) {
            is_answered(flavor, &asked.await??, &format!("\"{id}\""));
        }
        live.shutdown().await;
    }
    Ok(())
}

async fn a_module_removed_within_a_slow_call_answers_all_the_same(harness: Harness) -> Result<()> {
    for flavor in Flavor::MODULES {
        let gate = Gate::new();
        let app = handing_over(Flavor::Module, "response:slow")
            .channel(flavor, response("slow", slow()))
            .gate("gate", &gate);
        let live = harness.start(app).await?;
        let client = *live;
        let asked = tokio::spawn(async move { client.get("/it/7").await });
        gate.arrived(1).await?;
        live.control().apply(Do::Remove("response-module".to_owned())).await?;
        gate.open();
        let reply = asked.await??;
        is_answered(flavor, &reply, "\"7\"");
        live.shutdown().await;
    }
    Ok(())
}

async fn a_module_removed_while_its_own_channel_replies_answers_all_the_same(harness: Harness) -> Result<()> {
    for form in Flavor::MODULES {
        let gate = Gate::new();
        let things = Controller::new("Things", "/").get("it", Program::text("whole").hands_over("response:slow"));
        let guest = form.form(Guest::with(things).channel(response("slow", slow())));
        let app = AppSpec::new().load("whole", guest.build()).gate("gate", &gate);
        let live = harness.start(app).await?;
        let client = *live;
        let asked = tokio::spawn(async move { client.get("/it").await });
        gate.arrived(1).await?;
        live.control().apply(Do::Remove("whole".to_owned())).await?;
        assert_eq!(live.get("/it").await?.status, 404, "{form}");
        gate.open();
        let reply = asked.await??;
        is_answered(form, &reply, "whole");
        live.shutdown().await;
    }
    Ok(())
}
