//! The router: from the head of a request to its answer, or to the exchange with a handler.

use std::future::Future;
use std::sync::Arc;
use std::time::Instant;

use derive_more::Debug;
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode, Version, header};

use super::body::Body;
use super::dispatch::{Dispatch, Responding};
use super::finish::finish;
use super::handler::{Handler, RequestLimits};
use super::options::RouterOptions;
use super::reply::error_reply;
use super::state::Exchange;
use crate::events::bus::Bus;
use crate::events::caller::Caller;
use crate::events::chain::{Chain, RequestOrigin};
use crate::routing::{
    Conflicts, MethodFilter, Owner, Params, Pattern, Refusal, Resolution, RouteEntry, RouteRecord, Shape, ShapeId,
    Table, guard,
};
use crate::{Crash, CrashKind, Executor, Failure, RequestId};

/// A route ready to be compiled into a router.
#[derive(Clone, Debug)]
#[debug("Route({filter} {pattern})")]
pub struct Route {
    /// Which methods it answers.
    pub filter: MethodFilter,
    /// Which paths it answers, prefix included.
    pub pattern: Pattern,
    /// How the application lists it.
    pub record: Arc<RouteRecord>,
    /// Its handler.
    pub handler: Arc<dyn Handler>,
}

/// The table of one moment, and everything that a request needs on its way through it.
///
/// Immutable: a change of routes makes a new router. An adapter holds the current one and pins it for each request.
#[derive(Clone, Debug)]
#[debug("Router {{ routes: {}, .. }}", self.records().count())]
pub struct Router {
    shared: Arc<RouterState>,
    adapter: Option<&'static str>,
}

struct RouterState {
    table: Table<Endpoint>,
    options: RouterOptions,
    bus: Bus,
    executor: Arc<dyn Executor>,
}

/// The end of a route.
struct Endpoint {
    record: Arc<RouteRecord>,
    handler: Arc<dyn Handler>,
    limits: RequestLimits,
}

impl Router {
    /// Compiles routes into a router.
    ///
    /// # Errors
    /// Every pair of routes that answers the same requests, each with both owners (spec P7).
    pub fn new(
        routes: Vec<Route>,
        options: RouterOptions,
        bus: Bus,
        executor: Arc<dyn Executor>,
    ) -> Result<Self, Conflicts> {
        let entries = routes.into_iter().map(|route| RouteEntry {
            filter: route.filter,
            pattern: route.pattern,
            owner: owner_of(&route.record),
            target: Endpoint {
                record: route.record,
                limits: route.handler.limits(),
                handler: route.handler,
            },
        });
        let table = Table::compile(entries.collect(), options.table)?;
        Ok(Self {
            shared: Arc::new(RouterState {
                table,
                options,
                bus,
                executor,
            }),
            adapter: None,
        })
    }

    /// The same router for the adapter of that name, which stands in its crashes.
    pub fn for_adapter(&self, name: &'static str) -> Self {
        Self {
            shared: self.shared.clone(),
            adapter: Some(name),
        }
    }

    /// Every path shape in the table, most specific first: what an adapter registers with its framework, one native
    /// entry per shape. An adapter that matches by itself needs none of it.
    pub fn shapes(&self) -> &[Shape] {
        self.shared.table.shapes()
    }

    /// The records of all routes, in the order registered (spec D9).
    pub fn records(&self) -> impl Iterator<Item = &Arc<RouteRecord>> {
        self.shared.table.routes().iter().map(|entry| &entry.target.record)
    }

    /// The executor, which also keeps time: for adapters, see [`Body::within`].
    pub fn executor(&self) -> &Arc<dyn Executor> {
        &self.shared.executor
    }

