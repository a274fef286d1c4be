//! Emitted events: delivered later, in order, and without delaying the caller (spec H3).

use anyhow::Result;
use pointwork_test_clock::real::until;
use tracing::Level;

use super::watch::Gate;
use super::{adds, calling, emitting, routing};
use crate::case::{Harness, cases};
use crate::client::Request;
use crate::flavor::Flavor;
use crate::guest::{Channel, Controller, Guest, Program, Step};
use crate::subject::{AppSpec, Limits};

cases![
    host;
    an_emit_returns_at_once: C3, H3 of sdk and adapter in hosts;
    an_emit_shows_no_result: H3 of sdk;
    emitted_events_arrive_in_order: C1, C3, H3 of sdk in hosts;
    the_order_holds_over_all_events_of_a_channel: C1, C3, H3;
    a_slow_channel_does_not_hold_up_another: C3, H3 in hosts;
    a_listener_emits_as_a_handler_does: C3, H3 of sdk in hosts;
    an_emitted_event_knows_the_request_that_began_it: C3, H9 of sdk;
    a_full_queue_is_counted_and_logged: C3, H3;
    emits_that_nobody_hears_are_one_line_and_their_number: C4, H3;
    emitted_events_are_heard_before_the_end: C3, H3;
];

async fn an_emit_returns_at_once(harness: Harness) -> Result<()> {
    for flavor in Flavor::ALL {
        let gate = Gate::new();
        let log = Channel::new("log").on("line", Program::new().call("app:gate").call("app:done"));
        let (app, mut done) = emitting("log:line")
            .channel(flavor, log)
            .gate("gate", &gate)
            .hearing("done");
        let live = harness.start(app).await?;
        assert_eq!(
            live.get("/it/7").await?.text(),
            "emitted",
            "{flavor}: the reply does not wait for the listener"
        );
        gate.arrived(1).await?;
        assert!(done.so_far().is_empty(), "{flavor}");
        gate.open();
        assert_eq!(done.next().await?, "\"7\"", "{flavor}");
        live.shutdown().await;
    }
    Ok(())
}

async fn an_emit_shows_no_result(harness: Harness) -> Result<()> {
    for flavor in Flavor::ALL {
        let program = Program::text("asked").emit("db:one").say("nothing");
        let live = harness
            .start(routing(Flavor::Module, "it", program).channel(flavor, Channel::new("db").on("one", adds("row"))))
            .await?;
        assert_eq!(live.get("/it").await?.text(), "nothing", "{flavor}");
        live.shutdown().await;
    }
    Ok(())
}

async fn emitted_events_arrive_in_order(harness: Harness) -> Result<()> {
    for flavor in Flavor::ALL {
        let program = (0..20).fold(Program::new(), |program, at| {
            program.say(&at.to_string()).emit("log:line")
        });
        let log = Channel::new("log").on("line", Program::new().call("app:seen"));
        let (app, mut seen) = routing(Flavor::Module, "it", program)
            .channel(flavor, log)
            .hearing("seen");
        let live = harness.start(app).await?;
        live.get("/it").await?;
        for expected in 0..20 {
            assert_eq!(seen.next().await?, expected.to_string(), "{flavor}");
        }
        live.shutdown().await;
    }
    Ok(())
}

async fn the_order_holds_over_all_events_of_a_channel(harness: Harness) -> Result<()> {
    for flavor in Flavor::ALL {
        let gate = Gate::new();
        // The first event is held at the gate, so that a second task would overtake it.
        let log = Channel::new("log")
            .on("slow", Program::new().call("app:gate").call("app:seen"))
            .on("fast", Program::new().call("app:seen"));
        let program = Program::text("1").emit("log:slow").say("2").emit("log:fast");
        let program = program.say("3").emit("log:slow").say("4").emit("log:fast");
        let (app, mut seen) = routing(Flavor::Module, "it", program)
            .channel(flavor, log)
            .gate("gate", &gate)
            .hearing("seen");
        let live = harness.start(app).await?;
        live.get("/it").await?;
        gate.arrived(1).await?;
        assert!(seen.so_far().is_empty(), "{flavor}: an event overtook another");
        gate.open();
        for expected in ["1", "2", "3", "4"] {
            assert_eq!(seen.next().await?, expected, "{flavor}");
        }
        live.shutdown().await;
    }
    Ok(())
}

async fn a_slow_channel_does_not_hold_up_another(harness: Harness) -> Result<()> {
    for flavor in Flavor::ALL {
        let gate = Gate::new();
        let program = Program::text("1").emit("slow:line").say("2").emit("fast:line");
        let (app, mut seen) = routing(Flavor::Module, "it", program)
            .channel(flavor, Channel::new("slow").on("line", Program::new().call("app:gate")))
            .channel(flavor, Channel::new("fast").on("line", Program::new().call("app:seen")))
            .gate("gate", &gate)
            .hearing("seen");
        let live = harness.start(app).await?;
        live.get("/it").await?;
        gate.arrived(1).await?;
        assert_eq!(seen.next().await?, "2", "{flavor}");
        gate.open();
        live.shutdown().await;
    }
    Ok(())
}

