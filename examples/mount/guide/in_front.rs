//! The application of `docs/mount.md` with Pointwork in front: `cargo run -p pointwork-mount-examples --bin guide-in_front`.
//! The program loads the module of the project `shop`, which is beside the current directory.

use axum::Router;
use axum::extract::Path;
use axum::http::StatusCode;
use axum::routing::get;
use pointwork::events::events;
use pointwork::{App, ConnectOptions};
use pointwork_axum::Axum;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
struct Visits {
    visits: u64,
}

events! {
    VisitsOf = "db:visits:of": String => Visits;
    Greeted = "db:visits:add": String;
}

#[allow(clippy::print_stdout, reason = "it shows that the listener runs")]
async fn pointwork() -> Result<App, pointwork::Error> {
    let app = App::new()?;
    app.channel("db")
        .on(VisitsOf, async |_name| Visits { visits: 7 })?
        .on(Greeted, async |name| println!("{name} was greeted"))?;
    app.module("shop")
        .file("../shop/target/pointwork/shop.wasm")
        .load()
        .await?;
    Ok(app)
}

fn router() -> Router {
    let user = async |Path(name): Path<String>| format!("user {name}\n");
    Router::new()
        .route("/users/{name}", get(user))
        .fallback(async || (StatusCode::NOT_FOUND, "the application has nothing here\n"))
}

#[allow(clippy::print_stdout, reason = "a program tells its user where it listens")]
#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let app = pointwork().await?;
    let pointwork = Axum::new();
    // No module may take a path outside `/greetings`, such as the application's `/login`.
    app.connect_to(pointwork.clone(), ConnectOptions::new().claims(["greetings"]))?;
    let router = pointwork.in_front_of(router());

    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    println!("listening on http://{}", listener.local_addr()?);
    let stop = async { tokio::signal::ctrl_c().await.unwrap_or_default() };
    axum::serve(listener, router).with_graceful_shutdown(stop).await?;
    // Delivers the emitted events that still wait, and ends the module. A program that ends without this call loses events.
    app.close().await;
    Ok(())
}
