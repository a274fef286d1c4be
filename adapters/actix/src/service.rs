//! The adapter as a service of actix-web, below a prefix.

use std::sync::Arc;

use actix_service::fn_service;
use actix_web::dev::{AppService, HttpServiceFactory, ResourceDef, ServiceRequest};
use actix_web::guard::{Guard, GuardContext};
use pointwork_core::adapter::{AdapterState, Place};

use crate::answer::mounted;
use crate::request;

/// The adapter as a service of actix-web, which answers everything below the prefix of its connection (spec A9).
///
/// [`Actix::service`](crate::Actix::service) and [`service`](crate::service) return it, for the function `service` of an
/// `App`, of a scope or of a `ServiceConfig`. At or below the prefix it answers every request that reaches it, 404, 405 and
/// 503 too; any other goes on to the services registered after it, and to the default service. It is cheap to clone, and
/// sees later routes as they are published.
///
/// actix-web asks its services in the order in which they were registered. One that comes before this and takes a path below
/// the prefix hides the routes there; the application cannot see that (spec A10). With a prefix of `/` it takes everything
/// that the services before it left.
///
/// # Scopes
///
/// A scope of actix-web chooses requests by their prefix, and leaves the path as the client sent it. So inside
/// `web::scope("/api")` the connection needs the prefix `api` too: it is given twice, and stands in the path once (spec G1,
/// G5). Frameworks whose mounting takes the prefix off would need it doubled (spec G6). A request of the scope that is not
/// below the prefix goes to the scope's other services.
///
/// # Middleware
///
/// That of the `App` and of a scope around it runs before the route is known, and sees no parameters of it (spec H2);
/// `match_info` and `match_pattern` hold what the user's own scopes matched. [`Extensions`](pointwork_core::Extensions) that
/// it puts into the request reach the handler. A middleware for the user's own services alone goes around these, in a
/// `web::scope("")` that is registered after this service.
///
/// ```
/// use actix_web::{App, test, web};
/// use pointwork_actix::Actix;
///
/// # actix_rt::System::new().block_on(async {
/// let actix = Actix::new();
/// // app.connect_to(actix.clone(), ConnectOptions::new().prefix("api"))
/// let app = App::new().service(actix.service()).route("/mine", web::get().to(async || "mine"));
/// let app = test::init_service(app).await;
/// let reply = test::call_service(&app, test::TestRequest::with_uri("/mine").to_request()).await;
/// assert_eq!(reply.status(), 200);
/// # });
/// ```
#[derive(Clone, Debug)]
pub struct ActixService(pub(crate) Arc<AdapterState>);

impl HttpServiceFactory for ActixService {
    fn register(self, config: &mut AppService) {
        let everything = if config.is_root() {
            ResourceDef::root_prefix("")
        } else {
            ResourceDef::prefix("")
        };
        let state = self.0.clone();
        let service = fn_service(move |request: ServiceRequest| {
            let head = request::convert(request.head(), None);
            mounted(&state, None, request, head)
        });
        config.register_service(everything, Some(vec![Box::new(Below(self.0))]), service, None);
    }
}

/// Lets the requests below the prefix pass.
struct Below(Arc<AdapterState>);

impl Guard for Below {
    fn check(&self, context: &GuardContext<'_>) -> bool {
        self.0.accept(Place::Below, context.head().uri.path(), None).is_some()
    }
}
