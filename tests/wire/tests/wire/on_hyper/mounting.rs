//! The adapter inside a server that its user already has (spec A9): its service of hyper and of tower.

use http::{Request, StatusCode};
use http_body_util::{BodyExt, Full, Limited};
use hyper_util::rt::TokioIo;
use pointwork_core::Body;
use pointwork_hyper::{Hyper, HyperService};
use pointwork_wire_tests::{Probe, cases, published, routes};
use tokio::net::TcpListener;
use tower::ServiceExt;
use tower::util::MapRequest;

cases! {
    own;
    a_service_takes_any_body_of_bytes,
    parameters_are_read_when_the_handler_runs,
    hyper_takes_the_service_as_it_is,
}

fn service() -> HyperService {
    published(Hyper::new(), routes()).service()
}

async fn a_service_takes_any_body_of_bytes() {
    let post = || Request::post("/body").header("host", "a");
    let reply = service()
        .oneshot(post().body(Full::from("seven b")).unwrap())
        .await
        .unwrap();
    assert_eq!(reply.status(), StatusCode::OK);
    assert_eq!(reply.into_body().collect().await.unwrap().to_bytes(), "7 bytes");
    let limited = Limited::new(Full::from("four"), 3);
    let reply = service().oneshot(post().body(limited).unwrap()).await.unwrap();
    assert_eq!(reply.status(), StatusCode::PAYLOAD_TOO_LARGE);
    let request = Request::get("/hello").header("host", "a").body(Body::empty()).unwrap();
    assert_eq!(service().oneshot(request).await.unwrap().status(), StatusCode::OK);
}

/// Spec H2. A layer runs before the match, so the parameters come from the path that the layer sets.
async fn parameters_are_read_when_the_handler_runs() {
    let layered = MapRequest::new(service(), |mut request: Request<Full<bytes::Bytes>>| {
        assert_eq!(request.uri().path(), "/mine/1");
        assert!(request.extensions().is_empty());
        *request.uri_mut() = "/echo/2".parse().unwrap();
        request
    });
    let request = Request::get("/mine/1")
        .header("host", "a")
        .body(Full::default())
        .unwrap();
    let reply = layered.oneshot(request).await.unwrap();
    assert_eq!(reply.into_body().collect().await.unwrap().to_bytes(), "2");
}

/// Without tower. The common cases have it within layers.
async fn hyper_takes_the_service_as_it_is() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut client = Probe::connect(listener.local_addr().unwrap()).await;
    let (stream, _) = listener.accept().await.unwrap();
    let http = hyper::server::conn::http1::Builder::new();
    tokio::spawn(http.serve_connection(TokioIo::new(stream), service()));
    assert_eq!(client.get("/echo/1").await.body, "1");
    client
        .send("POST /body HTTP/1.1\r\nhost: a\r\ncontent-length: 2\r\n\r\nok")
        .await;
    assert_eq!(client.reply().await.body, "2 bytes");
    assert_eq!(client.get("/nowhere").await.status(), 404);
}
