//! axum's router in an application that its user already has (spec A9).

use axum::body::Body as AxumBody;
use axum::extract::{MatchedPath, Request};
use axum::middleware::{Next, from_fn};
use axum::response::Response;
use http::{HeaderValue, StatusCode};
use http_body_util::BodyExt as _;
use pointwork_axum::Axum;
use pointwork_core::{Context, Extensions, Route, RouterOptions};
use pointwork_wire_tests::{cases, publish, published, route};
use tower::util::ServiceExt as _;

cases! {
    own;
    the_user_s_routes_and_layers_stand_around_the_application,
    nesting_takes_the_prefix_off,
    before_the_first_table_the_answer_is_503,
}

/// A route that says its pattern.
fn named(path: &'static str) -> Route {
    route("GET", path, move |_| async move { path })
}

fn axum(routes: Vec<Route>) -> Axum {
    published(Axum::new(), routes)
}

async fn ask(router: &axum::Router, target: &str) -> (StatusCode, String, Response<()>) {
    let request = Request::get(target)
        .header("host", "a")
        .body(AxumBody::empty())
        .unwrap();
    let (head, body) = router.clone().oneshot(request).await.unwrap().into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    let text = String::from_utf8(body.to_vec()).unwrap();
    (head.status, text, Response::from_parts(head, ()))
}

async fn the_user_s_routes_and_layers_stand_around_the_application() {
    async fn layer(mut request: Request, next: Next) -> Response {
        let user = Extensions::default();
        user.set("user", "ada");
        request.extensions_mut().insert(user);
        let saw = request
            .extensions()
            .get::<MatchedPath>()
            .map(|path| path.as_str().to_owned());
        let mut reply = next.run(request).await;
        reply.headers_mut().insert("x-layer", HeaderValue::from_static("yes"));
        reply
            .headers_mut()
            .insert("x-saw", saw.unwrap_or_default().parse().unwrap());
        reply
    }
    let axum = axum(vec![route("GET", "/user/:id", async |context: Context| {
        format!(
            "{} {}",
            context.extension("user").unwrap_or_default(),
            context.param("id").unwrap_or_default()
        )
    })]);
    let router = axum::Router::new()
        .route("/own", axum::routing::get(async || "own"))
        .merge(axum.router())
        .layer(from_fn(layer));
    let (_, own, head) = ask(&router, "/own").await;
    assert_eq!(
        (own.as_str(), &head.headers()["x-layer"]),
        ("own", &HeaderValue::from_static("yes"))
    );
    let (_, ours, head) = ask(&router, "/user/7").await;
    assert_eq!(
        (ours.as_str(), &head.headers()["x-layer"]),
        ("ada 7", &HeaderValue::from_static("yes"))
    );
    let (status, _, head) = ask(&router, "/none").await;
    assert_eq!(
        (status.as_u16(), &head.headers()["x-layer"]),
        (404, &HeaderValue::from_static("yes"))
    );

    publish(&axum, vec![named("/later")], RouterOptions::default());
    assert_eq!(
        ask(&router, "/later").await.1,
        "/later",
        "a later table needs no new mount"
    );
    assert_eq!(ask(&router, "/user/7").await.0, 404);
}

async fn nesting_takes_the_prefix_off() {
    let axum = axum(vec![named("/api/a"), named("/b")]);
    let router = axum::Router::new().nest("/api", axum.router());
    assert_eq!(ask(&router, "/api/b").await.1, "/b");
    assert_eq!(ask(&router, "/api/a").await.0, 404, "the prefix is given twice");
    assert_eq!(ask(&router, "/api/api/a").await.1, "/api/a");
}

async fn before_the_first_table_the_answer_is_503() {
    let (status, _, head) = ask(&Axum::new().router(), "/").await;
    assert_eq!(
        (status.as_u16(), &head.headers()["retry-after"]),
        (503, &HeaderValue::from_static("1"))
    );
}
