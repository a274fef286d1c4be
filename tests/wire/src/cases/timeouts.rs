//! The timeouts of the server.
//!
//! Each case but the last moves the clock of the server. A deadline of a connection is kept in milliseconds, so that the deadline
//! is up to a millisecond late: a case looks a millisecond before the timeout, and a millisecond after the timeout.

use std::time::{Duration, Instant};

use pointwork_core::{Context, Route, ServerOptions};
use pointwork_test_clock::TestClock;
use tokio::io::AsyncReadExt;

use crate::{On, Probe, Server, gated, route, routes, within};

crate::cases! {
    a_connection_that_sends_nothing_is_closed: A1,
    a_head_that_does_not_end_is_given_up: A1,
    an_idle_connection_is_closed_and_a_busy_one_is_not: A1,
    a_body_that_stops_coming_gets_408: A1,
    a_client_that_takes_none_of_its_reply_is_cut: A1,
    a_client_that_takes_its_reply_slowly_is_not_cut: A1,
    every_timeout_passes_in_real_time: A1,
}

/// The timeout under test. All others keep their defaults, so that another timeout cannot pass for it.
const TIMEOUT: Duration = Duration::from_secs(7);

const MOMENT: Duration = Duration::from_millis(1);

async fn server(on: On, set: impl FnOnce(&mut ServerOptions)) -> (Server, TestClock) {
    let mut options = ServerOptions::new();
    set(&mut options);
    Server::timed(on, options, routes()).await
}

/// Waits for the timeout of the connection, and asserts that the connection is closed after it and not before.
async fn is_closed_after(time: &TestClock, left: Duration, client: &mut Probe) {
    time.advance(left - MOMENT).await;
    client.is_silent().await;
    time.advance(2 * MOMENT).await;
    assert_eq!(client.rest().await.unwrap_or_default(), "");
}

async fn a_connection_that_sends_nothing_is_closed(on: On) {
    let (server, time) = server(on, |options| options.first_byte_timeout = Some(TIMEOUT)).await;
    let mut client = server.client().await;
    time.until_timer(TIMEOUT).await;
    is_closed_after(&time, TIMEOUT, &mut client).await;
    // The first byte ends this timeout.
    let mut client = server.client().await;
    client.send("GET /echo/1 ").await;
    time.advance(2 * TIMEOUT).await;
    client.send("HTTP/1.1\r\nhost: a\r\n\r\n").await;
    assert_eq!(client.reply().await.body, "1");
}

async fn a_head_that_does_not_end_is_given_up(on: On) {
    let (server, time) = server(on, |options| options.header_timeout = Some(TIMEOUT)).await;
    for begin in ["P", "GET /hello HTTP/1.1\r\nhost"] {
        let mut client = server.client().await;
        client.send(begin).await;
        time.until_timer(TIMEOUT).await;
        is_closed_after(&time, TIMEOUT, &mut client).await;
    }
    // Single bytes do not extend the timeout.
    let mut client = server.client().await;
    client.send("GET /hello HTTP/1.1\r\nhost: a\r\nx-endless: ").await;
    time.until_timer(TIMEOUT).await;
    for _ in 0..6 {
        time.advance(TIMEOUT / 7).await;
        client.send("y").await;
    }
    is_closed_after(&time, TIMEOUT / 7, &mut client).await;
}

async fn an_idle_connection_is_closed_and_a_busy_one_is_not(on: On) {
    let (gated, gate) = gated();
    let options = ServerOptions::new().header_timeout(TIMEOUT);
    let (server, time) = Server::timed(on, options, [routes(), vec![gated]].concat()).await;
    let mut client = server.client().await;
    for round in 0..6 {
        assert_eq!(client.get(&format!("/echo/{round}")).await.body, round.to_string());
        time.advance(TIMEOUT / 2).await;
    }
    // The time of the handler does not count.
    client.send("GET /gated HTTP/1.1\r\nhost: a\r\n\r\n").await;
    gate.arrived().await;
    time.advance(2 * TIMEOUT).await;
    gate.open();
    assert_eq!(client.reply().await.body, "gated");
    is_closed_after(&time, TIMEOUT, &mut client).await;
}

async fn a_body_that_stops_coming_gets_408(on: On) {
    if on.name == "actix" {
        return a_body_that_stops_coming_gets_408_in_real_time(on).await;
    }
    // The whole body takes less than the ten seconds over which the rate of a body counts.
    const PAUSE: Duration = Duration::from_secs(2);
    let (server, time) = server(on, |options| options.body_timeout = Some(PAUSE)).await;
    for path in ["/body", "/whole"] {
        let mut client = server.client().await;
        client
            .send(format!("POST {path} HTTP/1.1\r\nhost: a\r\ncontent-length: 12\r\n\r\n"))
            .await;
        time.until_timer(PAUSE).await;
        for _ in 0..4 {
            client.send("xx").await;
            time.advance(PAUSE / 2).await;
        }
        // The body was slow so far, which is allowed; now it stops.
        client.send("xx").await;
        time.advance(PAUSE - MOMENT).await;
        client.is_silent().await;
        time.advance(MOMENT).await;
        let reply = client.reply().await;
        assert_eq!(reply.status(), 408, "{path}: {reply:?}");
    }
}

