//! The router: from the head of a request to its answer, or to the exchange with a handler.

use std::future::{Future, Ready, ready};
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use derive_more::Debug;
use futures_util::FutureExt as _;
use futures_util::future::Either;
use http::request::Parts;
use http::{HeaderValue, Request, Response, StatusCode, Version, header};
use http_body::Body as _;
use ipnet::IpNet;
use parking_lot::Mutex;
use tracing::Span;

use super::body::Body;
use super::body_reader::{ArrivedBody, BodyLimits, Collect};
use super::dispatch::Dispatch;
use super::durations::{RequestDurations, TableDurations};
use super::finish::finish;
use super::handler::{BodyMode, Handler, RequestLimits, error_reply, failure_reply};
use super::json_body;
use super::options::RouterOptions;
use super::reply_cell::ReplyCell;
use super::request_memory::{RequestMemory, TableMemory};
use super::state::{ACCESS, Exchange, Extensions};
use crate::events::bus::Bus;
use crate::events::chain::{Chain, RequestOrigin, RouteInTable, RouteRecords};
use crate::routing::{
    Conflicts, MethodFilter, Owner, Params, Pattern, Resolution, RouteEntry, RouteRecord, Shape, ShapeId, Table, guard,
};
use crate::{Charge, Clock, Crash, CrashKind, Executor, Failure, MemoryExceeded, RequestId, Sharded};

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
    body_timeout: Option<Duration>,
    write_timeout: Option<Duration>,
    memory: TableMemory,
    /// `None` measures nothing.
    durations: Option<Arc<TableDurations>>,
}

/// The route of a request, found before the request is answered; see [`Router::find_route`].
#[derive(Clone, derive_more::Debug)]
#[debug("FoundRoute({})", router.shared.table.routes()[*route].target.record)]
pub struct FoundRoute {
    router: Router,
    /// The place of the route in the table.
    route: usize,
    params: Params,
}

