//! The way of a request to the core, and the adapter as a service of actix-web.

use std::fmt;
use std::future::{Future, Ready, pending, poll_fn, ready};
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;

use actix_http::{ConnectionType, Extensions as ConnectionData, Response as ActixResponse};
use actix_service::{Service, ServiceFactory};
use actix_web::body::BoxBody;
use actix_web::dev::{
    AppService, HttpServiceFactory, Payload, RequestHead, ResourceDef, ServiceRequest, ServiceResponse,
};
use actix_web::http::Version;
use actix_web::{HttpMessage, HttpResponse};
use futures_util::FutureExt as _;
use futures_util::future::LocalBoxFuture;
use http::{Method, Request, Response};
use pointwork_core::{Body, Extensions, Published, Router};
use tokio::task::yield_now;

use crate::adapter::Inner;
use crate::body::{Pump, bridge};
use crate::connection::Link;
use crate::reply::{Asked, Keep, convert, refusal};
use crate::request;

impl Inner {
    /// Answers one request on the router of this moment, which it keeps until the request ends (spec S1). Dropping the
    /// future cancels the handler.
    ///
    /// Only a connection of our own server has data with a link; without it the limits are those of the server around us.
    pub(crate) fn answer(
        &self,
        head: &RequestHead,
        extensions: Option<Extensions>,
        payload: Payload,
        connection: Option<Rc<ConnectionData>>,
    ) -> impl Future<Output = ActixResponse<BoxBody>> + use<> {
        let link = connection.as_ref().and_then(|data| data.get::<Rc<Link>>());
        let in_flight = match link.map(Link::begin) {
            // actix-http reads on behind the last reply of a connection. The timer ends it.
            Some(None) => return pending().left_future(),
            in_flight => in_flight.flatten(),
        };
        let parts = request::convert(head, link.map(|_| &self.options));
        let length = parts.as_ref().ok().and_then(request::length);
        let has_body = !matches!(payload, Payload::None);
        let tunnel = has_body && request::is_tunnel(head);
        let (body, pump) = if has_body && !(tunnel && length.is_none()) {
            let (body, pump) = bridge(payload, length);
            (body, Some(pump))
        } else {
            (Body::empty(), None)
        };
        let mut asked = Asked {
            method: Method::GET,
            others_wait: false,
            chunkless: tunnel || head.version == Version::HTTP_10,
            last: tunnel
                || head.connection_type() != ConnectionType::KeepAlive
                || (link.is_some() && !self.options.keep_alive),
        };
        let running = match (parts, self.published.load()) {
            (Err(status), _) => Err(refusal(status)),
            (Ok(parts), None) => Err(Published::<Router>::not_ready(&parts.method)),
            (Ok(mut parts), Some(router)) => {
                asked.method = parts.method.clone();
                if let Some(extensions) = extensions {
                    parts.extensions.insert(extensions);
                }
                let body = body.within(self.options.body_timeout, router.executor());
                Ok(router.respond(None, Request::from_parts(parts, body)))
            }
        };
        let replying = async move {
            let mut keep = Keep { pump, in_flight };
            let reply = match running {
                Ok(running) => respond(running, &mut keep.pump).await,
                Err(reply) => reply,
            };
            asked.others_wait = connection.is_some_and(|data| Rc::strong_count(&data) > HOLDERS);
            convert(asked, reply, keep).await
        };
        replying.right_future()
    }
}

/// The holders of a connection's data while one request is in flight: actix-http and that request. Each further one is a
/// request that came in the meantime and waits.
const HOLDERS: usize = 2;

/// Runs the handler, and fetches of the body what it reads, which only this thread can.
async fn respond(running: impl Future<Output = Response<Body>>, pump: &mut Option<Pump>) -> Response<Body> {
    let mut running = pin!(running);
    let mut first = true;
    let reply = poll_fn(|cx| {
        loop {
            if let Poll::Ready(reply) = running.as_mut().poll(cx) {
                return Poll::Ready(reply);
            }
            first = false;
            if !pump.as_mut().is_some_and(|pump| pump.poll(cx)) {
                return Poll::Pending;
            }
        }
    });
    let reply = reply.await;
    if pump.as_ref().is_some_and(Pump::is_over) {
        *pump = None;
    }
    if first && pump.is_some() {
        // actix-http calls us before it looks at the body, and closes the connection over one that it did not see the
        // end of.
        yield_now().await;
    }
    reply
}

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
/// prefix off would need it doubled (spec G6).
///
/// # Middleware
///
/// A middleware runs before the route is known, and sees no parameters of it (spec H2); `match_info` and
/// `match_pattern` hold what the user's own scopes matched. What it puts into the request as
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
}

impl fmt::Debug for ActixService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ActixService")
    }
}

impl Service<ServiceRequest> for ActixService {
    type Response = ServiceResponse;
    type Error = actix_web::Error;
    /// Dropping it cancels the handler.
    type Future = LocalBoxFuture<'static, Result<ServiceResponse, actix_web::Error>>;

    actix_service::always_ready!();

    fn call(&self, request: ServiceRequest) -> Self::Future {
        let (request, payload) = request.into_parts();
        let extensions = request.extensions().get::<Extensions>().cloned();
        let reply = self.0.answer(request.head(), extensions, payload, None);
        Box::pin(async move { Ok(ServiceResponse::new(request, HttpResponse::from(reply.await))) })
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
