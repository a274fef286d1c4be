//! What is axum's own: its paths and verbs, its router in a user's application. Connections, times and limits are
//! `pointwork-server`'s, and tested with the adapter for bare hyper.

use std::future::Future;
use std::sync::Arc;
use std::time::Instant;

use axum::body::Body as AxumBody;
use axum::extract::{MatchedPath, Request};
use axum::middleware::{Next, from_fn};
use axum::response::Response;
use http::{HeaderValue, Method, StatusCode};
use http_body_util::BodyExt as _;
use pointwork_axum::Axum;
use pointwork_core::routing::{MethodFilter, Pattern};
use pointwork_core::{
    BoxFuture, Bus, BusOptions, Context, Executor, Extensions, IntoReply, Origin, Route, RouteRecord, Router,
    RouterOptions, Transport,
};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tower::util::ServiceExt as _;

struct OnTokio;

impl Executor for OnTokio {
    fn spawn(&self, future: BoxFuture<'static, ()>) {
        tokio::spawn(future);
    }

    fn sleep_until(&self, instant: Instant) -> BoxFuture<'static, ()> {
        Box::pin(tokio::time::sleep_until(instant.into()))
    }
}

fn route<F, Fut>(method: Option<&str>, path: &str, handler: F) -> Route
where
    F: Fn(Context) -> Fut + Send + Sync + 'static,
    Fut: Future<Output: IntoReply> + Send + 'static,
{
    let pattern = Pattern::parse(path).unwrap();
    Route {
        filter: MethodFilter::parse(method).unwrap(),
        record: Arc::new(RouteRecord {
            method: method.unwrap_or("ALL").to_owned(),
            path: pattern.as_str().to_owned(),
            origin: Origin::Manual,
            module: None,
            controller: None,
            handler: None,
            unavailable_on: Vec::new(),
        }),
        pattern,
        handler: Arc::new(handler),
    }
}

/// A route that says its pattern.
fn named(method: Option<&str>, path: &'static str) -> Route {
    route(method, path, move |_| async move { path })
}

fn publish(axum: &Axum, routes: Vec<Route>) {
    let executor: Arc<dyn Executor> = Arc::new(OnTokio);
    let bus = Bus::new(executor.clone(), BusOptions::default());
    let reporter = bus.reporter(axum.name());
    let router = Router::new(routes, RouterOptions::default(), bus, executor).unwrap();
    axum.stage(Arc::new(router.for_adapter(reporter))).unwrap().publish();
}

fn published(routes: Vec<Route>) -> Axum {
    let axum = Axum::new();
    publish(&axum, routes);
    axum
}

async fn ask(router: &axum::Router, method: &str, target: &str) -> (StatusCode, String, Response<()>) {
    let request = Request::builder()
        .method(Method::from_bytes(method.as_bytes()).unwrap())
        .uri(target)
        .header("host", "a")
        .body(AxumBody::empty())
        .unwrap();
    let (head, body) = router.clone().oneshot(request).await.unwrap().into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    let text = String::from_utf8(body.to_vec()).unwrap();
    (head.status, text, Response::from_parts(head, ()))
}

#[tokio::test]
async fn a_verb_axum_has_no_operation_for_is_a_route_like_any_other() {
    let axum = published(vec![
        named(Some("PROPFIND"), "/dav/*path"),
        named(Some("GET"), "/dav/:file"),
        named(None, "/any"),
    ]);
    let router = axum.router();
    assert_eq!(ask(&router, "PROPFIND", "/dav/a/b").await.1, "/dav/*path");
    assert_eq!(ask(&router, "GET", "/dav/a").await.1, "/dav/:file");
    assert_eq!(ask(&router, "X-OWN", "/any").await.1, "/any");
    // The guard of `/dav/:file` lets it through to the less specific path.
    assert_eq!(ask(&router, "PROPFIND", "/dav/a").await.1, "/dav/*path");
}

#[tokio::test]
async fn another_method_is_405_with_the_core_s_allow() {
    let axum = published(vec![named(Some("GET"), "/a"), named(Some("PURGE"), "/a")]);
    for method in ["POST", "TRACE", "MKCOL"] {
        let (status, _, head) = ask(&axum.router(), method, "/a").await;
        assert_eq!(status, 405, "{method}");
        assert_eq!(head.headers()["allow"], "GET, HEAD, OPTIONS, PURGE", "{method}");
    }
    assert_eq!(ask(&axum.router(), "PURGE", "/a").await.2.headers().get("allow"), None);
}

