//! The adapter inside a server that its user already has (spec A9).

use std::convert::Infallible;
use std::net::SocketAddr;

use http::{HeaderValue, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use pointwork_core::{Body, Context, Extensions, RouterOptions, Transport};
use pointwork_hyper::{Hyper, HyperLayer, HyperService};
use pointwork_wire_tests::{Probe, cases, connected, observed, publish, published, route, routes, within};
use tokio::net::TcpListener;
use tower::layer::layer_fn;
use tower::util::{MapRequest, MapResponse};
use tower::{Layer, Service, ServiceExt};

cases! {
    own;
    a_service_takes_any_body_of_bytes,
    a_layer_of_tower_sees_the_request_before_and_the_reply_after,
    parameters_are_read_when_the_handler_runs,
    hyper_takes_the_service_as_it_is,
    hyper_takes_the_service_within_layers,
    dropping_the_call_cancels_the_handler,
    in_front_the_rest_goes_on_to_the_users_service_untouched,
    below_everything_else_goes_on_to_the_users_service,
    a_limit_for_bodies_around_it_keeps_its_status,
}

fn service() -> HyperService {
    let mut all = routes();
    all.push(route("GET", "/user", async |context: Context| {
        context.extension("user").unwrap_or_default()
    }));
    published(Hyper::new(), all).service()
}

async fn a_service_takes_any_body_of_bytes() {
    let request = Request::post("/body")
        .header("host", "a")
        .body(Full::from("seven b"))
        .unwrap();
    let reply = service().oneshot(request).await.unwrap();
    assert_eq!(reply.status(), StatusCode::OK);
    assert_eq!(reply.into_body().collect().await.unwrap().to_bytes(), "7 bytes");
    let request = Request::get("/hello").header("host", "a").body(Body::empty()).unwrap();
    assert_eq!(service().oneshot(request).await.unwrap().status(), StatusCode::OK);
}

async fn a_layer_of_tower_sees_the_request_before_and_the_reply_after() {
    let layer = layer_fn(|inner: HyperService| {
        tower::service_fn(move |mut request: Request<Full<bytes::Bytes>>| {
            let mut inner = inner.clone();
            async move {
                let user = Extensions::default();
                user.set("user", "ada");
                request.extensions_mut().insert(user);
                let mut reply: Response<Body> = inner.call(request).await?;
                reply.headers_mut().insert("x-layer", HeaderValue::from_static("seen"));
                Ok::<_, Infallible>(reply)
            }
        })
    });
    let request = Request::get("/user").header("host", "a").body(Full::default()).unwrap();
    let reply = layer.layer(service()).oneshot(request).await.unwrap();
    assert_eq!(reply.headers()["x-layer"], "seen");
    assert_eq!(reply.into_body().collect().await.unwrap().to_bytes(), "ada");
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

async fn serve_one<S>(service: S) -> SocketAddr
where
    S: hyper::service::Service<Request<Incoming>, Response = Response<Body>, Error = Infallible> + Send + 'static,
    S::Future: Send,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        let http = hyper::server::conn::http1::Builder::new();
        http.serve_connection(TokioIo::new(stream), service).await.unwrap();
    });
    address
}

async fn hyper_takes_the_service_as_it_is() {
    let mut client = Probe::connect(serve_one(service()).await).await;
    assert_eq!(client.get("/echo/1").await.body, "1");
    client
        .send("POST /body HTTP/1.1\r\nhost: a\r\ncontent-length: 2\r\n\r\nok")
        .await;
    assert_eq!(client.reply().await.body, "2 bytes");
    assert_eq!(client.get("/nowhere").await.status(), 404);
}

async fn hyper_takes_the_service_within_layers() {
    let layered = MapResponse::new(service(), |mut reply: Response<Body>| {
        reply.headers_mut().insert("x-layer", HeaderValue::from_static("seen"));
        reply
    });
    let service = hyper_util::service::TowerToHyperService::new(layered);
    let mut client = Probe::connect(serve_one(service).await).await;
    assert_eq!(client.get("/hello").await.all("x-layer"), ["seen"]);
}

async fn dropping_the_call_cancels_the_handler() {
    let (observed, began, dropped) = observed("GET");
    let service = published(Hyper::new(), vec![observed]).service();
    let request = Request::get("/observed")
        .header("host", "a")
        .body(Body::empty())
        .unwrap();
    let call = tokio::spawn(service.oneshot(request));
    began.notified().await;
    call.abort();
    within("the handler's drop", dropped.notified()).await;
}

