//! Pointwork inside a salvo application: `cargo run -p pointwork-mount-examples --bin mount-salvo`.
//!
//! `/own` is a route of the application, Pointwork answers everything below `/api`, and the middleware wraps both.

use pointwork::{App, ConnectOptions, Context, Extensions};
use pointwork_salvo::Salvo;
use salvo_core::conn::tcp::TcpAcceptor;
use salvo_core::prelude::*;

/// A middleware that sets the user of a request and adds headers to the reply.
#[handler]
async fn middleware(req: &mut Request, depot: &mut Depot, res: &mut Response, ctrl: &mut FlowCtrl) {
    let known = Extensions::default();
    known.set("user", "ada");
    req.extensions_mut().insert(known);
    // Pointwork reads the parameters of its routes right before the handler, so a middleware does not see them.
    let seen = req.params().len();
    ctrl.call_next(req, depot, res).await;
    res.headers_mut()
        .insert("x-middleware", http::HeaderValue::from_static("salvo"));
    res.headers_mut().insert("x-params-before", seen.into());
}

#[handler]
async fn own() -> &'static str {
    "the application's own"
}

#[tokio::main]
#[allow(clippy::print_stdout, reason = "a program tells its user where it listens")]
async fn main() -> anyhow::Result<()> {
    let app = App::new()?;
    // salvo does not strip the path of a parent router, so the prefix is set here.
    app.set_global_prefix("api")?;
    // Instead of this handler, or in addition to it: app.load_file("shop", "shop.wasm").await?
    app.get("hello/:name", |ctx: Context| async move {
        let user = ctx.extension("user").unwrap_or_default();
        format!("{user} greets {}", ctx.param("name").unwrap_or_default())
    })?;
    let pointwork = Salvo::new();
    app.connect_to(pointwork.clone(), ConnectOptions::new())?;

    // It answers every request that reaches it, so it is the last router.
    let router = Router::new()
        .hoop(middleware)
        .push(Router::with_path("own").get(own))
        .push(pointwork.router());
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    println!("listening on http://{}", listener.local_addr()?);
    Server::new(TcpAcceptor::try_from(listener)?).serve(router).await;
    Ok(())
}
