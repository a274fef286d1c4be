//! The timeouts of the server.

use std::time::{Duration, Instant};

use pointwork_core::{Context, ServerOptions};
use tokio::io::AsyncReadExt;
use tokio::time::sleep;

use crate::{On, Server, route, routes, within};

crate::cases! {
    a_connection_that_sends_nothing_is_closed: A1,
    a_head_that_does_not_end_is_given_up: A1,
    an_idle_connection_is_closed_and_a_busy_one_is_not: A1,
    a_body_that_stops_coming_gets_408: A1,
    a_client_that_takes_none_of_its_reply_is_cut: A1,
    a_client_that_takes_its_reply_slowly_is_not_cut: A1,
}

const SHORT: Duration = Duration::from_millis(300);

/// Only the timeout under test is short, so that another one cannot pass for it.
async fn server(on: On, set: impl FnOnce(&mut ServerOptions)) -> Server {
    let mut options = ServerOptions::new();
    set(&mut options);
    Server::with(on, options, routes()).await
}

async fn a_connection_that_sends_nothing_is_closed(on: On) {
    let server = server(on, |options| options.first_byte_timeout = Some(SHORT)).await;
    let begun = Instant::now();
    assert_eq!(server.client().await.rest().await.unwrap(), "");
    assert!(begun.elapsed() >= SHORT, "{:?}", begun.elapsed());
    // The first byte ends this timeout.
    let mut client = server.client().await;
    client.send("GET /echo/1 ").await;
    sleep(SHORT * 2).await;
    client.send("HTTP/1.1\r\nhost: a\r\n\r\n").await;
    assert_eq!(client.reply().await.body, "1");
}

async fn a_head_that_does_not_end_is_given_up(on: On) {
    let server = server(on, |options| options.header_timeout = Some(SHORT)).await;
    for begin in ["P", "GET /hello HTTP/1.1\r\nhost"] {
        let begun = Instant::now();
        let mut client = server.client().await;
        client.send(begin).await;
        assert_eq!(client.rest().await.unwrap_or_default(), "");
        assert!(begun.elapsed() >= SHORT, "{begin}: {:?}", begun.elapsed());
    }
    // Single bytes do not extend the timeout.
    let begun = Instant::now();
    let mut client = server.client().await;
    client.send("GET /hello HTTP/1.1\r\nhost: a\r\nx-endless: ").await;
    within("the end of a head that goes on", async {
        while client.try_send("y").await.is_ok() {
            sleep(SHORT / 6).await;
        }
    })
    .await;
    assert!(begun.elapsed() >= SHORT, "{:?}", begun.elapsed());
    assert!(client.rest().await.unwrap_or_default().is_empty());
}

async fn an_idle_connection_is_closed_and_a_busy_one_is_not(on: On) {
    let server = server(on, |options| options.header_timeout = Some(SHORT)).await;
    let mut client = server.client().await;
    for round in 0..6 {
        assert_eq!(client.get(&format!("/echo/{round}")).await.body, round.to_string());
        sleep(SHORT / 2).await;
    }
    // The time of the handler does not count.
    assert_eq!(client.get("/slow").await.body, "slow");
    let begun = Instant::now();
    assert_eq!(client.rest().await.unwrap(), "");
    assert!(
        begun.elapsed() >= SHORT - Duration::from_millis(20),
        "{:?}",
        begun.elapsed()
    );
}

async fn a_body_that_stops_coming_gets_408(on: On) {
    let server = server(on, |options| options.body_timeout = Some(SHORT)).await;
    for path in ["/body", "/whole"] {
        let mut client = server.client().await;
        client
            .send(format!("POST {path} HTTP/1.1\r\nhost: a\r\ncontent-length: 12\r\n\r\n"))
            .await;
        for _ in 0..4 {
            client.send("xx").await;
            sleep(SHORT / 2).await;
        }
        // The body was slow so far, which is allowed; now it stops.
        let begun = Instant::now();
        client.send("xx").await;
        let reply = client.reply().await;
        assert_eq!(reply.status(), 408, "{path}: {reply:?}");
        assert!(begun.elapsed() >= SHORT, "{:?}", begun.elapsed());
    }
}

async fn a_client_that_takes_none_of_its_reply_is_cut(on: On) {
    let big = vec![route("GET", "/big", async |_: Context| vec![b'x'; 32 * 1024 * 1024])];
    let options = ServerOptions::new()
        .write_timeout(SHORT)
        .shutdown_grace(Duration::from_secs(60));
    let mut server = Server::with(on, options, big).await;
    let mut client = server.client().await;
    client.send("GET /big HTTP/1.1\r\nhost: a\r\n\r\n").await;
    client.head().await;
    // The connection is in flight, so the shutdown waits for it, at most for its write timeout.
    server.signal();
    server.ended().await;
}

async fn a_client_that_takes_its_reply_slowly_is_not_cut(on: On) {
    const LENGTH: usize = 32 * 1024 * 1024;
    let big = vec![route("GET", "/big", async |_: Context| vec![b'x'; LENGTH])];
    let options = ServerOptions::new()
        .write_timeout(SHORT)
        // The connection does not count as idle either, although the handler has returned.
        .header_timeout(SHORT);
    let server = Server::with(on, options, big).await;
    let mut client = server.client().await;
    client.send("GET /big HTTP/1.1\r\nhost: a\r\n\r\n").await;
    client.head().await;
    let mut left = client.exactly(1).await.len().abs_diff(LENGTH);
    let mut buf = vec![0; 4 * 1024 * 1024];
    let begun = Instant::now();
    // `exactly` may have read ahead into the client's buffer; only bytes from the socket count here.
    let ahead = client.read_ahead();
    left -= ahead;
    while left > 0 {
        let got = within("reading", client.stream().read(&mut buf)).await.unwrap();
        assert_ne!(got, 0, "cut with {left} bytes left after {:?}", begun.elapsed());
        left -= got;
        sleep(SHORT / 4).await;
    }
    assert!(
        begun.elapsed() > SHORT * 2,
        "too fast to prove anything: {:?}",
        begun.elapsed()
    );
}
