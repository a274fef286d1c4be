//! HTTP/2: the end of streams and connections.

use std::time::Duration;

use http_body_util::BodyExt;
use pointwork_core::{Body, Context};

use super::http2::{Http2Probe, options};
use crate::{On, Server, broken_off, gated, observed, route, routes, within};

crate::cases! {
    a_reset_of_the_stream_cancels_the_handler: A5,
    a_broken_off_reply_ends_with_a_reset: A5,
    a_shutdown_lets_requests_in_flight_end: A5,
    an_idle_connection_is_closed_and_a_busy_one_is_not: A5,
    a_connection_that_begins_nothing_is_cut: A5,
    a_client_that_takes_all_its_requests_back_is_cut: A5,
    a_long_download_is_not_idle: A5,
    the_end_of_the_connection_cancels_its_handlers: A5,
}

/// The header timeout under test.
const TIMEOUT: Duration = Duration::from_secs(7);

/// A deadline of a connection is kept in milliseconds.
const MOMENT: Duration = Duration::from_millis(1);

/// The preface and empty settings of a client that sends nothing else.
pub(super) const BEGIN: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";

/// The HEADERS frame of `GET http://a/observed`.
fn get_observed(stream: u32) -> Vec<u8> {
    let fields = b"\x82\x86\x41\x01a\x44\x09/observed";
    let mut frame = vec![0, 0, u8::try_from(fields.len()).unwrap(), 1, 5];
    frame.extend_from_slice(&stream.to_be_bytes());
    frame.extend_from_slice(fields);
    frame
}

async fn a_reset_of_the_stream_cancels_the_handler(on: On) {
    let (observed, began, dropped) = observed("GET");
    let server = Server::with(on, options(), vec![observed]).await;
    let client = Http2Probe::connect(&server).await;
    let mut call = tokio::spawn(client.begin("GET", "/observed", Body::empty()));
    tokio::select! {
        () = within("the handler's begin", began.notified()) => {}
        failed = &mut call => panic!("{failed:?}"),
    }
    call.abort();
    within("the handler's drop", dropped.notified()).await;
}

async fn a_broken_off_reply_ends_with_a_reset(on: On) {
    let (streamed, gate) = broken_off();
    let server = Server::with(on, options(), [routes(), vec![streamed]].concat()).await;
    let client = Http2Probe::connect(&server).await;
    let reply = client.send("GET", "/streamed", Body::empty()).await.unwrap();
    gate.open();
    assert!(within("the body", reply.into_body().collect()).await.is_err());
    // The other streams of the connection go on.
    assert_eq!(client.text("GET", "/hello", Body::empty()).await.1, "hello");
}

async fn a_shutdown_lets_requests_in_flight_end(on: On) {
    let (gated, gate) = gated();
    let mut server = Server::with(on, options(), vec![gated]).await;
    let client = Http2Probe::connect(&server).await;
    let held = client.begin("GET", "/gated", Body::empty());
    let mut held = tokio::spawn(async move { held.await.unwrap().into_body().collect().await.unwrap().to_bytes() });
    tokio::select! {
        () = gate.arrived() => {}
        failed = &mut held => panic!("{failed:?}"),
    }
    server.signal();
    gate.open();
    assert_eq!(within("the held reply", held).await.unwrap(), "gated");
    client.ended().await;
    server.ended().await;
}

async fn an_idle_connection_is_closed_and_a_busy_one_is_not(on: On) {
    let (gated, gate) = gated();
    let (server, time) = Server::timed(on, options().header_timeout(TIMEOUT), vec![gated]).await;
    let client = Http2Probe::connect(&server).await;
    let held = client.begin("GET", "/gated", Body::empty());
    let mut held = tokio::spawn(async move { held.await.unwrap().into_body().collect().await.unwrap().to_bytes() });
    tokio::select! {
        () = gate.arrived() => {}
        failed = &mut held => panic!("{failed:?}"),
    }
    time.advance(3 * TIMEOUT).await;
    gate.open();
    assert_eq!(within("the held reply", held).await.unwrap(), "gated");
    time.advance(TIMEOUT + MOMENT).await;
    client.ended().await;
}

async fn a_connection_that_begins_nothing_is_cut(on: On) {
    let (server, time) = Server::timed(on, options().header_timeout(TIMEOUT), routes()).await;
    let mut client = server.client().await;
    // The client sends only the preface and empty settings. It acknowledges nothing, and does not close its side.
    client.send(BEGIN).await;
    // The first timeout ends with GOAWAY, the second one with the end of the connection.
    let both = async {
        for _ in 0..2 {
            time.until_timer(TIMEOUT).await;
            time.advance(TIMEOUT + MOMENT).await;
        }
        std::future::pending::<()>().await;
    };
    tokio::select! {
        _ = client.rest() => {}
        () = both => {}
    }
}

async fn a_client_that_takes_all_its_requests_back_is_cut(on: On) {
    let (observed, ..) = observed("GET");
    let mut options = options();
    options.http2.max_faulty_streams = 100;
    let server = Server::with(on, options, vec![observed]).await;
    let mut client = server.client().await;
    client.send(BEGIN).await;
    for stream in (1..400_u32).step_by(2) {
        let mut frames = get_observed(stream);
        frames.extend_from_slice(&[0, 0, 4, 3, 0]);
        frames.extend_from_slice(&stream.to_be_bytes());
        frames.extend_from_slice(&[0, 0, 0, 8]);
        if client.try_send(frames).await.is_err() {
            break;
        }
    }
    // The server's last frames may be lost: closing the connection resets it, because the client still sends.
    let _ = client.rest().await;
}

async fn a_long_download_is_not_idle(on: On) {
    const LENGTH: usize = 24 * 1024 * 1024;
    let big = route("GET", "/big", async |_: Context| vec![b'x'; LENGTH]);
    let (server, time) = Server::timed(on, options().header_timeout(TIMEOUT), vec![big]).await;
    let client = Http2Probe::connect(&server).await;
    let mut body = client.send("GET", "/big", Body::empty()).await.unwrap().into_body();
    let (mut got, mut pauses) = (0, 0);
    while let Some(frame) = within("a chunk", body.frame()).await {
        got += frame.unwrap().into_data().unwrap().len();
        if got / (2 * 1024 * 1024) > pauses {
            pauses += 1;
            time.advance(TIMEOUT / 2).await;
        }
    }
    assert_eq!((got, pauses), (LENGTH, 12));
}

async fn the_end_of_the_connection_cancels_its_handlers(on: On) {
    let (observed, began, dropped) = observed("GET");
    let server = Server::with(on, options(), vec![observed]).await;
    let mut client = server.client().await;
    client.send(BEGIN).await;
    client.send(get_observed(1)).await;
    // The server sends its settings and acknowledgements meanwhile; the end of the connection would be an error.
    let mut client = tokio::spawn(async move {
        let rest = client.rest().await;
        panic!("the connection closed: {rest:?}");
    });
    tokio::select! {
        () = within("the handler's begin", began.notified()) => {}
        failed = &mut client => failed.unwrap(),
    }
    client.abort();
    within("the handler's drop", dropped.notified()).await;
}
