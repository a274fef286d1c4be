//! The client of a request in an application of salvo's (spec H9).

use pointwork_core::Peer;
use pointwork_salvo::Salvo;
use pointwork_wire_tests::users::salvo::serve;
use pointwork_wire_tests::{cases, client_route, connected};
use salvo_core::{Request, Router, handler};

cases! {
    own;
    the_remote_address_is_the_peer,
    a_peer_of_the_users_own_comes_first,
}

fn router() -> Router {
    connected(Salvo::new(), "", vec![client_route()]).router()
}

async fn the_remote_address_is_the_peer() {
    let user = serve(router()).await;
    let mut probe = user.client().await;
    let own = probe.stream().local_addr().unwrap();
    assert_eq!(probe.get("/client").await.body, format!("http {own}"));
}

async fn a_peer_of_the_users_own_comes_first() {
    #[handler]
    async fn behind_tls(req: &mut Request) {
        let address = std::net::SocketAddr::from(([192, 0, 2, 7], 4711));
        req.extensions_mut().insert(Peer::new(address, true));
    }
    let user = serve(router().hoop(behind_tls)).await;
    assert_eq!(user.get("/client").await.body, "https 192.0.2.7:4711");
}
