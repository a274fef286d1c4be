//! The table of one moment, and the way of a request through it.

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

use http::request::Parts;
use http::{HeaderValue, Method, Request, Response, StatusCode, Version, header};
use serde::Serialize;

use crate::events::chain::RequestOrigin;
use crate::events::registry::Caller;
use crate::exchange::body::Exceeded;
use crate::exchange::context::{Arrived, Extensions};
use crate::exchange::dispatch::{Dispatch, End};
use crate::exchange::options::RouterOptions;
use crate::exchange::reply_cell::ReplyCell;
use crate::routing::sanitize::{BodyRule, sanitize};
use crate::routing::{
    Conflicts, Entry, MethodFilter, Owner, Params, Pattern, Refusal, Resolution, Shape, ShapeId, Table, guard,
};
use crate::{
    Body, BoxFuture, Bus, Chain, Context, Crash, CrashKind, Executor, Failure, IntoReply, Outcome, Reporter, RequestId,
    error_reply,
};

/// The future of one run of a handler.
pub type HandlerFuture = BoxFuture<'static, Outcome>;

/// Handles the requests of one route (spec H1). Any `Fn(Context) -> impl Future` whose output is a reply is one.
pub trait Handler: Send + Sync + 'static {
    /// Runs the handler. The future is dropped when the client goes away or the deadline passes.
    fn call(&self, context: Context) -> HandlerFuture;

    /// What holds for its requests beyond what holds for all; asked once for each table.
    fn limits(&self) -> RequestLimits {
        RequestLimits::default()
    }
}

/// Limits of one route. Each counts only where it is narrower than what holds for every request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RequestLimits {
    /// How long a request may take until its reply begins; 504 past it.
    pub deadline: Option<Duration>,
    /// The longest request body, in bytes; 413 past it.
    pub body: Option<u64>,
    /// How long the names and values of its headers may be together, in bytes; 431 past it.
    pub headers: Option<usize>,
}

impl<F, Fut> Handler for F
where
    F: Fn(Context) -> Fut + Send + Sync + 'static,
    Fut: Future<Output: IntoReply> + Send + 'static,
{
    fn call(&self, context: Context) -> HandlerFuture {
        let running = self(context);
        Box::pin(async move { running.await.into_reply() })
    }
}

/// Where a route comes from (spec M3, M4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    /// A module declared it while an adapter was attached.
    Decorator,
    /// The application registered it by hand.
    Manual,
    /// A module had declared it before the adapter attached, which then picked it up: the normal order.
    Replay,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Decorator => "decorator",
            Self::Manual => "manual",
            Self::Replay => "replay",
        })
    }
}

/// One route, as [`App::routes`](https://docs.rs/pointwork) lists it (spec M3).
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RouteRecord {
    /// The method, or `ALL`.
    pub method: String,
    /// The full pattern, prefix included.
    pub path: String,
    /// Where it comes from.
    pub origin: Origin,
    /// The module that declared it.
    pub module: Option<String>,
    /// The controller that declared it.
    pub controller: Option<String>,
    /// The handler's name in its source.
    pub handler: Option<String>,
    /// The attached adapters that cannot serve its method (spec A3); empty for nearly every route.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unavailable_on: Vec<String>,
}

impl fmt::Display for RouteRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.method, self.path)
    }
}

/// A route ready to be compiled into a router.
#[derive(Clone)]
pub struct Route {
    /// Which methods it answers.
    pub filter: MethodFilter,
    /// Which paths it answers, prefix included.
    pub pattern: Pattern,
    /// What is told of it.
    pub record: Arc<RouteRecord>,
    /// Who answers.
    pub handler: Arc<dyn Handler>,
}

impl fmt::Debug for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Route({} {})", self.filter, self.pattern.as_str())
    }
}

/// The whole table of one moment, and everything that a request needs on its way through it.
///
/// Immutable: a change of routes makes a new router. An adapter holds the current one and pins it for each request.
#[derive(Clone)]
pub struct Router {
    shared: Arc<Shared>,
    reporter: Option<Reporter>,
}

struct Shared {
    table: Table<Target>,
    options: RouterOptions,
    bus: Bus,
    executor: Arc<dyn Executor>,
}

struct Target {
    record: Arc<RouteRecord>,
    handler: Arc<dyn Handler>,
    limits: RequestLimits,
}

impl Router {
    /// Compiles routes into a router.
    ///
    /// # Errors
    /// Every pair of routes that wants the same requests, each naming both owners (spec P7).
    pub fn new(
        routes: Vec<Route>,
        options: RouterOptions,
        bus: Bus,
        executor: Arc<dyn Executor>,
    ) -> Result<Self, Conflicts> {
        let entries = routes.into_iter().map(|route| Entry {
            filter: route.filter,
            pattern: route.pattern,
            owner: owner_of(&route.record),
            target: Target {
                record: route.record,
                limits: route.handler.limits(),
                handler: route.handler,
            },
        });
        let table = Table::compile(entries.collect(), options.table)?;
        Ok(Self {
            shared: Arc::new(Shared {
                table,
                options,
                bus,
                executor,
            }),
            reporter: None,
        })
    }

