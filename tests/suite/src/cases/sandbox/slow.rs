//! Slow clients: those that send a request body, or take a reply, chunk by chunk (spec H9, S1). Other requests of the module
//! find an instance.

use std::time::Duration;

use anyhow::{Context as _, Result};
use pointwork::{ModuleLimits, ModuleOptions};
use pointwork_core::{Body, Crash};
use pointwork_test_clock::TestClock;
use pointwork_test_clock::real::{until, until_async};
use tokio::task::JoinSet;

use super::limits::names;
use super::{SHOP, status};
use crate::case::{Harness, Live, cases};
use crate::client::{Connection, Request};
use crate::fixtures::Fixture;
use crate::flavor::Flavor;
use crate::guest::{Channel, Controller, End, Guest, Program, Step};
use crate::subject::AppSpec;

cases![
    host;
    slow_uploads_leave_an_instance_to_other_routes: H9 of adapter moves clock;
    slow_bodies_of_one_http_2_connection_leave_an_instance_to_other_routes: H9 moves clock;
    slow_readers_leave_an_instance_to_other_routes: H9 of adapter moves clock;
    a_handler_that_gets_no_slot_for_its_reply_learns_of_it: H9 moves clock;
    a_whole_body_takes_no_instance_until_it_is_there: H9 of adapter;
    the_only_instance_may_stream_both_ways: H9;
    the_slot_of_a_stream_is_free_when_its_client_is_gone: H9;
    calls_that_share_an_instance_leave_room_for_other_routes [RustAsync]: H9 moves clock;
    // In hosts: a program ended or hung in this case once.
    a_body_that_is_handed_over_takes_a_slot_where_it_is_read: H6, H9 in hosts;
];

/// The time that a call waits for an instance, or for its client.
const WAIT: Duration = Duration::from_secs(3);

/// Three calls at a time, two of which may stream.
fn three_calls() -> ModuleLimits {
    let mut limits = ModuleLimits::new();
    limits.memory = 2 * 1024 * 1024;
    limits.queue_wait = WAIT;
    (limits.instances, limits.in_flight) = (3, 1);
    limits
}

/// POST `/it` runs the program, and GET `/ok` answers at once.
fn shop(form: Flavor, program: Program, body: &str, limits: ModuleLimits) -> AppSpec {
    let things = Controller::new("Things", "/")
        .post("it", program)
        .takes(body)
        .get("ok", Program::text("ok"))
        .takes("none");
    let component = form.form(Guest::with(things)).build();
    AppSpec::new().load_with(SHOP, component, ModuleOptions::new().limits(limits))
}

/// Sends a head that declares five bytes, and the first of them.
async fn begin_upload(live: &Live, path: &str) -> Result<Connection> {
    let mut connection = live.connect().await?;
    let head = format!("POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-length: 5\r\n\r\n1");
    connection.write(head.as_bytes()).await?;
    Ok(connection)
}

async fn in_flight(live: &Live, count: usize) -> Result<()> {
    until(&format!("{count} calls are in flight"), || {
        status(live).is_ok_and(|status| status.usage.in_flight == count)
    })
    .await
}

async fn others_are_served(live: &Live, form: Flavor) -> Result<()> {
    for _ in 0..5 {
        let reply = live.get("/ok").await?;
        assert_eq!((reply.status, reply.text()), (200, "ok".to_owned()), "{form}");
    }
    Ok(())
}

async fn slow_uploads_leave_an_instance_to_other_routes(harness: Harness) -> Result<()> {
    for form in Flavor::MODULES {
        let time = TestClock::new();
        let app = shop(form, Program::new().step(Step::Body), "stream", three_calls());
        let rests = harness.rests_during_uploads();
        let live = harness.start(if rests { app.timed(&time) } else { app }).await?;
        let mut slow = [begin_upload(&live, "/it").await?, begin_upload(&live, "/it").await?];
        in_flight(&live, 2).await?;
        others_are_served(&live, form).await?;
        let refused = live.call("POST", "/it");
        let refused = if rests {
            time.elapse(WAIT, refused).await?
        } else {
            refused.await?
        };
        assert!(refused.header("retry-after").is_some(), "{form}");
        names(&live, &refused, 503, "instances").await?;
        for connection in &mut slow {
            connection.write(b"2345").await?;
            assert_eq!(connection.read_response("POST").await?.text(), "12345", "{form}");
        }
        live.shutdown().await;
    }
    Ok(())
}

