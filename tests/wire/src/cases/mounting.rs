//! The adapter in an application that its user already has (spec A9): in front of the user's own, and below a prefix.
//!
//! The application is [the same one](crate::users) on every framework, on a server of the user's. What a single framework
//! has besides is in `tests/wire/tests/wire`.

use pointwork_core::{Context, Route, RouterOptions};

use crate::users::{Application, Mounted, User};
use crate::{block_on, connected, observed, publish, published, route, routes, within};

/// As [`cases!`](crate::cases), of functions that are generic over the adapter.
macro_rules! cases {
    ($($name:ident: $($row:ident)+),+ $(,)?) => {
        /// The cases of this file.
        pub(crate) fn all() -> Vec<crate::Case> {
            vec![$(crate::Case::new(module_path!(), stringify!($name), &[$(stringify!($row)),+], |on| match on.name {
                "axum" => block_on($name::<pointwork_axum::Axum>()),
                "trillium" => block_on($name::<pointwork_trillium::Trillium>()),
                "actix" => block_on($name::<pointwork_actix::Actix>()),
                "salvo" => block_on($name::<pointwork_salvo::Salvo>()),
                "hyper" => block_on($name::<pointwork_hyper::Hyper>()),
                other => panic!("no application of a user for `{other}`"),
            })),+]
        }
    };
}

cases! {
    in_front_the_rest_goes_on_to_the_users_own_untouched: A9 A2,
    in_front_the_body_of_the_rest_is_not_read: A9,
    in_front_every_table_is_seen_and_without_one_everything_goes_on: A9 S1,
    in_front_two_applications_stand_one_before_the_other: A9,
    in_front_it_may_be_mounted_twice: A9,
    in_front_middleware_outside_sees_all_and_inside_the_rest: A9 H2,
    in_front_a_client_that_goes_away_cancels_its_handler: A9,
    below_everything_is_answered_and_the_rest_goes_on: A9,
    below_a_route_of_the_users_before_it_stays: A9,
    below_a_route_of_the_users_behind_it_is_never_reached: A9,
    below_a_prefix_is_compared_as_it_is_sent: A9,
    below_later_tables_are_seen_and_after_the_last_it_is_503: A9 S1,
    below_without_a_connection_everything_goes_on: A9,
    below_without_a_prefix_middleware_stands_around_everything: A9 H2,
    below_a_client_that_goes_away_cancels_its_handler: A9,
    bodies_arrive_however_they_are_framed: A9,
    the_target_and_the_headers_arrive_as_they_were_sent: A9,
    a_limit_for_bodies_around_it_keeps_its_status: A9,
    the_users_upgrades_keep_working: A9,
}

/// A route that replies with its pattern.
fn named(path: &'static str) -> Route {
    route("GET", path, move |_| async move { path })
}

/// A route that replies with the user that middleware has set, and a parameter.
fn user_route() -> Route {
    route("GET", "/user/:id", async |context: Context| {
        let user = context.extension("user").unwrap_or_default();
        format!("{user} {}", context.param("id").unwrap_or_default())
    })
}

/// Routes whose paths the user has too, and others.
fn ours() -> Vec<Route> {
    let own = ["/users/:id", "/unread", "/socket/:id", "/café", "/a"].map(named);
    let dav = route("PROPFIND", "/dav", async |_: Context| "dav");
    [routes(), own.into(), vec![user_route(), dav]].concat()
}

fn in_front<A: Mounted>(routes: Vec<Route>) -> Application<A> {
    Application::in_front([&published(A::default(), routes)])
}

fn below<A: Mounted>(prefix: &str, routes: Vec<Route>) -> Application<A> {
    Application::below(&connected(A::default(), prefix, routes))
}

/// An adapter without a prefix.
fn answering<A: Mounted>(adapter: &A) -> Application<A> {
    Application {
        answers_all: true,
        ..Application::below(adapter)
    }
}

fn everything<A: Mounted>(routes: Vec<Route>) -> Application<A> {
    answering(&connected(A::default(), "", routes))
}

/// The rest of a head, and a body.
const BODY: &str = "content-length: 4\r\n\r\nbody";

/// Asserts that the user's own answers, and not the adapter.
async fn assert_own(user: &User, line: &str) {
    let reply = user.send(line, BODY).await;
    let own = format!("own {line} \"body\" ada ");
    assert!(reply.body.starts_with(&own), "{line}: {reply:?}");
}

