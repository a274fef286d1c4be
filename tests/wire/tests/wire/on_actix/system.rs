//! The adapter on the runtime of actix, in place of any of tokio.

use std::sync::Arc;
use std::time::Duration;

use pointwork_actix::Actix;
use pointwork_wire_tests::{Server, cases, published, routes};

cases! {
    by super::within_a_system;
    it_serves_within_a_system_of_actix,
}

async fn it_serves_within_a_system_of_actix() {
    let mut server = Server::start(Arc::new(published(Actix::new(), routes()))).await;
    assert_eq!(server.client().await.get("/hello").await.body, "hello");
    server.signal();
    server.ended().await;
    let server = Server::start(Arc::new(published(Actix::new(), routes()))).await;
    let mut client = server.client().await;
    client.send("GET /forever HTTP/1.1\r\nhost: a\r\n\r\n").await;
    tokio::time::sleep(Duration::from_millis(50)).await;
    server.serving.abort();
    assert!(client.rest().await.unwrap_or_default().is_empty());
}
