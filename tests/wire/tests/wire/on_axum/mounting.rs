//! The adapter in an axum application that its user already has (spec A9).

use std::convert::Infallible;

use axum::body::Body as AxumBody;
use axum::extract::rejection::RawPathParamsRejection;
use axum::extract::{MatchedPath, RawPathParams, Request};
use axum::middleware::{Next, from_fn};
use axum::response::Response;
use axum::routing::{get, post};
use bytes::Bytes;
use futures_util::stream;
use http::{HeaderValue, StatusCode};
use http_body_util::{BodyExt as _, Full, Limited};
use pointwork_axum::Axum;
use pointwork_core::{Context, Extensions, Route, RouterOptions, Transport as _};
use pointwork_wire_tests::{Probe, cases, connected, observed, publish, published, route, routes, within};
use tower::layer::Layer as _;
use tower::util::{MapRequestLayer, MapResponseLayer, ServiceExt as _};

cases! {
    own;
    in_front_the_rest_goes_on_to_the_users_router_untouched: A9 A2,
    in_front_the_body_of_the_rest_is_not_read: A9,
    in_front_every_table_is_seen_and_without_one_everything_goes_on: A9 S1,
    in_front_two_applications_stand_one_before_the_other: A9,
    in_front_of_a_service_that_is_no_router: A9,
    in_front_as_the_routers_layer_the_matched_path_of_the_users_routes_stays: A9,
    in_front_dropping_the_call_cancels_the_handler: A9,
    below_the_users_own_routes_and_fallback_stay: A9,
    below_a_prefix_is_compared_as_it_is_sent: A9,
    below_without_a_prefix_layers_stand_around_everything: A9,
    below_without_a_table_the_answer_is_503: A9,
    below_nesting_at_the_prefix_as_well_doubles_it: G6,
    the_matched_path_is_there_for_layers_inside_and_outside,
    a_layer_that_answers_is_the_end_of_it,
    a_layer_inside_does_not_change_the_route,
    layers_stand_in_the_order_added_and_make_another_adapter,
    a_limit_for_bodies_around_it_keeps_its_status,
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

/// A router of the user's that replies with all that it sees of a request.
fn own() -> axum::Router {
    async fn see(params: Result<RawPathParams, RawPathParamsRejection>, request: Request) -> String {
        let (head, body) = request.into_parts();
        let matched = head.extensions.get().map_or("-", MatchedPath::as_str);
        let params = params.map(|params| format!("{:?}", params.iter().collect::<Vec<_>>()));
        let body = body.collect().await.unwrap().to_bytes();
        let (method, uri, extensions) = (head.method, head.uri, head.extensions.len());
        format!(
            "{method} {uri} {matched} {} {extensions} {body:?}",
            params.unwrap_or_default()
        )
    }
    axum::Router::new()
        .route("/users/{name}", post(see))
        .fallback(see)
        .method_not_allowed_fallback(see)
}

async fn in_front_the_rest_goes_on_to_the_users_router_untouched() {
    let routes = || {
        vec![
            named("/users/:id"),
            named("/café"),
            route("PURGE", "/a", async |_: Context| "purged"),
        ]
    };
    let mounted = axum(routes()).in_front_of(own());
    for (method, target) in [
        ("GET", "/users/7"),
        ("HEAD", "/users/7"),
        ("GET", "/%75sers/7"),
        ("GET", "/caf%C3%A9"),
        ("PURGE", "/a"),
    ] {
        let (status, body, _) = send(&mounted, method, target).await;
        assert_eq!(status, 200, "{method} {target}");
        assert!(!body.contains("body"), "{method} {target}: {body}");
    }
    for (method, target) in [
        ("POST", "/users/7"),
        ("DELETE", "/users/7"),
        ("OPTIONS", "/users/7"),
        ("GET", "/users/7/"),
        ("GET", "/users/%ff"),
        ("GET", "/users/%zz"),
        ("PURGE", "/users/7"),
        ("purge", "/a"),
        ("GET", "/"),
        ("GET", "/none?a=b"),
        ("OPTIONS", "*"),
        ("CONNECT", "a:80"),
    ] {
        let expected = send(&own(), method, target).await.1;
        assert_eq!(send(&mounted, method, target).await.1, expected, "{method} {target}");
    }
    // The guard refuses these, and so a handler never sees them.
    for host in [vec![], vec!["a", "b"], vec!["a b"]] {
        let mut request = Request::get("/users/7").body(AxumBody::empty()).unwrap();
        for host in host {
            request.headers_mut().append("host", HeaderValue::from_static(host));
        }
        let reply = mounted.clone().oneshot(request).await.unwrap();
        let body = reply.into_body().collect().await.unwrap().to_bytes();
        assert!(body.starts_with(b"GET /users/7 /users/{name} "), "{body:?}");
    }
}

async fn in_front_the_body_of_the_rest_is_not_read() {
    let unread = || {
        AxumBody::from_stream(stream::poll_fn(
            |_| -> std::task::Poll<Option<Result<Bytes, Infallible>>> { panic!("somebody reads the body") },
        ))
    };
    let own = axum::Router::new().fallback(async || "unread");
    let mounted = axum(vec![named("/a")]).in_front_of(own);
    for (method, target) in [("POST", "/a"), ("GET", "/none"), ("GET", "/a")] {
        let request = Request::builder().method(method).uri(target).header("host", "a");
        let reply = mounted.clone().oneshot(request.body(unread()).unwrap()).await.unwrap();
        assert_eq!(reply.status(), 200, "{method} {target}");
    }
}

async fn in_front_every_table_is_seen_and_without_one_everything_goes_on() {
    let axum = Axum::new();
    let mounted = axum.in_front_of(axum::Router::new().fallback(async || "the user's"));
    assert_eq!(ask(&mounted, "/a").await.1, "the user's");
    publish(&axum, vec![named("/a")], RouterOptions::default());
    assert_eq!(ask(&mounted, "/a").await.1, "/a");
    publish(&axum, vec![named("/b")], RouterOptions::default());
    assert_eq!(ask(&mounted, "/a").await.1, "the user's");
    assert_eq!(ask(&mounted, "/b").await.1, "/b");
    axum.close();
    assert_eq!(ask(&mounted, "/b").await.1, "the user's");
}

async fn in_front_two_applications_stand_one_before_the_other() {
    let first = axum(vec![named("/a"), route("GET", "/both", async |_: Context| "first")]);
    let second = axum(vec![named("/b"), route("GET", "/both", async |_: Context| "second")]);
    let mounted = second.in_front_of(axum::Router::new().fallback(async || "the user's"));
    let mounted = first.in_front_of(mounted);
    for (target, expected) in [("/a", "/a"), ("/b", "/b"), ("/both", "first"), ("/none", "the user's")] {
        assert_eq!(ask(&mounted, target).await.1, expected);
    }
    let reply = ask(&mounted, "/b").await.2;
    assert_eq!(reply.extensions().get::<MatchedPath>().unwrap().as_str(), "/b");
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

/// As `TraceLayer` and exporters for Prometheus read it: from the request, before it goes on.
async fn in_front_as_the_routers_layer_the_matched_path_of_the_users_routes_stays() {
    async fn label(matched: Option<MatchedPath>, request: Request, next: Next) -> Response {
        let mut reply = next.run(request).await;
        note(&mut reply, "x-label", matched);
        reply
    }
    let named_by_both = route("PUT", "/users/:id", async |context: Context| {
        context.param("id").map(str::to_owned)
    });
    let axum = axum(vec![
        named("/a"),
        named_by_both,
        named("/nested/a"),
        named("/users/none/a"),
    ]);
    let router = own()
        .nest("/nested", axum::Router::new().route("/own", get(async || "nested")))
        .layer(axum.in_front())
        .layer(from_fn(label));
    for (method, target, status, label) in [
        ("POST", "/users/7", 200, "/users/{name}"),
        ("DELETE", "/users/7", 200, "/users/{name}"),
        ("GET", "/nested/own", 200, "/nested/own"),
        ("GET", "/none", 200, "none"),
        // Of the adapter's requests, those on a path of the user's have its pattern.
        ("PUT", "/users/7", 200, "/users/{name}"),
        ("GET", "/a", 200, "none"),
        ("HEAD", "/a", 200, "none"),
        ("GET", "/nested/a", 200, "none"),
    ] {
        let (found, body, reply) = send(&router, method, target).await;
        assert_eq!(found, status, "{method} {target}");
        assert_eq!(reply.headers()["x-label"], label, "{method} {target}");
        let is_ours = ["PUT", "HEAD"].contains(&method) || target.ends_with("/a");
        assert_eq!(
            body.contains("body"),
            !is_ours && !target.contains("own"),
            "{method} {target}: {body}"
        );
    }
    let (_, body, reply) = send(&router, "PUT", "/users/7").await;
    assert_eq!(body, "7");
    assert_eq!(reply.extensions().get::<MatchedPath>().unwrap().as_str(), "/users/{id}");
    // axum adds the methods of the user's route.
    assert_eq!(reply.headers()["allow"], "POST");
    publish(&axum, vec![named("/later")], RouterOptions::default());
    assert_eq!(send(&router, "GET", "/later").await.1, "/later");
    axum.close();
    assert!(send(&router, "GET", "/later").await.1.starts_with("GET /later - "));
}

async fn in_front_dropping_the_call_cancels_the_handler() {
    let (observed, began, dropped) = observed("GET");
    let mounted = axum(vec![observed]).in_front_of(axum::Router::new());
    let call = tokio::spawn(async move { ask(&mounted, "/observed").await });
    within("the handler's begin", began.notified()).await;
    call.abort();
    within("the handler's drop", dropped.notified()).await;
}

async fn below_the_users_own_routes_and_fallback_stay() {
    let own = || axum::Router::new().route("/own", get(async || "own"));
    let specific = || axum::Router::new().route("/api/own", get(async || "own below"));
    let fallback = async || (StatusCode::NOT_FOUND, "the user's");
    let routes = || vec![named("/api/a"), named("/api"), named("/elsewhere")];
    for mounted in [
        own().merge(below("api", routes())).merge(specific()).fallback(fallback),
        own().fallback(fallback).merge(specific()).merge(below("api", routes())),
        below("api", routes()).merge(own().merge(specific()).fallback(fallback)),
    ] {
        for (target, status, body) in [
            ("/own", 200, "own"),
            ("/api/own", 200, "own below"),
            ("/api/a", 200, "/api/a"),
            ("/api", 200, "/api"),
            ("/api/", 404, "{\"message\":\"no route for GET /api/\"}"),
            ("/api/own/x", 404, "{\"message\":\"no route for GET /api/own/x\"}"),
            ("/api//a", 404, "{\"message\":\"no route for GET /api//a\"}"),
            ("/apix", 404, "the user's"),
            ("/elsewhere", 404, "the user's"),
            ("/", 404, "the user's"),
        ] {
            let (found, text, _) = ask(&mounted, target).await;
            assert_eq!((found.as_u16(), text.as_str()), (status, body), "{target}");
        }
        let (status, _, reply) = send(&mounted, "PURGE", "/api/a").await;
        assert_eq!(
            (status.as_u16(), &reply.headers()["allow"]),
            (405, &HeaderValue::from_static("GET, HEAD, OPTIONS"))
        );
        assert_eq!(ask(&mounted, "/api/%zz").await.0, 400);
    }
}

async fn below_a_prefix_is_compared_as_it_is_sent() {
    let fallback = async || "the user's";
    let routes = vec![named("/café/:tenant/a"), named("/café/:tenant")];
    let mounted = axum::Router::new()
        .fallback(fallback)
        .merge(below("café/:tenant", routes));
    for (target, expected) in [
        ("/caf%C3%A9/1/a", "/café/:tenant/a"),
        ("/caf%C3%A9/1", "/café/:tenant"),
        ("/caf%c3%a9/1/a", "the user's"),
        ("/caf%C3%A9", "the user's"),
    ] {
        assert_eq!(ask(&mounted, target).await.1, expected, "{target}");
    }
}

async fn below_without_a_prefix_layers_stand_around_everything() {
    async fn layer(mut request: Request, next: Next) -> Response {
        let user = Extensions::default();
        user.set("user", "ada");
        request.extensions_mut().insert(user);
        let mut reply = next.run(request).await;
        reply.headers_mut().insert("x-layer", HeaderValue::from_static("yes"));
        reply
    }
    let user = route("GET", "/user/:id", async |context: Context| {
        format!(
            "{} {}",
            context.extension("user").unwrap_or_default(),
            context.param("id").unwrap_or_default()
        )
    });
    let axum = connected(Axum::new(), "", vec![user]);
    let router = axum::Router::new()
        .route("/own", get(async || "own"))
        .merge(axum.router().unwrap())
        .layer(from_fn(layer));
    for (target, status, body) in [
        ("/own", 200, "own"),
        ("/user/7", 200, "ada 7"),
        ("/none", 404, "{\"message\":\"no route for GET /none\"}"),
        ("/", 404, "{\"message\":\"no route for GET /\"}"),
    ] {
        let (found, text, reply) = ask(&router, target).await;
        assert_eq!((found.as_u16(), text.as_str()), (status, body), "{target}");
        assert_eq!(reply.headers()["x-layer"], "yes", "{target}");
    }
    publish(&axum, vec![named("/later")], RouterOptions::default());
    assert_eq!(
        ask(&router, "/later").await.1,
        "/later",
        "a later table needs no new mount"
    );
    assert_eq!(ask(&router, "/user/7").await.0, 404);
}

async fn below_without_a_table_the_answer_is_503() {
    let error = Axum::new().router().unwrap_err().to_string();
    assert_eq!(
        error,
        "the adapter `axum` is not connected, expected a connection before `router`"
    );
    let axum = connected(Axum::new(), "api", vec![named("/api")]);
    let router = axum.router().unwrap().fallback(async || "the user's");
    axum.close();
    let (status, body, head) = ask(&router, "/api").await;
    assert_eq!(
        (status.as_u16(), &head.headers()["retry-after"]),
        (503, &HeaderValue::from_static("1"))
    );
    assert_eq!(body, "{\"message\":\"the application is closed\"}");
    assert_eq!(ask(&router, "/own").await.1, "the user's");
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

/// As `RequestBodyLimitLayer` of tower-http does.
async fn a_limit_for_bodies_around_it_keeps_its_status() {
    let limit = MapRequestLayer::new(|request: Request| request.map(|body| AxumBody::new(Limited::new(body, 3))));
    for mounted in [axum(routes()).in_front_of(axum::Router::new()), below("", routes())] {
        let (status, body, _) = send(&mounted.layer(limit.clone()), "POST", "/body").await;
        assert_eq!(
            (status.as_u16(), body.as_str()),
            (413, "{\"message\":\"the body is longer than allowed\"}")
        );
    }
}
