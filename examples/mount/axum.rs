//! Pointwork inside an axum application: `cargo run -p pointwork-mount-examples --bin mount-axum`.
//!
//! `/own` is the application's own route; what is below `/api` is Pointwork's; the middleware stands around both.

use axum::Router;
use axum::extract::rejection::RawPathParamsRejection;
use axum::extract::{RawPathParams, Request};
use axum::middleware::{Next, from_fn};
use axum::response::Response;
use axum::routing::get;
use pointwork::{App, ConnectOptions, Context, Extensions};
use pointwork_axum::Axum;

/// Knows the user of a request, and marks its reply.
async fn middleware(seen: Result<RawPathParams, RawPathParamsRejection>, mut request: Request, next: Next) -> Response {
    let known = Extensions::default();
    known.set("user", "ada");
    request.extensions_mut().insert(known);
    // The parameters of Pointwork's routes are read right before the handler, so there are none here.
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
    // The prefix belongs here or to the mount, not to both: with `.nest("/api", …)` as well, the path would be `/api/api/…`.
    app.set_global_prefix("api")?;
    // In place of this handler, or beside it: app.load_file("shop", "shop.wasm").await?
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
