//! Modules share the pool of an engine, and calls share an asynchronous instance: what one of them takes leaves the others
//! their room (spec A1).

use std::time::Duration;

use anyhow::Result;
use futures_util::future::{join_all, try_join_all};
use pointwork::{ModuleLimits, ModuleOptions};
use pointwork_core::{CrashKind, Delivery, Payload};
use pointwork_test_clock::real::until;
use tokio::time::{sleep, timeout};

use super::{SHOP, status, watch};
use crate::case::{Harness, Live, cases};
use crate::client::{Connection, Request};
use crate::fixtures::Fixture;
use crate::flavor::Flavor;
use crate::guest::{Channel, Controller, Guest, Program};
use crate::languages::patience;
use crate::subject::{AppSpec, Limits, Step};

cases![
    host;
    modules_that_call_each_other_leave_a_third_its_instances: A1, H3;
    a_module_without_room_for_its_instances_is_refused: A1, S2;
    every_instance_of_the_pool_may_have_many_core_instances [Js]: A1;
    a_loop_holds_up_no_later_call_of_its_module [RustAsync]: A1, H1;
    loops_leave_an_instance_to_other_routes [RustAsync]: A1, E7;
    queued_calls_of_clients_that_left_keep_nothing [RustAsync]: A1, H7;
    a_call_whose_client_left_keeps_its_place_until_it_ends [RustAsync]: A1, H7;
    a_reply_goes_on_when_the_deadline_of_a_neighbour_passes [RustAsync]: A1, H7;
];

/// The pool of a case has room for so many instances.
const POOL: usize = 100;

/// The instances that each module can always get.
const SHARE: usize = 8;

/// The limit `instances` of each of the modules that call each other. The requests wait for one another's instances.
fn instances() -> usize {
    if patience() == 1 { 20 } else { 8 }
}

/// One of two modules that call each other, link by link, up to the gate at the last link.
fn mutual(own: &str, other: &str, first: u32) -> Guest {
    let mut channel = Channel::new(own);
    for link in (first..8).step_by(2) {
        let next = if link == 7 {
            "app:gate".to_owned()
        } else {
            format!("{other}:{}", link + 1)
        };
        channel = channel.on(&link.to_string(), Program::new().call(&next));
    }
    let begins = Program::text("through").call(&format!("{other}:1"));
    Guest::with(Controller::new("Things", "/").get(own, begins)).channel(channel)
}

#[expect(
    clippy::disallowed_methods,
    reason = "the clients leave; nothing is asserted about their time"
)]
async fn modules_that_call_each_other_leave_a_third_its_instances(harness: Harness) -> Result<()> {
    for form in Flavor::MODULES {
        let gate = watch::Gate::new();
        let third = |word: &str| {
            form.form(Guest::with(
                Controller::new("Things", "/").get(word, Program::text(word)),
            ))
        };
        let app = AppSpec::new()
            .load("left", form.form(mutual("left", "right", 2)).build())
            .load("right", form.form(mutual("right", "left", 1)).build())
            .load("third", third("third").build())
            .gate("gate", &gate)
            .limits(Limits {
                instances: Some(instances()),
                ..Limits::default()
            });
        let live = harness.start(app).await?;
        let client = *live;
        let mut inside = Vec::new();
        // A request takes four instances of each module, which may have twice as many as its limit says.
        for _ in 0..2 * instances() / 4 {
            inside.push(tokio::spawn(async move { client.get("/left").await }));
            gate.arrived(1).await?;
        }
        // These find no instance.
        let more = (0..20).map(|_| timeout(Duration::from_secs(3), async move { client.get("/left").await }));
        join_all(more).await;
        let many = 36 / patience();
        let thirds = try_join_all((0..many).map(|_| async move { client.get("/third").await })).await?;
        assert!(thirds.iter().all(|reply| reply.status == 200), "{form}: {thirds:?}");
        let fourth = Step::Load("fourth".to_owned(), third("fourth").build().into());
        live.control().apply(fourth).await?;
        assert_eq!(live.get("/fourth").await?.text(), "fourth", "{form}");
        gate.open();
        for reply in inside {
            assert_eq!(reply.await??.text(), "through", "{form}");
        }
        live.shutdown().await;
    }
    Ok(())
}