/// A value of the user's in the extensions of a request.
#[derive(Clone)]
struct Mark(&'static str);

/// The status and the text of the reply behind a layer. The user's service replies with the method, the path, its mark and
/// the body.
async fn ask(layer: &HyperLayer, method: &str, target: &str) -> (u16, String) {
    let own = tower::service_fn(async |request: Request<Full<bytes::Bytes>>| {
        let mark = request.extensions().get::<Mark>().map_or("no mark", |mark| mark.0);
        let seen = format!("own {} {} {mark} ", request.method(), request.uri());
        let body = request.into_body().collect().await.unwrap().to_bytes();
        let reply = Response::new(Full::from([seen.as_bytes(), &body].concat()));
        Ok::<_, Infallible>(reply)
    });
    let request = Request::builder().method(method).uri(target).header("host", "a");
    let mut request = request.body(Full::from("body")).unwrap();
    request.extensions_mut().insert(Mark("marked"));
    let reply = layer.layer(own).oneshot(request).await.unwrap();
    let status = reply.status().as_u16();
    let body = reply.into_body().collect().await.unwrap().to_bytes();
    (status, String::from_utf8(body.to_vec()).unwrap())
}

fn own(method: &str, target: &str) -> (u16, String) {
    (200, format!("own {method} {target} marked body"))
}

async fn in_front_the_rest_goes_on_to_the_users_service_untouched() {
    let hyper = Hyper::new();
    let layer = hyper.in_front();
    assert_eq!(ask(&layer, "GET", "/hello").await, own("GET", "/hello"), "no table yet");
    let hyper = connected(hyper, "", routes());
    assert_eq!(ask(&layer, "GET", "/hello").await, (200, "hello".to_owned()));
    assert_eq!(ask(&layer, "HEAD", "/hello").await, (200, String::new()));
    assert_eq!(ask(&layer, "POST", "/body").await, (200, "4 bytes".to_owned()));
    for (method, target) in [
        ("DELETE", "/hello"),
        ("OPTIONS", "/hello"),
        ("OPTIONS", "*"),
        ("GET", "/hello/"),
        ("GET", "/none?a=%zz"),
        ("GET", "/echo/%ff"),
        ("PURGE", "/echo/1"),
    ] {
        assert_eq!(ask(&layer, method, target).await, own(method, target));
    }
    let later = vec![route("GET", "/later", async |_: Context| "later")];
    publish(&hyper, later, RouterOptions::default());
    assert_eq!(ask(&layer, "GET", "/later").await, (200, "later".to_owned()));
    assert_eq!(ask(&layer, "GET", "/hello").await, own("GET", "/hello"));
    hyper.close();
    assert_eq!(ask(&layer, "GET", "/later").await, own("GET", "/later"));
}

async fn below_everything_else_goes_on_to_the_users_service() {
    let hyper = Hyper::new();
    let layer = hyper.below();
    assert_eq!(
        ask(&layer, "GET", "/api/a").await,
        own("GET", "/api/a"),
        "not connected yet"
    );
    let hyper = connected(hyper, "api", vec![route("GET", "/api/a", async |_: Context| "a")]);
    assert_eq!(ask(&layer, "GET", "/api/a").await, (200, "a".to_owned()));
    for (method, target, status) in [
        ("GET", "/api", 404),
        ("GET", "/api/", 404),
        ("GET", "/api/none?a", 404),
        ("PURGE", "/api/a", 405),
        ("OPTIONS", "/api/a", 204),
        ("GET", "/api/%ff", 400),
    ] {
        assert_eq!(ask(&layer, method, target).await.0, status, "{method} {target}");
    }
    for target in ["/", "/apix", "/ap", "/%61pi/a", "//api/a", "/x/api/a"] {
        assert_eq!(ask(&layer, "GET", target).await, own("GET", target));
    }
    hyper.close();
    let (status, text) = ask(&layer, "GET", "/api/a").await;
    assert_eq!(status, 503);
    assert!(text.contains("closed"), "{text}");
    assert_eq!(ask(&layer, "GET", "/own").await, own("GET", "/own"));
}

async fn a_limit_for_bodies_around_it_keeps_its_status() {
    let request = Request::post("/body").header("host", "a");
    let request = request.body(Limited::new(Full::from("four"), 3)).unwrap();
    let reply = service().oneshot(request).await.unwrap();
    assert_eq!(reply.status(), StatusCode::PAYLOAD_TOO_LARGE);
}
