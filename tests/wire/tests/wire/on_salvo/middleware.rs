//! The user's own middleware around the adapter: its effect on requests, and the requests and replies that it sees.

use std::sync::{Arc, Mutex};

use http::Response;
use pointwork_core::{Context, Extensions};
use pointwork_salvo::Salvo;
use salvo_core::{Depot, FlowCtrl, Handler, Request, Router, async_trait, handler};

use pointwork_wire_tests::users::salvo::serve;
use pointwork_wire_tests::{cases, connected, route, routes};

cases! {
    own;
    named_values_come_from_the_extensions_or_from_the_depot,
    headers_of_a_middleware_stay_unless_the_reply_has_them,
    a_middleware_that_answers_is_the_end_of_it,
    nothing_of_the_users_is_overwritten,
    a_body_that_a_middleware_has_read_is_handed_on,
    a_limit_that_a_middleware_sets_is_kept,
    a_limit_of_salvos_helpers_is_none_of_the_handlers,
    a_whole_reply_reaches_middleware_whole_and_a_streamed_one_as_a_stream,
}

fn named(user: &str) -> Extensions {
    let extensions = Extensions::default();
    extensions.set("user", user);
    extensions
}

fn salvo() -> Salvo {
    let mut all = routes();
    all.push(route("GET", "/user", async |context: Context| {
        context.extension("user").unwrap_or_default()
    }));
    all.push(route("GET", "/:a/files/*rest", async |_: Context| "files"));
    connected(Salvo::new(), "", all)
}

async fn named_values_come_from_the_extensions_or_from_the_depot() {
    #[handler]
    async fn to_extensions(req: &mut Request) {
        req.extensions_mut().insert(named("ada"));
    }
    #[handler]
    async fn to_depot(depot: &mut Depot) {
        depot.insert_typed(named("grace"));
    }
    let user = serve(salvo().router().hoop(to_extensions)).await;
    assert_eq!(user.get("/user").await.body, "ada");
    let user = serve(salvo().router().hoop(to_depot)).await;
    assert_eq!(user.get("/user").await.body, "grace");
    let user = serve(Router::with_hoop(to_depot).hoop(to_extensions).push(salvo().router())).await;
    assert_eq!(user.get("/user").await.body, "ada");
}

async fn headers_of_a_middleware_stay_unless_the_reply_has_them() {
    #[handler]
    async fn mark(res: &mut salvo_core::Response) {
        for (name, value) in [
            ("x-mine", "yes"),
            ("content-type", "text/html"),
            ("content-type", "text/css"),
        ] {
            let _ = res.add_header(name, value, false);
        }
    }
    let user = serve(salvo().router().hoop(mark)).await;
    let reply = user.get("/hello").await;
    assert_eq!(reply.all("x-mine"), ["yes"]);
    assert_eq!(reply.all("content-type"), ["text/plain; charset=utf-8"]);
}

async fn a_middleware_that_answers_is_the_end_of_it() {
    #[handler]
    async fn refuse(res: &mut salvo_core::Response) {
        res.status_code(http::StatusCode::FORBIDDEN).body("not you");
    }
    let user = serve(salvo().router().hoop(refuse)).await;
    let reply = user.get("/hello").await;
    assert_eq!((reply.status(), reply.body.as_str()), (403, "not you"));
}

type Seen = Arc<Mutex<Vec<String>>>;

#[derive(Clone)]
struct Mine;

/// Adds a value to the request's extensions and to the depot, and records the request before and the reply after the
/// handler.
struct Around(Seen);

#[async_trait]
impl Handler for Around {
    async fn handle(&self, req: &mut Request, depot: &mut Depot, res: &mut salvo_core::Response, ctrl: &mut FlowCtrl) {
        req.extensions_mut().insert(Mine);
        depot.insert_typed(Mine);
        let see = |req: &Request, depot: &Depot| {
            let mine = req.extensions().get::<Mine>().is_some() && depot.get_typed::<Mine>().is_ok();
            let (extensions, tail) = (req.extensions().len(), req.params().tail());
            let (matched, params) = (req.matched_path(), &**req.params());
            format!("{matched} {params:?} {tail:?} {extensions} {mine} {}", req.uri().path())
        };
        let before = see(req, depot);
        ctrl.call_next(req, depot, res).await;
        let agent = req.header::<String>("user-agent").unwrap_or_default();
        assert_eq!(agent, "me", "only the body is gone");
        self.0.lock().unwrap().extend([before, see(req, depot)]);
    }
}

