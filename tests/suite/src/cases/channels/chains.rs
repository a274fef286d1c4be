//! Calls that lead to further calls: through modules of both forms, back into the calling module, and in cycles (spec
//! C3, H3).

use std::time::Duration;

use anyhow::Result;
use pointwork_core::CrashKind;
use pointwork_test_clock::TestClock;

use super::watch::Heard;
use super::{adds, calling, calling_from, routing};
use crate::case::{Harness, Live, cases};
use crate::client::Request;
use crate::flavor::Flavor;
use crate::guest::{Channel, Controller, End, Guest, Program, ReplyBody, Step};
use crate::subject::{AppSpec, Limits};

cases![
    host;
    a_channel_calls_a_channel_wherever_both_live: C3, H3 of sdk;
    a_chain_passes_through_every_form_and_back: C3, H3 of sdk in hosts;
    a_failure_deep_in_a_chain_reaches_its_caller: C3, H3 of sdk;
    the_request_id_stays_with_the_chain: H9;
    the_deadline_travels_with_the_chain: E1, H3;
    a_module_calls_its_own_channel: C3, H3 of sdk;
    a_cycle_ends_too_deep_and_names_its_links: H3;
    a_channel_that_calls_itself_ends_too_deep: H3;
    a_context_handed_over_in_a_ring_ends_too_deep: H6, H7 moves clock;
    a_ring_ends_when_its_client_is_gone: H6, H7 moves clock;
    a_delivery_that_was_kept_continues_the_chain_of_the_call_that_runs: H3 moves clock;
];

fn relays(to: &str) -> Program {
    Program::new().say(">").call(to).say("<")
}

async fn a_channel_calls_a_channel_wherever_both_live(harness: Harness) -> Result<()> {
    for first in Flavor::ALL {
        for second in Flavor::ALL {
            let app = calling("a:x")
                .channel(first, Channel::new("a").on("x", relays("b:y")))
                .channel(second, Channel::new("b").on("y", adds("end")));
            let live = harness.start(app).await?;
            assert_eq!(live.get("/it/7").await?.text(), "\"7\"> end<", "{first}, then {second}");
            live.shutdown().await;
        }
    }
    Ok(())
}

async fn a_chain_passes_through_every_form_and_back(harness: Harness) -> Result<()> {
    for form in Flavor::MODULES {
        let flavors = [
            Flavor::AsyncModule,
            Flavor::Module,
            Flavor::Native,
            Flavor::AsyncModule,
            Flavor::Module,
        ];
        let mut app = calling_from(form, "c0:on");
        for (at, flavor) in flavors.into_iter().enumerate() {
            let program = relays(&format!("c{}:on", at + 1));
            app = app.channel(flavor, Channel::new(&format!("c{at}")).on("on", program));
        }
        let last = Channel::new(&format!("c{}", flavors.len())).on("on", adds("end"));
        let live = harness.start(app.channel(Flavor::Native, last)).await?;
        assert_eq!(live.get("/it/7").await?.text(), "\"7\">>>>> end<<<<<", "from {form}");
        live.shutdown().await;
    }
    Ok(())
}

async fn a_failure_deep_in_a_chain_reaches_its_caller(harness: Harness) -> Result<()> {
    for flavor in Flavor::ALL {
        let app = calling("a:x")
            .channel(
                flavor,
                Channel::new("a").on("x", Program::new().call("b:y").say(" told on")),
            )
            .channel(
                flavor,
                Channel::new("b").on("y", Program::new().say("!").fails("conflict", 409)),
            );
        let live = harness.start(app).await?;
        assert_eq!(
            live.get("/it/7").await?.text(),
            "failed conflict: \"7\"! told on",
            "{flavor}"
        );
        live.ends_without_a_crash().await?;
    }
    Ok(())
}

async fn the_request_id_stays_with_the_chain(harness: Harness) -> Result<()> {
    for flavor in Flavor::ALL {
        let app = calling("a:x")
            .channel(flavor, Channel::new("a").on("x", Program::new().call("b:y")))
            .channel(
                flavor,
                Channel::new("b").on("y", Program::new().say(" ").step(Step::RequestId)),
            );
        let live = harness.start(app).await?;
        let request = Request::new("GET", "/it/7").header("x-request-id", "chain-1");
        assert_eq!(live.send(request).await?.text(), "\"7\" chain-1", "{flavor}");
        live.shutdown().await;
    }
    Ok(())
}

async fn the_deadline_travels_with_the_chain(harness: Harness) -> Result<()> {
    for first in Flavor::ALL {
        for second in Flavor::MODULES {
            let limits = Limits {
                deadline: Some(Duration::from_millis(500)),
                ..Limits::default()
            };
            let app = calling("a:x")
                .channel(first, Channel::new("a").on("x", Program::new().call("b:y")))
                .channel(second, Channel::new("b").on("y", Program::new().ends(End::Loop)));
            let live = harness.start(app.limits(limits)).await?;
            assert_eq!(live.get("/it/7").await?.status, 504, "{first}, then {second}");
            live.shutdown().await;
        }
    }
    Ok(())
}

/// A module that serves `/it/:id` and has the channel that the handler calls.
fn of_one_module(form: Flavor, event: &str, channel: Channel) -> AppSpec {
    let program = Program::new().say("\"").param("id").say("\"").call(event);
    let things = Controller::new("Things", "/").get("it/:id", program.replies(ReplyBody::Bytes));
    let guest = form.form(Guest::with(things).channel(channel));
    AppSpec::new().load("whole", guest.build())
}

