//! Each framework alone, as its documentation recommends: `GET /native/:id` answers the id as text.
//!
//! Each function serves a listener on the calling thread and does not return.

use std::convert::Infallible;
use std::future::Future;
use std::net::TcpListener;

use anyhow::{Context as _, Result};
use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;

/// A framework's server.
pub type Serve = fn(TcpListener) -> Result<()>;

/// The frameworks by the names of their adapters.
pub const FRAMEWORKS: [(&str, Serve); 5] = [
    ("axum", axum),
    ("trillium", trillium),
    ("actix", actix),
    ("salvo", salvo),
    ("hyper", hyper),
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
    use axum::extract::Path;
    use axum::serve::ListenerExt as _;
    let router = axum::Router::new().route(
        "/native/{id}",
        axum::routing::get(|Path(id): Path<String>| async move { id }),
    );
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
    let router = Router::new().get("/native/:id", |conn: Conn| async move {
        let id = conn.param("id").unwrap_or_default().to_owned();
        conn.with_response_header(KnownHeaderName::ContentType, "text/plain; charset=utf-8")
            .ok(id)
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
            App::new().route(
                "/native/{id}",
                web::get().to(|id: web::Path<String>| async { id.into_inner() }),
            )
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
    use salvo_core::{Depot, FlowCtrl, Handler, Request, Response, Router, Server, async_trait};

    struct Id;

    #[async_trait]
    impl Handler for Id {
        async fn handle(&self, request: &mut Request, _: &mut Depot, response: &mut Response, _: &mut FlowCtrl) {
            response.render(request.param::<String>("id").unwrap_or_default());
        }
    }

    on_this_thread(async {
        let acceptor = TcpAcceptor::try_from(tokio::net::TcpListener::from_std(listener)?)?;
        let router = Router::with_path("native/{id}").get(Id);
        Ok(Server::new(acceptor).try_serve(router).await?)
    })
}

fn hyper(listener: TcpListener) -> Result<()> {
    on_this_thread(async {
        let listener = tokio::net::TcpListener::from_std(listener)?;
        loop {
            let (stream, _) = listener.accept().await?;
            let _ = stream.set_nodelay(true);
            let answer = service_fn(|request: Request<Incoming>| async move {
                let id = request.uri().path().rsplit('/').next().unwrap_or_default().to_owned();
                let mut response = Response::new(Full::new(Bytes::from(id)));
                response
                    .headers_mut()
                    .insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
                Ok::<_, Infallible>(response)
            });
            tokio::spawn(hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), answer));
        }
    })
}
