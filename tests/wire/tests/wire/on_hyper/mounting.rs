//! The adapter inside a server that its user already has (spec A9).

use std::convert::Infallible;
use std::net::SocketAddr;

use http::{HeaderValue, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use pointwork_core::{Body, Context, Extensions};
use pointwork_hyper::{Hyper, HyperService};
use pointwork_wire_tests::{Probe, cases, observed, published, route, routes, within};
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
