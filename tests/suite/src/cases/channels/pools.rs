//! Calls that lead back to a module whose instances are all taken (spec H3): every request gets an answer.

use std::time::Duration;

use anyhow::{Context as _, Result};
use futures_util::future::join_all;
use pointwork::{ModuleLimits, ModuleOptions};
use pointwork_core::{Context, Delivery, Failure, Payload};
use pointwork_test_clock::real::until;

use super::adds;
use super::watch::Gate;
use crate::case::{Harness, Live, cases};
use crate::flavor::Flavor;
use crate::guest::{Channel, Controller, End, Guest, Program, ReplyBody, Step};
use crate::subject::{AppSpec, Limits};

cases![
    host;
    as_many_requests_as_instances_call_back_into_their_module: H3 in hosts;
    more_requests_than_instances_call_back_into_their_module: H3;
    a_cycle_through_a_pool_of_one_hangs_never: H3;
    a_listener_that_calls_itself_waits_for_no_later_call: H3, E7;
    two_modules_that_call_each_other_hang_never: H3;
    a_channel_of_few_instances_serves_many_callers: C3, H3;
    an_instance_of_a_channel_is_reused_until_it_traps: C3, E1;
];

/// A module whose `/it/:id` calls another module's channel, which calls back into the first. The handler runs `before`
/// first, while it holds its instance.
fn calling_back(form: Flavor, instances: usize, before: Program) -> AppSpec {
    let handler = before.say("\"").param("id").say("\"").call("back:ask");
    let things = Controller::new("Things", "/").get("it/:id", handler.replies(ReplyBody::Bytes));
    let front = Guest::with(things).channel(Channel::new("front").on("answer", adds("answer")));
    let back = Channel::new("back").on("ask", Program::new().call("front:answer"));
    AppSpec::new()
        .load("front", form.form(front).build())
        .channel(form, back)
        .limits(limited_to(instances))
}

fn limited_to(instances: usize) -> Limits {
    Limits {
        instances: Some(instances),
        ..Limits::default()
    }
}

async fn everybody_is_answered(live: &Live, requests: usize, word: &str) -> Result<()> {
    let client = **live;
    let replies = join_all((0..requests).map(|id| async move { client.get(&format!("/it/{id}")).await })).await;
    for (id, reply) in replies.into_iter().enumerate() {
        assert_eq!(reply?.text(), format!("\"{id}\"{word}"), "{requests} requests");
    }
    Ok(())
}

async fn as_many_requests_as_instances_call_back_into_their_module(harness: Harness) -> Result<()> {
    for instances in [1, 2, 3] {
        let gate = Gate::new();
        // No call continues before every instance is taken. The text contains the gate's result.
        let app = calling_back(Flavor::Module, instances, Program::new().call("app:gate").say(" "));
        let live = harness.start(app.gate("gate", &gate)).await?;
        let client = *live;
        let asked = tokio::spawn(join_all(
            (0..instances).map(move |id| async move { client.get(&format!("/it/{id}")).await }),
        ));
        gate.arrived(u32::try_from(instances)?).await?;
        gate.open();
        for (id, reply) in asked.await?.into_iter().enumerate() {
            assert_eq!(reply?.text(), format!("null \"{id}\" answer"), "{instances} instances");
        }
        live.ends_without_a_crash().await?;
    }
    Ok(())
}

async fn more_requests_than_instances_call_back_into_their_module(harness: Harness) -> Result<()> {
    for form in Flavor::MODULES {
        for instances in [2, 4] {
            let live = harness.start(calling_back(form, instances, Program::new())).await?;
            for _ in 0..3 {
                everybody_is_answered(&live, instances * 2, " answer").await?;
            }
            live.ends_without_a_crash().await?;
        }
    }
    Ok(())
}

async fn a_cycle_through_a_pool_of_one_hangs_never(harness: Harness) -> Result<()> {
    for form in Flavor::MODULES {
        let things = Controller::new("Things", "/").get("it", Program::new().call("whole:again"));
        let whole = Channel::new("whole").on("again", Program::new().call("whole:again"));
        let guest = form.form(Guest::with(things).channel(whole));
        // Each request waits in vain for the instance that it holds.
        let limits = ModuleLimits::new().instances(1).queue_wait(Duration::from_millis(100));
        let options = ModuleOptions::new().limits(limits);
        let live = harness
            .start(AppSpec::new().load_with("whole", guest.build(), options))
            .await?;
        for _ in 0..3 {
            let text = live.get("/it").await?.text();
            let refused = ["failed too-deep", "failed overloaded"];
            assert!(refused.iter().any(|code| text.contains(code)), "{form}: {text}");
        }
        live.shutdown().await;
    }
    Ok(())
}

