//! The client of a request in an application of axum's (spec H9).

use std::net::SocketAddr;

use axum::Router;
use axum::extract::Request;
use axum::middleware::{Next, from_fn};
use pointwork_axum::Axum;
use pointwork_core::Peer;
use pointwork_wire_tests::{Probe, cases, client_route, connected};
use tokio::net::TcpListener;

cases! {
    own;
    connect_info_is_the_peer,
    a_peer_of_the_users_own_comes_first,
}

/// Serves a router as a user would, and asks for the client. Returns the answer, and the client's own address.
async fn ask(router: Router) -> (String, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let server = listener.local_addr().unwrap();
    let service = router.into_make_service_with_connect_info::<SocketAddr>();
    tokio::spawn(async move { axum::serve(listener, service).await });
    let mut probe = Probe::connect(server).await;
    let own = probe.stream().local_addr().unwrap();
    (probe.get("/client").await.body.clone(), own)
}

async fn connect_info_is_the_peer() {
    let (answer, own) = ask(connected(Axum::new(), "", vec![client_route()]).router().unwrap()).await;
    assert_eq!(answer, format!("http {own}"));
}

async fn a_peer_of_the_users_own_comes_first() {
    async fn behind_tls(mut request: Request, next: Next) -> axum::response::Response {
        let address = SocketAddr::from(([192, 0, 2, 7], 4711));
        request.extensions_mut().insert(Peer::new(address, true));
        next.run(request).await
    }
    let router = connected(Axum::new(), "", vec![client_route()]).router().unwrap();
    let (answer, _) = ask(router.layer(from_fn(behind_tls))).await;
    assert_eq!(answer, "https 192.0.2.7:4711");
}
