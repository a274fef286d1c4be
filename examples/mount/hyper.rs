//! Pointwork inside a server on bare hyper: `cargo run -p pointwork-mount-examples --bin mount-hyper`.
//!
//! `/own` is a route of the server, Pointwork answers everything below `/api`, and the middleware wraps both.

use std::convert::Infallible;

use http::{HeaderValue, Request, Response};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use pointwork::{App, Body, ConnectOptions, Context, Extensions};
use pointwork_hyper::{Hyper, HyperService};
use tower::{ServiceExt as _, service_fn};

/// A middleware that sets the user of a request and adds headers to the reply. Any tower layer works in its place.
async fn middleware(pointwork: HyperService, mut request: Request<Incoming>) -> Result<Response<Body>, Infallible> {
    let known = Extensions::default();
    known.set("user", "ada");
    request.extensions_mut().insert(known);
    let mut reply = match request.uri().path() {
        "/own" => Response::new(Body::from("the application's own")),
        _ => pointwork.oneshot(request).await?,
    };
    let headers = reply.headers_mut();
    headers.insert("x-middleware", HeaderValue::from_static("hyper"));
    // Pointwork reads the parameters of its routes right before the handler, so a middleware does not see them.
    headers.insert("x-params-before", 0.into());
    Ok(reply)
}

#[tokio::main]
#[allow(clippy::print_stdout, reason = "a program tells its user where it listens")]
async fn main() -> anyhow::Result<()> {
    let app = App::new()?;
    // Set the prefix here or at the mount, not at both.
    app.set_global_prefix("api")?;
    // Instead of this handler, or in addition to it: app.load_file("shop", "shop.wasm").await?
    app.get("hello/:name", |ctx: Context| async move {
        let user = ctx.extension("user").unwrap_or_default();
        format!("{user} greets {}", ctx.param("name").unwrap_or_default())
    })?;
    let pointwork = Hyper::new();
    app.connect_to(pointwork.clone(), ConnectOptions::new())?;

    let service = {
        let pointwork = pointwork.service();
        service_fn(move |request| middleware(pointwork.clone(), request))
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    println!("listening on http://{}", listener.local_addr()?);
    loop {
        let (stream, _) = listener.accept().await?;
        let service = TowerToHyperService::new(service.clone());
        tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
    }
}
