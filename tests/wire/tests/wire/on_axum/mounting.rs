//! axum's router in an application that its user already has (spec A9).

use axum::body::Body as AxumBody;
use axum::extract::{MatchedPath, Request};
use axum::middleware::{Next, from_fn};
use axum::response::Response;
use http::{HeaderValue, StatusCode};
use http_body_util::BodyExt as _;
use pointwork_axum::Axum;
use pointwork_core::{Context, Extensions, Route, RouterOptions};
use pointwork_wire_tests::{Probe, cases, publish, published, route};
use tower::util::{MapResponseLayer, ServiceExt as _};

cases! {
    own;
    the_user_s_routes_and_layers_stand_around_the_application,
    nesting_takes_the_prefix_off,
    before_the_first_table_the_answer_is_503,
    the_matched_path_is_there_for_layers_inside_and_outside,
    a_layer_that_answers_is_the_end_of_it,
    layers_stand_in_the_order_added_and_make_another_adapter,
}

/// A route that replies with its pattern.
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
        let mut reply = next.run(request).await;
        reply.headers_mut().insert("x-layer", HeaderValue::from_static("yes"));
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
    let (_, body, head) = ask(&router, "/api/b").await;
    assert_eq!(body, "/b");
    assert_eq!(head.extensions().get::<MatchedPath>().unwrap().as_str(), "/b");
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

fn note(reply: &mut Response, name: &'static str, matched: Option<MatchedPath>) {
    let matched = matched.as_ref().map_or("none", MatchedPath::as_str);
    reply.headers_mut().append(name, matched.parse().unwrap());
}

async fn inside(matched: Option<MatchedPath>, request: Request, next: Next) -> Response {
    let mut reply = next.run(request).await;
    note(&mut reply, "x-inside", matched);
    reply
}

async fn outside(before: Option<MatchedPath>, request: Request, next: Next) -> Response {
    assert!(before.is_none(), "axum has matched nothing yet");
    let mut reply = next.run(request).await;
    let matched = reply.extensions().get().cloned();
    note(&mut reply, "x-outside", matched);
    reply
}

async fn the_matched_path_is_there_for_layers_inside_and_outside() {
    let axum = Axum::new().layer(from_fn(inside));
    let routes = vec![
        named("/users/:id"),
        route("PROPFIND", "/users/:name", async |context: Context| {
            context.param("name").map(str::to_owned)
        }),
        named("/users/me"),
        route("ALL", "/files/*rest", async |_: Context| "any"),
    ];
    publish(&axum, routes, RouterOptions::default());
    let router = axum.router().layer(from_fn(outside));
    let served = axum.bind("127.0.0.1:0").await.unwrap();
    let address = served.local_addr().unwrap();
    let serving = tokio::spawn(axum.serve(served).into_future());
    for (method, target, status, matched) in [
        ("GET", "/users/7", 200, "/users/{id}"),
        ("HEAD", "/users/7", 200, "/users/{id}"),
        // The first route of the shape names the parameter.
        ("PROPFIND", "/users/7", 200, "/users/{id}"),
        ("MKWORKSPACE", "/files/a/b", 200, "/files/{*rest}"),
        ("GET", "/files/a", 200, "/files/{*rest}"),
        ("DELETE", "/users/7", 405, "/users/{id}"),
        ("PURGE", "/users/7", 405, "/users/{id}"),
        ("OPTIONS", "/users/7", 204, "/users/{id}"),
        // Only the less specific route has the method.
        ("PROPFIND", "/users/me", 200, "/users/me"),
        ("GET", "/none", 404, "none"),
        // Only the core decodes this path.
        ("GET", "/%75sers/7", 200, "none"),
    ] {
        let request = Request::builder().method(method).uri(target).header("host", "a");
        let request = request.body(AxumBody::empty()).unwrap();
        let reply = router.clone().oneshot(request).await.unwrap();
        assert_eq!(reply.status(), status, "{method} {target}");
        assert_eq!(reply.headers()["x-inside"], matched, "{method} {target}");
        assert_eq!(reply.headers()["x-outside"], matched, "{method} {target}");
        let mut client = Probe::connect(address).await;
        client
            .send(&format!(
                "{method} {target} HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n"
            ))
            .await;
        let head = client.head().await;
        assert!(
            head.contains(&format!("\r\nx-inside: {matched}\r\n")),
            "{method} {target}: {head}"
        );
    }
    serving.abort();
}

async fn a_layer_that_answers_is_the_end_of_it() {
    let axum = Axum::new().layer(from_fn(async |_: Request, _: Next| StatusCode::FORBIDDEN));
    publish(&axum, vec![named("/a")], RouterOptions::default());
    for target in ["/a", "/none"] {
        assert_eq!(ask(&axum.router(), target).await.0, 403, "{target}");
    }
}

async fn layers_stand_in_the_order_added_and_make_another_adapter() {
    let marking = |mark: &'static str| {
        MapResponseLayer::new(move |mut reply: Response| {
            reply.headers_mut().append("x-layer", HeaderValue::from_static(mark));
            reply
        })
    };
    let bare = axum(vec![named("/a")]);
    let layered = bare.clone().layer(marking("inner")).layer(marking("outer"));
    assert_eq!(
        ask(&layered.router(), "/a").await.0,
        503,
        "no layer of it can be missing from routes that were published before"
    );
    publish(&layered, vec![named("/a")], RouterOptions::default());
    let (_, _, head) = ask(&layered.router(), "/a").await;
    let marks: Vec<_> = head.headers().get_all("x-layer").iter().collect();
    assert_eq!(marks, ["inner", "outer"]);
    assert!(ask(&bare.router(), "/a").await.2.headers().get("x-layer").is_none());
}
