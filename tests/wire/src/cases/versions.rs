//! The HTTP versions of a port.

use http::StatusCode;
use pointwork_core::{Body, Protocols, ServerOptions};

use super::http2::Http2Probe;
use super::http2_ends::BEGIN;
use crate::{On, Server, routes};

crate::cases! {
    every_port_speaks_http_1_unless_the_options_ask_for_http_2_alone: A5,
    a_port_speaks_http_2_beside_http_1: A5,
    a_port_may_speak_http_2_alone,
    a_port_that_speaks_http_1_alone_refuses_the_preface,
}

async fn serving(on: On, protocols: Protocols) -> Server {
    let options = ServerOptions::new().protocols(protocols);
    Server::with(on, options, routes()).await
}

/// The reply to a request in HTTP/1.1.
async fn http_1(server: &Server) -> String {
    let mut client = server.client().await;
    client
        .send("GET /hello HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n")
        .await;
    client.rest().await.unwrap_or_default()
}

async fn assert_http_2(server: &Server) {
    let client = Http2Probe::connect(server).await;
    let reply = client.text("GET", "/hello", Body::empty()).await;
    assert_eq!(reply, (StatusCode::OK, "hello".to_owned()));
}

async fn every_port_speaks_http_1_unless_the_options_ask_for_http_2_alone(on: On) {
    for protocols in [Protocols::Both, Protocols::Http1] {
        let reply = http_1(&serving(on, protocols).await).await;
        assert!(reply.starts_with("HTTP/1.1 200 "), "{protocols:?}: {reply:?}");
    }
}

async fn a_port_speaks_http_2_beside_http_1(on: On) {
    assert_http_2(&serving(on, Protocols::Both).await).await;
}

async fn a_port_may_speak_http_2_alone(on: On) {
    let server = serving(on, Protocols::Http2).await;
    assert_http_2(&server).await;
    let reply = http_1(&server).await;
    assert!(!reply.starts_with("HTTP/1.1 200 "), "{reply:?}");
}

async fn a_port_that_speaks_http_1_alone_refuses_the_preface(on: On) {
    let server = serving(on, Protocols::Http1).await;
    let mut client = server.client().await;
    client.send(&BEGIN[..24]).await;
    let reply = client.rest().await.unwrap_or_default();
    assert!(reply.is_empty() || reply.starts_with("HTTP/1.1 4"), "{reply:?}");
}
