//! The adapter inside a salvo application that its user already has (spec A9): what only salvo has.

use http::{Response, StatusCode};
use pointwork_core::{Body, Context, Route};
use pointwork_salvo::Salvo;
use pointwork_wire_tests::users::salvo::serve;
use pointwork_wire_tests::{broken_off, cases, connected, published, route, routes};
use salvo_core::catcher::Catcher;
use salvo_core::{FlowCtrl, Request, Router, Service, handler};

cases! {
    own;
    in_front_no_status_of_salvos_and_no_catcher_replaces_a_reply: A9,
    in_front_a_hoop_that_refuses_is_the_end_of_it: A9,
    below_salvo_finds_the_methods_of_the_users_routers: A9,
    below_a_path_before_it_takes_nothing_off_the_target,
    below_a_prefix_that_a_middleware_takes_off_is_double: G6,
    no_catcher_replaces_a_reply,
    every_form_of_target_is_answered,
    a_head_that_the_router_refuses_ends_the_connection,
    a_body_framed_in_two_ways_is_as_hyper_reads_it,
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

/// A router that answers everything.
fn below(routes: Vec<Route>) -> Router {
    connected(Salvo::new(), "", routes).router()
}

async fn in_front_no_status_of_salvos_and_no_catcher_replaces_a_reply() {
    let statuses = [200, 204, 302, 404, 405, 418, 500];
    let bare = |status: u16| {
        route("GET", &format!("/{status}"), move |_: Context| async move {
            Response::builder().status(status).body(Body::empty()).unwrap()
        })
    };
    let salvo = published(Salvo::new(), statuses.map(bare).into());
    let taken = Router::with_path("{**rest}").goal(own);
    for routers in [Router::new(), taken, Router::with_path("{rest}").post(own)] {
        let user = serve(catching(routers).hoop(salvo.in_front())).await;
        for status in statuses {
            let reply = user.get(&format!("/{status}")).await;
            assert_eq!((reply.status(), reply.body.as_str()), (status, ""));
        }
    }
}

async fn in_front_a_hoop_that_refuses_is_the_end_of_it() {
    #[handler]
    async fn forbid(res: &mut salvo_core::Response) {
        res.status_code(StatusCode::FORBIDDEN);
    }
    #[handler]
    async fn hide(res: &mut salvo_core::Response) {
        res.status_code(StatusCode::NOT_FOUND);
        res.render("hidden");
    }
    #[handler]
    async fn skip(res: &mut salvo_core::Response, ctrl: &mut FlowCtrl) {
        res.status_code(StatusCode::NOT_FOUND);
        ctrl.skip_rest();
    }
    let salvo = published(Salvo::new(), routes());
    for routers in [Router::new, || Router::with_path("hello").get(own)] {
        let service = || Service::new(routers());
        for (service, status, text) in [
            (service().hoop(forbid), 403, ""),
            (service().hoop(hide), 404, "hidden"),
            (service().hoop(skip), 404, ""),
        ] {
            let reply = serve(service.hoop(salvo.in_front())).await.get("/hello").await;
            assert_eq!(reply.status(), status);
            assert!(reply.body.contains(text) && reply.body != "hello", "{}", reply.body);
        }
    }
}

/// A route that replies with its path, below a prefix.
fn api() -> Router {
    let path = route("GET", "/api/x", async |context: Context| context.path().to_owned());
    connected(Salvo::new(), "api", vec![path]).router()
}

async fn below_salvo_finds_the_methods_of_the_users_routers() {
    let user = serve(Router::new().push(api()).push(Router::with_path("own").get(own))).await;
    for (path, allow) in [("/api/x", "GET, HEAD, OPTIONS"), ("/own", "GET")] {
        let reply = user.ask("PURGE", path).await;
        assert_eq!(reply.status(), 405, "{path}");
        assert_eq!(reply.all("allow"), [allow], "{path}");
    }
}

async fn below_a_path_before_it_takes_nothing_off_the_target() {
    let user = serve(Router::with_path("api").push(api())).await;
    assert_eq!(user.get("/api/x").await.body, "/api/x");
    assert_eq!(user.get("/api/api/x").await.status(), 404);
    let outside = user.get("/x").await;
    assert_eq!(outside.status(), 404);
    assert!(!outside.body.contains("no route for"), "{}", outside.body);
}

async fn below_a_prefix_that_a_middleware_takes_off_is_double() {
    #[handler]
    async fn strip(req: &mut Request) {
        let path = req.uri().path().strip_prefix("/api");
        let path = path.unwrap_or_default().parse().unwrap();
        req.set_uri(path);
    }
    let user = serve(Router::with_path("api").hoop(strip).push(api())).await;
    assert_eq!(user.get("/api/x").await.status(), 404);
    assert_eq!(user.get("/api/api/x").await.body, "/api/x");
}

/// The user's error page is for the user's own routes.
fn catching(router: Router) -> Service {
    Service::new(router).catcher(Catcher::default().hoop(page))
}

async fn no_catcher_replaces_a_reply() {
    let bare = async |_: Context| Response::builder().status(418).body(Body::empty()).unwrap();
    let salvo = connected(Salvo::new(), "", vec![route("GET", "/bare", bare)]);
    let ours = serve(catching(salvo.router())).await;
    let reply = ours.get("/bare").await;
    assert_eq!((reply.status(), reply.body.as_str()), (418, ""));
    assert!(ours.get("/nowhere").await.body.starts_with("{\"message\":"));
    let theirs = serve(catching(Router::with_path("own").get(own).push(api()))).await;
    assert_eq!(theirs.get("/elsewhere").await.body, "the user's page");
    let plain = serve(salvo.router()).await;
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
    let user = serve(below(routes)).await;
    let reply = user.exchange("OPTIONS * HTTP/1.1\r\nhost: a\r\n\r\n").await;
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
    let user = serve(below(routes())).await;
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
    let user = serve(below(routes())).await;
    for (framing, read) in [
        (
            "content-length: 3\r\ntransfer-encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n",
            "1 bytes",
        ),
        ("content-length: 3\r\ncontent-length: 3\r\n\r\nabc", "3 bytes"),
    ] {
        let reply = user
            .exchange(&format!("POST /body HTTP/1.1\r\nhost: a\r\n{framing}"))
            .await;
        assert_eq!((reply.status(), reply.body.as_str()), (200, read), "{framing:?}");
    }
}

async fn a_broken_off_reply_lacks_its_end() {
    let (streamed, gate) = broken_off();
    let user = serve(below(vec![streamed])).await;
    let mut client = user.client().await;
    client.send("GET /streamed HTTP/1.1\r\nhost: a\r\n\r\n").await;
    client.head().await;
    assert_eq!(client.exactly(8).await, b"3\r\none\r\n");
    gate.open();
    assert_eq!(client.rest().await.unwrap(), "");
    // In HTTP/1.0 salvo's server cannot signal that the body broke off.
    let mut client = user.client().await;
    client.send("GET /streamed HTTP/1.0\r\n\r\n").await;
    client.head().await;
    assert_eq!(client.exactly(3).await, b"one");
    gate.open();
    assert_eq!(client.rest().await.unwrap(), "");
}
