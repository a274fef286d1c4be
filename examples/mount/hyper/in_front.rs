//! Pointwork in front of a service on bare hyper: `cargo run -p pointwork-mount-examples --bin mount-hyper-in-front`.
//!
//! A request is Pointwork's if one of its routes matches path and method. Everything else reaches the service of the
//! application, untouched.

mod own;

use pointwork::{App, ConnectOptions, Context};
use pointwork_hyper::Hyper;
use tower::Layer as _;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let app = App::new()?;
    // An application usually loads a module here, instead of this handler or in addition to the handler.
    app.get("hello/:name", |ctx: Context| async move {
        let user = ctx.extension("user").unwrap_or_default();
        format!("{user} greets {}", ctx.param("name").unwrap_or_default())
    })?;
    let pointwork = Hyper::new();
    // No module may claim a path outside `/hello`: a swap could take the application's own `/login` otherwise.
    app.connect_to(pointwork.clone(), ConnectOptions::new().claims(["hello"]))?;

    let own = own::inner(own::Own::default());
    own::serve(own::outer(pointwork.in_front().layer(own))).await?;
    // `serve` is over after Ctrl-C. Emitted events that are not delivered by the end of the program would be lost.
    app.close().await;
    Ok(())
}
