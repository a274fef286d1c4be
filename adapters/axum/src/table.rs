//! One table of the core as a router of axum's.

use std::convert::Infallible;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::Request;
use axum::response::Response;
use axum::routing::{MethodFilter, MethodRouter, any_service};
use futures_util::FutureExt as _;
use http::Method;
use pointwork_core::Router;
use pointwork_core::routing::{Shape, ShapeId};
use pointwork_server::arriving;
use tower::util::service_fn;

use crate::{reply, syntax};

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

/// What answers requests until the next table.
pub(crate) struct Table {
    native: axum::Router,
}

impl Table {
    /// Registers every shape. Dropping this table, with the last request that pins it, drops the core's.
    pub(crate) fn new(router: Arc<Router>, body_timeout: Option<Duration>) -> Self {
        let answer = Answer { router, body_timeout };
        // axum panics where a path cannot stand beside the others; what this takes, axum takes.
        let mut paths = matchit::Router::new();
        let mut native = axum::Router::new().without_v07_checks();
        for shape in answer.router.shapes() {
            let path = syntax::path(shape.pattern()).filter(|path| paths.insert(path.clone(), ()).is_ok());
            if let Some(path) = path {
                native = native.route(&path, methods(&answer, shape));
            }
        }
        let native = native.fallback_service(service_fn(move |request| answer.respond(None, request)));
        Self { native }
    }

    /// axum's router; a clone of it pins the table.
    pub(crate) fn native(&self) -> axum::Router {
        self.native.clone()
    }
}

/// What stands on the path of one shape: a verb each where a route is for it, and `any` for the rest.
fn methods(answer: &Answer, shape: &Shape) -> MethodRouter<(), Infallible> {
    let id = shape.id();
    let hinted = || {
        let answer = answer.clone();
        service_fn(move |request| answer.respond(Some(id), request))
    };
    let others: Option<Arc<[Method]>> = (!shape.takes_every_method()).then(|| shape.methods().cloned().collect());
    let guarded = {
        let answer = answer.clone();
        service_fn(move |request: Request| {
            // A request for another method falls through (spec A2).
            let taken = others.as_ref().is_none_or(|others| others.contains(request.method()));
            answer.respond(taken.then_some(id), request)
        })
    };
    let mut methods = any_service(guarded);
    for (_, verb) in VERBS
        .iter()
        .filter(|(method, _)| shape.methods().any(|its| its == method))
    {
        methods = methods.on_service(*verb, hinted());
    }
    methods
}

#[derive(Clone)]
struct Answer {
    router: Arc<Router>,
    body_timeout: Option<Duration>,
}

impl Answer {
    fn respond(
        &self,
        hint: Option<ShapeId>,
        request: Request,
    ) -> impl Future<Output = Result<Response, Infallible>> + Send + use<> {
        let request = request.map(|body| arriving(body).within(self.body_timeout, self.router.executor()));
        let reply = self.router.respond(hint, request);
        reply.map(|reply| Ok(reply::convert(reply)))
    }
}
