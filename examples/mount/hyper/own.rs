//! The application that Pointwork is mounted in: its routes, its state, its middleware and its server.

use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use http::header::{CONNECTION, UPGRADE};
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Either, Full};
use hyper::body::{Bytes, Incoming};
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use pointwork::Extensions;
use tokio::sync::watch;
use tower::util::MapResponse;
use tower::{Service, ServiceExt as _, service_fn};

/// The state of the application.
#[derive(Clone, Default)]
pub(crate) struct Own {
    visits: Arc<AtomicUsize>,
}

type Reply<B> = Result<Response<B>, Infallible>;

impl Own {
    async fn respond(self, request: Request<Incoming>) -> Reply<Full<Bytes>> {
        let (method, path) = (request.method().clone(), request.uri().path().to_owned());
        let mut reply = Response::new(Full::default());
        *reply.body_mut() = match (&method, path.as_str()) {
            (&Method::GET, "/own") => format!("visit {}", self.visits.fetch_add(1, Ordering::Relaxed) + 1).into(),
            (&Method::POST, path) if path.starts_with("/hello/") => match request.into_body().collect().await {
                Ok(body) => format!("posted {}", String::from_utf8_lossy(&body.to_bytes())).into(),
                Err(error) => {
                    *reply.status_mut() = StatusCode::BAD_REQUEST;
                    error.to_string().into()
                }
            },
            (&Method::GET, "/socket") if request.headers().contains_key(UPGRADE) => {
                *reply.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
                reply
                    .headers_mut()
                    .insert(CONNECTION, HeaderValue::from_static("upgrade"));
                reply.headers_mut().insert(UPGRADE, HeaderValue::from_static("echo"));
                tokio::spawn(echo(request));
                Full::default()
            }
            _ => {
                *reply.status_mut() = StatusCode::NOT_FOUND;
                format!("fallback {method} {path}").into()
            }
        };
        Ok(reply)
    }
}

/// Sends back what the client sends, once the connection has changed its protocol.
async fn echo(request: Request<Incoming>) -> anyhow::Result<()> {
    let upgraded = hyper::upgrade::on(request).await?;
    let (mut reader, mut writer) = tokio::io::split(TokioIo::new(upgraded));
    tokio::io::copy(&mut reader, &mut writer).await?;
    Ok(())
}

/// The service of the application, with a middleware that sees only its own requests.
pub(crate) fn inner(
    own: Own,
) -> impl Service<Request<Incoming>, Response = Response<Full<Bytes>>, Error = Infallible, Future: Send> + Clone + Send
{
    let service = service_fn(move |request| own.clone().respond(request));
    MapResponse::new(service, |mut reply: Response<_>| {
        reply.headers_mut().insert("x-inner", HeaderValue::from_static("yes"));
        reply
    })
}

/// A middleware around the whole application: it sets the user of a request, blocks some requests, and marks every reply.
pub(crate) fn outer<S, B>(
    service: S,
) -> impl Service<Request<Incoming>, Response = Response<Either<B, Full<Bytes>>>, Error = Infallible, Future: Send>
+ Clone
+ Send
where
    S: Service<Request<Incoming>, Response = Response<B>, Error = Infallible, Future: Send> + Clone + Send,
    B: Send,
{
    service_fn(move |mut request: Request<Incoming>| {
        let service = service.clone();
        async move {
            let known = Extensions::default();
            known.set("user", "ada");
            request.extensions_mut().insert(known);
            let mut reply = if request.headers().contains_key("x-block") {
                let mut reply = Response::new(Either::Right(Full::from("blocked")));
                *reply.status_mut() = StatusCode::FORBIDDEN;
                reply
            } else {
                service.oneshot(request).await?.map(Either::Left)
            };
            reply.headers_mut().insert("x-outer", HeaderValue::from_static("hyper"));
            // Pointwork reads the parameters of its routes right before the handler; bare hyper has none for a middleware.
            reply
                .headers_mut()
                .insert("x-params-before", HeaderValue::from_static("0"));
            Ok(reply)
        }
    })
}

/// Serves each connection with the service until Ctrl-C; requests in flight come to their end. For a service manager's
/// SIGTERM use `tokio::signal::unix`.
#[allow(clippy::print_stdout, reason = "a program tells its user where it listens")]
pub(crate) async fn serve<S, B>(service: S) -> anyhow::Result<()>
where
    S: Service<Request<Incoming>, Response = Response<B>, Error = Infallible, Future: Send> + Clone + Send + 'static,
    B: http_body::Body<Data = Bytes, Error: Into<Box<dyn std::error::Error + Send + Sync>>> + Send + 'static,
{
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    println!("listening on http://{}", listener.local_addr()?);
    let mut stop = pin!(tokio::signal::ctrl_c());
    let (stopped, connections) = watch::channel(false);
    loop {
        let (stream, _) = tokio::select! {
            accepted = listener.accept() => accepted?,
            _ = &mut stop => break,
        };
        let connection = hyper::server::conn::http1::Builder::new()
            .serve_connection(TokioIo::new(stream), TowerToHyperService::new(service.clone()))
            .with_upgrades();
        let mut stopped = connections.clone();
        tokio::spawn(async move {
            let mut connection = pin!(connection);
            tokio::select! {
                // The other connections go on when a client breaks off.
                _ = connection.as_mut() => return,
                _ = stopped.changed() => connection.as_mut().graceful_shutdown(),
            }
            let _ = connection.await;
        });
    }
    drop(connections);
    // Fails if no connection is left.
    let _ = stopped.send(true);
    stopped.closed().await;
    Ok(())
}