async fn in_front_the_rest_goes_on_to_the_users_own_untouched<A: Mounted>() {
    let mounted = in_front::<A>(ours()).serve().await;
    let plain = Application::<A>::default().serve().await;
    for (target, body) in [
        ("/users/7", "/users/:id"),
        ("/%75sers/7", "/users/:id"),
        ("/unread", "/unread"),
        ("/caf%C3%A9", "/café"),
        ("/echo/a%20b?c", "a b"),
        ("/user/7", "ada 7"),
    ] {
        let reply = mounted.get(target).await;
        assert_eq!((reply.status(), reply.body.as_str()), (200, body), "{target}");
        let head = mounted.ask("HEAD", target).await;
        assert_eq!((head.status(), head.body.as_str()), (200, ""), "{target}");
        assert_eq!(head.all("content-length"), [body.len().to_string()], "{target}");
    }
    assert_eq!(mounted.ask("PROPFIND", "/dav").await.body, "dav");
    for line in [
        "POST /users/7",
        "DELETE /hello",
        "OPTIONS /hello",
        "POST /hello?a=b",
        "GET /hello/",
        "GET /none?a=b",
        "GET /",
        "GET /users/7/8",
        "GET //hello",
        "PROPFIND /a",
        "GET /echo/%ff",
        "GET /echo/%zz",
        "GET /none?a=%zz",
    ] {
        assert_own(&mounted, line).await;
    }
    // The guard refuses some of these, and so a handler never sees them. What a server refuses, it refuses as without a mount.
    for (line, rest) in [
        ("POST /users/7", "x-mine: 1\r\nX-Mine: 2\r\n\r\n"),
        ("DELETE /users/7", "\r\n"),
        ("OPTIONS /users/7", "\r\n"),
        ("PURGE /users/7", "\r\n"),
        ("propfind /dav", "\r\n"),
        ("GET /users/7/", "\r\n"),
        ("GET /hello?\"", "\r\n"),
        ("OPTIONS *", "\r\n"),
        ("GET /hello", "host: b\r\n\r\n"),
        ("GET /hello", "x: \x7f\r\n\r\n"),
    ] {
        assert_same(&mounted, &plain, &format!("{line} HTTP/1.1\r\nhost: a\r\n{rest}")).await;
    }
    for host in ["", "host: a b\r\n", "host: a:b\r\n"] {
        assert_same(&mounted, &plain, &format!("GET /hello HTTP/1.1\r\n{host}\r\n")).await;
    }
    // A body without an end, on some servers.
    let connect = async |user: User| {
        let mut client = user.client().await;
        client.send("CONNECT a:80 HTTP/1.1\r\nhost: a:80\r\n\r\n").await;
        client.finish().await;
        let rest = client.rest().await.unwrap_or_default();
        let (head, body) = rest.split_once("\r\n\r\n").unwrap_or_default();
        (head.lines().next().map(str::to_owned), body.to_owned())
    };
    assert_eq!(connect(mounted).await, connect(plain).await);
}

/// Asserts that a request gets the same reply of both, and that it is no reply of a route.
async fn assert_same(mounted: &User, plain: &User, request: &str) {
    let (mut found, mut expected) = (mounted.client().await, plain.client().await);
    found.send(request).await;
    expected.send(request).await;
    let (found, expected) = (found.reply().await, expected.reply().await);
    assert_eq!(found.status(), expected.status(), "{request}");
    assert_eq!(found.all("allow"), expected.all("allow"), "{request}");
    assert_eq!(found.body, expected.body, "{request}");
    assert!(
        found.body.is_empty() || found.body.starts_with("own "),
        "{request}: {}",
        found.body
    );
}

async fn in_front_the_body_of_the_rest_is_not_read<A: Mounted>() {
    let user = in_front::<A>(ours()).serve().await;
    for line in ["POST /unread", "GET /unread"] {
        let reply = user.send(line, "content-length: 4\r\n\r\n").await;
        assert_eq!(reply.status(), 200, "the reply to {line} waits for no body");
    }
    // It is read when a handler does, the user's or the adapter's.
    for (path, body) in [("/users/7", "own POST /users/7 \"ok\" ada "), ("/body", "2 bytes")] {
        let mut client = user.client().await;
        let head = "host: a\r\nexpect: 100-continue\r\ncontent-length: 2\r\n\r\n";
        client.send(format!("POST {path} HTTP/1.1\r\n{head}")).await;
        assert_eq!(client.head().await, "HTTP/1.1 100 Continue\r\n\r\n", "{path}");
        client.send("ok").await;
        let reply = client.reply().await;
        assert!(reply.body.starts_with(body), "{path}: {}", reply.body);
    }
}

