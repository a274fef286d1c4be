//! The application that Pointwork is mounted in: its routes, its state, its middleware and its server.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::Router;
use axum::extract::rejection::RawPathParamsRejection;
use axum::extract::{RawPathParams, Request, State};
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use http::header::{CONNECTION, UPGRADE};
use http::{HeaderValue, Method, StatusCode, Uri};
use hyper_util::rt::TokioIo;
use pointwork::Extensions;

/// The state of the application.
#[derive(Clone, Default)]
struct Own {
    visits: Arc<AtomicUsize>,
}

/// The router of the application, with a middleware that sees only its own requests.
pub(crate) fn router() -> Router {
    Router::new()
        .route("/own", get(visit))
        .route("/hello/{name}", post(async |body: String| format!("posted {body}")))
        .route("/socket", get(socket))
        // A path of the list above with another method gets the fallback too.
        .method_not_allowed_fallback(fallback)
        .fallback(fallback)
        .layer(from_fn(inner))
        .with_state(Own::default())
}

async fn visit(State(own): State<Own>) -> String {
    format!("visit {}", own.visits.fetch_add(1, Ordering::Relaxed) + 1)
}

async fn fallback(method: Method, uri: Uri) -> impl IntoResponse {
    (StatusCode::NOT_FOUND, format!("fallback {method} {}", uri.path()))
}

async fn socket(request: Request) -> impl IntoResponse {
    tokio::spawn(echo(request));
    let headers = [(CONNECTION, "upgrade"), (UPGRADE, "echo")];
    (StatusCode::SWITCHING_PROTOCOLS, headers)
}

/// Sends back what the client sends, once the connection has changed its protocol.
async fn echo(request: Request) -> anyhow::Result<()> {
    let upgraded = hyper::upgrade::on(request).await?;
    let (mut reader, mut writer) = tokio::io::split(TokioIo::new(upgraded));
    tokio::io::copy(&mut reader, &mut writer).await?;
    Ok(())
}

async fn inner(request: Request, next: Next) -> Response {
    let mut reply = next.run(request).await;
    reply.headers_mut().insert("x-inner", HeaderValue::from_static("yes"));
    reply
}

/// A middleware around the whole application: it sets the user of a request, blocks some requests, and marks every reply.
pub(crate) async fn outer(
    seen: Result<RawPathParams, RawPathParamsRejection>,
    mut request: Request,
    next: Next,
) -> Response {
    let known = Extensions::default();
    known.set("user", "ada");
    request.extensions_mut().insert(known);
    let mut reply = if request.headers().contains_key("x-block") {
        (StatusCode::FORBIDDEN, "blocked").into_response()
    } else {
        next.run(request).await
    };
    reply.headers_mut().insert("x-outer", HeaderValue::from_static("axum"));
    // Pointwork sets the parameters of a route right before the handler runs: a middleware does not see parameters.
    let seen = seen.map_or(0, |params| params.iter().count());
    reply.headers_mut().insert("x-params-before", seen.into());
    reply
}

/// Serves the router until Ctrl-C, and lets requests in flight finish. For a service manager's SIGTERM use
/// `tokio::signal::unix`.
#[allow(clippy::print_stdout, reason = "a program tells its user where it listens")]
pub(crate) async fn serve(router: Router) -> anyhow::Result<()> {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    println!("listening on http://{}", listener.local_addr()?);
    let stop = async { tokio::signal::ctrl_c().await.unwrap_or_default() };
    axum::serve(listener, router).with_graceful_shutdown(stop).await?;
    Ok(())
}
