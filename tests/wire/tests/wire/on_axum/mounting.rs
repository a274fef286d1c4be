//! The adapter in an axum application that its user already has (spec A9): what only axum has.

use std::convert::Infallible;

use axum::body::Body as AxumBody;
use axum::extract::{MatchedPath, Request};
use axum::middleware::{Next, from_fn};
use axum::response::Response;
use axum::routing::{get, post};
use bytes::Bytes;
use http::{HeaderValue, StatusCode};
use http_body_util::{BodyExt as _, Full};
use pointwork_axum::Axum;
use pointwork_core::{Context, Route, RouterOptions, Transport as _};
use pointwork_wire_tests::{Probe, cases, connected, publish, published, route};
use tower::layer::Layer as _;
use tower::util::{MapRequestLayer, MapResponseLayer, ServiceExt as _};

cases! {
    own;
    in_front_of_a_service_that_is_no_router: A9,
    in_front_two_applications_have_the_matched_path_of_the_one_that_answers: A9,
    in_front_as_the_routers_layer_the_matched_path_of_the_users_routes_stays: A9,
    below_routers_are_merged_in_any_order: A9,
    below_nesting_at_the_prefix_as_well_doubles_it: G6,
    the_matched_path_is_there_for_layers_inside_and_outside,
    a_layer_that_answers_is_the_end_of_it,
    a_layer_inside_does_not_change_the_route,
    layers_stand_in_the_order_added_and_make_another_adapter,
}

/// A route that replies with its pattern.
fn named(path: &'static str) -> Route {
    route("GET", path, move |_| async move { path })
}

/// The adapter in front.
fn axum(routes: Vec<Route>) -> Axum {
    published(Axum::new(), routes)
}

/// The adapter below a prefix.
fn below(prefix: &str, routes: Vec<Route>) -> axum::Router {
    connected(Axum::new(), prefix, routes).router().unwrap()
}

async fn ask(router: &axum::Router, target: &str) -> (StatusCode, String, Response<()>) {
    send(router, "GET", target).await
}

async fn send(router: &axum::Router, method: &str, target: &str) -> (StatusCode, String, Response<()>) {
    let request = Request::builder().method(method).uri(target).header("host", "a");
    let request = request.body(AxumBody::from("body")).unwrap();
    let (head, body) = router.clone().oneshot(request).await.unwrap().into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    let text = String::from_utf8(body.to_vec()).unwrap();
    (head.status, text, Response::from_parts(head, ()))
}

async fn in_front_of_a_service_that_is_no_router() {
    let own = tower::service_fn(async |request: http::Request<Full<Bytes>>| {
        let reply = format!("the user's {}", request.uri());
        Ok::<_, Infallible>(http::Response::new(Full::from(reply)))
    });
    let mounted = axum(vec![named("/a")]).in_front().layer(own);
    for (target, expected) in [("/a", "/a"), ("/b", "the user's /b")] {
        let request = http::Request::get(target).header("host", "a");
        let reply = mounted
            .clone()
            .oneshot(request.body(Full::default()).unwrap())
            .await
            .unwrap();
        assert_eq!(reply.into_body().collect().await.unwrap().to_bytes(), expected);
    }
}

async fn in_front_two_applications_have_the_matched_path_of_the_one_that_answers() {
    let second = axum(vec![named("/b")]).in_front_of(axum::Router::new());
    let (_, body, reply) = ask(&axum(vec![named("/a")]).in_front_of(second), "/b").await;
    assert_eq!(body, "/b");
    assert_eq!(reply.extensions().get::<MatchedPath>().unwrap().as_str(), "/b");
}

/// As `TraceLayer` and exporters for Prometheus read it: from the request, before it goes on.
async fn in_front_as_the_routers_layer_the_matched_path_of_the_users_routes_stays() {
    async fn label(matched: Option<MatchedPath>, request: Request, next: Next) -> Response {
        let mut reply = next.run(request).await;
        note(&mut reply, "x-label", matched);
        reply
    }
    let axum = axum(vec![
        named("/a"),
        route("PUT", "/users/:id", async |context: Context| {
            context.param("id").map(str::to_owned)
        }),
        named("/nested/a"),
        named("/users/none/a"),
    ]);
    let own = || get(async || "own");
    let router = axum::Router::new()
        .route("/users/{name}", post(async || "own"))
        .nest("/nested", axum::Router::new().route("/own", own()))
        .fallback(async || "own")
        .method_not_allowed_fallback(async || "own")
        .layer(axum.in_front())
        .layer(from_fn(label));
    for (method, target, body, label) in [
        ("POST", "/users/7", "own", "/users/{name}"),
        ("DELETE", "/users/7", "own", "/users/{name}"),
        ("GET", "/nested/own", "own", "/nested/own"),
        ("GET", "/none", "own", "none"),
        // Of the adapter's requests, those on a path of the user's have its pattern.
        ("PUT", "/users/7", "7", "/users/{name}"),
        ("GET", "/a", "/a", "none"),
        ("HEAD", "/a", "", "none"),
        ("GET", "/nested/a", "/nested/a", "none"),
    ] {
        let (status, found, reply) = send(&router, method, target).await;
        assert_eq!((status.as_u16(), found.as_str()), (200, body), "{method} {target}");
        assert_eq!(reply.headers()["x-label"], label, "{method} {target}");
    }
    let (_, _, reply) = send(&router, "PUT", "/users/7").await;
    assert_eq!(reply.extensions().get::<MatchedPath>().unwrap().as_str(), "/users/{id}");
    // axum adds the methods of the user's route.
    assert_eq!(reply.headers()["allow"], "POST");
    publish(&axum, vec![named("/later")], RouterOptions::default());
    assert_eq!(ask(&router, "/later").await.1, "/later");
    axum.close();
    assert_eq!(ask(&router, "/later").await.1, "own");
}