async fn a_listener_emits_as_a_handler_does(harness: Harness) -> Result<()> {
    for flavor in Flavor::ALL {
        let relays = Program::new().say("!").emit("app:seen").say("went on");
        let (app, mut seen) = calling("db:one")
            .channel(flavor, Channel::new("db").on("one", relays))
            .hearing("seen");
        let live = harness.start(app).await?;
        assert_eq!(live.get("/it/7").await?.text(), "went on", "{flavor}");
        assert_eq!(seen.next().await?, "\"7\"!", "{flavor}");
        live.shutdown().await;
    }
    Ok(())
}

async fn an_emitted_event_knows_the_request_that_began_it(harness: Harness) -> Result<()> {
    for flavor in Flavor::ALL {
        let tells = Program::new().say(" ").step(Step::RequestId).call("app:seen");
        let (app, mut seen) = emitting("log:line")
            .channel(flavor, Channel::new("log").on("line", tells))
            .hearing("seen");
        let live = harness.start(app).await?;
        live.send(Request::new("GET", "/it/7").header("x-request-id", "emit-1"))
            .await?;
        assert_eq!(seen.next().await?, "\"7\" emit-1", "{flavor}");
        live.shutdown().await;
    }
    Ok(())
}

async fn a_full_queue_is_counted_and_logged(harness: Harness) -> Result<()> {
    for flavor in Flavor::ALL {
        let gate = Gate::new();
        // Cases run concurrently and share one log, so the name must be unique to this flavor and adapter.
        let channel = format!("full-{flavor:?}-{}", harness.subject());
        let event = format!("{channel}:line");
        let log = Channel::new(&channel).on("line", Program::new().call("app:gate").call("app:seen"));
        let (app, mut seen) = emitting(&event)
            .channel(flavor, log)
            .gate("gate", &gate)
            .hearing("seen");
        let live = harness
            .start(app.limits(Limits {
                event_queue: Some(3),
                ..Limits::default()
            }))
            .await?;
        assert_eq!(live.get("/it/0").await?.text(), "emitted", "{flavor}");
        // The first event has reached its listener, so the rest does not depend on when that began.
        gate.arrived(1).await?;
        for id in 1..10 {
            assert_eq!(live.get(&format!("/it/{id}")).await?.text(), "emitted", "{flavor}");
        }
        let refused = usize::try_from(live.control().events_refused())?;
        assert_eq!(
            told(&harness, &event, refused).await?,
            2,
            "{flavor}: the first one, and the number of the rest"
        );
        gate.open();
        live.shutdown().await;
        let heard = seen.so_far();
        // The queue decides whether the event that is being handled counts as one that waits.
        assert!((3..=4).contains(&heard.len()), "{flavor}: {heard:?}");
        assert_eq!(heard.len() + refused, 10, "{flavor}: {heard:?}");
        let first: Vec<_> = (0..heard.len()).map(|id| format!("\"{id}\"")).collect();
        assert_eq!(heard, first, "{flavor}: the first ones were kept");
    }
    Ok(())
}

async fn emitted_events_are_heard_before_the_end(harness: Harness) -> Result<()> {
    for flavor in Flavor::ALL {
        let gate = Gate::new();
        let log = Channel::new("log").on("line", Program::new().call("app:gate").call("app:seen"));
        let (app, mut seen) = emitting("log:line")
            .channel(flavor, log)
            .gate("gate", &gate)
            .hearing("seen");
        let live = harness.start(app).await?;
        for id in 0..10 {
            live.get(&format!("/it/{id}")).await?;
        }
        gate.arrived(1).await?;
        let ended = tokio::spawn(live.shutdown());
        // The gate opens for the first event only after the shutdown has begun.
        tokio::task::yield_now().await;
        gate.open();
        ended.await?;
        let all: Vec<_> = (0..10).map(|id| format!("\"{id}\"")).collect();
        assert_eq!(seen.so_far(), all, "{flavor}");
    }
    Ok(())
}

/// Waits until the log tells of so many events with that name in its lines that were not emitted; the number of lines.
async fn told(harness: &Harness, name: &str, count: usize) -> Result<usize> {
    let lines = || {
        let lines = harness
            .logs()
            .everywhere()
            .into_iter()
            .filter(|line| line.level == Level::ERROR);
        let lines = lines.map(|line| line.text).filter(|line| line.contains(name));
        lines.collect::<Vec<_>>()
    };
    let told = || -> usize {
        let more = |line: &String| line.split_once(" more were refused")?.0.parse::<usize>().ok();
        lines().iter().map(|line| more(line).unwrap_or(1)).sum()
    };
    until(&format!("{count} are told of `{name}`"), || told() >= count).await?;
    assert_eq!(told(), count, "{:#?}", lines());
    Ok(lines().len())
}

async fn emits_that_nobody_hears_are_one_line_and_their_number(harness: Harness) -> Result<()> {
    for form in Flavor::MODULES {
        // Cases run concurrently and share one log.
        let module = format!("emits-in-vain-{form:?}");
        let program = (0..900).fold(Program::text("1"), |program, at| program.emit(&format!("nobody:{at}")));
        let things = Controller::new("Things", "/").get("it", program.say("emitted"));
        let app = AppSpec::new().load(&module, form.form(Guest::with(things)).build());
        let live = harness.start(app).await?;
        assert_eq!(live.get("/it").await?.text(), "emitted", "{form}");
        assert_eq!(live.control().events_refused(), 900, "{form}");
        let lines = told(&harness, &module, 900).await?;
        assert!(lines < 5, "{form}: {lines} lines");
        live.shutdown().await;
    }
    Ok(())
}
