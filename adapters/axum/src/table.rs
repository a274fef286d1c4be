//! One table of the core as a router of axum's.

use std::convert::Infallible;
use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::extract::{ConnectInfo, MatchedPath, Request};
use axum::response::Response;
use axum::routing::future::RouteFuture;
use axum::routing::{MethodFilter, MethodRouter, any_service};
use futures_util::FutureExt as _;
use http::Method;
use http::header::CONTENT_LENGTH;
use http_body_util::BodyExt as _;
use pointwork_core::routing::{Shape, ShapeId};
use pointwork_core::{Body, FoundRoute, Peer, Router};
use pointwork_server::request_body;
use tower::Service as _;
use tower::util::{ServiceExt as _, service_fn};

use crate::syntax;

/// The seven verbs that axum has operations for and that this adapter registers by them (spec A2). It knows TRACE and
/// CONNECT too, and no others: its filter is a closed list.
const VERBS: [(Method, MethodFilter); 7] = [
    (Method::GET, MethodFilter::GET),
    (Method::POST, MethodFilter::POST),
    (Method::PUT, MethodFilter::PUT),
    (Method::PATCH, MethodFilter::PATCH),
    (Method::DELETE, MethodFilter::DELETE),
    (Method::HEAD, MethodFilter::HEAD),
    (Method::OPTIONS, MethodFilter::OPTIONS),
];

/// The router that answers requests until the next table. Dropping it, with the last request that pins it, drops the core's.
pub(crate) fn table(router: &Router) -> axum::Router {
    let answer = |hint: Option<ShapeId>| {
        let router = router.clone();
        service_fn(move |request| respond(&router, hint, request))
    };
    native(router.shapes(), |shape| answer(Some(shape)), answer(None))
}

/// Sends a request into a table. The path that the user's own router matched is dropped: axum would put it before the one
/// that it matches here.
pub(crate) fn call(table: &axum::Router, mut request: Request) -> RouteFuture<Infallible> {
    request.extensions_mut().remove::<MatchedPath>();
    table.clone().call(request)
}

/// Answers a request on the route that it carries as a [`FoundRoute`], or on the one that the router finds.
fn respond(
    router: &Router,
    hint: Option<ShapeId>,
    request: Request,
) -> impl Future<Output = Result<Response, Infallible>> + Send + use<> {
    // For the layers outside, which saw the request before axum matched it.
    let matched = request.extensions().get::<MatchedPath>().cloned();
    let mut request = request.map(request_body);
    let extensions = request.extensions_mut();
    if extensions.get::<Peer>().is_none()
        && let Some(ConnectInfo(address)) = extensions.get::<ConnectInfo<SocketAddr>>()
    {
        let peer = Peer::new(*address, false);
        extensions.insert(peer);
    }
    let reply = match extensions.remove::<FoundRoute>() {
        Some(found) => found.respond(request).left_future(),
        None => router.respond(hint, request).right_future(),
    };
    reply.map(|reply| {
        let mut reply = converted(reply);
        if let Some(matched) = matched {
            reply.extensions_mut().insert(matched);
        }
        Ok(reply)
    })
}

/// axum adds a `Content-Length` from the body's size where the head has none. The core writes one wherever one belongs, and
/// leaves it out on purpose elsewhere, with 204 or 304. So the size is hidden there: a body with mapped frames has none.
pub(crate) fn converted(reply: http::Response<Body>) -> Response {
    let has_length = reply.headers().contains_key(CONTENT_LENGTH);
    reply.map(|body| {
        if has_length {
            axum::body::Body::new(body)
        } else {
            axum::body::Body::new(body.map_frame(|frame| frame))
        }
    })
}

/// A service as axum takes it.
trait AxumService:
    tower::Service<Request, Response = Response, Error = Infallible, Future: Send> + Clone + Send + Sync + 'static
{
}

impl<S> AxumService for S where
    S: tower::Service<Request, Response = Response, Error = Infallible, Future: Send> + Clone + Send + Sync + 'static
{
}

/// Registers every shape that axum can hold. A request whose path is none of theirs, or whose method no route of the path
/// takes, falls through to `fallback`.
fn native<H: AxumService>(shapes: &[Shape], hinted: impl Fn(ShapeId) -> H, fallback: impl AxumService) -> axum::Router {
    // axum panics where a path cannot stand beside the others; axum takes every path that `matchit` takes.
    let mut paths = matchit::Router::new();
    let mut native = axum::Router::new().without_v07_checks();
    for shape in shapes {
        let path = syntax::path(shape.pattern()).filter(|path| paths.insert(path.clone(), ()).is_ok());
        if let Some(path) = path {
            native = native.route(&path, methods(shape, hinted(shape.id()), fallback.clone()));
        }
    }
    native.fallback_service(fallback)
}