async fn below_nesting_at_the_prefix_as_well_doubles_it() {
    let nested = axum::Router::new().nest("/api", below("api", vec![named("/api/a")]));
    assert_eq!(ask(&nested, "/api/a").await.0, 404);
    assert_eq!(ask(&nested, "/api/api/a").await.1, "/api/a");
    let nested = axum::Router::new().nest("/api", below("", vec![named("/a")]));
    let (_, body, head) = ask(&nested, "/api/a").await;
    assert_eq!(body, "/a");
    assert_eq!(head.extensions().get::<MatchedPath>().unwrap().as_str(), "/a");
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
    let before = before.map_or("-".to_owned(), |path| path.as_str().to_owned());
    assert!(
        before == "-" || before.starts_with("/{*"),
        "of our routes axum has matched nothing yet: {before}"
    );
    let mut reply = next.run(request).await;
    let matched = reply.extensions().get().cloned();
    note(&mut reply, "x-outside", matched);
    reply
}

async fn the_matched_path_is_there_for_layers_inside_and_outside() {
    let axum = connected(Axum::new().layer(from_fn(inside)), "", Vec::new());
    let routes = vec![
        named("/users/:id"),
        route("PROPFIND", "/users/:name", async |context: Context| {
            context.param("name").map(str::to_owned)
        }),
        named("/users/me"),
        route("ALL", "/files/*rest", async |_: Context| "any"),
    ];
    publish(&axum, routes, RouterOptions::default());
    let below = axum.router().unwrap().layer(from_fn(outside));
    let in_front = axum.in_front_of(axum::Router::new()).layer(from_fn(outside));
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
        let (found, _, reply) = send(&below, method, target).await;
        assert_eq!(found, status, "{method} {target}");
        assert_eq!(reply.headers()["x-inside"], matched, "{method} {target}");
        assert_eq!(reply.headers()["x-outside"], matched, "{method} {target}");
        let (_, _, reply) = send(&in_front, method, target).await;
        let is_ours = status == 200;
        assert_eq!(reply.headers().contains_key("x-inside"), is_ours, "{method} {target}");
        assert_eq!(
            reply.headers()["x-outside"],
            if is_ours { matched } else { "none" },
            "{method} {target}"
        );
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
    let axum = connected(axum, "", vec![named("/a")]);
    for target in ["/a", "/none"] {
        assert_eq!(ask(&axum.router().unwrap(), target).await.0, 403, "{target}");
    }
    let in_front = axum.in_front_of(axum::Router::new());
    assert_eq!(ask(&in_front, "/a").await.0, 403);
    assert_eq!(
        ask(&in_front, "/none").await.0,
        404,
        "it stands around our requests alone"
    );
}

/// In front, the route is found before a layer inside runs.
async fn a_layer_inside_does_not_change_the_route() {
    let elsewhere = MapRequestLayer::new(|mut request: Request| {
        *request.uri_mut() = "/elsewhere".parse().unwrap();
        request
    });
    let echo = route("GET", "/echo/:id", async |context: Context| {
        context.param("id").map(str::to_owned)
    });
    let axum = published(Axum::new().layer(elsewhere), vec![echo, named("/elsewhere")]);
    assert_eq!(ask(&axum.in_front_of(axum::Router::new()), "/echo/7").await.1, "7");
}

async fn layers_stand_in_the_order_added_and_make_another_adapter() {
    let marking = |mark: &'static str| {
        MapResponseLayer::new(move |mut reply: Response| {
            reply.headers_mut().append("x-layer", HeaderValue::from_static(mark));
            reply
        })
    };
    let mount = |axum: &Axum| axum.in_front_of(axum::Router::new());
    let bare = axum(vec![named("/a")]);
    let layered = bare.clone().layer(marking("inner")).layer(marking("outer"));
    assert_eq!(
        ask(&mount(&layered), "/a").await.0,
        404,
        "no layer of it can be missing from routes that were published before"
    );
    publish(&layered, vec![named("/a")], RouterOptions::default());
    let (_, _, head) = ask(&mount(&layered), "/a").await;
    let marks: Vec<_> = head.headers().get_all("x-layer").iter().collect();
    assert_eq!(marks, ["inner", "outer"]);
    assert!(ask(&mount(&bare), "/a").await.2.headers().get("x-layer").is_none());
}

async fn below_routers_are_merged_in_any_order() {
    let own = || axum::Router::new().route("/api/own", get(async || "own"));
    let (ours, fallback) = (|| below("api", vec![named("/api/a")]), async || "the user's");
    for mounted in [
        own().merge(ours()).fallback(fallback),
        own().fallback(fallback).merge(ours()),
        ours().merge(own().fallback(fallback)),
    ] {
        for (target, body) in [
            ("/api/own", "own"),
            ("/api/a", "/api/a"),
            ("/api/own/x", "{\"message\":\"no route for GET /api/own/x\"}"),
            ("/apix", "the user's"),
        ] {
            assert_eq!(ask(&mounted, target).await.1, body, "{target}");
        }
        // Of axum's own verbs and beyond them.
        assert_eq!(
            send(&mounted, "PURGE", "/api/a").await.2.headers()["allow"],
            "GET, HEAD, OPTIONS"
        );
    }
}
