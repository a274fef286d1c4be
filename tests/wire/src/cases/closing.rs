//! The end of connections, by the server's shutdown or by the client.

use std::sync::Arc;
use std::time::Duration;

use pointwork_core::{Context, ServerOptions};
use pointwork_test_clock::real::PATIENCE;
use tokio::net::TcpStream;
use tokio::sync::Notify;

use crate::{On, Server, observed, route, routes, within};

crate::cases! {
    a_request_in_flight_ends_and_an_idle_connection_closes: A5,
    a_request_that_outlasts_the_grace_is_cut_and_its_handler_cancelled: A5,
    a_shutdown_without_requests_takes_no_grace: A5,
    dropping_the_server_cuts_every_connection: A5,
    a_client_that_goes_away_cancels_its_handler: H9,
    a_client_that_goes_away_within_its_body_ends_the_reading_of_it: A5,
    a_broken_off_body_is_told_to_a_client_that_still_listens: A5,
}

async fn a_request_in_flight_ends_and_an_idle_connection_closes(on: On) {
    let (began, released) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (tells, waits) = (began.clone(), released.clone());
    let held = move |_: Context| {
        let (tells, waits) = (tells.clone(), waits.clone());
        async move {
            tells.notify_one();
            waits.notified().await;
            "held"
        }
    };
    let mut server = Server::and(on, route("GET", "/held", held)).await;
    let address = server.address;
    let mut busy = server.client().await;
    let mut idle = server.client().await;
    let mut fresh = server.client().await;
    assert_eq!(idle.get("/echo/1").await.body, "1");
    busy.send("GET /held HTTP/1.1\r\nhost: a\r\n\r\n").await;
    within("the handler's begin", began.notified()).await;
    server.signal();
    assert_eq!(idle.rest().await.unwrap(), "");
    assert_eq!(fresh.rest().await.unwrap(), "");
    // The handler goes on only now, during the shutdown.
    released.notify_one();
    let reply = busy.reply().await;
    assert_eq!(reply.body, "held");
    assert_eq!(reply.all("connection"), ["close"]);
    assert_eq!(busy.rest().await.unwrap(), "");
    drop(busy);
    server.ended().await;
    assert!(within("connecting", TcpStream::connect(address)).await.is_err());
}

async fn a_request_that_outlasts_the_grace_is_cut_and_its_handler_cancelled(on: On) {
    let (observed, began, dropped) = observed("GET");
    const GRACE: Duration = Duration::from_secs(7);
    let options = ServerOptions::new().shutdown_grace(GRACE);
    let (mut server, time) = Server::timed(on, options, vec![observed]).await;
    let mut client = server.client().await;
    client.send("GET /observed HTTP/1.1\r\nhost: a\r\n\r\n").await;
    within("the handler's begin", began.notified()).await;
    server.signal();
    time.until_timer(GRACE).await;
    time.advance(GRACE - Duration::from_nanos(1)).await;
    assert!(!server.serving.is_finished());
    time.advance(Duration::from_nanos(1)).await;
    server.ended().await;
    within("the handler's drop", dropped.notified()).await;
    assert!(client.rest().await.unwrap_or_default().is_empty());
}

async fn a_shutdown_without_requests_takes_no_grace(on: On) {
    let options = ServerOptions::new()
        // Longer than the case: waiting for the grace period would fail it.
        .shutdown_grace(60 * PATIENCE);
    let mut server = Server::with(on, options, routes()).await;
    let mut idle = server.client().await;
    assert_eq!(idle.get("/echo/1").await.body, "1");
    server.signal();
    server.ended().await;
    assert_eq!(idle.rest().await.unwrap(), "");
}

async fn dropping_the_server_cuts_every_connection(on: On) {
    let (observed, began, dropped) = observed("GET");
    let server = Server::with(on, ServerOptions::new(), vec![observed]).await;
    let mut client = server.client().await;
    client.send("GET /observed HTTP/1.1\r\nhost: a\r\n\r\n").await;
    within("the handler's begin", began.notified()).await;
    server.serving.abort();
    within("the handler's drop", dropped.notified()).await;
    assert!(client.rest().await.unwrap_or_default().is_empty());
}

async fn a_client_that_goes_away_cancels_its_handler(on: On) {
    let (observed, began, dropped) = observed("GET");
    let server = Server::with(on, ServerOptions::new(), vec![observed]).await;
    let mut client = server.client().await;
    client.send("GET /observed HTTP/1.1\r\nhost: a\r\n\r\n").await;
    within("the handler's begin", began.notified()).await;
    drop(client);
    within("the handler's drop", dropped.notified()).await;
}

async fn a_client_that_goes_away_within_its_body_ends_the_reading_of_it(on: On) {
    let (observed, began, dropped) = observed("POST");
    let server = Server::with(on, ServerOptions::new(), vec![observed]).await;
    for framing in ["content-length: 9", "transfer-encoding: chunked"] {
        let mut client = server.client().await;
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

async fn a_broken_off_body_is_told_to_a_client_that_still_listens(on: On) {
    let server = Server::plain(on).await;
    let reply = server
        .raw("POST /body HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n")
        .await;
    assert!(reply.starts_with("HTTP/1.1 400 "), "{reply}");
    assert!(reply.contains("{\"message\":"), "{reply}");
}
