//! Pointwork below a prefix of an axum application: `cargo run -p pointwork-mount-examples --bin mount-axum-below`.
//!
//! Pointwork answers everything below `/api`, with 404 and 405 too. Everything else reaches the routes and the fallback of
//! the application.

mod own;

use axum::middleware::from_fn;
use pointwork::{App, ConnectOptions, Context};
use pointwork_axum::Axum;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let app = App::new()?;
    let pointwork = Axum::new();
    // Set the prefix before the routes by hand: earlier routes by hand do not get it. Modules get it, loaded before or
    // after. Do not nest the router at `/api` as well: the paths would begin with `/api/api`.
    app.connect_to(pointwork.clone(), ConnectOptions::new().prefix("api"))?;
    // An application usually loads a module here, instead of this handler or in addition to the handler.
    app.get("hello/:name", |ctx: Context| async move {
        let user = ctx.extension("user").unwrap_or_default();
        format!("{user} greets {}", ctx.param("name").unwrap_or_default())
    })?;

    own::serve(own::router().merge(pointwork.router()?).layer(from_fn(own::outer))).await?;
    // `serve` is over after Ctrl-C. Emitted events that are not delivered by the end of the program would be lost.
    app.close().await;
    Ok(())
}
