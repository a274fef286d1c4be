//! The adapter as a service of actix-web.

use std::future::{Ready, ready};
use std::sync::Arc;

use actix_service::{Service, ServiceFactory};
use actix_web::dev::{AppService, HttpServiceFactory, ResourceDef, ServiceRequest, ServiceResponse};
use actix_web::{HttpMessage, HttpResponse};
use futures_util::future::LocalBoxFuture;
use pointwork_core::adapter::AdapterState;
use pointwork_core::{Extensions, Router};

use crate::answer::answer;

/// The adapter as a service of actix-web (spec A9).
///
/// [`Actix::service`](crate::Actix::service) returns it. It is cheap to clone, always ready, and sees later routes as they
/// are published. Give it to `default_service` of an `App` or a scope, where it gets every request that no other route
/// takes; or to `service`, where it gets every request that reaches it, and the routes after it get none.
///
/// # Scopes
///
/// A scope of actix-web chooses requests by their prefix, and leaves the path as the client sent it. So the routes have
/// to begin with the prefix too, by `connect_to(adapter, prefix)`: the prefix is given twice, once to
/// the scope and once to the application, and stands in the path once (spec G1, G5). Frameworks whose mounting takes the
/// prefix off would need it doubled (spec G6).
///
/// # Middleware
///
/// A middleware runs before the route is known, and sees no parameters of it (spec H2); `match_info` and
/// `match_pattern` hold what the user's own scopes matched. [`Extensions`](pointwork_core::Extensions) that it puts into
/// the request reach the handler:
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
#[derive(Clone, Debug)]
pub struct ActixService(pub(crate) Arc<AdapterState<Router>>);

impl Service<ServiceRequest> for ActixService {
    type Response = ServiceResponse;
    type Error = actix_web::Error;
    /// Dropping it cancels the handler.
    type Future = LocalBoxFuture<'static, Result<ServiceResponse, actix_web::Error>>;

    actix_service::always_ready!();

    fn call(&self, request: ServiceRequest) -> Self::Future {
        let (request, payload) = request.into_parts();
        let extensions = request.extensions().get::<Extensions>().cloned();
        let reply = answer(&self.0, request.head(), extensions, payload, None);
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
