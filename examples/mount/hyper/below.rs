//! Pointwork below a prefix of a service on bare hyper: `cargo run -p pointwork-mount-examples --bin mount-hyper-below`.
//!
//! Pointwork answers everything below `/api`, with 404 and 405 too. Everything else reaches the service of the application.

mod own;

use pointwork::{App, ConnectOptions, Context};
use pointwork_hyper::Hyper;
use tower::Layer as _;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let app = App::new()?;
    let pointwork = Hyper::new();
    // Set the prefix before the routes by hand: earlier routes by hand do not get it. Modules get it, loaded before or after.
    app.connect_to(pointwork.clone(), ConnectOptions::new().prefix("api"))?;
    // An application usually loads a module here, instead of this handler or in addition to the handler.
    app.get("hello/:name", |ctx: Context| async move {
        let user = ctx.extension("user").unwrap_or_default();
        format!("{user} greets {}", ctx.param("name").unwrap_or_default())
    })?;

    let own = own::inner(own::Own::default());
    own::serve(own::outer(pointwork.below().layer(own))).await?;
    // `serve` is over after Ctrl-C. Emitted events that are not delivered by the end of the program would be lost.
    app.close().await;
    Ok(())
}
