//! The client of a request in an application of actix-web's (spec H9).

use std::net::SocketAddr;

use actix_web::dev::Service as _;
use actix_web::{App, HttpMessage as _, HttpServer};
use pointwork_actix::Actix;
use pointwork_core::Peer;
use pointwork_wire_tests::{Probe, cases, client_route, connected};

cases! {
    by super::within_a_system;
    the_peer_address_is_the_client,
    a_peer_of_the_users_own_comes_first,
}

fn adapter() -> Actix {
    connected(Actix::new(), "", vec![client_route()])
}

async fn the_peer_address_is_the_client() {
    let actix = adapter();
    let server = HttpServer::new(move || App::new().service(actix.service()));
    let server = server.workers(1).disable_signals().bind("127.0.0.1:0").unwrap();
    let address = server.addrs()[0];
    let server = server.run();
    let handle = server.handle();
    actix_rt::spawn(server);
    let mut probe = Probe::connect(address).await;
    let own = probe.stream().local_addr().unwrap();
    // actix-web's own `ConnectionInfo` would believe it.
    probe
        .send("GET /client HTTP/1.1\r\nhost: a\r\nx-forwarded-for: 192.0.2.7\r\nx-forwarded-proto: https\r\n\r\n")
        .await;
    assert_eq!(probe.reply().await.body, format!("http {own}"));
    handle.stop(false).await;
}

async fn a_peer_of_the_users_own_comes_first() {
    let app = App::new().service(adapter().service()).wrap_fn(|request, next| {
        let address = SocketAddr::from(([192, 0, 2, 7], 4711));
        request.extensions_mut().insert(Peer::new(address, true));
        next.call(request)
    });
    let app = actix_web::test::init_service(app).await;
    let request = actix_web::test::TestRequest::get()
        .uri("/client")
        .insert_header(("host", "a"));
    let reply = actix_web::test::call_and_read_body(&app, request.to_request()).await;
    assert_eq!(reply, "https 192.0.2.7:4711");
}