async fn nothing_of_the_users_is_overwritten() {
    for (path, expected) in [
        (None, " {} None "),
        (Some("{tenant}"), "{tenant} {\"tenant\": \"a/b\"} None "),
        (
            Some("{**rest}"),
            "{**rest} {\"rest\": \"a/b/files/c d/e\"} Some(\"a/b/files/c d/e\") ",
        ),
    ] {
        let seen = Seen::default();
        let ours = salvo().router().hoop(Around(seen.clone()));
        let user = serve(match path {
            Some(path) => Router::with_path(path).push(ours),
            None => ours,
        })
        .await;
        let request = "GET /a%2Fb/files/c%20d/e HTTP/1.1\r\nhost: a\r\nuser-agent: me\r\n\r\n";
        assert_eq!(user.exchange(request).await.body, "files");
        let seen = seen.lock().unwrap().clone();
        assert!(seen[0].starts_with(expected), "{}", seen[0]);
        assert!(seen[0].ends_with(" true /a%2Fb/files/c%20d/e"), "{}", seen[0]);
        assert_eq!(seen[0], seen[1]);
    }
}

async fn a_body_that_a_middleware_has_read_is_handed_on() {
    #[handler]
    async fn read(req: &mut Request) {
        assert_eq!(req.payload().await.unwrap(), "seven b");
    }
    let request = "POST /body HTTP/1.1\r\nhost: a\r\ncontent-length: 7\r\n\r\nseven b";
    let user = serve(salvo().router().hoop(read)).await;
    assert_eq!(user.exchange(request).await.body, "7 bytes");
    let user = serve(salvo().router()).await;
    assert_eq!(user.exchange(request).await.body, "7 bytes");
}

async fn a_limit_that_a_middleware_sets_is_kept() {
    #[handler]
    async fn limit(req: &mut Request) {
        req.limit_body(4);
    }
    let user = serve(salvo().router().hoop(limit)).await;
    for framing in [
        "content-length: 5\r\n\r\n01234",
        "transfer-encoding: chunked\r\n\r\n5\r\n01234\r\n0\r\n\r\n",
    ] {
        let reply = user
            .exchange(&format!("POST /body HTTP/1.1\r\nhost: a\r\n{framing}"))
            .await;
        assert_eq!(reply.status(), 413, "{framing}: {}", reply.body);
        assert!(reply.body.contains("longer than 4 bytes"), "{}", reply.body);
    }
    let fits = user
        .exchange("POST /body HTTP/1.1\r\nhost: a\r\ncontent-length: 4\r\n\r\n0123")
        .await;
    assert_eq!(fits.body, "4 bytes");
}

async fn a_limit_of_salvos_helpers_is_none_of_the_handlers() {
    let user = serve(salvo().router()).await;
    let long = "x".repeat(200 * 1024);
    let reply = user
        .exchange(&format!(
            "POST /body HTTP/1.1\r\nhost: a\r\ncontent-length: {}\r\n\r\n{long}",
            long.len()
        ))
        .await;
    assert_eq!(reply.body, "204800 bytes");
}

async fn a_whole_reply_reaches_middleware_whole_and_a_streamed_one_as_a_stream() {
    #[handler]
    async fn note(req: &mut Request, depot: &mut Depot, res: &mut salvo_core::Response, ctrl: &mut FlowCtrl) {
        ctrl.call_next(req, depot, res).await;
        let kind = if res.body.is_once() { "once" } else { "boxed" };
        let _ = res.add_header("x-body", kind, true);
    }
    let streamed = async |context: Context| {
        let mut writer = context.open_reply(Response::new(())).unwrap();
        let _ = writer.write("chunk").await;
        let _ = writer.finish().await;
    };
    let routes = vec![
        route("GET", "/streamed", streamed),
        route("GET", "/whole", async |_: Context| "whole"),
        route("GET", "/empty", async |_: Context| ""),
    ];
    let user = serve(connected(Salvo::new(), "", routes).router().hoop(note)).await;
    for (path, kind) in [("/streamed", "boxed"), ("/whole", "once"), ("/empty", "once")] {
        assert_eq!(user.get(path).await.all("x-body"), [kind], "{path}");
    }
}