#[tokio::test]
async fn paths_that_axum_cannot_hold_side_by_side_are_all_served() {
    let paths = [
        "/x/:a", "/x/*rest", "/x/a{b}", "/x/%7Ba", "/:a/y", "/*rest", "/x/%2Fz", "/x//z2",
    ];
    let routes = paths.iter().filter(|path| Pattern::parse(path).is_ok());
    let axum = published(routes.map(|path| named(Some("GET"), path)).collect());
    let router = axum.router();
    for (target, route) in [
        ("/x/1", "/x/:a"),
        ("/x/1/2", "/x/*rest"),
        ("/x/a%7Bb%7D", "/x/a{b}"),
        ("/x/%7Ba", "/x/%7Ba"),
        ("/z/y", "/:a/y"),
        ("/z/z/z", "/*rest"),
        ("/x/%2Fz", "/x/%2Fz"),
    ] {
        assert_eq!(ask(&router, "GET", target).await.1, route, "{target}");
    }
}

#[tokio::test]
async fn a_reply_that_must_not_have_a_length_gets_none_from_axum() {
    let axum = published(vec![
        route(Some("GET"), "/204", async |_: Context| {
            StatusCode::NO_CONTENT.into_reply()
        }),
        route(Some("GET"), "/304", async |_: Context| {
            StatusCode::NOT_MODIFIED.into_reply()
        }),
    ]);
    for target in ["/204", "/304"] {
        let (_, body, head) = ask(&axum.router(), "GET", target).await;
        assert_eq!(
            (body.as_str(), head.headers().get("content-length")),
            ("", None),
            "{target}"
        );
    }
}

#[tokio::test]
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
    let axum = published(vec![route(Some("GET"), "/user/:id", async |context: Context| {
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
    let (_, own, head) = ask(&router, "GET", "/own").await;
    assert_eq!(
        (own.as_str(), &head.headers()["x-layer"]),
        ("own", &HeaderValue::from_static("yes"))
    );
    let (_, ours, head) = ask(&router, "GET", "/user/7").await;
    assert_eq!(
        (ours.as_str(), &head.headers()["x-layer"]),
        ("ada 7", &HeaderValue::from_static("yes"))
    );
    let (status, _, head) = ask(&router, "GET", "/none").await;
    assert_eq!(
        (status.as_u16(), &head.headers()["x-layer"]),
        (404, &HeaderValue::from_static("yes"))
    );

    publish(&axum, vec![named(Some("GET"), "/later")]);
    assert_eq!(
        ask(&router, "GET", "/later").await.1,
        "/later",
        "a later table needs no new mount"
    );
    assert_eq!(ask(&router, "GET", "/user/7").await.0, 404);
}

#[tokio::test]
async fn nesting_takes_the_prefix_off() {
    let axum = published(vec![named(Some("GET"), "/api/a"), named(Some("GET"), "/b")]);
    let router = axum::Router::new().nest("/api", axum.router());
    assert_eq!(ask(&router, "GET", "/api/b").await.1, "/b");
    assert_eq!(ask(&router, "GET", "/api/a").await.0, 404, "the prefix is given twice");
    assert_eq!(ask(&router, "GET", "/api/api/a").await.1, "/api/a");
}

#[tokio::test]
async fn before_the_first_table_the_answer_is_503() {
    let (status, _, head) = ask(&Axum::new().router(), "GET", "/").await;
    assert_eq!(
        (status.as_u16(), &head.headers()["retry-after"]),
        (503, &HeaderValue::from_static("1"))
    );
}

#[tokio::test]
async fn serve_answers_until_the_signal() {
    let axum = published(vec![named(Some("GET"), "/a")]);
    let listener = axum.bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let serving = tokio::spawn(axum.serve(listener).with_graceful_shutdown(async {
        let _ = stopped.await;
    }));
    let mut client = TcpStream::connect(address).await.unwrap();
    client
        .write_all(b"GET /a HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n")
        .await
        .unwrap();
    let mut reply = String::new();
    client.read_to_string(&mut reply).await.unwrap();
    assert!(
        reply.starts_with("HTTP/1.1 200 OK\r\n") && reply.ends_with("\r\n\r\n/a"),
        "{reply}"
    );
    stop.send(()).unwrap();
    serving.await.unwrap();
    assert!(TcpStream::connect(address).await.is_err());
}
