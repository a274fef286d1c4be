//! Pointwork in front of the routes of an actix-web application:
//! `cargo run -p pointwork-mount-examples --bin mount-actix-in-front`.
//!
//! A request is Pointwork's if one of its routes matches path and method. Everything else reaches the routes and the default
//! service of the application, untouched.

mod own;

use actix_web::middleware::from_fn;
use actix_web::{App, HttpServer, web};
use pointwork::{ConnectOptions, Context};
use pointwork_actix::Actix;

#[tokio::main]
#[allow(clippy::print_stdout, reason = "a program tells its user where it listens")]
async fn main() -> anyhow::Result<()> {
    let app = pointwork::App::new()?;
    // An application usually loads a module here, instead of this handler or in addition to the handler.
    app.get("hello/:name", |ctx: Context| async move {
        let user = ctx.extension("user").unwrap_or_default();
        format!("{user} greets {}", ctx.param("name").unwrap_or_default())
    })?;
    let pointwork = Actix::new();
    // No module may claim a path outside `/hello`: a swap could take the application's own `/login` otherwise.
    app.connect_to(pointwork.clone(), ConnectOptions::new().claims(["hello"]))?;

    let visits = web::Data::new(own::Visits::default());
    let server = HttpServer::new(move || {
        App::new()
            .app_data(visits.clone())
            .configure(own::routes)
            // The middleware that is wrapped last is the outermost.
            .wrap(from_fn(own::inner))
            .wrap(pointwork.in_front())
            .wrap(from_fn(own::outer))
    })
    .bind("127.0.0.1:0")?;
    for address in server.addrs() {
        println!("listening on http://{address}");
    }
    // It ends gracefully at Ctrl-C and at SIGTERM.
    server.run().await?;
    // Delivers the emitted events that still wait: they are lost at the end of the program.
    app.close().await;
    Ok(())
}
