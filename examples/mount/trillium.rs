//! Pointwork inside a trillium application: `cargo run -p pointwork-mount-examples --bin mount-trillium`.
//!
//! `/own` is a route of the application, Pointwork answers everything below `/api`, and the middleware wraps both.

use pointwork::{App, ConnectOptions, Context, Extensions};
use pointwork_trillium::Trillium;
use trillium::{Conn, Handler};
use trillium_router::{Router, RouterConnExt as _};

/// A middleware that sets the user of a request and adds headers to the reply.
struct Middleware;

impl Handler for Middleware {
    async fn run(&self, conn: Conn) -> Conn {
        let known = Extensions::default();
        known.set("user", "ada");
        // Pointwork reads the parameters of its routes right before the handler, so a middleware does not see them.
        let seen = usize::from(conn.param("p1").is_some() || conn.wildcard().is_some());
        conn.with_state(known)
            .with_response_header("x-params-before", seen.to_string())
    }

    async fn before_send(&self, conn: Conn) -> Conn {
        conn.with_response_header("x-middleware", "trillium")
    }
}

#[tokio::main]
#[allow(clippy::print_stdout, reason = "a program tells its user where it listens")]
async fn main() -> anyhow::Result<()> {
    let app = App::new()?;
    // Set the prefix here or at the mount, not at both: below a router's `api/*` the path would be `/api/api/…`.
    app.set_global_prefix("api")?;
    // Instead of this handler, or in addition to it: app.load_file("shop", "shop.wasm").await?
    app.get("hello/:name", |ctx: Context| async move {
        let user = ctx.extension("user").unwrap_or_default();
        format!("{user} greets {}", ctx.param("name").unwrap_or_default())
    })?;
    let pointwork = Trillium::new();
    app.connect_to(pointwork.clone(), ConnectOptions::new())?;

    let own = Router::new().get("/own", |conn: Conn| async { conn.ok("the application's own") });
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    println!("listening on http://{}", listener.local_addr()?);
    trillium_tokio::config()
        .with_prebound_server(listener)
        .run_async((Middleware, own, pointwork.handler()))
        .await;
    Ok(())
}