    /// Answers one request: guards it, finds its route, runs the handler, and makes the reply fit for the wire.
    ///
    /// `hint` is the shape that the framework's own router found, if it has one; it saves a search and never changes the
    /// answer. The request must carry method, target and headers exactly as they came.
    ///
    /// The future completes with the head of the reply; the body may still be in flight then. It never fails: whatever
    /// goes wrong is a reply, and what is the server's fault is reported as `server:crashed` (spec E1).
    ///
    /// # Cancel safety
    /// Dropping the future means that the client went away: the handler is cancelled.
    pub fn respond(
        &self,
        hint: Option<ShapeId>,
        request: Request<Body>,
    ) -> impl Future<Output = Response<Body>> + Send + use<> {
        let (parts, body) = request.into_parts();
        if let Err(refusal) = guard::check(&parts) {
            return Responding::Answer(Some(refuse(&parts, refusal)));
        }
        let reply = match self.shared.table.resolve(hint, &parts.method, &parts.uri) {
            Resolution::Matched { entry, params, .. } => return self.arrive(&entry.target, params, parts, body),
            Resolution::NotFound => {
                let message = format!("no route for {} {}", parts.method, parts.uri.path());
                answer(&parts, StatusCode::NOT_FOUND, &message)
            }
            Resolution::BadRequest(bad) => answer(&parts, StatusCode::BAD_REQUEST, &bad.to_string()),
            Resolution::MethodNotAllowed { allow } => {
                let message = format!("{} is not allowed for {}", parts.method, parts.uri.path());
                allowing(answer(&parts, StatusCode::METHOD_NOT_ALLOWED, &message), allow)
            }
            Resolution::Options { allow } => {
                let mut reply = Response::new(Body::empty());
                *reply.status_mut() = StatusCode::NO_CONTENT;
                allowing(reply, allow)
            }
        };
        Responding::Answer(Some(finish(&parts.method, reply)))
    }

    /// Checks the limits of the route that matched, and begins the exchange with its handler.
    fn arrive(&self, endpoint: &Endpoint, params: Params, parts: Parts, body: Body) -> Responding {
        let RouterState { options, bus, .. } = &*self.shared;
        let Endpoint {
            record,
            handler,
            limits,
        } = endpoint;
        let arrived = Instant::now();
        let time = [options.deadline, limits.deadline].into_iter().flatten().min();
        let deadline = time.map(|time| arrived + time);
        let request_id = RequestId::of(&parts.headers);
        let origin = RequestOrigin {
            id: request_id.clone(),
            route: record.clone(),
            adapter: self.adapter,
        };
        let caller = bus.caller_in(Chain::of_request(deadline, origin));
        if let Err(over) = check_headers(&parts.headers, limits.headers) {
            let status = StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE;
            return over_limit(&parts, &caller, "headers", status, &over);
        }
        let body_limit = limits.body.unwrap_or(u64::MAX).min(options.body_limit);
        let body = match body.limited(body_limit) {
            Ok(body) => body,
            Err(error) => {
                let failure = Failure::from(&error);
                return over_limit(&parts, &caller, "body", failure.status(), failure.message());
            }
        };
        let count = bus.count_request();
        let exchange = Exchange::new(parts, body, params, record.clone(), request_id, caller, count);
        let executor = self.shared.executor.clone();
        Responding::Handler(Dispatch::start(exchange, &**handler, executor, arrived))
    }
}

/// # Errors
/// The message for the client.
fn check_headers(headers: &HeaderMap, limit: Option<usize>) -> Result<(), String> {
    let Some(limit) = limit else { return Ok(()) };
    let sizes = headers.iter().map(|(name, value)| name.as_str().len() + value.len());
    let size: usize = sizes.sum();
    if size > limit {
        return Err(format!("the headers have {size} bytes; at most {limit} are allowed"));
    }
    Ok(())
}

/// The answer to a request that is over a limit, which is reported.
fn over_limit(parts: &Parts, caller: &Caller, limit: &str, status: StatusCode, message: &str) -> Responding {
    caller.report(Crash::new(CrashKind::Limit, message).at_limit(limit));
    Responding::Answer(Some(finish(&parts.method, answer(parts, status, message))))
}

/// The answer to a head that the guard refuses.
fn refuse(parts: &Parts, refusal: Refusal) -> Response<Body> {
    let mut reply = finish(&parts.method, answer(parts, refusal.status(), refusal.reason()));
    if parts.version <= Version::HTTP_11 {
        // Where the refused message ends is uncertain, so nothing after it may be read as another.
        reply
            .headers_mut()
            .insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    reply
}

/// An answer of the router itself; it is logged like a handler's.
fn answer(parts: &Parts, status: StatusCode, message: &str) -> Response<Body> {
    tracing::info!(method = %parts.method, path = parts.uri.path(), status = status.as_u16(), "{message}");
    error_reply(status, message)
}

fn allowing(mut reply: Response<Body>, allow: HeaderValue) -> Response<Body> {
    reply.headers_mut().insert(header::ALLOW, allow);
    reply
}

fn owner_of(record: &RouteRecord) -> Owner {
    match &record.module {
        Some(module) => Owner::module(
            module.as_str(),
            record.controller.as_deref().unwrap_or_default(),
            record.handler.as_deref().unwrap_or_default(),
        ),
        None => Owner::Manual,
    }
}