async fn a_module_without_room_for_its_instances_is_refused(harness: Harness) -> Result<()> {
    for form in Flavor::MODULES {
        let module = |number: usize| {
            let things = Controller::new("Things", "/").get(&number.to_string(), Program::text("served"));
            form.form(Guest::with(things)).build()
        };
        let name = |number: usize| format!("module-{number}");
        let fit = POOL / SHARE;
        let app = (0..fit).fold(AppSpec::new(), |app, number| app.load(&name(number), module(number)));
        let live = harness.start(app).await?;
        for number in 0..fit {
            assert_eq!(live.get(&format!("/{number}")).await?.text(), "served", "{form}");
        }
        let more = || Step::Load("more".to_owned(), module(fit).into());
        let refusal = live.control().apply(more()).await.unwrap_err();
        for part in ["more", "room for 100 instances", "4 are left", "expected 8"] {
            assert!(refusal.text().contains(part), "{form}: `{part}` is not in: {refusal}");
        }
        // A swap has room, and so has a module in the place of another.
        live.control().apply(Step::Swap(name(0), module(fit).into())).await?;
        live.control().apply(Step::Remove(name(0))).await?;
        live.control().apply(more()).await?;
        assert_eq!(live.get(&format!("/{fit}")).await?.text(), "served", "{form}");
        live.shutdown().await;
    }
    Ok(())
}

/// A component written in JavaScript has eleven core instances.
async fn every_instance_of_the_pool_may_have_many_core_instances(harness: Harness) -> Result<()> {
    let gate = watch::Gate::new();
    let pass = gate.clone();
    let app = AppSpec::new().load("js", harness.fixture(Fixture::Js).await?).listen(
        "echo",
        "say",
        move |_: Delivery, said: Payload| {
            let pass = pass.clone();
            async move {
                pass.pass().await;
                Ok(said)
            }
        },
    );
    let live = harness.start(app).await?;
    let client = *live;
    let asked: Vec<_> = (0..48)
        .map(|_| tokio::spawn(async move { client.get("/js/call/x").await }))
        .collect();
    gate.arrived(48).await?;
    gate.open();
    for reply in asked {
        assert_eq!(reply.await??.status, 200);
    }
    live.shutdown().await;
    Ok(())
}

/// An asynchronous module whose `/waits/…` wait at the gate, and those of `/waits/0/…` do not.
async fn shared(harness: &Harness, gate: &watch::Gate, limits: ModuleLimits) -> Result<Live> {
    let pass = gate.clone();
    let options = ModuleOptions::new().limits(limits);
    let app = AppSpec::new()
        .load_with(SHOP, harness.fixture(Fixture::RustAsync).await?, options)
        .listen("clock", "wait", move |_: Delivery, time: Payload| {
            let pass = pass.clone();
            async move {
                if time.data()[..] != b"0"[..] {
                    pass.pass().await;
                }
                Ok(Payload::null())
            }
        });
    Ok(harness.start(app).await?)
}

/// Limits with which a loop goes on for the whole case, and a request that it holds up does not.
fn looping() -> ModuleLimits {
    let mut limits = ModuleLimits::new().cpu(Duration::from_secs(600));
    limits.deadline = Some(Duration::from_secs(3));
    limits.queue_wait = Duration::from_secs(1);
    limits
}

async fn a_loop_holds_up_no_later_call_of_its_module(harness: Harness) -> Result<()> {
    let gate = watch::Gate::new();
    gate.open();
    let live = shared(&harness, &gate, looping()).await?;
    let client = *live;
    for _ in 0..2 {
        let looping = tokio::spawn(async move { client.get("/waits/1/loops").await });
        gate.arrived(1).await?;
        let mut served = 0;
        // All of them before the deadline of the loop, in a host in Python too.
        for _ in 0..10 {
            served += u32::from(client.get("/health").await?.status == 200);
            served += u32::from(client.get("/waits/0").await?.status == 200);
        }
        assert_eq!(served, 20);
        assert_eq!(looping.await??.status, 504);
        assert_eq!(client.get("/health").await?.status, 200);
    }
    live.shutdown().await;
    Ok(())
}

#[expect(
    clippy::disallowed_methods,
    reason = "a loop is slow once it has lasted for some real time"
)]
async fn loops_leave_an_instance_to_other_routes(harness: Harness) -> Result<()> {
    let gate = watch::Gate::new();
    gate.open();
    let live = shared(&harness, &gate, looping().instances(2)).await?;
    let client = *live;
    let begin_a_loop = || tokio::spawn(async move { client.get("/waits/1/loops").await });
    let mut loops = vec![begin_a_loop()];
    gate.arrived(1).await?;
    // Longer than a slow call is old, and than the slices of one that computes.
    sleep(Duration::from_millis(150)).await;
    loops.extend((0..3).map(|_| begin_a_loop()));
    for _ in 0..10 {
        assert_eq!(client.get("/health").await?.status, 200);
        assert_eq!(client.get("/waits/0").await?.status, 200);
    }
    for looping in loops {
        let status = looping.await??.status;
        assert!(matches!(status, 503 | 504), "{status}");
    }
    live.shutdown().await;
    Ok(())
}