async fn slow_bodies_of_one_http_2_connection_leave_an_instance_to_other_routes(harness: Harness) -> Result<()> {
    for form in Flavor::MODULES {
        let time = TestClock::new();
        let app = shop(form, Program::new().step(Step::Body), "stream", three_calls());
        let live = harness.start(app.timed(&time)).await?;
        let connection = live.connect_http2().await?;
        let mut writers = Vec::new();
        let mut streams = JoinSet::new();
        for _ in 0..100 {
            let (mut writer, body) = Body::channel();
            let request = http::Request::post(format!("http://{}/it", live.address())).body(body)?;
            streams.spawn(connection.begin(request));
            // The first byte is read when the stream is open.
            writer.write("1").await?;
            writers.push(writer);
        }
        time.until_timers(98, WAIT).await;
        time.advance(WAIT).await;
        // All but two are refused, while the two that have a slot wait for their clients.
        for _ in 0..98 {
            let refused = streams.join_next().await.context("two streams are open")???;
            assert_eq!(refused.status(), 503, "{form}");
        }
        others_are_served(&live, form).await?;
        in_flight(&live, 2).await?;
        drop(writers);
        live.shutdown().await;
    }
    Ok(())
}

async fn slow_readers_leave_an_instance_to_other_routes(harness: Harness) -> Result<()> {
    // More than the buffers of both ends have room for.
    let chunks = vec!["x".repeat(64 * 1024); 128];
    for form in Flavor::MODULES {
        let program = Program::new()
            .step(Step::Stream(200, chunks.clone()))
            .step(Step::Finish);
        let time = TestClock::new();
        let app = shop(form, program, "none", three_calls());
        let live = harness.start(app.timed(&time)).await?;
        let mut slow = Vec::new();
        for _ in 0..2 {
            let mut connection = live.connect().await?;
            connection
                .write(&Request::new("POST", "/it").to_bytes("localhost"))
                .await?;
            assert_eq!(connection.read_head().await?.status, 200, "{form}");
            slow.push(connection);
        }
        in_flight(&live, 2).await?;
        others_are_served(&live, form).await?;
        let refused = time.elapse(WAIT, live.call("POST", "/it")).await?;
        assert!(refused.header("retry-after").is_some(), "{form}");
        names(&live, &refused, 503, "instances").await?;
        drop(slow);
        live.shutdown().await;
    }
    Ok(())
}

/// The first reply in chunks of a handler. From then on its calls wait for a slot before they take an instance.
async fn a_handler_that_gets_no_slot_for_its_reply_learns_of_it(harness: Harness) -> Result<()> {
    for form in Flavor::MODULES {
        let chunks = Program::new().step(Step::Stream(200, vec!["chunk".to_owned()]));
        let things = Controller::new("Things", "/")
            .post("it", Program::new().step(Step::Body))
            .takes("stream")
            .get("chunks", chunks.step(Step::Finish));
        let options = ModuleOptions::new().limits(three_calls());
        let app = AppSpec::new().load_with(SHOP, form.form(Guest::with(things)).build(), options);
        let time = TestClock::new();
        let live = harness.start(app.timed(&time)).await?;
        let slow = [begin_upload(&live, "/it").await?, begin_upload(&live, "/it").await?];
        in_flight(&live, 2).await?;
        let told = time.elapse(WAIT, live.get("/chunks")).await?;
        assert_eq!(told.text(), "failed overloaded", "{form}");
        let limit = |crash: &Crash| crash.limit.as_deref() == Some("instances");
        live.crashes().expect("the limit is reported", limit).await?;
        let refused = time.elapse(WAIT, live.get("/chunks")).await?;
        assert_eq!(refused.status, 503, "{form}: without an instance");
        drop(slow);
        live.shutdown().await;
    }
    Ok(())
}

async fn a_whole_body_takes_no_instance_until_it_is_there(harness: Harness) -> Result<()> {
    for form in Flavor::MODULES {
        let mut limits = three_calls();
        limits.instances = 1;
        let app = shop(form, Program::new().step(Step::Body), "whole", limits);
        let live = harness.start(app).await?;
        let mut slow = Vec::new();
        for _ in 0..8 {
            slow.push(begin_upload(&live, "/it").await?);
        }
        until("the requests have arrived", || live.control().requests_in_flight() == 8).await?;
        others_are_served(&live, form).await?;
        for connection in &mut slow {
            connection.write(b"2345").await?;
            assert_eq!(connection.read_response("POST").await?.text(), "12345", "{form}");
        }
        live.ends_without_a_crash().await?;
    }
    Ok(())
}

