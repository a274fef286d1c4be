//! The adapter inside a salvo application that its user already has (spec A9).

use http::{Response, StatusCode};
use pointwork_core::{Body, Context, Route, RouterOptions, Transport as _};
use pointwork_salvo::Salvo;
use pointwork_wire_tests::{cases, connected, observed, publish, published, route, routes, within};
use salvo_core::catcher::Catcher;
use salvo_core::{Depot, FlowCtrl, Request, Router, Service, handler};

use super::user::User;

cases! {
    own;
    in_front_the_rest_goes_on_to_the_users_routers_untouched: A9,
    in_front_no_status_of_salvos_and_no_catcher_replaces_a_reply: A9,
    in_front_a_hoop_that_refuses_is_the_end_of_it: A9,
    in_front_every_table_is_seen_and_without_one_everything_goes_on: A9 S1,
    in_front_two_applications_stand_one_before_the_other: A9,
    in_front_a_client_that_goes_away_cancels_its_handler: A9,
    below_the_users_own_routers_stay: A9,
    below_a_prefix_is_compared_as_it_is_sent: A9,
    later_tables_are_seen_without_mounting_again,
    a_path_before_it_takes_nothing_off_the_target,
    a_prefix_that_a_middleware_takes_off_is_double: G6,
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

/// A router that answers everything.
fn below(routes: Vec<Route>) -> Router {
    connected(Salvo::new(), "", routes).router()
}

/// A route that replies with its pattern.
fn named(path: &'static str) -> Route {
    route("GET", path, move |_| async move { path })
}

/// The user's routers, with a catcher.
fn users() -> Service {
    #[handler]
    async fn see(req: &mut Request, depot: &mut Depot, res: &mut salvo_core::Response) {
        let body = req.payload().await.cloned().unwrap_or_default();
        let (matched, params) = (req.matched_path().to_owned(), format!("{:?}", **req.params()));
        let (headers, extensions) = (req.headers().clone(), req.extensions().len());
        let depot = depot.get_typed::<Salvo>().is_ok();
        res.render(format!(
            "{} {} {matched} {params} {extensions} {depot} {headers:?} {body:?}",
            req.method(),
            req.uri()
        ));
    }
    let router = Router::new()
        .push(Router::with_path("users/{name}").post(see))
        .push(Router::with_path("own/{**rest}").goal(see));
    Service::new(router).catcher(Catcher::default().hoop(page))
}

async fn in_front_the_rest_goes_on_to_the_users_routers_untouched() {
    let ours = vec![named("/users/:id"), named("/own/a"), named("/new"), named("/café")];
    let mounted = User::serve(users().hoop(published(Salvo::new(), ours).in_front())).await;
    let plain = User::serve(users().hoop(ignore)).await;
    for target in ["/users/7", "/own/a", "/new", "/caf%C3%A9", "/%6Eew"] {
        let reply = mounted.get(target).await;
        assert_eq!(reply.status(), 200, "{target}");
        assert!(
            reply.body.starts_with('/') && !reply.body.contains(' '),
            "{target}: {}",
            reply.body
        );
    }
    let mut client = mounted.client().await;
    client
        .send("HEAD /new HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n")
        .await;
    let head = client.rest().await.unwrap();
    assert!(
        head.starts_with("HTTP/1.1 200 ") && head.contains("\r\ncontent-length: 4\r\n"),
        "{head}"
    );
    let body = "content-length: 4\r\nx-mine: 1\r\n\r\nbody";
    for request in [
        &format!("POST /users/7 HTTP/1.1\r\nhost: a\r\n{body}"),
        &format!("DELETE /own/a?b=c HTTP/1.1\r\nhost: a\r\n{body}"),
        "DELETE /users/7 HTTP/1.1\r\nhost: a\r\n\r\n",
        "OPTIONS /new HTTP/1.1\r\nhost: a\r\n\r\n",
        "DELETE /new HTTP/1.1\r\nhost: a\r\n\r\n",
        "GET /new/ HTTP/1.1\r\nhost: a\r\n\r\n",
        "GET /own/%ff HTTP/1.1\r\nhost: a\r\n\r\n",
        "GET /own/%zz HTTP/1.1\r\nhost: a\r\n\r\n",
        "GET //new HTTP/1.1\r\nhost: a\r\n\r\n",
        "GET /own/a HTTP/1.1\r\n\r\n",
        "GET /own/a HTTP/1.1\r\nhost: a\r\nhost: b\r\n\r\n",
        "GET /own/a HTTP/1.1\r\nhost: a b\r\n\r\n",
    ] {
        let (found, expected) = (mounted.send(request).await, plain.send(request).await);
        assert_eq!(found.status(), expected.status(), "{request}");
        assert_eq!(found.all("allow"), expected.all("allow"), "{request}");
        assert_eq!(found.body, expected.body, "{request}");
    }
}

/// Passes everything on.
#[handler]
async fn ignore() {}

async fn in_front_no_status_of_salvos_and_no_catcher_replaces_a_reply() {
    let bare = |status: u16| {
        route("GET", &format!("/{status}"), move |_: Context| async move {
            Response::builder().status(status).body(Body::empty()).unwrap()
        })
    };
    let salvo = published(Salvo::new(), [200, 204, 302, 404, 405, 418, 500].map(bare).into());
    let taken = Router::with_path("{**rest}").goal(own);
    for routers in [Router::new(), taken, Router::with_path("{rest}").post(own)] {
        let service = Service::new(routers).catcher(Catcher::default().hoop(page));
        let user = User::serve(service.hoop(salvo.in_front())).await;
        for status in [200, 204, 302, 404, 405, 418, 500] {
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
    let salvo = published(Salvo::new(), vec![named("/hello")]);
    for routers in [Router::new, || Router::with_path("hello").get(own)] {
        let service = || Service::new(routers());
        let user = User::serve(service().hoop(forbid).hoop(salvo.in_front())).await;
        assert_eq!(user.get("/hello").await.status(), 403);
        let user = User::serve(service().hoop(hide).hoop(salvo.in_front())).await;
        let reply = user.get("/hello").await;
        assert_eq!((reply.status(), reply.body.as_str()), (404, "hidden"));
        let user = User::serve(service().hoop(skip).hoop(salvo.in_front())).await;
        assert_eq!(user.get("/hello").await.status(), 404);
    }
}

async fn in_front_every_table_is_seen_and_without_one_everything_goes_on() {
    let salvo = Salvo::new();
    let user = User::serve(users().hoop(salvo.in_front())).await;
    assert_eq!(user.get("/a").await.body, "the user's page");
    publish(&salvo, vec![named("/a")], RouterOptions::default());
    assert_eq!(user.get("/a").await.body, "/a");
    publish(&salvo, vec![named("/b")], RouterOptions::default());
    assert_eq!(user.get("/a").await.body, "the user's page");
    assert_eq!(user.get("/b").await.body, "/b");
    salvo.close();
    assert_eq!(user.get("/b").await.body, "the user's page");
}

async fn in_front_two_applications_stand_one_before_the_other() {
    let both = |text: &'static str| route("GET", "/both", move |_| async move { text });
    let first = published(Salvo::new(), vec![named("/a"), both("first")]);
    let second = published(Salvo::new(), vec![named("/b"), both("second")]);
    let user = User::serve(users().hoop(first.in_front()).hoop(second.in_front())).await;
    for (target, expected) in [
        ("/a", "/a"),
        ("/b", "/b"),
        ("/both", "first"),
        ("/none", "the user's page"),
    ] {
        assert_eq!(user.get(target).await.body, expected);
    }
}

async fn in_front_a_client_that_goes_away_cancels_its_handler() {
    let (observed, began, dropped) = observed("GET");
    let user = User::serve(users().hoop(published(Salvo::new(), vec![observed]).in_front())).await;
    let mut client = user.client().await;
    client.send("GET /observed HTTP/1.1\r\nhost: a\r\n\r\n").await;
    within("the handler's begin", began.notified()).await;
    drop(client);
    within("the handler's drop", dropped.notified()).await;
}

async fn below_the_users_own_routers_stay() {
    let salvo = connected(
        Salvo::new(),
        "api",
        vec![named("/api"), named("/api/a"), named("/elsewhere")],
    );
    let router = Router::new()
        .push(Router::with_path("api/before").get(own))
        .push(salvo.router())
        .push(Router::with_path("api/behind").get(own))
        .push(Router::with_path("own").get(own));
    let user = User::serve(Service::new(router).catcher(Catcher::default().hoop(page))).await;
    for (target, status, body) in [
        ("/own", 200, "the user's own"),
        ("/api/before", 200, "the user's own"),
        ("/api/a", 200, "/api/a"),
        ("/api", 200, "/api"),
        ("/api/", 404, "{\"message\":\"no route for GET /api/\"}"),
        ("/api//a", 404, "{\"message\":\"no route for GET /api//a\"}"),
        ("/api/behind", 404, "{\"message\":\"no route for GET /api/behind\"}"),
        ("/elsewhere", 404, "the user's page"),
        ("/apix", 404, "the user's page"),
        ("/", 404, "the user's page"),
    ] {
        let reply = user.get(target).await;
        assert_eq!((reply.status(), reply.body.as_str()), (status, body), "{target}");
    }
    for (request, allow) in [
        ("PURGE /api/a HTTP/1.1", "GET, HEAD, OPTIONS"),
        // salvo finds the methods of the user's routers as if ours was not there.
        ("PURGE /own HTTP/1.1", "GET"),
    ] {
        let reply = user.send(&format!("{request}\r\nhost: a\r\n\r\n")).await;
        assert_eq!(reply.status(), 405, "{request}");
        assert_eq!(reply.all("allow"), [allow], "{request}");
    }
    salvo.close();
    assert_eq!(
        user.get("/api/a").await.body,
        "{\"message\":\"the application is closed\"}"
    );
    assert_eq!(user.get("/own").await.body, "the user's own");
}

async fn below_a_prefix_is_compared_as_it_is_sent() {
    let salvo = connected(Salvo::new(), "café/:tenant", vec![named("/café/:tenant/a")]);
    let router = Router::new()
        .push(salvo.router())
        .push(Router::with_path("{**rest}").get(own));
    let user = User::serve(router).await;
    for (target, expected) in [
        ("/caf%C3%A9/1/a", "/café/:tenant/a"),
        ("/caf%c3%a9/1/a", "the user's own"),
        ("/caf%C3%A9", "the user's own"),
        ("//caf%C3%A9/1/a", "the user's own"),
    ] {
        assert_eq!(user.get(target).await.body, expected, "{target}");
    }
}

async fn later_tables_are_seen_without_mounting_again() {
    let salvo = Salvo::new();
    let user = User::serve(
        Router::new()
            .push(salvo.router())
            .push(Router::with_path("hello").get(own)),
    )
    .await;
    assert_eq!(user.get("/hello").await.body, "the user's own", "it is not connected");
    let salvo = connected(salvo, "", routes());
    assert_eq!(user.get("/hello").await.body, "hello");
    let newer = vec![route("GET", "/hello", async |_: Context| "newer")];
    publish(&salvo, newer, RouterOptions::default());
    assert_eq!(user.get("/hello").await.body, "newer");
}

async fn a_path_before_it_takes_nothing_off_the_target() {
    let routes = vec![route("GET", "/api/seen/:x", async |context: Context| {
        context.path().to_owned()
    })];
    let salvo = connected(Salvo::new(), "api", routes);
    let user = User::serve(Router::with_path("api").push(salvo.router())).await;
    assert_eq!(user.get("/api/seen/1").await.body, "/api/seen/1");
    assert_eq!(user.get("/api/api/seen/1").await.status(), 404);
    let outside = user.get("/seen/1").await;
    assert_eq!(outside.status(), 404);
    assert!(!outside.body.contains("no route for"), "{}", outside.body);
}

async fn a_prefix_that_a_middleware_takes_off_is_double() {
    #[handler]
    async fn strip(req: &mut Request) {
        let path = req.uri().path().strip_prefix("/api");
        let path = path.unwrap_or_default().parse().unwrap();
        req.set_uri(path);
    }
    let routes = vec![route("GET", "/api/x", async |context: Context| {
        context.path().to_owned()
    })];
    let salvo = connected(Salvo::new(), "api", routes);
    let user = User::serve(Router::with_path("api").hoop(strip).push(salvo.router())).await;
    assert_eq!(user.get("/api/x").await.status(), 404);
    assert_eq!(user.get("/api/api/x").await.body, "/api/x");
}

async fn no_catcher_replaces_a_reply() {
    let bare = async |_: Context| Response::builder().status(418).body(Body::empty()).unwrap();
    let salvo = connected(Salvo::new(), "", vec![route("GET", "/bare", bare)]);
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
    let user = User::serve(below(routes)).await;
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
    let user = User::serve(below(routes())).await;
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
    let user = User::serve(below(routes())).await;
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
    let user = User::serve(below(vec![observed])).await;
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
    let user = User::serve(below(vec![route("GET", "/streamed", streamed)])).await;
    let mut client = user.client().await;
    client.send("GET /streamed HTTP/1.1\r\nhost: a\r\n\r\n").await;
    let reply = client.rest().await.unwrap();
    assert!(reply.ends_with("\r\n\r\n3\r\none\r\n"), "{reply}");
    // In HTTP/1.0 salvo's server cannot signal that the body broke off.
    let mut client = user.client().await;
    client.send("GET /streamed HTTP/1.0\r\n\r\n").await;
    assert!(client.rest().await.unwrap().ends_with("\r\n\r\none"));
}
