//! An application inside a server that its user already has: the adapter's service beside the user's own routes, with
//! the user's own middleware around it (spec A9), and a prefix that is set twice (spec G6).

use std::convert::Infallible;
use std::net::SocketAddr;

use anyhow::Result;
use http::{HeaderValue, Request, Response, Uri};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::TokioIo;
use pointwork::{App, Body, ConnectOptions, Context, Extensions};
use pointwork_hyper::{Hyper, HyperService};
use pointwork_suite::client::Client;
use tokio::net::TcpListener;

use crate::trials;

trials! {
    the_users_own_routes_and_middleware_stand_around_the_application,
    a_prefix_given_to_the_application_and_to_the_mount_doubles_the_path,
}

/// The user's server: a route of its own, the application under `/api`, and a middleware that adds the user to every
/// request and a mark to every reply.
async fn serve(application: HyperService, strip: bool) -> Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let application = application.clone();
            let service = service_fn(move |request| middleware(application.clone(), strip, request));
            tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
        }
    });
    Ok(address)
}

async fn middleware(
    application: HyperService,
    strip: bool,
    mut request: Request<Incoming>,
) -> Result<Response<Body>, Infallible> {
    let user = Extensions::default();
    user.set("user", "ada");
    request.extensions_mut().insert(user);
    let mut reply = match request.uri().path().strip_prefix("/api") {
        Some(rest) if strip => {
            let rest = rest.parse::<Uri>().unwrap_or_default();
            *request.uri_mut() = rest;
            application.call(request).await?
        }
        Some(_) => application.call(request).await?,
        None => Response::new(Body::from("the user's own")),
    };
    reply.headers_mut().insert("x-mine", HeaderValue::from_static("yes"));
    Ok(reply)
}

async fn application(prefix: &str) -> Result<(App, Hyper)> {
    let (app, hyper) = (App::new()?, Hyper::new());
    app.set_global_prefix(prefix)?;
    app.get("user/:id", |ctx: Context| async move {
        let user = ctx.extension("user").unwrap_or_default();
        format!("{user} at {} with {}", ctx.path(), ctx.param("id").unwrap_or_default())
    })?;
    app.connect_to(hyper.clone(), ConnectOptions::new())?;
    Ok((app, hyper))
}

async fn the_users_own_routes_and_middleware_stand_around_the_application() -> Result<()> {
    let (_app, hyper) = application("api").await?;
    let client = Client::new(serve(hyper.service(), false).await?);
    let own = client.get("/own").await?;
    assert_eq!(
        (own.text().as_str(), own.header("x-mine").as_deref()),
        ("the user's own", Some("yes"))
    );
    let ours = client.get("/api/user/7").await?;
    assert_eq!(ours.text(), "ada at /api/user/7 with 7");
    assert_eq!(ours.header("x-mine").as_deref(), Some("yes"));
    let missing = client.get("/api/nothing").await?;
    assert_eq!(
        (missing.status, missing.header("x-mine").as_deref()),
        (404, Some("yes"))
    );
    Ok(())
}

async fn a_prefix_given_to_the_application_and_to_the_mount_doubles_the_path() -> Result<()> {
    let (_app, hyper) = application("api").await?;
    let client = Client::new(serve(hyper.service(), true).await?);
    assert_eq!(client.get("/api/user/7").await?.status, 404);
    assert_eq!(client.get("/api/api/user/7").await?.status, 200);
    Ok(())
}
