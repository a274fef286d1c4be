//! More calls than a module has instances: calls that wait, calls that are refused, and calls whose client disconnects
//! (spec A1, E1).

use std::time::Duration;

use anyhow::Result;
use futures_util::FutureExt as _;
use pointwork::{ModuleLimits, ModuleOptions};
use pointwork_core::Crash;
use pointwork_test_clock::TestClock;
use pointwork_test_clock::real::until;

use super::limits::{limited, names};
use super::{SHOP, status, watch};
use crate::case::{Harness, Live, cases};
use crate::client::{Client, Request, Response};
use crate::flavor::Flavor;
use crate::guest::{Channel, Controller, Guest, Program, Step};
use crate::subject::AppSpec;

cases![
    host;
    a_call_too_many_in_the_queue_is_refused_at_once: A1, E1 moves clock;
    a_burst_of_refusals_is_one_line_and_their_number: E1 moves clock;
    a_call_that_waits_too_long_for_an_instance_is_refused: A1, E1 moves clock;
    a_context_for_a_listener_without_room_is_refused: A1, H6 moves clock;
    who_waits_gets_the_instance_that_is_free_again: A1 moves clock;
    clients_that_go_away_leave_nothing_behind: A1, H7 of adapter moves clock;
];

/// The only instance waits at the gate.
async fn full(
    harness: &Harness,
    form: Flavor,
    gate: &watch::Gate,
    time: &TestClock,
    set: impl FnOnce(&mut ModuleLimits),
) -> Result<Live> {
    let program = Program::new().call("app:gate").say(" done");
    let app = limited(form, program, |limits| {
        (limits.instances, limits.in_flight) = (1, 1);
        set(limits);
    });
    Ok(harness.start(app.gate("gate", gate).timed(time)).await?)
}

/// The time that a call waits for an instance.
const WAIT: Duration = Duration::from_secs(7);

fn ask_raw(client: Client) -> tokio::task::JoinHandle<Result<Response>> {
    tokio::spawn(async move { Ok(client.call("POST", "/it").await?) })
}

fn ask(client: Client) -> tokio::task::JoinHandle<Result<String>> {
    tokio::spawn(async move { Ok(client.call("POST", "/it").await?.text()) })
}

async fn waiting(live: &Live, count: usize) -> Result<()> {
    until(&format!("{count} wait"), || {
        status(live).is_ok_and(|status| status.usage.waiting == count)
    })
    .await
}

async fn a_call_too_many_in_the_queue_is_refused_at_once(harness: Harness) -> Result<()> {
    for form in Flavor::MODULES {
        let gate = watch::Gate::new();
        let time = TestClock::new();
        let live = full(&harness, form, &gate, &time, |limits| {
            limits.queue = 1;
            limits.queue_wait = Duration::from_secs(60);
        })
        .await?;
        let inside = ask(*live);
        gate.arrived(1).await?;
        let queued = ask(*live);
        waiting(&live, 1).await?;
        let refused = live.call("POST", "/it").await?;
        assert!(refused.header("retry-after").is_some(), "{form}");
        gate.open();
        for answered in [inside, queued] {
            assert_eq!(answered.await??, "null done", "{form}");
        }
        names(&live, &refused, 503, "queue").await?;
        assert_eq!(status(&live)?.usage.refused, 1, "{form}");
        live.shutdown().await;
    }
    Ok(())
}

async fn a_burst_of_refusals_is_one_line_and_their_number(harness: Harness) -> Result<()> {
    let gate = watch::Gate::new();
    // Cases run side by side, so the module has a name of its own.
    let module = "burst-of-refusals";
    let things = Controller::new("Things", "/").post("it", Program::new().call("app:gate"));
    let limits = ModuleLimits::new().instances(1).queue(0);
    let options = ModuleOptions::new().limits(limits);
    let app = AppSpec::new().load_with(module, Guest::with(things).build(), options);
    let time = TestClock::new();
    let live = harness.start(app.gate("gate", &gate).timed(&time)).await?;
    let inside = ask(*live);
    gate.arrived(1).await?;
    for _ in 0..20 {
        assert_eq!(live.call("POST", "/it").await?.status, 503);
    }
    let lines = || {
        let lines = harness.logs().everywhere().into_iter().map(|line| line.text);
        let of_burst = |line: &String| line.contains(module) && line.contains("limit=queue");
        lines.filter(of_burst).collect::<Vec<_>>()
    };
    let counted = || -> u64 {
        let more = |line: &String| line.split_once(" more were refused")?.0.parse::<u64>().ok();
        lines().iter().map(|line| more(line).unwrap_or(1)).sum()
    };
    time.advance(Duration::from_secs(1)).await;
    assert_eq!((counted(), lines().len()), (20, 2), "{:#?}", lines());
    gate.open();
    inside.await??;
    live.shutdown().await;
    Ok(())
}

