//! The adapter on the runtime of actix instead of a tokio runtime.

use std::sync::Arc;

use pointwork_actix::Actix;
use pointwork_core::ServerOptions;
use pointwork_wire_tests::{Server, cases, observed, published, routes, within};

use super::on;

cases! {
    by super::within_a_system;
    it_serves_within_a_system_of_actix,
}

async fn it_serves_within_a_system_of_actix() {
    let mut server = Server::start(Arc::new(published(Actix::new(), routes()))).await;
    assert_eq!(server.client().await.get("/hello").await.body, "hello");
    server.signal();
    server.ended().await;
    let (observed, began, _) = observed("GET");
    let server = Server::with(on(), ServerOptions::new(), vec![observed]).await;
    let mut client = server.client().await;
    client.send("GET /observed HTTP/1.1\r\nhost: a\r\n\r\n").await;
    within("the handler's begin", began.notified()).await;
    server.serving.abort();
    assert!(client.rest().await.unwrap_or_default().is_empty());
}
