//! The adapter inside a salvo application that its user already has (spec A9).

use http::Response;
use pointwork_core::{Body, Context, RouterOptions};
use pointwork_salvo::Salvo;
use salvo_core::catcher::Catcher;
use salvo_core::{FlowCtrl, Request, Router, Service, handler};

use super::user::User;
use pointwork_wire_tests::{cases, observed, publish, published, route, routes, within};

cases! {
    own;
    the_users_own_routes_stand_beside_ours,
    later_tables_are_seen_without_mounting_again,
    a_path_before_it_takes_nothing_off_the_target,
    a_prefix_that_a_middleware_takes_off_and_the_application_adds_is_double,
    no_catcher_replaces_a_reply,
    every_form_of_target_is_answered,
    a_head_that_the_router_refuses_ends_the_connection,
    a_body_framed_in_two_ways_is_as_hyper_reads_it,
    a_client_that_goes_away_cancels_its_handler,
    a_broken_off_reply_lacks_its_end,
}

#[handler]
async fn own() -> &'static str {
    "the user's own"
}

#[handler]
async fn page(res: &mut salvo_core::Response, ctrl: &mut FlowCtrl) {
    res.render("the user's page");
    ctrl.skip_rest();
}

fn default_salvo() -> Salvo {
    published(Salvo::new(), routes())
}

async fn the_users_own_routes_stand_beside_ours() {
    let router = Router::new()
        .push(Router::with_path("own").get(own))
        .push(default_salvo().router());
    let user = User::serve(router).await;
    assert_eq!(user.get("/own").await.body, "the user's own");
    assert_eq!(user.get("/hello").await.body, "hello");
    assert_eq!(user.get("/echo/a%2Fb").await.body, "a/b");
    assert_eq!(
        user.get("/nowhere").await.body,
        "{\"message\":\"no route for GET /nowhere\"}"
    );
    let reply = user.send("PURGE /hello HTTP/1.1\r\nhost: a\r\n\r\n").await;
    assert_eq!(reply.status(), 405);
    assert_eq!(reply.all("allow"), ["GET, HEAD, OPTIONS"]);
}

async fn later_tables_are_seen_without_mounting_again() {
    let salvo = Salvo::new();
    let user = User::serve(salvo.router()).await;
    assert_eq!(user.get("/hello").await.status(), 503);
    publish(&salvo, routes(), RouterOptions::default());
    assert_eq!(user.get("/hello").await.body, "hello");
    let newer = vec![route("GET", "/hello", async |_: Context| "newer")];
    publish(&salvo, newer, RouterOptions::default());
    assert_eq!(user.get("/hello").await.body, "newer");
}

async fn a_path_before_it_takes_nothing_off_the_target() {
    let routes = vec![
        route("GET", "/api/seen/:x", async |context: Context| {
            context.path().to_owned()
        }),
        route("GET", "/seen/:x", async |_: Context| "without the prefix"),
    ];
    let salvo = published(Salvo::new(), routes);
    let user = User::serve(Router::with_path("api").push(salvo.router())).await;
    assert_eq!(user.get("/api/seen/1").await.body, "/api/seen/1");
    assert_eq!(user.get("/api/api/seen/1").await.status(), 404);
    let outside = user.get("/seen/1").await;
    assert_eq!(outside.status(), 404);
    assert!(!outside.body.contains("no route for"), "{}", outside.body);
}

async fn a_prefix_that_a_middleware_takes_off_and_the_application_adds_is_double() {
    #[handler]
    async fn strip(req: &mut Request) {
        let rest = req
            .uri()
            .path()
            .strip_prefix("/api")
            .unwrap_or_default()
            .parse()
            .unwrap();
        req.set_uri(rest);
    }
    let routes = vec![route("GET", "/api/x", async |context: Context| {
        context.path().to_owned()
    })];
    let salvo = published(Salvo::new(), routes);
    let user = User::serve(Router::with_path("api").hoop(strip).push(salvo.router())).await;
    assert_eq!(user.get("/api/x").await.status(), 404);
    assert_eq!(user.get("/api/api/x").await.body, "/api/x");
}

