//! Pointwork inside a trillium application: `cargo run -p pointwork-mount-examples --bin mount-trillium`.
//!
//! `/own` is the application's own route; what is below `/api` is Pointwork's; the middleware stands around both.

use pointwork::{App, ConnectOptions, Context, Extensions};
use pointwork_trillium::Trillium;
use trillium::{Conn, Handler};
use trillium_router::{Router, RouterConnExt as _};

/// Knows the user of a request, and marks its reply.
struct Middleware;

impl Handler for Middleware {
    async fn run(&self, conn: Conn) -> Conn {
        let known = Extensions::default();
        known.set("user", "ada");
        // The parameters of Pointwork's routes are read right before the handler, so there are none here.
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
    // The prefix belongs here or to the mount, not to both: below a router's `api/*` the path would be `/api/api/…`.
    app.set_global_prefix("api")?;
    // In place of this handler, or beside it: app.load_file("shop", "shop.wasm").await?
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
