//! Pointwork inside an axum application: `cargo run -p pointwork-mount-examples --bin mount-axum`.
//!
//! `/own` is a route of the application, Pointwork answers everything below `/api`, and the middleware wraps both.

use axum::Router;
use axum::extract::rejection::RawPathParamsRejection;
use axum::extract::{RawPathParams, Request};
use axum::middleware::{Next, from_fn};
use axum::response::Response;
use axum::routing::get;
use pointwork::{App, ConnectOptions, Context, Extensions};
use pointwork_axum::Axum;

/// A middleware that sets the user of a request and adds headers to the reply.
async fn middleware(seen: Result<RawPathParams, RawPathParamsRejection>, mut request: Request, next: Next) -> Response {
    let known = Extensions::default();
    known.set("user", "ada");
    request.extensions_mut().insert(known);
    // Pointwork reads the parameters of its routes right before the handler, so a middleware does not see them.
    let seen = seen.map_or(0, |params| params.iter().count());
    let mut reply = next.run(request).await;
    reply
        .headers_mut()
        .insert("x-middleware", "axum".parse().expect("a header value"));
    reply.headers_mut().insert("x-params-before", seen.into());
    reply
}

#[tokio::main]
#[allow(clippy::print_stdout, reason = "a program tells its user where it listens")]
async fn main() -> anyhow::Result<()> {
    let app = App::new()?;
    // Set the prefix here or at the mount, not at both: with `.nest("/api", …)` as well, the path would be
    // `/api/api/…`.
    app.set_global_prefix("api")?;
    // Instead of this handler, or in addition to it: app.load_file("shop", "shop.wasm").await?
    app.get("hello/:name", |ctx: Context| async move {
        let user = ctx.extension("user").unwrap_or_default();
        format!("{user} greets {}", ctx.param("name").unwrap_or_default())
    })?;
    let pointwork = Axum::new();
    app.connect_to(pointwork.clone(), ConnectOptions::new())?;

    let router = Router::new()
        .route("/own", get(async || "the application's own"))
        .merge(pointwork.router())
        .layer(from_fn(middleware));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    println!("listening on http://{}", listener.local_addr()?);
    axum::serve(listener, router).await?;
    Ok(())
}