async fn in_front_every_table_is_seen_and_without_one_everything_goes_on<A: Mounted>() {
    let adapter = A::default();
    let user = Application::in_front([&adapter]).serve().await;
    assert_own(&user, "GET /a").await;
    publish(&adapter, vec![named("/a")], RouterOptions::default());
    assert_eq!(user.get("/a").await.body, "/a");
    publish(&adapter, vec![named("/b")], RouterOptions::default());
    assert_own(&user, "GET /a").await;
    assert_eq!(user.get("/b").await.body, "/b");
    adapter.close();
    assert_own(&user, "GET /b").await;
}

async fn in_front_two_applications_stand_one_before_the_other<A: Mounted>() {
    let both = |text: &'static str| route("GET", "/both", move |_| async move { text });
    let first = published(A::default(), vec![named("/a"), both("first")]);
    let second = published(A::default(), vec![named("/b"), both("second")]);
    let user = Application::in_front([&first, &second]).serve().await;
    let replies = [("/a", 200, "/a"), ("/b", 200, "/b"), ("/both", 200, "first")];
    user.assert_replies(&replies).await;
    assert_own(&user, "GET /none").await;
}

async fn in_front_it_may_be_mounted_twice<A: Mounted>() {
    let adapter = published(A::default(), ours());
    let user = Application::in_front([&adapter, &adapter]).serve().await;
    assert_eq!(user.get("/hello").await.body, "hello");
    assert_own(&user, "POST /hello").await;
    assert_own(&user, "GET /none").await;
}

async fn in_front_middleware_outside_sees_all_and_inside_the_rest<A: Mounted>() {
    let user = in_front::<A>(ours()).serve().await;
    for (target, is_ours) in [("/echo/7", true), ("/users/7", true), ("/none", false)] {
        let reply = user.get(target).await;
        assert_eq!(reply.all("x-outer"), ["yes"], "{target}");
        assert_eq!(reply.all("x-inner").is_empty(), is_ours, "{target}");
    }
}

/// Asserts that a handler is dropped with its client, however the client's request ends.
async fn assert_cancelled<A: Mounted>(mount: fn(Vec<Route>) -> Application<A>, requests: &[(&str, &str)]) {
    for (method, rest) in requests {
        let (observed, began, dropped) = observed(method);
        let user = mount(vec![observed]).serve().await;
        let mut client = user.client().await;
        client
            .send(format!("{method} /observed HTTP/1.1\r\nhost: a\r\n{rest}"))
            .await;
        within("the handler's begin", began.notified()).await;
        drop(client);
        within("the handler's drop", dropped.notified()).await;
    }
}

async fn in_front_a_client_that_goes_away_cancels_its_handler<A: Mounted>() {
    assert_cancelled::<A>(in_front, &[("GET", "\r\n")]).await;
}

async fn below_a_client_that_goes_away_cancels_its_handler<A: Mounted>() {
    let (whole, part) = ("content-length: 3\r\n\r\nabc", "content-length: 3\r\n\r\nab");
    assert_cancelled::<A>(everything, &[("GET", "\r\n"), ("POST", whole), ("POST", part)]).await;
}

