//! Calls that go on after their client has left (spec E8).

use std::time::Duration;

use anyhow::Result;
use pointwork::{Breaker, ModuleLimits, ModuleOptions, Trial};
use pointwork_core::{Crash, CrashKind, Delivery, Payload};
use pointwork_test_clock::TestClock;
use pointwork_test_clock::real::until;

use super::trial::{goes_on, swap_with};
use super::{SHOP, status, watch};
use crate::case::{Harness, Live, cases};
use crate::client::{Connection, Request};
use crate::fixtures::Fixture;
use crate::flavor::Flavor;
use crate::guest::{Channel, Controller, End, Guest, Program, Step};
use crate::subject::AppSpec;

cases![
    host;
    a_handler_whose_client_left_has_little_time: E8;
    a_listener_whose_client_left_has_little_time: E8;
    a_loop_that_nobody_waits_for_ends [RustAsync]: E8;
    a_failure_that_any_client_can_cause_counts_for_nothing: E5, E8, S6 moves clock;
    neighbours_of_a_cleanup_have_time_to_end [RustAsync]: E8;
    a_call_that_never_ends_takes_its_instance_with_it [RustAsync]: E5, E8 moves clock;
];

/// More clients than crashes until a handler is held back.
const CLIENTS: usize = 4;

/// A handler that crashes twice is held back, and a loop has all the time.
fn options() -> ModuleOptions {
    let limits = ModuleLimits::new().cpu(Duration::from_secs(600));
    ModuleOptions::new()
        .limits(limits)
        .breaker(Breaker::new().crashes(2).pause(Duration::from_secs(600)))
}

/// Writes more than the buffers of both ends have room for, and then ends.
fn streams(program: Program, end: End) -> Program {
    let chunks = vec!["x".repeat(64 * 1024); 128];
    program.step(Step::Stream(200, chunks)).ends(end)
}

/// Requests a reply, reads its first bytes and leaves.
async fn leaves_early(live: &Live, path: &str) -> Result<()> {
    let mut connection = begin(live, path).await?;
    connection.await_body(1).await?;
    Ok(())
}

async fn begin(live: &Live, path: &str) -> Result<Connection> {
    let mut connection = live.connect().await?;
    connection
        .write(&Request::new("GET", path).to_bytes("localhost"))
        .await?;
    Ok(connection)
}

fn is_of_cleanup(crash: &Crash) -> bool {
    crash.limit.as_deref() == Some("cleanup") && crash.kind == CrashKind::Deadline
}

/// Waits for that many calls that did too much after their client had left. Nothing is held back for that.
async fn cleanups_end(live: &Live, count: usize) -> Result<()> {
    let crashes = || live.crashes().all();
    until("the calls are ended", || {
        crashes().iter().filter(|crash| is_of_cleanup(crash)).count() == count
    })
    .await?;
    assert!(crashes().iter().all(is_of_cleanup), "{:#?}", crashes());
    assert!(status(live)?.held_back.is_empty());
    until("nothing is left", || live.control().requests_in_flight() == 0).await
}

/// Clients of `/it` leave, whose calls loop from then on.
async fn loops_end(harness: &Harness, form: Flavor, guest: Guest) -> Result<()> {
    let app = AppSpec::new().load_with(SHOP, form.form(guest).build(), options());
    let live = harness.start(app).await?;
    for count in 1..=CLIENTS {
        leaves_early(&live, "/it").await?;
        cleanups_end(&live, count).await?;
        assert_eq!(live.get("/ok").await?.text(), "ok", "{form}");
    }
    live.shutdown().await;
    Ok(())
}

/// A controller whose `/it` runs a program.
fn things(program: Program) -> Controller {
    Controller::new("Things", "/")
        .get("it", program)
        .get("ok", Program::text("ok"))
}

async fn a_handler_whose_client_left_has_little_time(harness: Harness) -> Result<()> {
    for form in Flavor::MODULES {
        let guest = Guest::with(things(streams(Program::new(), End::Loop)));
        loops_end(&harness, form, guest).await?;
    }
    Ok(())
}

async fn a_listener_whose_client_left_has_little_time(harness: Harness) -> Result<()> {
    for form in Flavor::MODULES {
        let writes = streams(Program::new().take_context(), End::Loop);
        let guest = Guest::with(things(Program::new().hands_over("desk:write")));
        loops_end(&harness, form, guest.channel(Channel::new("desk").on("write", writes))).await?;
    }
    Ok(())
}

/// A handler, and a listener that another module calls. In the synchronous form the call ends with its client.
async fn a_loop_that_nobody_waits_for_ends(harness: Harness) -> Result<()> {
    let gate = watch::Gate::new();
    gate.open();
    let loops = || Program::new().call("app:gate").ends(End::Loop);
    let looping = Guest::with(things(loops())).channel(Channel::new("desk").on("loop", loops()));
    let asking = Controller::new("Asking", "/").get("ask", Program::new().call("desk:loop"));
    let app = AppSpec::new()
        .load_with(SHOP, looping.asynchronous().build(), options())
        .load("asking", Guest::with(asking).build())
        .gate("gate", &gate);
    let live = harness.start(app).await?;
    let mut count = 0;
    for path in ["/it", "/ask"] {
        for _ in 0..CLIENTS {
            let connection = begin(&live, path).await?;
            gate.arrived(1).await?;
            drop(connection);
            count += 1;
            cleanups_end(&live, count).await?;
            assert_eq!(live.get("/ok").await?.text(), "ok", "{path}");
        }
    }
    live.shutdown().await;
    Ok(())
}

