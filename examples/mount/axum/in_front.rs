//! Pointwork in front of an axum application: `cargo run -p pointwork-mount-examples --bin mount-axum-in-front`.
//!
//! A request is Pointwork's if one of its routes matches path and method. Everything else reaches the router of the
//! application, untouched.

mod own;

use axum::middleware::from_fn;
use pointwork::{App, ConnectOptions, Context};
use pointwork_axum::Axum;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let app = App::new()?;
    // An application usually loads a module here, instead of this handler or in addition to the handler.
    app.get("hello/:name", |ctx: Context| async move {
        let user = ctx.extension("user").unwrap_or_default();
        format!("{user} greets {}", ctx.param("name").unwrap_or_default())
    })?;
    let pointwork = Axum::new();
    // No module may claim a path outside `/hello`: a swap could take the application's own `/login` otherwise.
    app.connect_to(pointwork.clone(), ConnectOptions::new().claims(["hello"]))?;

    // `in_front` takes the finished router: only layers may be added later.
    own::serve(pointwork.in_front_of(own::router()).layer(from_fn(own::outer))).await?;
    // `serve` is over after Ctrl-C. Emitted events that are not delivered by the end of the program would be lost.
    app.close().await;
    Ok(())
}
