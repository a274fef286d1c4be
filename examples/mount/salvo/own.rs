//! The application that Pointwork is mounted in: its routes, its state, its middleware and its server.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use http::HeaderValue;
use http::header::{CONNECTION, UPGRADE};
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use pointwork::Extensions;
use salvo_core::conn::tcp::TcpAcceptor;
use salvo_core::prelude::*;

/// The state of the application: a handler that puts it into the depot.
#[derive(Clone, Default)]
struct Own {
    visits: Arc<AtomicUsize>,
}

#[handler]
impl Own {
    async fn handle(&self, depot: &mut Depot) {
        depot.insert_typed(self.clone());
    }
}

/// The router of the application, with a middleware that sees only its own requests.
pub(crate) fn router() -> Router {
    Router::new()
        .hoop(inner)
        .hoop(Own::default())
        .push(Router::with_path("own").get(visit))
        .push(Router::with_path("hello/{name}").post(posted))
        .push(Router::with_path("socket").get(socket))
        .push(Router::with_path("{**rest}").goal(fallback))
}

#[handler]
async fn visit(depot: &mut Depot, res: &mut Response) {
    if let Ok(own) = depot.get_typed::<Own>() {
        res.render(format!("visit {}", own.visits.fetch_add(1, Ordering::Relaxed) + 1));
    }
}

#[handler]
async fn posted(req: &mut Request, res: &mut Response) {
    match req.payload().await {
        Ok(body) => res.render(format!("posted {}", String::from_utf8_lossy(body))),
        Err(error) => res.render(StatusError::bad_request().brief(error.to_string())),
    }
}

#[handler]
async fn fallback(req: &mut Request, res: &mut Response) {
    res.status_code(StatusCode::NOT_FOUND);
    res.render(format!("fallback {} {}", req.method(), req.uri().path()));
}

#[handler]
async fn socket(req: &mut Request, res: &mut Response) {
    let Some(upgrade) = req.extensions_mut().remove::<OnUpgrade>() else {
        res.status_code(StatusCode::UPGRADE_REQUIRED);
        return;
    };
    tokio::spawn(echo(upgrade));
    res.status_code(StatusCode::SWITCHING_PROTOCOLS);
    res.headers_mut()
        .insert(CONNECTION, HeaderValue::from_static("upgrade"));
    res.headers_mut().insert(UPGRADE, HeaderValue::from_static("echo"));
}

/// Sends back what the client sends, once the connection has changed its protocol.
async fn echo(upgrade: OnUpgrade) -> anyhow::Result<()> {
    let (mut reader, mut writer) = tokio::io::split(TokioIo::new(upgrade.await?));
    tokio::io::copy(&mut reader, &mut writer).await?;
    Ok(())
}

#[handler]
async fn inner(req: &mut Request, depot: &mut Depot, res: &mut Response, ctrl: &mut FlowCtrl) {
    ctrl.call_next(req, depot, res).await;
    res.headers_mut().insert("x-inner", HeaderValue::from_static("yes"));
}

/// A middleware around the whole application: it sets the user of a request, blocks some requests, and marks every reply.
#[handler]
pub(crate) async fn outer(req: &mut Request, depot: &mut Depot, res: &mut Response, ctrl: &mut FlowCtrl) {
    let known = Extensions::default();
    known.set("user", "ada");
    req.extensions_mut().insert(known);
    // Pointwork sets the parameters of a route right before the handler runs: a middleware does not see parameters. The `rest`
    // of the application's own fallback is there, since salvo matches the application's routes first.
    let seen = req.params().keys().filter(|name| *name != "rest").count();
    if req.headers().contains_key("x-block") {
        res.status_code(StatusCode::FORBIDDEN).body("blocked");
        ctrl.skip_rest();
    } else {
        ctrl.call_next(req, depot, res).await;
    }
    res.headers_mut().insert("x-outer", HeaderValue::from_static("salvo"));
    res.headers_mut().insert("x-params-before", seen.into());
}

/// Serves the service until Ctrl-C; requests in flight come to their end. For a service manager's SIGTERM use
/// `tokio::signal::unix`.
#[allow(clippy::print_stdout, reason = "a program tells its user where it listens")]
pub(crate) async fn serve(service: Service) -> anyhow::Result<()> {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    println!("listening on http://{}", listener.local_addr()?);
    let server = Server::new(TcpAcceptor::try_from(listener)?);
    let handle = server.handle();
    tokio::spawn(async move {
        if tokio::signal::ctrl_c().await.is_ok() {
            // A client that sends nothing may keep its connection.
            handle.stop_graceful(Duration::from_secs(10));
        }
    });
    server.serve(service).await;
    Ok(())
}