async fn no_catcher_replaces_a_reply() {
    let bare = async |_: Context| Response::builder().status(418).body(Body::empty()).unwrap();
    let salvo = published(Salvo::new(), vec![route("GET", "/bare", bare)]);
    // The user's error page is for the user's own routes.
    let catching = |router| Service::new(router).catcher(Catcher::default().hoop(page));
    let ours = User::serve(catching(salvo.router())).await;
    let reply = ours.get("/bare").await;
    assert_eq!((reply.status(), reply.body.as_str()), (418, ""));
    assert!(ours.get("/nowhere").await.body.starts_with("{\"message\":"));
    let theirs = User::serve(catching(Router::with_path("own").get(own).push(salvo.router()))).await;
    assert_eq!(theirs.get("/elsewhere").await.body, "the user's page");
    let plain = User::serve(salvo.router()).await;
    assert_eq!(plain.get("/bare").await.body, "");
}

async fn every_form_of_target_is_answered() {
    let routes = vec![
        route("CONNECT", "/", async |context: Context| {
            let path = format!("`{}`", context.path());
            Response::builder().header("x-path", path).body(Body::empty()).unwrap()
        }),
        route("GET", "/seen/*rest", async |context: Context| context.path().to_owned()),
    ];
    let salvo = published(Salvo::new(), routes);
    let user = User::serve(salvo.router()).await;
    let reply = user.send("OPTIONS * HTTP/1.1\r\nhost: a\r\n\r\n").await;
    assert_eq!(reply.status(), 204);
    assert_eq!(reply.all("allow"), ["CONNECT, GET, HEAD, OPTIONS"]);
    assert_eq!(user.get("http://other/seen/x%2Fy/").await.body, "/seen/x%2Fy/");
    let mut client = user.client().await;
    client.send("CONNECT a:80 HTTP/1.1\r\nhost: a:80\r\n\r\n").await;
    let head = client.head().await;
    // The feature `fix-http1-request-uri` drops the authority.
    assert!(
        head.starts_with("HTTP/1.1 200 ") && head.contains("\r\nx-path: `/`\r\n"),
        "{head}"
    );
}

async fn a_head_that_the_router_refuses_ends_the_connection() {
    let user = User::serve(default_salvo().router()).await;
    for head in [
        "GET /hello HTTP/1.1\r\n\r\n",
        "GET /hello HTTP/1.1\r\nhost: a\r\nhost: a\r\n\r\n",
    ] {
        let mut client = user.client().await;
        client.send(head).await;
        let reply = client.rest().await.unwrap();
        assert!(
            reply.starts_with("HTTP/1.1 400 ") && reply.contains("\r\nconnection: close\r\n"),
            "{reply}"
        );
        assert!(reply.contains("{\"message\":"), "{reply}");
    }
}

async fn a_body_framed_in_two_ways_is_as_hyper_reads_it() {
    let user = User::serve(default_salvo().router()).await;
    for (framing, read) in [
        (
            "content-length: 3\r\ntransfer-encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n",
            "1 bytes",
        ),
        ("content-length: 3\r\ncontent-length: 3\r\n\r\nabc", "3 bytes"),
    ] {
        let reply = user.send(&format!("POST /body HTTP/1.1\r\nhost: a\r\n{framing}")).await;
        assert_eq!((reply.status(), reply.body.as_str()), (200, read), "{framing:?}");
    }
}

async fn a_client_that_goes_away_cancels_its_handler() {
    let (observed, began, dropped) = observed("GET");
    let salvo = published(Salvo::new(), vec![observed]);
    let user = User::serve(salvo.router()).await;
    let mut client = user.client().await;
    client.send("GET /observed HTTP/1.1\r\nhost: a\r\n\r\n").await;
    within("the handler's begin", began.notified()).await;
    drop(client);
    within("the handler's drop", dropped.notified()).await;
}

async fn a_broken_off_reply_lacks_its_end() {
    let streamed = async |context: Context| {
        let mut writer = context.open_reply(Response::new(())).unwrap();
        writer.write("one").await.unwrap();
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        drop(writer);
    };
    let salvo = published(Salvo::new(), vec![route("GET", "/streamed", streamed)]);
    let user = User::serve(salvo.router()).await;
    let mut client = user.client().await;
    client.send("GET /streamed HTTP/1.1\r\nhost: a\r\n\r\n").await;
    let reply = client.rest().await.unwrap();
    assert!(reply.ends_with("\r\n\r\n3\r\none\r\n"), "{reply}");
    // In HTTP/1.0 salvo's server cannot signal that the body broke off.
    let mut client = user.client().await;
    client.send("GET /streamed HTTP/1.0\r\n\r\n").await;
    assert!(client.rest().await.unwrap().ends_with("\r\n\r\none"));
}
