//! Each framework alone, as its documentation recommends: `GET /items/7` answers an [`Item`] as JSON.
//!
//! Each function serves a listener on the calling thread and does not return.

use std::convert::Infallible;
use std::future::Future;
use std::net::TcpListener;
use std::time::Duration;

use anyhow::{Context as _, Result};
use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Request, Response, StatusCode};
use http_body_util::{Full, Limited};
use hyper::body::Incoming;
use hyper::server::conn::http1::Builder;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;

use crate::Item;

/// A framework's server.
pub type Serve = fn(TcpListener) -> Result<()>;

/// The frameworks by the names of their adapters.
pub const FRAMEWORKS: [(&str, Serve); 5] = [
    ("hyper", hyper),
    ("axum", axum),
    ("actix", actix),
    ("salvo", salvo),
    ("trillium", trillium),
];

/// Runs a future on this thread alone.
pub(crate) fn on_this_thread<T>(future: impl Future<Output = Result<T>>) -> Result<T> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("a runtime")?
        .block_on(future)
}

fn axum(listener: TcpListener) -> Result<()> {
    use axum::Json;
    use axum::extract::Path;
    use axum::serve::ListenerExt as _;
    let answer = async |Path(id): Path<u32>| Json(Item::of(id));
    let router = axum::Router::new().route("/items/{id}", axum::routing::get(answer));
    on_this_thread(async {
        let listener = tokio::net::TcpListener::from_std(listener)?.tap_io(|stream| {
            let _ = stream.set_nodelay(true);
        });
        Ok(axum::serve(listener, router).await?)
    })
}

fn trillium(listener: TcpListener) -> Result<()> {
    use trillium::{Conn, KnownHeaderName};
    use trillium_router::{Router, RouterConnExt as _};
    let router = Router::new().get("/items/:id", |conn: Conn| async move {
        let id = conn.param("id").and_then(|id| id.parse().ok()).unwrap_or_default();
        conn.with_response_header(KnownHeaderName::ContentType, "application/json")
            .ok(json(id))
    });
    on_this_thread(async {
        trillium_tokio::config()
            .without_signals()
            .with_nodelay()
            .with_prebound_server(tokio::net::TcpListener::from_std(listener)?)
            .run_async(router)
            .await;
        Ok(())
    })
}

fn actix(listener: TcpListener) -> Result<()> {
    use actix_web::{App, HttpServer, web};
    actix_web::rt::System::new().block_on(async {
        let make = || {
            let answer = async |id: web::Path<u32>| web::Json(Item::of(*id));
            App::new().route("/items/{id}", web::get().to(answer))
        };
        Ok(HttpServer::new(make)
            .workers(1)
            .disable_signals()
            .listen(listener)?
            .run()
            .await?)
    })
}

fn salvo(listener: TcpListener) -> Result<()> {
    use salvo_core::conn::tcp::TcpAcceptor;
    use salvo_core::writing::Json;
    use salvo_core::{Depot, FlowCtrl, Handler, Request, Response, Router, Server, async_trait};

    struct Items;

    #[async_trait]
    impl Handler for Items {
        async fn handle(&self, request: &mut Request, _: &mut Depot, response: &mut Response, _: &mut FlowCtrl) {
            response.render(Json(Item::of(request.param("id").unwrap_or_default())));
        }
    }

    on_this_thread(async {
        let acceptor = TcpAcceptor::try_from(tokio::net::TcpListener::from_std(listener)?)?;
        let router = Router::with_path("items/{id}").get(Items);
        Ok(Server::new(acceptor).try_serve(router).await?)
    })
}

fn json(id: u32) -> Vec<u8> {
    serde_json::to_vec(&Item::of(id)).unwrap_or_default()
}

fn answer<B>(request: &Request<B>) -> Response<Full<Bytes>> {
    let id = request
        .uri()
        .path()
        .strip_prefix("/items/")
        .and_then(|id| id.parse().ok());
    let mut response = Response::new(Full::new(Bytes::from(id.map(json).unwrap_or_default())));
    if id.is_none() {
        *response.status_mut() = StatusCode::NOT_FOUND;
    }
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, json);
    response
}

fn hyper(listener: TcpListener) -> Result<()> {
    on_this_thread(async {
        let listener = tokio::net::TcpListener::from_std(listener)?;
        loop {
            let (stream, _) = listener.accept().await?;
            let _ = stream.set_nodelay(true);
            let service = service_fn(|request: Request<Incoming>| async move { Ok::<_, Infallible>(answer(&request)) });
            tokio::spawn(Builder::new().serve_connection(TokioIo::new(stream), service));
        }
    })
}

/// hyper with what `pointwork-hyper` has by default: a time limit for heads, a limit for bodies, and a graceful end.
pub fn limited(listener: TcpListener) -> Result<()> {
    on_this_thread(async {
        let listener = tokio::net::TcpListener::from_std(listener)?;
        let graceful = GracefulShutdown::new();
        loop {
            let (stream, _) = listener.accept().await?;
            let _ = stream.set_nodelay(true);
            let service = service_fn(|request: Request<Incoming>| async move {
                let request = request.map(|body| Limited::new(body, 2 << 20));
                Ok::<_, Infallible>(answer(&request))
            });
            let mut http = Builder::new();
            http.timer(TokioTimer::new())
                .header_read_timeout(Duration::from_secs(30));
            let connection = http.serve_connection(TokioIo::new(stream), service);
            tokio::spawn(graceful.watch(connection));
        }
    })
}