async fn a_module_calls_its_own_channel(harness: Harness) -> Result<()> {
    for form in Flavor::MODULES {
        let db = Channel::new("db")
            .on("one", relays("db:two"))
            .on("two", relays("db:three"))
            .on("three", adds("end"));
        let live = harness.start(of_one_module(form, "db:one", db)).await?;
        for _ in 0..3 {
            assert_eq!(live.get("/it/7").await?.text(), "\"7\">> end<<", "{form}");
        }
        live.ends_without_a_crash().await?;
    }
    Ok(())
}

fn ended_too_deep(text: &str, links: &str) {
    assert!(text.contains("failed too-deep: "), "{text}");
    assert!(text.contains(links), "{text}");
}

async fn a_cycle_ends_too_deep_and_names_its_links(harness: Harness) -> Result<()> {
    for first in Flavor::ALL {
        for second in Flavor::ALL {
            let app = calling("a:x")
                .channel(first, Channel::new("a").on("x", Program::new().call("b:y")))
                .channel(second, Channel::new("b").on("y", Program::new().call("a:x")));
            let live = harness.start(app).await?;
            ended_too_deep(&live.get("/it/7").await?.text(), "`a:x` → `b:y` → `a:x`");
            live.ends_without_a_crash().await?;
        }
    }
    Ok(())
}

async fn a_channel_that_calls_itself_ends_too_deep(harness: Harness) -> Result<()> {
    for form in Flavor::MODULES {
        let db = Channel::new("db").on("again", Program::new().call("db:again"));
        let live = harness.start(of_one_module(form, "db:again", db)).await?;
        for _ in 0..2 {
            ended_too_deep(&live.get("/it/7").await?.text(), "`db:again` → `db:again`");
        }
        live.shutdown().await;
    }
    Ok(())
}

/// Hands its context over to `channel:turn`, whose listener in `flavor` hands it over to itself, and emits `app:turned`.
async fn ring(harness: &Harness, flavor: Flavor, channel: &str, time: &TestClock) -> Result<(Live, Heard)> {
    let event = format!("{channel}:turn");
    let turns = Program::text("1").emit("app:turned").take_context().hands_over(&event);
    let limits = Limits {
        deadline: Some(Duration::from_millis(500)),
        ..Limits::default()
    };
    let (app, turned) = routing(Flavor::Module, "it", Program::text("1").hands_over(&event))
        .channel(flavor, Channel::new(channel).on("turn", turns))
        .limits(limits)
        .hearing("turned");
    Ok((harness.start(app.timed(time)).await?, turned))
}

/// Ends when no turn is left, or when the ring goes on.
async fn turns(turned: &mut Heard, time: &TestClock) -> usize {
    let mut turns = 0;
    loop {
        time.settle().await;
        match turned.so_far().len() {
            more @ 1.. if turns < 1000 => turns += more,
            more => return turns + more,
        }
    }
}

async fn a_context_handed_over_in_a_ring_ends_too_deep(harness: Harness) -> Result<()> {
    for flavor in Flavor::ALL {
        // The log is shared with other cases, so the name must be unique.
        let channel = format!("ring-{flavor:?}");
        let time = TestClock::new();
        let (live, mut turned) = ring(&harness, flavor, &channel, &time).await?;
        assert_eq!(live.get("/it").await?.status, 500, "{flavor}");
        // The eighth listener cannot emit, as its event would be the ninth link.
        assert_eq!(turns(&mut turned, &time).await, 7, "{flavor}");
        live.crashes()
            .expect("no reply", |crash| crash.kind == CrashKind::NoReply)
            .await?;
        let told = format!("the context was not handed over: `{channel}:turn` is call 9");
        assert_eq!(harness.logs().containing(&told, 1).await?.len(), 1, "{flavor}");
        live.shutdown().await;
    }
    Ok(())
}

async fn a_ring_ends_when_its_client_is_gone(harness: Harness) -> Result<()> {
    for flavor in Flavor::ALL {
        let time = TestClock::new();
        let (live, mut turned) = ring(&harness, flavor, &format!("left-{flavor:?}"), &time).await?;
        for _ in 0..3 {
            let mut connection = live.connect().await?;
            let request = Request::new("GET", "/it");
            connection.write(&request.to_bytes(&live.address().to_string())).await?;
            turned.next().await?;
        }
        let turns = 3 + turns(&mut turned, &time).await;
        assert!(turns <= 3 * 7, "{flavor}: {turns} turns");
        live.shutdown().await;
    }
    Ok(())
}

async fn a_delivery_that_was_kept_continues_the_chain_of_the_call_that_runs(harness: Harness) -> Result<()> {
    for form in Flavor::MODULES {
        let turn = Program::text("1").step(Step::UseFirstDelivery).emit("app:turned");
        let turn = turn.emit("ring:turn").ends(End::Keep);
        let begins = Program::text("1").emit("ring:turn").say("begun");
        let (app, mut turned) = routing(Flavor::Module, "it", begins)
            .channel(form, Channel::new("ring").on("turn", turn))
            .hearing("turned");
        let time = TestClock::new();
        let live = harness.start(app.timed(&time)).await?;
        assert_eq!(live.get("/it").await?.text(), "begun", "{form}");
        assert_eq!(turns(&mut turned, &time).await, 7, "{form}");
        live.shutdown().await;
    }
    Ok(())
}
