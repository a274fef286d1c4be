//! The application of `docs/mount.md` before Pointwork is mounted: `cargo run -p pointwork-mount-examples --bin guide-before`.

use axum::Router;
use axum::extract::Path;
use axum::http::StatusCode;
use axum::routing::get;

fn router() -> Router {
    let user = async |Path(name): Path<String>| format!("user {name}\n");
    Router::new()
        .route("/users/{name}", get(user))
        .fallback(async || (StatusCode::NOT_FOUND, "the application has nothing here\n"))
}

#[allow(clippy::print_stdout, reason = "a program tells its user where it listens")]
#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    println!("listening on http://{}", listener.local_addr()?);
    axum::serve(listener, router()).await?;
    Ok(())
}