    /// The same router for one adapter, whose name stands in its crashes.
    pub fn for_adapter(&self, reporter: Reporter) -> Self {
        Self {
            shared: self.shared.clone(),
            reporter: Some(reporter),
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
    /// The future completes with the head of the reply; the body may still be under way then. It never fails: whatever
    /// goes wrong is a reply, and what is the server's fault is reported as `server:crashed` (spec E1).
    ///
    /// # Cancel safety
    /// Dropping the future tells the handler that the client went away: it is cancelled.
    pub fn respond(
        &self,
        hint: Option<ShapeId>,
        request: Request<Body>,
    ) -> impl Future<Output = Response<Body>> + Send + use<> {
        // The request is taken apart here and not in the future, which stays small: servers move it several times.
        let (parts, body) = request.into_parts();
        let method = parts.method.clone();
        let routed = match guard::check(&parts) {
            Ok(()) => self.route(hint, parts, body),
            Err(refusal) => Routed::Refusal(refuse(&parts, refusal)),
        };
        let router = self.clone();
        async move {
            match routed {
                Routed::Handler(running) => finish(&method, running.run(&router).await),
                Routed::Answer(reply) => finish(&method, reply),
                Routed::Refusal(reply) => reply,
            }
        }
    }

    fn route(&self, hint: Option<ShapeId>, parts: Parts, body: Body) -> Routed {
        let reply = match self.shared.table.resolve(hint, &parts.method, &parts.uri) {
            Resolution::Matched { entry, params, .. } => return self.arrive(entry, params, parts, body),
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
        Routed::Answer(reply)
    }

    fn arrive(&self, entry: &Entry<Target>, params: Params, parts: Parts, body: Body) -> Routed {
        let shared = &*self.shared;
        let Target { record, limits, .. } = &entry.target;
        let request_id = RequestId::of(&parts.headers);
        let refused = |status: StatusCode, limit: &str, message: &str| {
            let crash = Crash::new(CrashKind::Limit, message).at_limit(limit);
            self.report(crash, record, &request_id);
            Routed::Answer(answer(&parts, status, message))
        };
        if let Some(limit) = limits.headers {
            let size: usize = parts
                .headers
                .iter()
                .map(|(name, value)| name.as_str().len() + value.len())
                .sum();
            if size > limit {
                let message = format!("the headers have {size} bytes; at most {limit} are allowed");
                return refused(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, "headers", &message);
            }
        }
        let body_limit = limits
            .body
            .map_or(shared.options.body_limit, |body| body.min(shared.options.body_limit));
        let exceeded = || -> Exceeded {
            let desk = Kept {
                router: self.clone(),
                record: record.clone(),
                request_id: request_id.clone(),
            };
            Box::new(move |error| desk.report(Crash::new(CrashKind::Limit, error.to_string()).at_limit("body")))
        };
        let body = match body.limited_telling(body_limit, exceeded) {
            Ok(body) => body,
            Err(error) => {
                let failure = Failure::from(&error);
                return refused(failure.status(), "body", failure.message());
            }
        };
        let time = [shared.options.deadline, limits.deadline].into_iter().flatten().min();
        let deadline = time.map(|time| Instant::now() + time);
        let slot = Arc::new(ReplyCell::new(parts.extensions.get::<Extensions>().cloned()));
        let span = tracing::info_span!(
            "request",
            method = %parts.method,
            path = parts.uri.path(),
            request_id = %request_id,
            route = record.path,
            module = record.module,
            controller = record.controller,
            handler = record.handler,
        );
        let caller = Caller {
            bus: shared.bus.downgrade(),
            chain: Chain::of_request(
                deadline,
                RequestOrigin {
                    adapter: self.reporter.as_ref().map(Reporter::adapter),
                    route: record.clone(),
                },
            ),
            request_id: Some(request_id.clone()),
        };
        let context = Context::new(Arrived {
            counted: shared.bus.count_request(),
            parts,
            body,
            params,
            route: record.clone(),
            caller,
            request_id: request_id.clone(),
            slot: slot.clone(),
        });
        Routed::Handler(Running {
            context,
            record: record.clone(),
            handler: entry.target.handler.clone(),
            slot,
            deadline,
            span,
            request_id,
        })
    }

    /// Who runs what outlives a request, and keeps time: for adapters, see [`Body::within`].
    pub fn executor(&self) -> &Arc<dyn Executor> {
        &self.shared.executor
    }

    fn report(&self, mut crash: Crash, record: &RouteRecord, request_id: &RequestId) {
        crash.module = crash.module.or_else(|| record.module.clone());
        crash.route = Some(record.to_string());
        crash.request_id = Some(request_id.to_string());
        match &self.reporter {
            Some(reporter) => reporter.report(crash),
            None => self.shared.bus.report(crash),
        }
    }
}

/// Where the crashes of one request are reported.
pub(crate) struct Desk<'a> {
    pub(crate) router: &'a Router,
    record: &'a Arc<RouteRecord>,
    request_id: RequestId,
}

/// A [`Desk`] that outlives its request.
pub(crate) struct Kept {
    router: Router,
    record: Arc<RouteRecord>,
    request_id: RequestId,
}

impl Desk<'_> {
    pub(crate) fn report(&self, crash: Crash) {
        self.router.report(crash, self.record, &self.request_id);
    }

    pub(crate) fn keep(&self) -> Kept {
        Kept {
            router: self.router.clone(),
            record: self.record.clone(),
            request_id: self.request_id.clone(),
        }
    }
}

impl Kept {
    pub(crate) fn report(&self, crash: Crash) {
        self.router.report(crash, &self.record, &self.request_id);
    }
}

impl fmt::Debug for Router {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Router")
            .field("routes", &self.shared.table.routes().len())
            .finish_non_exhaustive()
    }
}

