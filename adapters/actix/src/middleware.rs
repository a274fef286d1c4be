//! The adapter as a middleware of actix-web, in front of its user's own services.

use std::future::{Ready, ready};
use std::sync::Arc;
use std::task::{Context, Poll};

use actix_service::{Service, Transform};
use actix_web::body::{BoxBody, EitherBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use futures_util::future::{Either, LocalBoxFuture, MapOk};
use futures_util::{FutureExt as _, TryFutureExt as _};
use pointwork_core::adapter::{AdapterState, Place};

use crate::answer::mounted;
use crate::request;

/// The adapter as a middleware of actix-web, in front of its user's own services (spec A9).
///
/// [`Actix::in_front`](crate::Actix::in_front) and [`in_front`](crate::in_front) return it, for `App::wrap`. A request is the
/// adapter's only if a route matches its path and method. Everything else goes on to the services inside, with its payload,
/// extensions and matches as they were: an unknown path, another method, a bad escape, and every request before the first
/// routes and after the application was closed. It is cheap to clone, and sees later routes as they are published.
///
/// actix-web calls the middleware that was wrapped last first. So one that wraps before this sees only the requests that go
/// on, and one that wraps after it sees every request and every reply.
///
/// # Middleware outside
///
/// It runs before the route is known, and sees no parameters of it (spec H2). [`Extensions`](pointwork_core::Extensions)
/// that it puts into the request reach the handler:
///
/// ```
/// use actix_web::dev::Service;
/// use actix_web::{App, HttpMessage, test, web};
/// use pointwork_actix::Actix;
/// use pointwork_core::Extensions;
///
/// # actix_rt::System::new().block_on(async {
/// let actix = Actix::new();
/// let app = App::new()
///     .route("/mine", web::get().to(async || "mine"))
///     .wrap(actix.in_front())
///     .wrap_fn(|request, next| {
///         let user = Extensions::default();
///         user.set("user", "ada");
///         request.extensions_mut().insert(user);
///         next.call(request)
///     });
/// let app = test::init_service(app).await;
/// let reply = test::call_service(&app, test::TestRequest::with_uri("/mine").to_request()).await;
/// assert_eq!(reply.status(), 200, "nothing is published yet, so it is the application's own");
/// # });
/// ```
///
/// # Scopes
///
/// In `Scope::wrap` it gets the requests of the scope. The path is whole there: a route has to begin with the scope's prefix
/// too.
#[derive(Clone, Debug)]
pub struct ActixInFront(pub(crate) Arc<AdapterState>);

impl<S, B> Transform<S, ServiceRequest> for ActixInFront
where
    S: Service<ServiceRequest, Response = ServiceResponse<B>, Error = actix_web::Error>,
    B: MessageBody,
{
    type Response = ServiceResponse<EitherBody<BoxBody, B>>;
    type Error = actix_web::Error;
    type Transform = Mounted<S>;
    type InitError = ();
    type Future = Ready<Result<Self::Transform, ()>>;

    fn new_transform(&self, inner: S) -> Self::Future {
        let state = self.0.clone();
        ready(Ok(Mounted { state, inner }))
    }
}

/// A service of the user's with the adapter in front of it: the service of an [`ActixInFront`].
#[derive(Clone, Debug)]
pub struct Mounted<S> {
    state: Arc<AdapterState>,
    inner: S,
}

type Reply<B> = ServiceResponse<EitherBody<BoxBody, B>>;

impl<S, B> Service<ServiceRequest> for Mounted<S>
where
    S: Service<ServiceRequest, Response = ServiceResponse<B>, Error = actix_web::Error>,
    B: MessageBody,
{
    type Response = Reply<B>;
    type Error = actix_web::Error;
    /// Dropping it cancels the handler.
    type Future = Either<
        MapOk<LocalBoxFuture<'static, Result<ServiceResponse, actix_web::Error>>, fn(ServiceResponse) -> Reply<B>>,
        MapOk<S::Future, fn(ServiceResponse<B>) -> Reply<B>>,
    >;

    fn poll_ready(&self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&self, request: ServiceRequest) -> Self::Future {
        if let Ok(head) = request::convert(request.head(), None)
            && let Some(found) = self.state.accept(Place::InFront, head.uri.path(), Some(&head))
        {
            let ours: fn(ServiceResponse) -> Reply<B> = ServiceResponse::map_into_left_body;
            return mounted(&self.state, found, request, Ok(head))
                .map_ok(ours)
                .left_future();
        }
        let theirs: fn(ServiceResponse<B>) -> Reply<B> = ServiceResponse::map_into_right_body;
        self.inner.call(request).map_ok(theirs).right_future()
    }
}