/// Real time decides: actix-http polls without a pause while a body is incomplete, so that its thread never rests.
#[expect(clippy::disallowed_methods, reason = "the case measures the real time of a timeout")]
async fn a_body_that_stops_coming_gets_408_in_real_time(on: On) {
    const PAUSE: Duration = Duration::from_millis(300);
    let server = Server::with(on, ServerOptions::new().body_timeout(PAUSE), routes()).await;
    for path in ["/body", "/whole"] {
        let mut client = server.client().await;
        client
            .send(format!(
                "POST {path} HTTP/1.1\r\nhost: a\r\ncontent-length: 12\r\n\r\nxx"
            ))
            .await;
        let begun = Instant::now();
        let reply = client.reply().await;
        assert_eq!(reply.status(), 408, "{path}: {reply:?}");
        assert!(begun.elapsed() > PAUSE / 2, "{:?}", begun.elapsed());
    }
}

const BIG: usize = 32 * 1024 * 1024;

fn big() -> Vec<Route> {
    vec![route("GET", "/big", async |_: Context| vec![b'x'; BIG])]
}

async fn a_client_that_takes_none_of_its_reply_is_cut(on: On) {
    let options = ServerOptions::new().write_timeout(TIMEOUT).shutdown_grace(60 * TIMEOUT);
    let (mut server, time) = Server::timed(on, options, big()).await;
    let mut client = server.client().await;
    client.send("GET /big HTTP/1.1\r\nhost: a\r\n\r\n").await;
    client.head().await;
    time.until_timer(TIMEOUT).await;
    // The connection is in flight, so the shutdown waits for it, at most for its write timeout.
    server.signal();
    time.advance(TIMEOUT - MOMENT).await;
    assert!(!server.serving.is_finished());
    time.advance(2 * MOMENT).await;
    server.ended().await;
}

async fn a_client_that_takes_its_reply_slowly_is_not_cut(on: On) {
    let options = ServerOptions::new()
        .write_timeout(TIMEOUT)
        // The connection does not count as idle either, although the handler has returned.
        .header_timeout(TIMEOUT);
    let (server, time) = Server::timed(on, options, big()).await;
    let mut client = server.client().await;
    client.send("GET /big HTTP/1.1\r\nhost: a\r\n\r\n").await;
    client.head().await;
    let mut left = client.exactly(1).await.len().abs_diff(BIG);
    let mut buffer = vec![0; 1024 * 1024];
    let begun = time.now();
    // `exactly` may have read ahead into the client's buffer; only bytes from the socket count here.
    left -= client.read_ahead();
    while left > 0 {
        let got = within("reading", client.stream().read(&mut buffer)).await.unwrap();
        assert_ne!(got, 0, "cut with {left} bytes left after {:?}", time.now() - begun);
        left -= got;
        // The server writes again only after the client has read a part of what waits for the client.
        time.advance(TIMEOUT / 8).await;
    }
    assert!(time.now() - begun > 2 * TIMEOUT, "the reply came in too few pieces");
}

/// Real time decides: the timers are those of the server, which no other case uses.
#[expect(
    clippy::disallowed_methods,
    reason = "the case measures the real time of each timeout"
)]
async fn every_timeout_passes_in_real_time(on: On) {
    const SHORT: Duration = Duration::from_millis(200);
    let (gated, gate) = gated();
    let options = ServerOptions::new()
        .first_byte_timeout(SHORT)
        .header_timeout(SHORT)
        .body_timeout(SHORT)
        .write_timeout(SHORT)
        .shutdown_grace(SHORT);
    let mut server = Server::with(on, options, [routes(), big(), vec![gated]].concat()).await;
    for begin in ["", "GET /hello HTTP/1.1\r\n", "GET /big HTTP/1.1\r\nhost: a\r\n\r\n"] {
        let begun = Instant::now();
        let mut client = server.client().await;
        client.send(begin).await;
        if begin.contains("big") {
            tokio::time::sleep(2 * SHORT).await;
        }
        let _ = client.rest().await;
        assert!(begun.elapsed() >= SHORT, "{begin}");
    }
    let mut client = server.client().await;
    client
        .send("POST /body HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\n\r\n")
        .await;
    assert_eq!(client.reply().await.status(), 408);
    let mut client = server.client().await;
    client.send("GET /gated HTTP/1.1\r\nhost: a\r\n\r\n").await;
    gate.arrived().await;
    server.signal();
    server.ended().await;
}