/// The later call waits for the instance of the first one, and the first one for a call of the same listener.
async fn a_listener_that_calls_itself_waits_for_no_later_call(harness: Harness) -> Result<()> {
    for form in Flavor::MODULES {
        let gate = Gate::new();
        let pass = gate.clone();
        let again = Channel::new("whole").on("again", Program::new().call("app:next"));
        let limits = ModuleLimits::new().instances(1).in_flight(1);
        let options = ModuleOptions::new().limits(limits.queue_wait(Duration::from_secs(600)));
        let app = AppSpec::new()
            .load_with("whole", form.form(Guest::new().channel(again)).build(), options)
            .register("GET", "/it", |context: Context| async move {
                let result = context.call_raw("whole:again", Payload::json(&true)?).await?;
                Ok::<_, Failure>(result.into_data())
            })
            .listen("app", "next", move |delivery: Delivery, payload: Payload| {
                let pass = pass.clone();
                async move {
                    if !payload.to::<bool>()? {
                        return Ok(payload);
                    }
                    pass.pass().await;
                    delivery.call_raw("whole:again", Payload::json(&false)?).await
                }
            });
        let live = harness.start(app).await?;
        let client = *live;
        let ask = || tokio::spawn(async move { client.get("/it").await });
        let asked = [ask(), ask()];
        gate.arrived(1).await?;
        until("the other one waits", || {
            let waiting = live.control().statuses().into_iter().map(|status| status.usage.waiting);
            waiting.sum::<usize>() == 1
        })
        .await?;
        gate.open();
        for asked in asked {
            assert_eq!(asked.await??.text(), "false", "{form}");
        }
        live.ends_without_a_crash().await?;
    }
    Ok(())
}

async fn two_modules_that_call_each_other_hang_never(harness: Harness) -> Result<()> {
    for form in Flavor::MODULES {
        let gate = Gate::new();
        let half = |path: &str, own: &str, other: &str| {
            let handler = Program::text("asked").call("app:gate").call(other);
            let things = Controller::new("Things", "/").get(path, handler);
            let channel = Channel::new(own).on("ask", adds("answer"));
            form.form(Guest::with(things).channel(channel)).build()
        };
        let app = AppSpec::new()
            .load("left", half("left", "left", "right:ask"))
            .load("right", half("right", "right", "left:ask"))
            .limits(limited_to(1));
        let live = harness.start(app.gate("gate", &gate)).await?;
        let client = *live;
        let asked = ["/left", "/right"].map(|path| tokio::spawn(async move { client.get(path).await }));
        // Each holds its module's only instance when it calls the other.
        gate.arrived(2).await?;
        gate.open();
        for asked in asked {
            let text = asked.await?.with_context(|| format!("{form}"))?.text();
            let answered = text == "asked answer" || text.starts_with("failed overloaded");
            assert!(answered, "{form}: {text}");
        }
        assert_eq!(
            live.get("/left").await?.text(),
            "asked answer",
            "{form}: all is free again"
        );
        live.shutdown().await;
    }
    Ok(())
}

async fn a_channel_of_few_instances_serves_many_callers(harness: Harness) -> Result<()> {
    for flavor in Flavor::MODULES {
        let program = Program::new().say("\"").param("id").say("\"").call("db:one");
        let things = Controller::new("Things", "/").get("it/:id", program);
        let app = AppSpec::new()
            .load("callers", Guest::with(things).build())
            .channel(
                flavor,
                Channel::new("db").on("one", Program::new().call("app:pass").say(" passed")),
            )
            .answers("app", "pass", Ok)
            .limits(limited_to(4));
        let live = harness.start(app).await?;
        everybody_is_answered(&live, 16, " passed").await?;
        live.shutdown().await;
    }
    Ok(())
}

async fn an_instance_of_a_channel_is_reused_until_it_traps(harness: Harness) -> Result<()> {
    for flavor in Flavor::MODULES {
        let counts = Program::new().say(" ").step(Step::Count);
        let db = Channel::new("db")
            .on("count", counts)
            .on("trap", Program::new().ends(End::Trap));
        let things = Controller::new("Things", "/")
            .get("count", Program::text("run").call("db:count"))
            .get("trap", Program::text("run").call("db:trap"));
        let app = AppSpec::new().load("caller", Guest::with(things).build());
        let live = harness.start(app.channel(flavor, db)).await?;
        for _ in 0..2 {
            for run in ["run 1", "run 2", "run 3"] {
                assert_eq!(live.get("/count").await?.text(), run, "{flavor}");
            }
            let text = live.get("/trap").await?.text();
            assert!(text.starts_with("failed failed"), "{flavor}: {text}");
        }
        live.shutdown().await;
    }
    Ok(())
}
