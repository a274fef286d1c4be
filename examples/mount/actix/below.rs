//! Pointwork below a prefix of an actix-web application:
//! `cargo run -p pointwork-mount-examples --bin mount-actix-below`.
//!
//! Pointwork answers everything below `/api`, with 404 and 405 too. Everything else reaches the routes and the default
//! service of the application.

mod own;

use actix_web::middleware::from_fn;
use actix_web::{App, HttpServer, web};
use pointwork::{ConnectOptions, Context};
use pointwork_actix::Actix;

#[tokio::main]
#[allow(clippy::print_stdout, reason = "a program tells its user where it listens")]
async fn main() -> anyhow::Result<()> {
    let app = pointwork::App::new()?;
    let pointwork = Actix::new();
    // Set the prefix before the routes by hand: earlier routes by hand do not get it. Modules get it, loaded before or
    // after. A scope of actix-web does not take its prefix off the path, so the prefix is set here even inside
    // `web::scope("/api")`.
    app.connect_to(pointwork.clone(), ConnectOptions::new().prefix("api"))?;
    // An application usually loads a module here, instead of this handler or in addition to the handler.
    app.get("hello/:name", |ctx: Context| async move {
        let user = ctx.extension("user").unwrap_or_default();
        format!("{user} greets {}", ctx.param("name").unwrap_or_default())
    })?;

    let visits = web::Data::new(own::Visits::default());
    let server = HttpServer::new(move || {
        App::new()
            .app_data(visits.clone())
            // Before the application's own services. A middleware for these alone goes around a scope of them.
            .service(pointwork.service())
            .service(web::scope("").configure(own::routes).wrap(from_fn(own::inner)))
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
