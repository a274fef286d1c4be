use std::time::{Duration, Instant};

use pointwork_core::Context;
use pointwork_salvo::ServerOptions;
use tokio::time::sleep;

use crate::subject::{Subject, route, routes};

const SHORT: Duration = Duration::from_millis(300);

/// Every time is long but the one under test, so that a wrong one cannot pass for it.
async fn subject(set: impl FnOnce(&mut ServerOptions)) -> Subject {
    let mut options = ServerOptions::default();
    set(&mut options);
    Subject::with(options, routes()).await
}

#[tokio::test]
async fn an_idle_connection_is_closed_and_a_busy_one_is_not() {
    let subject = subject(|options| options.header_timeout = Some(SHORT)).await;
    let mut client = subject.client().await;
    for round in 0..6 {
        assert_eq!(client.get(&format!("/echo/{round}")).await.body, round.to_string());
        sleep(SHORT / 2).await;
    }
    // The time a handler takes does not count.
    assert_eq!(client.get("/slow").await.body, "slow");
    let begun = Instant::now();
    assert_eq!(client.rest().await.unwrap(), "");
    assert!(
        begun.elapsed() >= SHORT - Duration::from_millis(20),
        "{:?}",
        begun.elapsed()
    );
}

#[tokio::test]
async fn a_body_that_stops_coming_gets_408() {
    let subject = subject(|options| options.body_timeout = Some(SHORT)).await;
    let mut client = subject.client().await;
    client
        .send("POST /body HTTP/1.1\r\nhost: a\r\ncontent-length: 12\r\n\r\n")
        .await;
    for _ in 0..4 {
        client.send("xx").await;
        sleep(SHORT / 2).await;
    }
    // Slow is not stopped: only now does it stop.
    let begun = Instant::now();
    client.send("xx").await;
    let reply = client.reply().await;
    assert_eq!(reply.status(), 408, "{reply:?}");
    assert!(begun.elapsed() >= SHORT, "{:?}", begun.elapsed());
}

#[tokio::test]
async fn a_client_that_takes_none_of_its_reply_is_cut() {
    let big = vec![route("GET", "/big", async |_: Context| vec![b'x'; 32 * 1024 * 1024])];
    let mut options = ServerOptions::default();
    options.write_timeout = Some(SHORT);
    options.shutdown_grace = Duration::from_secs(60);
    let mut subject = Subject::with(options, big).await;
    let mut client = subject.client().await;
    client.send("GET /big HTTP/1.1\r\nhost: a\r\n\r\n").await;
    client.head().await;
    // The connection is in flight, so the shutdown waits for it, and no longer than its timeout.
    subject.signal();
    subject.ended().await;
}