async fn the_only_instance_may_stream_both_ways(harness: Harness) -> Result<()> {
    for form in Flavor::MODULES {
        let mut limits = three_calls();
        limits.instances = 1;
        let program = Program::new().step(Step::Echo).ends(End::Deferred);
        let live = harness.start(shop(form, program, "stream", limits)).await?;
        for _ in 0..3 {
            let reply = live.send(Request::new("POST", "/it").body("12345")).await?;
            assert_eq!(reply.text(), "12345", "{form}");
        }
        live.ends_without_a_crash().await?;
    }
    Ok(())
}

async fn the_slot_of_a_stream_is_free_when_its_client_is_gone(harness: Harness) -> Result<()> {
    for form in Flavor::MODULES {
        let mut limits = three_calls();
        limits.queue_wait = Duration::from_millis(50);
        limits.deadline = Some(Duration::from_secs(1));
        let app = shop(form, Program::new().step(Step::Body), "stream", limits);
        let live = harness.start(app).await?;
        for _ in 0..3 {
            let slow = [begin_upload(&live, "/it").await?, begin_upload(&live, "/it").await?];
            in_flight(&live, 2).await?;
            drop(slow);
            in_flight(&live, 0).await?;
        }
        // A call of the asynchronous form learns of it when it waits the next time.
        let client = *live;
        let is_free = || async move {
            let reply = client.send(Request::new("POST", "/it").body("12345")).await;
            reply.is_ok_and(|reply| reply.status == 200 && reply.text() == "12345")
        };
        until_async("the slot is free", is_free).await.context(form)?;
        live.shutdown().await;
    }
    Ok(())
}

async fn calls_that_share_an_instance_leave_room_for_other_routes(harness: Harness) -> Result<()> {
    let mut limits = ModuleLimits::new();
    (limits.instances, limits.in_flight) = (1, 3);
    limits.queue_wait = WAIT;
    let component = harness.fixture(Fixture::RustAsync).await?;
    let app = AppSpec::new().load_with(SHOP, component, ModuleOptions::new().limits(limits));
    let time = TestClock::new();
    let live = harness.start(app.timed(&time)).await?;
    let path = "/waits/count";
    let mut slow = [begin_upload(&live, path).await?, begin_upload(&live, path).await?];
    in_flight(&live, 2).await?;
    assert_eq!(live.get("/health").await?.status, 200);
    assert_eq!(time.elapse(WAIT, live.call("POST", path)).await?.status, 503);
    let refused = time.elapse(WAIT, live.get("/waits/streamed")).await?;
    assert!(refused.header("retry-after").is_some());
    assert_eq!(refused.status, 503, "a handler that passes the failure on");
    for connection in &mut slow {
        connection.write(b"2345").await?;
        assert_eq!(connection.read_response("POST").await?.text(), "5");
    }
    assert_eq!(live.get("/waits/streamed").await?.status, 200);
    live.shutdown().await;
    Ok(())
}

async fn a_body_that_is_handed_over_takes_a_slot_where_it_is_read(harness: Harness) -> Result<()> {
    let things = Controller::new("Things", "/")
        .post("it", Program::new().hands_over("desk:read"))
        .takes("stream")
        .post("too", Program::new().hands_over("desk:read-too"))
        .takes("stream")
        .get("ok", Program::new().call("desk:ok"));
    let reads = || Program::new().take_context().step(Step::Body).step(Step::Send(200));
    let desk = Channel::new("desk")
        .on("read", reads())
        .on("read-too", reads())
        .on("ok", Program::text("ok"));
    let mut limits = three_calls();
    limits.instances = 2;
    limits.queue_wait = Duration::from_secs(1);
    let app = AppSpec::new()
        .load_with(
            "desk",
            Guest::new().channel(desk).build(),
            ModuleOptions::new().limits(limits),
        )
        .load(SHOP, Guest::with(things).build());
    let live = harness.start(app).await?;
    let mut slow = begin_upload(&live, "/it").await?;
    // Before the first listener reads, the second one may have the slot.
    let mut text = String::new();
    for _ in 0..100 {
        text = live.send(Request::new("POST", "/too").body("12345")).await?.text();
        if text != "null12345" {
            break;
        }
    }
    assert_ne!(text, "null12345", "both listeners read at a time");
    assert_eq!(live.get("/ok").await?.text(), "nullok");
    slow.write(b"2345").await?;
    assert_eq!(slow.read_response("POST").await?.text(), "null12345");
    live.shutdown().await;
    Ok(())
}
