//! The ways of mounting, in a server with a route `/own` and a page of its own for what it does not know.

use std::sync::Arc;

use anyhow::Result;
use pointwork_hosts_tests::{InHost, Place};
use pointwork_suite::client::{Client, Request};
use pointwork_suite::guest::{Controller, Guest, Program};
use pointwork_suite::subject::{AppSpec, Control, Step, Subject as _};
use pointwork_test_runner::Trial;

use crate::trial;

pub(crate) fn all(host: &InHost) -> Vec<Trial> {
    vec![
        trial(host, "mounting::in_front_what_no_route_takes_is_the_servers", in_front),
        trial(host, "mounting::below_a_prefix_the_rest_is_the_servers", below),
        trial(host, "mounting::a_swap_moves_routes_to_the_server_and_back", swapped),
    ]
}

const OWN: (u16, &str) = (200, "the server's own\n");
const UNKNOWN: (u16, &str) = (404, "not found\n");

/// A module with GET routes at these paths, which reply with their path.
fn module(paths: &[&str]) -> Arc<[u8]> {
    let things = paths.iter().fold(Controller::new("Things", "/"), |things, path| {
        things.get(path, Program::text(path))
    });
    Guest::with(things).build().into()
}

async fn start(mut host: InHost, place: Place, paths: &[&str]) -> Result<(Box<dyn Control>, Client)> {
    host.place = place;
    let control = host.start(AppSpec::new().load("m", module(paths))).await?;
    let client = Client::new(control.address());
    Ok((control, client))
}

async fn expect(client: &Client, method: &str, target: &str, (status, text): (u16, &str)) -> Result<()> {
    let body = if method == "POST" { "a body" } else { "" };
    let reply = client.send(Request::new(method, target).body(body)).await?;
    assert_eq!(
        (reply.status, reply.text().as_str()),
        (status, text),
        "{method} {target}"
    );
    Ok(())
}

async fn in_front(host: InHost) -> Result<()> {
    let (control, client) = start(host, Place::InFront, &["shop", "shop/:id"]).await?;
    expect(&client, "GET", "/shop", (200, "shop")).await?;
    expect(&client, "GET", "/shop/7?x=1", (200, "shop/:id")).await?;
    expect(&client, "HEAD", "/shop", (200, "")).await?;
    expect(&client, "GET", "/own", OWN).await?;
    expect(&client, "POST", "/own", OWN).await?;
    for (method, target) in [
        ("GET", "/"),
        ("GET", "/shop/7/8"),
        ("POST", "/shop"),
        ("OPTIONS", "/shop"),
    ] {
        expect(&client, method, target, UNKNOWN).await?;
    }
    control.shutdown().await;
    Ok(())
}

async fn below(host: InHost) -> Result<()> {
    let (control, client) = start(host, Place::Below("/api"), &["shop"]).await?;
    expect(&client, "GET", "/own", OWN).await?;
    for target in ["/", "/shop", "/apishop", "/ap"] {
        expect(&client, "GET", target, UNKNOWN).await?;
    }
    for (method, target, status) in [
        ("GET", "/api/nothing", 404),
        ("POST", "/api/shop", 405),
        ("GET", "/api", 404),
    ] {
        let reply = client.call(method, target).await?;
        assert_eq!(reply.status, status, "{method} {target}");
        assert!(reply.message().is_some(), "{method} {target}: the application answers");
    }
    control.apply(Step::Load("n".to_owned(), module(&["more"]))).await?;
    expect(&client, "GET", "/api/more", (200, "more")).await?;
    control.shutdown().await;
    Ok(())
}

async fn swapped(host: InHost) -> Result<()> {
    let (control, client) = start(host, Place::InFront, &["one"]).await?;
    for (paths, one, own) in [
        (["two", "own"].as_slice(), UNKNOWN, (200, "own")),
        (&["one"], (200, "one"), OWN),
    ] {
        control.apply(Step::Swap("m".to_owned(), module(paths))).await?;
        expect(&client, "GET", "/one", one).await?;
        expect(&client, "GET", "/own", own).await?;
    }
    control.apply(Step::Remove("m".to_owned())).await?;
    expect(&client, "GET", "/one", UNKNOWN).await?;
    control.shutdown().await;
    Ok(())
}