async fn a_call_that_waits_too_long_for_an_instance_is_refused(harness: Harness) -> Result<()> {
    for form in Flavor::MODULES {
        let gate = watch::Gate::new();
        let time = TestClock::new();
        let live = full(&harness, form, &gate, &time, |limits| {
            limits.queue_wait = WAIT;
        })
        .await?;
        let inside = ask(*live);
        gate.arrived(1).await?;
        let mut late = ask_raw(*live);
        time.until_timer(WAIT).await;
        time.advance(WAIT - Duration::from_nanos(1)).await;
        assert!((&mut late).now_or_never().is_none(), "{form}");
        time.advance(Duration::from_nanos(1)).await;
        let refused = late.await??;
        assert!(refused.header("retry-after").is_some(), "{form}");
        gate.open();
        assert_eq!(inside.await??, "null done", "{form}");
        names(&live, &refused, 503, "instances").await?;
        live.shutdown().await;
    }
    Ok(())
}

async fn a_context_for_a_listener_without_room_is_refused(harness: Harness) -> Result<()> {
    for form in Flavor::MODULES {
        // The queue is full, or nobody becomes free in time.
        for (queue, limit) in [(0, "queue"), (8, "instances")] {
            let gate = watch::Gate::new();
            let mut limits = ModuleLimits::new().instances(1).queue(queue);
            (limits.in_flight, limits.queue_wait) = (1, WAIT);
            let replies = Program::new().take_context().call("app:gate").step(Step::Send(200));
            let shop = Guest::new().channel(Channel::new("desk").on("take", replies));
            let front = Controller::new("Front", "/").post("it", Program::new().hands_over("desk:take"));
            let app = AppSpec::new()
                .load_with(SHOP, form.form(shop).build(), ModuleOptions::new().limits(limits))
                .load("front", Guest::with(front).build());
            let time = TestClock::new();
            let live = harness.start(app.gate("gate", &gate).timed(&time)).await?;
            let inside = ask(*live);
            gate.arrived(1).await?;
            let refused = time.elapse(WAIT, live.call("POST", "/it")).await?;
            assert!(refused.header("retry-after").is_some(), "{form} {limit}");
            gate.open();
            assert_eq!(inside.await??, "null", "{form} {limit}");
            assert_eq!(refused.status, 503, "{form} {limit}");
            let is_named = |crash: &Crash| crash.limit.as_deref() == Some(limit);
            live.crashes().expect(limit, is_named).await?;
            live.shutdown().await;
        }
    }
    Ok(())
}

async fn who_waits_gets_the_instance_that_is_free_again(harness: Harness) -> Result<()> {
    for form in Flavor::MODULES {
        let gate = watch::Gate::new();
        let time = TestClock::new();
        let live = full(&harness, form, &gate, &time, |limits| {
            limits.queue_wait = Duration::from_secs(60);
        })
        .await?;
        let inside = ask(*live);
        gate.arrived(1).await?;
        let queued: Vec<_> = (0..8).map(|_| ask(*live)).collect();
        waiting(&live, 8).await?;
        assert_eq!(status(&live)?.usage.in_flight, 9, "{form}: those that wait included");
        gate.open();
        for answered in std::iter::once(inside).chain(queued) {
            assert_eq!(answered.await??, "null done", "{form}");
        }
        let usage = status(&live)?.usage;
        assert_eq!((usage.waiting, usage.instances), (0, 1), "{form}");
        live.ends_without_a_crash().await?;
    }
    Ok(())
}

async fn clients_that_go_away_leave_nothing_behind(harness: Harness) -> Result<()> {
    for form in Flavor::MODULES {
        let gate = watch::Gate::new();
        let time = TestClock::new();
        let live = full(&harness, form, &gate, &time, |limits| {
            limits.instances = 3;
            limits.idle = Duration::from_secs(1);
            limits.deadline = Some(WAIT);
            limits.queue_wait = Duration::from_secs(60);
        })
        .await?;
        let mut connections = Vec::new();
        for _ in 0..12 {
            let mut connection = live.connect().await?;
            let request = Request::new("POST", "/it").to_bytes("localhost");
            connection.write(&request).await?;
            connections.push(connection);
        }
        gate.arrived(3).await?;
        waiting(&live, 9).await?;
        drop(connections);
        watch::advance_until(&time, "nothing is left", || {
            status(&live).is_ok_and(|status| {
                let usage = status.usage;
                usage.in_flight + usage.waiting + usage.instances + usage.held == 0
            }) && live.control().requests_in_flight() == 0
        })
        .await?;
        gate.open();
        assert_eq!(live.call("POST", "/it").await?.text(), "null done", "{form}");
        live.shutdown().await;
    }
    Ok(())
}