/// Where a request goes.
enum Routed {
    Handler(Running),
    Answer(Response<Body>),
    /// An answer that is fit for the wire as it is.
    Refusal(Response<Body>),
}

struct Running {
    context: Context,
    record: Arc<RouteRecord>,
    handler: Arc<dyn Handler>,
    slot: Arc<ReplyCell>,
    deadline: Option<Instant>,
    span: tracing::Span,
    request_id: RequestId,
}

impl Running {
    async fn run(self, router: &Router) -> Response<Body> {
        let Self {
            context,
            record,
            handler,
            slot,
            deadline,
            span,
            request_id,
        } = self;
        let started = tracing::enabled!(tracing::Level::INFO).then(Instant::now);
        let desk = Desk {
            router,
            record: &record,
            request_id,
        };
        let end = Dispatch::start(|| handler.call(context), slot.clone(), deadline, &desk, &span).await;
        let reply = match end {
            End::Reply(reply) => reply,
            End::Crashed(crash) => {
                let reply = crash_reply(&crash);
                span.in_scope(|| desk.report(crash));
                reply
            }
        };
        if let Some(started) = started {
            let micros = u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX);
            tracing::info!(
                parent: &span,
                status = reply.status().as_u16(),
                micros,
                extensions = slot.extensions().map(Extensions::to_line),
                "replied"
            );
        }
        reply
    }
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

/// An answer of the router itself; it stands in the log like a handler's.
fn answer(parts: &Parts, status: StatusCode, message: &str) -> Response<Body> {
    tracing::info!(method = %parts.method, path = parts.uri.path(), status = status.as_u16(), "{message}");
    error_reply(status, message)
}

fn allowing(mut reply: Response<Body>, allow: HeaderValue) -> Response<Body> {
    reply.headers_mut().insert(header::ALLOW, allow);
    reply
}

/// What the client is told of a crash: the status, and nothing that belongs into the log.
fn crash_reply(crash: &Crash) -> Response<Body> {
    let mut reply = error_reply(crash.kind.status(), crash.kind.public_message());
    if reply.status() == StatusCode::SERVICE_UNAVAILABLE {
        reply
            .headers_mut()
            .insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
    }
    reply
}

/// Makes a reply fit for the wire, whoever made it.
pub(crate) fn finish(method: &Method, reply: Response<Body>) -> Response<Body> {
    let (mut head, mut body) = reply.into_parts();
    let sanitized = match sanitize(method, &mut head, body.known_length()) {
        Ok(sanitized) => sanitized,
        Err(bad) => {
            tracing::error!("a reply was refused: {bad}");
            return finish(method, error_reply(StatusCode::INTERNAL_SERVER_ERROR, "internal error"));
        }
    };
    if !sanitized.stripped.is_empty() {
        tracing::warn!(headers = ?sanitized.stripped, "headers that only the server may set were dropped");
    }
    if let Some(length) = sanitized.content_length {
        head.headers.insert(header::CONTENT_LENGTH, content_length(length));
    }
    if sanitized.body == BodyRule::Drop {
        body = Body::empty();
    }
    Response::from_parts(head, body)
}

/// A `Content-Length`, without an allocation for the short replies that most are.
fn content_length(length: u64) -> HeaderValue {
    static SHORT: [[u8; 3]; 1000] = {
        let mut texts = [[0; 3]; 1000];
        let mut number = 0;
        while number < texts.len() {
            let digits = [number / 100, number / 10 % 10, number % 10];
            texts[number] = [b'0' + digits[0] as u8, b'0' + digits[1] as u8, b'0' + digits[2] as u8];
            number += 1;
        }
        texts
    };
    let digits = match length {
        0..10 => 1,
        10..100 => 2,
        100..1000 => 3,
        _ => return HeaderValue::from(length),
    };
    let text = str::from_utf8(&SHORT[length as usize][3 - digits..]);
    text.map_or_else(|_| HeaderValue::from(length), HeaderValue::from_static)
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