struct RouterState {
    table: Table<Endpoint>,
    records: Sharded<RouteRecords>,
    options: RouterOptions,
    /// `None` for none.
    trusted_proxies: Option<Arc<[IpNet]>>,
    bus: Bus,
    clock: Clock,
    executor: Sharded<Arc<dyn Executor>>,
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
        let records: RouteRecords = table.routes().iter().map(|entry| entry.target.record.clone()).collect();
        let memory = RequestMemory::new(&options);
        Ok(Self {
            memory: memory.of_table(records.iter()),
            shared: Arc::new(RouterState {
                records: Sharded::of(records),
                clock: executor.clock().clone(),
                table,
                trusted_proxies: (!options.trusted_proxies.is_empty()).then(|| (*options.trusted_proxies).into()),
                options,
                bus,
                executor: Sharded::of(executor),
            }),
            adapter: None,
            body_timeout: None,
            write_timeout: None,
            durations: None,
        })
    }

    /// The same router, measuring: it counts its requests among these durations.
    pub fn measured(&self, durations: &RequestDurations) -> Self {
        Self {
            durations: Some(durations.of_table(self.records())),
            ..self.clone()
        }
    }

    /// The same router, counting the bytes of its requests in this memory instead of one of its own.
    pub fn counting(&self, memory: &RequestMemory) -> Self {
        Self {
            memory: memory.of_table(self.records()),
            ..self.clone()
        }
    }

    /// The same router for the adapter of that name, which stands in its crashes.
    pub fn for_adapter(&self, name: &'static str) -> Self {
        Self {
            adapter: Some(name),
            ..self.clone()
        }
    }

    /// The same router with a limit for the pauses of a request's body, and one for the time that a client may leave a chunk of
    /// a streamed reply untaken.
    pub fn with_timeouts(&self, body_timeout: Option<Duration>, write_timeout: Option<Duration>) -> Self {
        Self {
            body_timeout,
            write_timeout,
            ..self.clone()
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
        let arrived = self.shared.clock.now();
        let (parts, body) = request.into_parts();
        let id = RequestId::from_headers(&parts.headers);
        if let Err(refusal) = guard::check(&parts) {
            let reply = error_reply(refusal.status(), refusal.reason());
            let mut reply = self.answer(&parts, &id, arrived, reply);
            if parts.version <= Version::HTTP_11 {
                // Where the refused message ends is uncertain, so nothing after it may be read as another.
                let close = HeaderValue::from_static("close");
                reply.headers_mut().insert(header::CONNECTION, close);
            }
            return ready(reply).left_future();
        }
        let (method, path) = (&parts.method, parts.uri.path());
        let reply = match self.shared.table.resolve(hint, method, &parts.uri) {
            Resolution::Matched { route, params, .. } => return self.dispatch(route, params, arrived, id, parts, body),
            Resolution::NotFound => error_reply(StatusCode::NOT_FOUND, &format!("no route for {method} {path}")),
            Resolution::BadRequest(bad) => error_reply(StatusCode::BAD_REQUEST, &bad.to_string()),
            Resolution::MethodNotAllowed { allow } => {
                let message = format!("{method} is not allowed for {path}");
                allowing(error_reply(StatusCode::METHOD_NOT_ALLOWED, &message), allow)
            }
            Resolution::Options { allow } => {
                let mut reply = Response::new(Body::empty());
                *reply.status_mut() = StatusCode::NO_CONTENT;
                allowing(reply, allow)
            }
        };
        ready(self.answer(&parts, &id, arrived, reply)).left_future()
    }

    /// The route of a request, for an adapter in front of its user's own routes: `None` unless the guard lets the head pass
    /// and a route matches path and method, HEAD by GET included (spec A9). Everything that [`respond`](Self::respond) would
    /// answer by itself belongs to the user's routes.
    ///
    /// The head must be exactly as the client sent it.
    pub fn find_route(&self, head: &Parts) -> Option<FoundRoute> {
        guard::check(head).ok()?;
        match self.shared.table.resolve(None, &head.method, &head.uri) {
            Resolution::Matched { route, params, .. } => Some(FoundRoute {
                router: self.clone(),
                route,
                params,
            }),
            _ => None,
        }
    }

    /// Runs the handler of the route that matched, by its place in the table, unless the request is past a limit of it.
    fn dispatch(
        &self,
        route: usize,
        params: Params,
        arrived: Instant,
        id: RequestId,
        mut parts: Parts,
        body: Body,
    ) -> Either<Ready<Response<Body>>, Dispatch> {
        let head = head_sizes(&parts);
        guard::settle_host(&mut parts);
        let mut exchange = self.exchange(route, params, arrived, id, parts);
        let missing = match self.admit(&mut exchange, route, head, body) {
            Ok(missing) => missing,
            Err(failure) => {
                return ready(exchange.finish(failure_reply(&failure), self.shared.clock.now())).left_future();
            }
        };
        let handler = &self.shared.table.routes()[route].target.handler;
        let (exchange, executor) = (Arc::new(exchange), self.shared.executor.local().clone());
        match missing {
            None => Dispatch::start(exchange, &**handler, executor),
            Some(collect) => Dispatch::collect(exchange, collect, handler.clone(), executor),
        }
        .right_future()
    }

    /// The exchange of a request that matched a route, without its body.
    fn exchange(&self, route: usize, params: Params, arrived: Instant, id: RequestId, parts: Parts) -> Exchange {
        let RouterState {
            table,
            records,
            options,
            bus,
            ..
        } = &*self.shared;
        let limits = &table.routes()[route].target.limits;
        let time = [options.deadline, limits.deadline].into_iter().flatten().min();
        let origin = RequestOrigin {
            id,
            route: RouteInTable::new(records.local().clone(), route),
            adapter: self.adapter,
            crashes: options.show_crashes.then(Arc::default),
            in_span: options.access_log,
            traceparent: bus.traceparent(&parts.headers),
        };
        let span = if options.access_log {
            access_span(&parts, &origin)
        } else {
            Span::none()
        };
        let nested = parts.extensions.get().copied().unwrap_or_default();
        let chain = Chain::of_request(time.map(|time| arrived + time), origin, nested, bus.gate());
        let set_by_middleware = parts.extensions.get::<Extensions>().cloned();
        let mut body_limits = BodyLimits {
            body: narrower(limits.body, Some(options.body_limit)),
            stream_body: narrower(limits.stream_body, options.stream_body_limit),
            json: None,
        };
        if json_body::is_declared(&parts.headers) {
            body_limits = body_limits.for_json(limits.json_body, limits.json_values);
        }
        Exchange {
            arrived,
            method: parts.method,
            uri: parts.uri,
            version: parts.version,
            headers: parts.headers,
            peer: parts.extensions.get().copied().unwrap_or_default(),
            trusted_proxies: self.shared.trusted_proxies.clone(),
            params,
            caller: bus.caller_in(chain),
            body_mode: limits.body_mode,
            body_limits,
            body: Mutex::new(None),
            bodies_of_module: None,
            head_charges: <[Charge; 2]>::default(),
            write_timeout: self.write_timeout,
            span,
            durations: self
                .durations
                .as_ref()
                .map(|durations| durations.histogram(Some(route)).clone()),
            extensions: set_by_middleware.map(OnceLock::from).unwrap_or_default(),
            received_at: OnceLock::new(),
            reply: ReplyCell::default(),
            open_reply: OnceLock::new(),
            holders: AtomicUsize::new(1),
            calls: AtomicUsize::new(0),
            _count: bus.count_request(),
        }
    }

    /// Checks the limits of a route, and puts the body into the exchange, unless it has to arrive before the handler runs. Then
    /// it is the result.
    ///
    /// # Errors
    /// The request is past a limit.
    fn admit(
        &self,
        exchange: &mut Exchange,
        route: usize,
        (target, headers): (usize, usize),
        body: Body,
    ) -> Result<Option<Collect>, Failure> {
        let Exchange {
            caller, body_limits, ..
        } = exchange;
        if let Err(over) = check_headers(headers, self.shared.table.routes()[route].target.limits.headers) {
            caller.report(Crash::new(CrashKind::Limit, &*over).at_limit("headers"));
            return Err(Failure::new(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, over));
        }
        exchange.head_charges = self.memory.charge_head(route, target + headers).map_err(|exceeded| {
            let crash = head_refused(exceeded);
            let failure = Failure::for_client(&crash);
            caller.report(crash);
            failure
        })?;
        let body = body
            .at_pace(
                self.body_timeout,
                self.shared.options.body_rate,
                self.shared.executor.local(),
            )
            .counted(self.memory.bodies());
        let (body, missing) = take(body, exchange.body_mode, *body_limits, caller)?;
        if missing.is_some() {
            exchange.bodies_of_module = self.memory.bodies_of_module(route).cloned();
        }
        let of_module = Charge::default();
        *exchange.body.get_mut() = body.map(|body| ArrivedBody { body, of_module });
        Ok(missing)
    }

    /// An answer to a request without a route. It is measured and logged like a handler's.
    fn answer(&self, parts: &Parts, id: &RequestId, arrived: Instant, reply: Response<Body>) -> Response<Body> {
        let reply = finish(&parts.method, id, reply);
        let (status, time) = (reply.status(), self.shared.clock.now() - arrived);
        if let Some(durations) = &self.durations {
            durations.histogram(None).count(status, time);
        }
        if self.shared.options.access_log {
            tracing::info!(
                target: ACCESS,
                method = %parts.method,
                path = parts.uri.path(),
                request_id = %id,
                status = status.as_u16(),
                micros = u64::try_from(time.as_micros()).unwrap_or(u64::MAX),
                "replied"
            );
        }
        reply
    }
}

