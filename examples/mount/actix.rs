//! Pointwork inside an actix-web application: `cargo run -p pointwork-mount-examples --bin mount-actix`.
//!
//! `/own` is the application's own route; what is below `/api` is Pointwork's; the middleware stands around both.

use actix_web::body::MessageBody;
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::header::{HeaderName, HeaderValue};
use actix_web::middleware::{Next, from_fn};
use actix_web::{App, Error, HttpMessage as _, HttpServer, web};
use pointwork::{ConnectOptions, Context, Extensions};
use pointwork_actix::Actix;

/// Knows the user of a request, and marks its reply.
async fn middleware(
    request: ServiceRequest,
    next: Next<impl MessageBody>,
) -> Result<ServiceResponse<impl MessageBody>, Error> {
    let known = Extensions::default();
    known.set("user", "ada");
    request.extensions_mut().insert(known);
    // The parameters of Pointwork's routes are read right before the handler, so there are none here.
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
    // A scope leaves the path whole, so the prefix belongs here, even where `web::scope("/api")` stands around it.
    app.set_global_prefix("api")?;
    // In place of this handler, or beside it: app.load_file("shop", "shop.wasm").await?
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
