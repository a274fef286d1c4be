//! Pointwork inside an actix-web application: `cargo run -p pointwork-mount-examples --bin mount-actix`.
//!
//! `/own` is a route of the application, Pointwork answers everything below `/api`, and the middleware wraps both.

use actix_web::body::MessageBody;
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::header::{HeaderName, HeaderValue};
use actix_web::middleware::{Next, from_fn};
use actix_web::{App, Error, HttpMessage as _, HttpServer, web};
use pointwork::{ConnectOptions, Context, Extensions};
use pointwork_actix::Actix;

/// A middleware that sets the user of a request and adds headers to the reply.
async fn middleware(
    request: ServiceRequest,
    next: Next<impl MessageBody>,
) -> Result<ServiceResponse<impl MessageBody>, Error> {
    let known = Extensions::default();
    known.set("user", "ada");
    request.extensions_mut().insert(known);
    // Pointwork reads the parameters of its routes right before the handler, so a middleware does not see them.
    let seen = request.match_info().iter().count();
    let mut reply = next.call(request).await?;
    let headers = reply.headers_mut();
    headers.insert(
        HeaderName::from_static("x-middleware"),
        HeaderValue::from_static("actix"),
    );
    headers.insert(HeaderName::from_static("x-params-before"), seen.into());
    Ok(reply)
}

#[tokio::main]
#[allow(clippy::print_stdout, reason = "a program tells its user where it listens")]
async fn main() -> anyhow::Result<()> {
    let app = pointwork::App::new()?;
    // A scope does not strip the path, so the prefix is set here, even inside `web::scope("/api")`.
    app.set_global_prefix("api")?;
    // Instead of this handler, or in addition to it: app.load_file("shop", "shop.wasm").await?
    app.get("hello/:name", |ctx: Context| async move {
        let user = ctx.extension("user").unwrap_or_default();
        format!("{user} greets {}", ctx.param("name").unwrap_or_default())
    })?;
    let pointwork = Actix::new();
    app.connect_to(pointwork.clone(), ConnectOptions::new())?;

    let server = HttpServer::new(move || {
        App::new()
            .wrap(from_fn(middleware))
            .route("/own", web::get().to(async || "the application's own"))
            .default_service(pointwork.service())
    })
    .bind("127.0.0.1:0")?;
    for address in server.addrs() {
        println!("listening on http://{address}");
    }
    server.run().await?;
    Ok(())
}
