//! The end of connections: by the server's shutdown, or by the client.

use std::sync::Arc;
use std::time::{Duration, Instant};

use pointwork_core::ServerOptions;
use pointwork_core::{Context, Failure, Route};
use tokio::net::TcpStream;
use tokio::sync::Notify;
use tokio::time::sleep;

use crate::client::within;
use crate::subject::{Subject, published, route, routes};

/// A route that tells when its handler began, and when it was dropped before its end.
pub fn observed(method: &str) -> (Route, Arc<Notify>, Arc<Notify>) {
    struct OnDrop(Arc<Notify>);
    impl Drop for OnDrop {
        fn drop(&mut self) {
            self.0.notify_one();
        }
    }
    let (began, dropped) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let handler = {
        let (began, dropped) = (began.clone(), dropped.clone());
        move |context: Context| {
            let (began, dropped) = (began.clone(), OnDrop(dropped.clone()));
            async move {
                began.notify_one();
                context.bytes().await?;
                std::future::pending::<()>().await;
                drop(dropped);
                Ok::<_, Failure>(())
            }
        }
    };
    (route(method, "/observed", handler), began, dropped)
}

#[tokio::test]
async fn a_request_in_flight_ends_and_an_idle_connection_closes() {
    let mut subject = Subject::plain().await;
    let address = subject.address;
    let mut busy = subject.client().await;
    let mut idle = subject.client().await;
    let mut fresh = subject.client().await;
    assert_eq!(idle.get("/echo/1").await.body, "1");
    busy.send("GET /slow HTTP/1.1\r\nhost: a\r\n\r\n").await;
    sleep(Duration::from_millis(100)).await;
    subject.signal();
    assert_eq!(idle.rest().await.unwrap(), "");
    assert_eq!(fresh.rest().await.unwrap(), "");
    let reply = busy.reply().await;
    assert_eq!(reply.body, "slow");
    assert_eq!(reply.all("connection"), ["close"]);
    assert_eq!(busy.rest().await.unwrap(), "");
    drop(busy);
    subject.ended().await;
    assert!(within("connecting", TcpStream::connect(address)).await.is_err());
}

#[tokio::test]
async fn a_request_that_outlasts_the_grace_is_cut_and_its_handler_cancelled() {
    let (observed, began, dropped) = observed("GET");
    let mut options = ServerOptions::default();
    options.shutdown_grace = Duration::from_millis(200);
    let mut subject = Subject::with(options, vec![observed]).await;
    let mut client = subject.client().await;
    client.send("GET /observed HTTP/1.1\r\nhost: a\r\n\r\n").await;
    within("the handler's begin", began.notified()).await;
    let begun = Instant::now();
    subject.signal();
    subject.ended().await;
    assert!(begun.elapsed() >= Duration::from_millis(200));
    within("the handler's drop", dropped.notified()).await;
    assert!(client.rest().await.unwrap_or_default().is_empty());
}

#[tokio::test]
async fn a_shutdown_without_requests_takes_no_grace() {
    let mut subject = Subject::plain().await;
    let mut idle = subject.client().await;
    assert_eq!(idle.get("/echo/1").await.body, "1");
    let begun = Instant::now();
    subject.signal();
    subject.ended().await;
    assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
    assert_eq!(idle.rest().await.unwrap(), "");
}

#[tokio::test]
async fn dropping_the_server_cuts_every_connection() {
    let (observed, began, dropped) = observed("GET");
    let subject = Subject::with(ServerOptions::default(), vec![observed]).await;
    let mut client = subject.client().await;
    client.send("GET /observed HTTP/1.1\r\nhost: a\r\n\r\n").await;
    within("the handler's begin", began.notified()).await;
    subject.serving.abort();
    within("the handler's drop", dropped.notified()).await;
    assert!(client.rest().await.unwrap_or_default().is_empty());
}

#[tokio::test]
async fn a_client_that_goes_away_cancels_its_handler() {
    let (observed, began, dropped) = observed("GET");
    let subject = Subject::with(ServerOptions::default(), vec![observed]).await;
    let mut client = subject.client().await;
    client.send("GET /observed HTTP/1.1\r\nhost: a\r\n\r\n").await;
    within("the handler's begin", began.notified()).await;
    drop(client);
    within("the handler's drop", dropped.notified()).await;
}

#[tokio::test]
async fn a_client_that_goes_away_within_its_body_ends_the_reading_of_it() {
    let (observed, began, dropped) = observed("POST");
    let subject = Subject::with(ServerOptions::default(), vec![observed]).await;
    for framing in ["content-length: 9", "transfer-encoding: chunked"] {
        let mut client = subject.client().await;
        client
            .send(format!(
                "POST /observed HTTP/1.1\r\nhost: a\r\n{framing}\r\n\r\n3\r\nabc\r\n"
            ))
            .await;
        within("the handler's begin", began.notified()).await;
        drop(client);
        within("the handler's drop", dropped.notified()).await;
    }
}

#[tokio::test]
async fn a_broken_off_body_is_told_to_a_client_that_still_listens() {
    let actix = published(ServerOptions::default(), routes());
    let subject = Subject::start(&actix).await;
    let mut client = subject.client().await;
    client
        .send("POST /body HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n")
        .await;
    let reply = client.rest().await.unwrap();
    assert!(reply.starts_with("HTTP/1.1 400 "), "{reply}");
    assert!(reply.contains("{\"message\":"), "{reply}");
}