/// The services on the path of one shape: a verb each where a route is for it, and `any` with a guard for the other
/// methods. A request that the guard does not take falls through (spec A2).
fn methods(shape: &Shape, hinted: impl AxumService, fallback: impl AxumService) -> MethodRouter<(), Infallible> {
    let verbs = VERBS.iter().filter(|(verb, _)| shape.methods().any(|its| its == verb));
    let is_verb = |method: &Method| VERBS.iter().any(|(verb, _)| verb == method);
    let others: Arc<[Method]> = shape.methods().filter(|method| !is_verb(method)).cloned().collect();
    let matches_every_method = shape.matches_every_method();
    let guarded = {
        let hinted = hinted.clone();
        service_fn(move |request: Request| {
            if matches_every_method || others.contains(request.method()) {
                hinted.clone().oneshot(request).left_future()
            } else {
                fallback.clone().oneshot(request).right_future()
            }
        })
    };
    verbs.fold(any_service(guarded), |methods, (_, verb)| {
        methods.on_service(*verb, hinted.clone())
    })
}

#[cfg(test)]
mod tests {
    use std::future::ready;

    use axum::body::Body;
    use pointwork_core::routing::{MethodFilter as Filter, Owner, Pattern, RouteEntry, Table, TableOptions};

    use super::*;

    /// Replies with a mark and the path that axum matched.
    fn marked(mark: &'static str) -> impl AxumService {
        service_fn(move |request: Request| {
            let matched = request.extensions().get::<MatchedPath>();
            let mark = format!("{mark} {}", matched.map_or("-", MatchedPath::as_str));
            ready(Ok(Response::builder()
                .header("mark", mark)
                .body(Body::empty())
                .unwrap()))
        })
    }

    /// The native table of these routes, before a fallback that marks what falls through.
    fn table(routes: &[&str]) -> axum::Router {
        let entry = |route: &&str| {
            let (method, path) = route.split_once(' ').unwrap();
            RouteEntry {
                filter: Filter::parse((method != "ALL").then_some(method)).unwrap(),
                pattern: Pattern::parse(path).unwrap(),
                owner: Owner::Manual,
                target: (),
            }
        };
        let table = Table::compile(routes.iter().map(entry).collect(), TableOptions::default()).unwrap();
        native(table.shapes(), |_| marked("taken"), marked("through"))
    }

    fn ask(table: &axum::Router, method: &str, target: &str) -> String {
        let request = Request::builder().method(method).uri(target).body(Body::empty());
        let reply = table.clone().oneshot(request.unwrap()).now_or_never();
        let reply = reply.expect("nothing here waits").unwrap();
        reply.headers()["mark"].to_str().unwrap().to_owned()
    }

    #[test]
    fn each_verb_is_taken_where_a_route_is_for_it_and_falls_through_elsewhere() {
        for (verb, _) in VERBS {
            let table = table(&[&format!("{verb} /a"), "PURGE /a"]);
            for (other, _) in VERBS {
                // axum's own rule for HEAD is the core's.
                let taken = other == verb || (other == Method::HEAD && verb == Method::GET);
                let expected = if taken { "taken /a" } else { "through /a" };
                assert_eq!(ask(&table, other.as_str(), "/a"), expected, "{other} of {verb}");
            }
        }
    }

    #[test]
    fn any_takes_no_method_that_the_guard_does_not_let_in() {
        let table = table(&["GET /a", "PROPFIND /a", "X-any /b", "ALL /c", "PUT /c"]);
        for (method, target) in [
            ("PROPFIND", "/a"),
            ("X-any", "/b"),
            ("GET", "/c"),
            ("PUT", "/c"),
            ("HEAD", "/c"),
            ("MKWORKSPACE", "/c"),
        ] {
            assert_eq!(ask(&table, method, target), format!("taken {target}"), "{method}");
        }
        for (method, target) in [
            ("PURGE", "/a"),
            ("propfind", "/a"),
            ("CONNECT", "/a"),
            ("TRACE", "/a"),
            ("OPTIONS", "/a"),
            ("x-ANY", "/b"),
            ("HEAD", "/b"),
        ] {
            assert_eq!(ask(&table, method, target), format!("through {target}"), "{method}");
        }
    }

    #[test]
    fn what_axum_cannot_match_falls_through() {
        let [most, too_many]: [String; 2] = [25, 26].map(|count| (0..count).map(|name| format!("/:p{name}")).collect());
        let routes = [format!("GET {most}"), format!("GET {too_many}")];
        let table = table(&[&routes[0], &routes[1], "GET /caf%C3%A9", "GET /fine"]);
        for target in ["/1".repeat(26).as_str(), "/caf%C3%A9", "/%66ine", "/fine/", "/none"] {
            assert_eq!(ask(&table, "GET", target), "through -", "{target}");
        }
        assert_eq!(ask(&table, "GET", "/fine"), "taken /fine");
        assert!(ask(&table, "GET", &"/1".repeat(25)).starts_with("taken /{p0}/{p1}/"));
    }
}