async fn below_everything_is_answered_and_the_rest_goes_on<A: Mounted>() {
    let user = below::<A>("api", ["/api", "/api/a", "/elsewhere"].map(named).into())
        .serve()
        .await;
    for (line, status, body) in [
        ("GET /api", 200, "/api"),
        ("GET /api/a", 200, "/api/a"),
        ("GET /api/a?b", 200, "/api/a"),
        ("GET /api/", 404, "{\"message\":\"no route for GET /api/\"}"),
        ("GET /api/?a", 404, "{\"message\":\"no route for GET /api/\"}"),
        ("GET /api/none/x", 404, "{\"message\":\"no route for GET /api/none/x\"}"),
        ("GET /api//a", 404, "{\"message\":\"no route for GET /api//a\"}"),
        ("POST /api/a", 405, "{\"message\":\"POST is not allowed for /api/a\"}"),
        ("OPTIONS /api/a", 204, ""),
    ] {
        let reply = user.send(line, BODY).await;
        assert_eq!((reply.status(), reply.body.as_str()), (status, body), "{line}");
        assert!(reply.all("x-inner").is_empty(), "{line}");
        let allow: &[&str] = if matches!(status, 204 | 405) {
            &["GET, HEAD, OPTIONS"]
        } else {
            &[]
        };
        assert_eq!(reply.all("allow"), allow, "{line}");
    }
    for target in ["/api/%zz", "/api/%ff"] {
        assert_eq!(user.get(target).await.status(), 400, "{target}");
    }
    for line in [
        "POST /users/7",
        "POST /apix",
        "GET /ap",
        "GET /elsewhere",
        "GET /",
        "GET /%61pi/a",
        "GET //api/a",
        "GET /x/api/a",
        "GET /?/api",
    ] {
        assert_own(&user, line).await;
    }
}

async fn below_a_route_of_the_users_before_it_stays<A: Mounted>() {
    let user = below::<A>("api", vec![named("/api/a")]).serve().await;
    assert_eq!(user.get("/api/before").await.body, "before");
    assert_eq!(user.get("/api/before/x").await.status(), 404);
}

async fn below_a_route_of_the_users_behind_it_is_never_reached<A: Mounted>() {
    let user = below::<A>("api", vec![named("/api/a")]).serve().await;
    let expected = "{\"message\":\"no route for GET /api/behind\"}";
    assert_eq!(user.get("/api/behind").await.body, expected);
}

async fn below_a_prefix_is_compared_as_it_is_sent<A: Mounted>() {
    let routes = ["/café/:tenant/a", "/café/:tenant"].map(named).into();
    let user = below::<A>("café/:tenant", routes).serve().await;
    assert_eq!(user.get("/caf%C3%A9/1/a").await.body, "/café/:tenant/a");
    assert_eq!(user.get("/caf%C3%A9/1").await.body, "/café/:tenant");
    for line in ["GET /caf%c3%a9/1/a", "GET /caf%C3%A9", "GET //caf%C3%A9/1/a"] {
        assert_own(&user, line).await;
    }
}

async fn below_later_tables_are_seen_and_after_the_last_it_is_503<A: Mounted>() {
    let adapter = connected(A::default(), "api", Vec::new());
    let user = Application::below(&adapter).serve().await;
    assert_eq!(user.get("/api/a").await.status(), 404);
    publish(&adapter, vec![named("/api/a")], RouterOptions::default());
    assert_eq!(user.get("/api/a").await.body, "/api/a");
    publish(&adapter, vec![named("/api/b")], RouterOptions::default());
    assert_eq!(user.get("/api/a").await.status(), 404);
    assert_eq!(user.get("/api/b").await.body, "/api/b");
    adapter.close();
    let reply = user.get("/api/b").await;
    assert_eq!(reply.status(), 503);
    assert_eq!(reply.body, "{\"message\":\"the application is closed\"}");
    assert_eq!(reply.all("retry-after"), ["1"]);
    assert_own(&user, "GET /none").await;
}

/// The prefix is known from the connection on.
async fn below_without_a_connection_everything_goes_on<A: Mounted>() {
    let adapter = A::default();
    let user = Application::below(&adapter).serve().await;
    assert_own(&user, "GET /api/a").await;
    connected(adapter, "api", vec![named("/api/a")]);
    assert_eq!(user.get("/api/a").await.body, "/api/a");
}

async fn below_without_a_prefix_middleware_stands_around_everything<A: Mounted>() {
    let adapter = connected(A::default(), "", vec![user_route()]);
    let user = answering(&adapter).serve().await;
    for (target, status, body) in [
        ("/api/before", 200, "before"),
        ("/user/7", 200, "ada 7"),
        ("/none", 404, "{\"message\":\"no route for GET /none\"}"),
        ("/", 404, "{\"message\":\"no route for GET /\"}"),
    ] {
        let reply = user.get(target).await;
        assert_eq!((reply.status(), reply.body.as_str()), (status, body), "{target}");
        assert_eq!(reply.all("x-outer"), ["yes"], "{target}");
    }
    publish(&adapter, vec![named("/later")], RouterOptions::default());
    assert_eq!(user.get("/later").await.body, "/later");
    assert_eq!(user.get("/user/7").await.status(), 404);
}