/// No breaker opens, and no version is rolled back: any client can leave, or break a body off.
async fn a_failure_that_any_client_can_cause_counts_for_nothing(harness: Harness) -> Result<()> {
    for (form, end) in Flavor::MODULES
        .into_iter()
        .flat_map(|form| [(form, End::Trap), (form, End::Raise)])
    {
        let (time, text) = (TestClock::new(), || Program::text("ok"));
        let healthy = Controller::new("Things", "/").get("it", text()).post("it", text());
        let app = AppSpec::new().load(SHOP, form.form(Guest::with(healthy)).build());
        let live = harness.start(app.timed(&time)).await?;
        for _ in 0..CLIENTS {
            assert_eq!(live.get("/it").await?.status, 200, "{form}");
            assert_eq!(live.call("POST", "/it").await?.status, 200, "{form}");
        }
        let failing = Controller::new("Things", "/")
            .get("it", streams(Program::new(), end))
            .post("it", Program::new().step(Step::Body).ends(end))
            .takes("stream");
        let next = form.form(Guest::with(failing)).build();
        swap_with(&live, next.into(), options().trial(Trial::new().calls(2))).await?;
        for count in 1..=CLIENTS {
            leaves_early(&live, "/it").await?;
            until("the failure is reported", || {
                live.crashes().all().len() == 2 * count - 1
            })
            .await?;
            let mut connection = live.connect().await?;
            let broken = b"POST /it HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\nno length\r\n";
            connection.write(broken).await?;
            until("the failure is reported", || live.crashes().all().len() == 2 * count).await?;
        }
        assert!(status(&live)?.held_back.is_empty(), "{form}");
        goes_on(&live, &time).await?;
        live.shutdown().await;
    }
    Ok(())
}

/// An asynchronous module with one instance, whose `/waits/1` waits at the gate.
/// `told` counts the calls that told that their client left.
async fn shared(harness: &Harness, gate: &watch::Gate, told: &watch::Gate) -> Result<AppSpec> {
    let (gate, told) = (gate.clone(), told.clone());
    told.open();
    let mut limits = ModuleLimits::new().instances(1);
    (limits.deadline, limits.queue_wait) = (Some(DEADLINE), DEADLINE);
    let options = ModuleOptions::new().limits(limits).breaker(Breaker::new().crashes(1));
    let app = AppSpec::new().load_with(SHOP, harness.fixture(Fixture::RustAsync).await?, options);
    let passes = |gate: watch::Gate| {
        move |_: Delivery, _: Payload| {
            let gate = gate.clone();
            async move {
                gate.pass().await;
                Ok(Payload::null())
            }
        }
    };
    let app = app.listen("clock", "wait", passes(gate));
    Ok(app.listen("product", "viewed", passes(told)))
}

async fn neighbours_of_a_cleanup_have_time_to_end(harness: Harness) -> Result<()> {
    let (gate, told) = (watch::Gate::new(), watch::Gate::new());
    let live = harness.start(shared(&harness, &gate, &told).await?).await?;
    let mut connection = begin(&live, "/parts/lingers").await?;
    connection.await_body(1).await?;
    let client = *live;
    let neighbour = tokio::spawn(async move { client.get("/waits/1").await });
    gate.arrived(1).await?;
    drop(connection);
    told.arrived(1).await?;
    gate.open();
    assert_eq!(neighbour.await??.text(), "waited");
    cleanups_end(&live, 1).await?;
    assert_eq!(live.get("/health").await?.status, 200, "in the next instance");
    live.shutdown().await;
    Ok(())
}

/// The deadline of requests.
const DEADLINE: Duration = Duration::from_secs(20);

/// The time that the other calls of an instance have to end.
const GRACE: Duration = Duration::from_secs(5);

async fn a_call_that_never_ends_takes_its_instance_with_it(harness: Harness) -> Result<()> {
    for leaves in [true, false] {
        let (time, gate, told) = (TestClock::new(), watch::Gate::new(), watch::Gate::new());
        let app = shared(&harness, &gate, &told).await?;
        let live = harness.start(app.timed(&time)).await?;
        let mut neighbour = begin(&live, "/parts/silent").await?;
        neighbour.await_body(1).await?;
        let mut waiting = begin(&live, "/waits/never").await?;
        gate.arrived(1).await?;
        if leaves {
            drop(waiting);
            told.arrived(1).await?;
            time.advance(DEADLINE).await;
        } else {
            let reply = time.elapse(DEADLINE, waiting.read_response("GET")).await?;
            assert_eq!(reply.status, 504);
            told.arrived(1).await?;
        }
        let is_end = |crash: &Crash| crash.kind == CrashKind::Trap;
        time.advance(GRACE / 2).await;
        assert!(!live.crashes().all().iter().any(is_end));
        time.advance(GRACE / 2).await;
        let broken = neighbour.read_response("GET").await;
        assert!(broken.is_err(), "the reply of the neighbour breaks off");
        live.crashes().expect("the end of the instance", is_end).await?;
        // Any client can leave.
        let held_back = status(&live)?.held_back;
        assert_eq!(held_back.len(), usize::from(!leaves), "{held_back:?}");
        live.shutdown().await;
    }
    Ok(())
}
