//! The client of a request in an application of trillium's (spec H9).

use std::net::SocketAddr;

use pointwork_core::Peer;
use pointwork_trillium::{Trillium, TrilliumHandler};
use pointwork_wire_tests::users::trillium::serve;
use pointwork_wire_tests::{cases, client_route, connected};
use trillium::Conn;

cases! {
    own;
    the_peer_of_the_conn_is_the_client,
    a_peer_of_the_users_own_comes_first,
}

fn handler() -> TrilliumHandler {
    connected(Trillium::new(), "", vec![client_route()]).handler()
}

async fn the_peer_of_the_conn_is_the_client() {
    let mut probe = serve(handler()).await.client().await;
    let own = probe.stream().local_addr().unwrap();
    assert_eq!(probe.get("/client").await.body, format!("http {own}"));
    // As a handler for proxies sets it.
    let moved = |mut conn: Conn| async move {
        conn.set_peer_ip(Some([192, 0, 2, 7].into()));
        conn
    };
    let mut probe = serve((moved, handler())).await.client().await;
    assert_eq!(probe.get("/client").await.body, "http 192.0.2.7");
}

async fn a_peer_of_the_users_own_comes_first() {
    let behind_tls = |conn: Conn| async move {
        let address = SocketAddr::from(([192, 0, 2, 7], 4711));
        conn.with_state(Peer::new(address, true))
    };
    let mut probe = serve((behind_tls, handler())).await.client().await;
    assert_eq!(probe.get("/client").await.body, "https 192.0.2.7:4711");
}