async fn bodies_arrive_however_they_are_framed<A: Mounted>() {
    let length = route("POST", "/api/body", async |context: Context| {
        Ok::<_, pointwork_core::Failure>(format!("{} bytes", context.bytes().await?.len()))
    });
    let both = Application {
        below: Some(connected(A::default(), "api", vec![length])),
        ..in_front::<A>(ours())
    };
    let user = both.serve().await;
    let long = format!("content-length: 60000\r\n\r\n{}", "x".repeat(60_000));
    for (path, own) in [("/body", false), ("/api/body", false), ("/users/7", true)] {
        for (parts, body) in [
            (["content-length: 15\r\n\r\nabcde", "abcde", "abcde"], "abcdeabcdeabcde"),
            (
                [
                    "transfer-encoding: chunked\r\n\r\n",
                    "2\r\nab\r\n1\r\nc\r\n",
                    "0\r\n\r\n",
                ],
                "abc",
            ),
            (["content-length: 0\r\n\r\n", "", ""], ""),
            ([long.as_str(), "", ""], &long[long.len() - 60_000..]),
        ] {
            let mut client = user.client().await;
            client.send(format!("POST {path} HTTP/1.1\r\nhost: a\r\n")).await;
            client.send_in_parts(parts).await.unwrap();
            let reply = client.reply().await;
            let expected = if own {
                format!("own POST {path} {body:?} ")
            } else {
                format!("{} bytes", body.len())
            };
            assert!(reply.body.starts_with(&expected), "{path}: {}", reply.body);
            if reply.all("connection").is_empty() {
                assert_eq!(client.get("/echo/1").await.body, "1", "{path}: the next request");
            }
        }
    }
}

async fn the_target_and_the_headers_arrive_as_they_were_sent<A: Mounted>() {
    let mine = route("GET", "/mine", async |context: Context| {
        let values = context.headers().get_all("x-a").iter();
        values
            .map(|value| value.to_str().unwrap())
            .collect::<Vec<_>>()
            .join(" ")
    });
    for mount in [in_front::<A>, everything] {
        let user = mount([routes(), vec![mine.clone()]].concat()).serve().await;
        for (target, seen) in [
            (
                "/seen/a%2Fb%20c/../d//e?q=%41&r",
                "/seen/a%2Fb%20c/../d//e Some(\"q=%41&r\")",
            ),
            ("http://a/seen/x%2Fy/?", "/seen/x%2Fy/ Some(\"\")"),
        ] {
            assert_eq!(user.get(target).await.body, seen, "{target}");
        }
        assert_eq!(user.send("GET /mine", "x-a: 1\r\nX-A: 2\r\n\r\n").await.body, "1 2");
    }
}

async fn a_limit_for_bodies_around_it_keeps_its_status<A: Mounted>() {
    for mount in [in_front::<A>, everything] {
        let limited = Application {
            body_limit: Some(3),
            ..mount(ours())
        };
        let user = limited.serve().await;
        for framed in [
            "content-length: 4\r\n\r\nfour",
            "transfer-encoding: chunked\r\n\r\n4\r\nfour\r\n0\r\n\r\n",
        ] {
            let reply = user.send("POST /body", framed).await;
            assert_eq!(reply.status(), 413, "{framed}");
            assert!(
                reply.body.starts_with("{\"message\":\"the body is longer than "),
                "{}",
                reply.body
            );
        }
        assert_eq!(
            user.send("POST /body", "content-length: 3\r\n\r\nabc").await.body,
            "3 bytes"
        );
    }
}

async fn the_users_upgrades_keep_working<A: Mounted>() {
    let both = Application {
        below: Some(connected(A::default(), "api", Vec::new())),
        ..in_front::<A>(ours())
    };
    let user = both.serve().await;
    for (path, status) in [("/socket", 101), ("/hello", 200)] {
        let mut client = user.client().await;
        let head = "host: a\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n";
        client.send(format!("GET {path} HTTP/1.1\r\n{head}")).await;
        let head = client.head().await;
        assert!(head.starts_with(&format!("HTTP/1.1 {status} ")), "{head}");
        if status == 101 {
            client.send("one").await;
            assert_eq!(client.exactly(3).await, b"one");
        }
    }
}