impl FoundRoute {
    /// Runs the handler of the route. The request must be the one that was claimed.
    ///
    /// # Cancel safety
    /// As [`Router::respond`].
    pub fn respond(self, request: Request<Body>) -> impl Future<Output = Response<Body>> + Send + use<> {
        let (parts, body) = request.into_parts();
        let id = RequestId::from_headers(&parts.headers);
        let Self { router, route, params } = self;
        let arrived = router.shared.clock.now();
        router.dispatch(route, params, arrived, id, parts, body)
    }
}

/// The body that the handler can read at once, and the one that has to arrive before it runs.
///
/// # Errors
/// The body is past a limit, which is reported.
fn take(
    body: Body,
    mode: BodyMode,
    limits: BodyLimits,
    caller: &crate::Caller,
) -> Result<(Option<Body>, Option<Collect>), Failure> {
    let failed = |error| limits.failed(&error, Some(caller));
    Ok(match mode {
        BodyMode::None => (None, None),
        BodyMode::Stream => (Some(body.limited(limits.stream_body).map_err(failed)?), None),
        BodyMode::Whole => match body.limited(limits.body).map_err(failed)?.try_into_bytes() {
            Ok(bytes) => {
                limits.check_values(&bytes, Some(caller))?;
                (Some(bytes.into()), None)
            }
            Err(chunks) if chunks.is_end_stream() => (Some(Body::empty()), None),
            Err(chunks) => (None, Some(Collect::new(chunks, limits.body).map_err(failed)?)),
        },
    })
}

fn narrower(one: Option<u64>, other: Option<u64>) -> u64 {
    one.unwrap_or(u64::MAX).min(other.unwrap_or(u64::MAX))
}

/// The bytes of the target, and those of the names and values of the headers.
fn head_sizes(parts: &Parts) -> (usize, usize) {
    let target = parts.uri.path().len() + parts.uri.query().map_or(0, str::len);
    let headers = parts.headers.iter();
    (
        target,
        headers.map(|(name, value)| name.as_str().len() + value.len()).sum(),
    )
}

fn access_span(parts: &Parts, origin: &RequestOrigin) -> Span {
    let RequestOrigin { id, route, .. } = origin;
    tracing::info_span!(
        target: ACCESS,
        "request",
        method = %parts.method,
        path = parts.uri.path(),
        request_id = %id,
        route = route.path,
        module = route.module,
        controller = route.controller,
        handler = route.handler,
    )
}

fn head_refused(exceeded: MemoryExceeded) -> Crash {
    let message = format!(
        "the heads of the requests in flight need more memory than {} bytes",
        exceeded.limit
    );
    Crash::new(CrashKind::Limit, message).at_limit("head-memory")
}

/// # Errors
/// The message for the client.
fn check_headers(size: usize, limit: Option<usize>) -> Result<(), String> {
    match limit {
        Some(limit) if size > limit => Err(format!("the headers have {size} bytes; at most {limit} are allowed")),
        _ => Ok(()),
    }
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