/// Begins requests with long heads. The host has them.
async fn begin(live: &Live, path: &str, requests: usize) -> Result<Vec<Connection>> {
    let mut connections = Vec::new();
    for _ in 0..requests {
        let mut connection = live.connect().await?;
        let request = Request::new("GET", path).header("x-long", "x".repeat(8 * 1024));
        connection.write(&request.to_bytes("localhost")).await?;
        connections.push(connection);
    }
    until("the requests are there", || {
        live.control().requests_in_flight() >= requests
    })
    .await?;
    Ok(connections)
}

/// Begins a loop in the only instance. From now on nobody is answered. Returns its client, with which it ends, and the number of
/// requests in flight.
#[expect(
    clippy::disallowed_methods,
    reason = "a loop that holds up all calls reports no event: calls without an answer show the loop"
)]
async fn begin_a_loop(live: &Live) -> Result<(Vec<Connection>, usize)> {
    let client = begin(live, "/waits/0/loops", 1).await?;
    // A busy machine may be late with an answer.
    let mut unanswered = 0;
    while unanswered < 4 {
        match timeout(Duration::from_millis(300), live.get("/health")).await {
            Ok(answered) => unanswered = answered.map(|_| 0)?,
            Err(_) => unanswered += 1,
        }
    }
    Ok((client, live.control().requests_in_flight()))
}

async fn queued_calls_of_clients_that_left_keep_nothing(harness: Harness) -> Result<()> {
    let mut limits = looping().instances(1);
    limits.deadline = Some(Duration::from_secs(60));
    limits.queue_wait = Duration::from_secs(60);
    let live = shared(&harness, &watch::Gate::new(), limits).await?;
    let (client, looping) = begin_a_loop(&live).await?;
    for _ in 0..5 {
        drop(begin(&live, "/health", 20).await?);
        until("only the loop is left", || {
            live.control().requests_in_flight() <= looping
                && status(&live).is_ok_and(|status| status.usage.waiting == 0)
        })
        .await?;
    }
    drop(client);
    live.shutdown().await;
    Ok(())
}

async fn a_call_whose_client_left_keeps_its_place_until_it_ends(harness: Harness) -> Result<()> {
    let mut limits = looping().instances(1).in_flight(2);
    limits.deadline = Some(Duration::from_secs(60));
    limits.queue_wait = Duration::from_secs(60);
    let live = shared(&harness, &watch::Gate::new(), limits).await?;
    let looping = begin_a_loop(&live).await?;
    let client = *live;
    let asked: Vec<_> = (0..3)
        .map(|_| tokio::spawn(async move { client.get("/health").await }))
        .collect();
    // The place beside the loop may be free for one of them.
    until("they wait", || {
        status(&live).is_ok_and(|status| status.usage.waiting >= 2)
    })
    .await?;
    asked.iter().for_each(tokio::task::JoinHandle::abort);
    drop(looping);
    live.shutdown().await;
    Ok(())
}

/// More than the sockets of a client hold that does not read. Few, since an instance that computes for long has low priority.
const PAGES: usize = 100;

#[expect(
    clippy::disallowed_methods,
    reason = "the host looks at the neighbours in real time while a reply goes on, and nothing must happen then"
)]
async fn a_reply_goes_on_when_the_deadline_of_a_neighbour_passes(harness: Harness) -> Result<()> {
    let mut limits = ModuleLimits::new().instances(1);
    limits.deadline = Some(Duration::from_secs(1));
    let live = shared(&harness, &watch::Gate::new(), limits).await?;
    let mut reply = live.connect_narrow().await?;
    let request = Request::new("GET", &format!("/parts/pages/{PAGES}"));
    reply.write(&request.to_bytes("localhost")).await?;
    reply.await_body(1).await?;
    // This call ends at its deadline too, a moment after the host has replied to its client.
    assert_eq!(live.get("/waits/1").await?.status, 504);
    until("the reply of the neighbour alone goes on", || {
        status(&live).is_ok_and(|status| status.usage.in_flight == 1)
    })
    .await?;
    // Longer than the time between two looks at the neighbours of a call that has not ended.
    sleep(Duration::from_millis(300)).await;
    until("its request alone is in flight", || {
        live.control().requests_in_flight() == 1
    })
    .await?;
    let length = reply.read_response("GET").await?.text().len();
    assert_eq!(length, PAGES * 64 * 1024);
    live.crashes()
        .expect("the deadline", |crash| crash.kind == CrashKind::Deadline)
        .await?;
    let crashes: Vec<_> = live.crashes().all().into_iter().map(|crash| crash.kind).collect();
    assert_eq!(crashes, [CrashKind::Deadline], "the instance is not given up");
    live.shutdown().await;
    Ok(())
}
