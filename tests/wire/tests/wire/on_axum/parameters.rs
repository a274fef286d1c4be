//! Path parameters beside layers (spec H2).

use axum::body::Body;
use axum::extract::rejection::RawPathParamsRejection;
use axum::extract::{RawPathParams, Request};
use axum::middleware::{Next, from_fn};
use axum::response::Response;
use http_body_util::BodyExt as _;
use pointwork_axum::Axum;
use pointwork_wire_tests::{cases, connected, routes};
use tower::layer::Layer as _;
use tower::util::{MapRequestLayer, ServiceExt as _};

cases! {
    own;
    a_layer_around_the_router_sees_no_parameters,
    parameters_are_read_when_the_handler_runs,
}

fn router() -> axum::Router {
    connected(Axum::new(), "", routes()).router().unwrap()
}

fn request(target: &str) -> Request {
    Request::get(target).header("host", "a").body(Body::empty()).unwrap()
}

async fn text(reply: Response) -> String {
    let body = reply.into_body().collect().await.unwrap().to_bytes();
    String::from_utf8(body.to_vec()).unwrap()
}

/// The user's own router passes its parameters to a layer; Pointwork's has none before its handler runs.
async fn a_layer_around_the_router_sees_no_parameters() {
    async fn count(params: Result<RawPathParams, RawPathParamsRejection>, request: Request, next: Next) -> Response {
        let seen = params.map_or(0, |params| params.iter().count());
        let mut reply = next.run(request).await;
        reply.headers_mut().insert("x-seen", seen.into());
        reply
    }
    let router = axum::Router::new()
        .route("/own/{id}", axum::routing::get(async || "own"))
        .merge(router())
        .layer(from_fn(count));
    for (target, body, seen) in [("/own/1", "own", "1"), ("/echo/1", "1", "0")] {
        let reply = router.clone().oneshot(request(target)).await.unwrap();
        assert_eq!(reply.headers()["x-seen"], seen, "{target}");
        assert_eq!(text(reply).await, body);
    }
}

/// A layer that runs before the match decides the path from which the parameters come.
async fn parameters_are_read_when_the_handler_runs() {
    let elsewhere = MapRequestLayer::new(|mut request: Request| {
        assert_eq!(request.uri().path(), "/mine/1");
        *request.uri_mut() = "/echo/2".parse().unwrap();
        request
    });
    let reply = elsewhere.layer(router()).oneshot(request("/mine/1")).await.unwrap();
    assert_eq!(text(reply).await, "2");
}
