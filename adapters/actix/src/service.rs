//! The adapter as a service of actix-web.

use std::fmt;
use std::future::{Future, Ready, ready};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use actix_service::{Service, ServiceFactory};
use actix_web::dev::{AppService, HttpServiceFactory, ResourceDef, ServiceRequest, ServiceResponse};
use actix_web::{HttpRequest, HttpResponse};
use http::{Request, Response};
use pointwork_core::{Body, BoxFuture, Published};

use crate::adapter::Inner;
use crate::body::bridge;
use crate::link::{InFlight, Link};
use crate::reply::{self, Asked, Keep};
use crate::request;
use crate::table::Table;

/// The adapter as a service of actix-web (spec A9).
///
/// Made by [`Actix::service`](crate::Actix::service), cheap to clone, and always ready. It sees later routes as they are
/// published. Give it to `default_service` of an `App` or a scope, where it gets what no other route takes; or to
/// `service`, where it gets everything that comes so far down the list, and the routes after it get nothing.
///
/// # Scopes
///
/// A scope of actix-web chooses requests by their prefix, and leaves the path as the client sent it. So the routes have
/// to begin with the prefix too, which is what `connect_to(adapter, prefix)` is for: the prefix is given twice, once to
/// the scope and once to the application, and stands in the path once (spec G1, G5). Frameworks whose mounting takes the
/// prefix off would need it doubled (spec G6). Below a scope `match_info` holds the scope's own parameters only.
///
/// # Middleware
///
/// A middleware runs before the route is known, and sees no parameters of it (spec H2). What it puts into the request as
/// [`Extensions`](pointwork_core::Extensions) arrives in the handler:
///
/// ```
/// use actix_web::dev::Service;
/// use actix_web::{App, HttpMessage, test};
/// use pointwork_actix::Actix;
/// use pointwork_core::Extensions;
///
/// # actix_rt::System::new().block_on(async {
/// let actix = Actix::new();
/// let app = App::new().default_service(actix.service()).wrap_fn(|request, next| {
///     let user = Extensions::default();
///     user.set("user", "ada");
///     request.extensions_mut().insert(user);
///     next.call(request)
/// });
/// let app = test::init_service(app).await;
/// let reply = test::call_service(&app, test::TestRequest::default().to_request()).await;
/// assert_eq!(reply.status(), 503, "nothing is published yet");
/// # });
/// ```
#[derive(Clone)]
pub struct ActixService(Arc<Inner>);

impl ActixService {
    pub(crate) fn new(inner: Arc<Inner>) -> Self {
        Self(inner)
    }

    fn answer(&self, mut request: ServiceRequest) -> Answering {
        let link = request.conn_data::<Arc<Link>>().cloned();
        let keep = Keep {
            pump: None,
            in_flight: link.clone().map(InFlight),
        };
        let parts = match request::head(&mut request, link.as_ref()) {
            Ok(parts) => parts,
            Err(status) => return Answering::at_once(request, reply::refusal(status, keep)),
        };
        let asked = Asked {
            method: parts.method.clone(),
            version: parts.version,
        };
        let Some(table) = self.0.published.load() else {
            let reply = Published::<Table>::not_ready(&asked.method);
            return Answering::at_once(request, reply::convert(&asked, reply, keep));
        };
        let hint = table.recognize(&parts.method, &parts.uri, &mut request);
        let (request, payload) = request.into_parts();
        let (body, pump) = bridge(payload, request::length(&parts), link);
        let router = table.router.clone();
        let body = body.within(self.0.options.body_timeout, router.executor());
        let http_request = Request::from_parts(parts, body);
        Answering(Some(State::Responding(Responding {
            request,
            asked,
            keep: Keep { pump, ..keep },
            polled: false,
            reply: Reply::Awaited(Box::pin(async move { router.respond(hint, http_request).await })),
        })))
    }
}

impl fmt::Debug for ActixService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ActixService")
    }
}

impl Service<ServiceRequest> for ActixService {
    type Response = ServiceResponse;
    type Error = actix_web::Error;
    type Future = Answering;

    actix_service::always_ready!();

    fn call(&self, request: ServiceRequest) -> Answering {
        self.answer(request)
    }
}

impl ServiceFactory<ServiceRequest> for ActixService {
    type Response = ServiceResponse;
    type Error = actix_web::Error;
    type Config = ();
    type Service = Self;
    type InitError = ();
    type Future = Ready<Result<Self, ()>>;

    fn new_service(&self, (): ()) -> Self::Future {
        ready(Ok(self.clone()))
    }
}

impl HttpServiceFactory for ActixService {
    fn register(self, config: &mut AppService) {
        let everything = if config.is_root() {
            ResourceDef::root_prefix("")
        } else {
            ResourceDef::prefix("")
        };
        config.register_service(everything, None, self, None);
    }
}

/// The reply that an [`ActixService`] works on. Dropping it cancels the handler.
#[must_use = "futures do nothing unless polled"]
pub struct Answering(Option<State>);

enum State {
    Done(HttpRequest, HttpResponse),
    Responding(Responding),
}

struct Responding {
    request: HttpRequest,
    asked: Asked,
    keep: Keep,
    polled: bool,
    reply: Reply,
}

enum Reply {
    Awaited(BoxFuture<'static, Response<Body>>),
    There(Response<Body>),
}

impl Answering {
    fn at_once(request: ServiceRequest, response: HttpResponse) -> Self {
        let (request, _) = request.into_parts();
        Self(Some(State::Done(request, response)))
    }
}

impl Responding {
    fn poll(mut self, cx: &mut Context<'_>) -> State {
        let first = !std::mem::replace(&mut self.polled, true);
        loop {
            if let Reply::Awaited(reply) = &mut self.reply
                && let Poll::Ready(reply) = reply.as_mut().poll(cx)
            {
                self.reply = Reply::There(reply);
            }
            if let Reply::There(reply) = self.reply {
                if first && self.keep.rest_is_here() {
                    // actix-http closes the connection over a body that it did not read yet. It reads on meanwhile.
                    cx.waker().wake_by_ref();
                    self.reply = Reply::There(reply);
                    return State::Responding(self);
                }
                return State::Done(self.request, reply::convert(&self.asked, reply, self.keep));
            }
            // A handler that read on this thread waits for what only this thread can fetch.
            match self.keep.pump.as_mut().map(|pump| pump.poll(cx)) {
                Some(Poll::Ready(())) => self.keep.pump = None,
                _ => return State::Responding(self),
            }
        }
    }
}

impl Future for Answering {
    type Output = Result<ServiceResponse, actix_web::Error>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let state = match self.0.take() {
            Some(State::Responding(responding)) => responding.poll(cx),
            Some(done) => done,
            // Polled after its end.
            None => return Poll::Pending,
        };
        match state {
            State::Done(request, response) => Poll::Ready(Ok(ServiceResponse::new(request, response))),
            responding => {
                self.0 = Some(responding);
                Poll::Pending
            }
        }
    }
}

impl fmt::Debug for Answering {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Answering")
    }
}
