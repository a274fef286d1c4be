//! The health check of a version before it is published.

use http::{Method, Request, StatusCode};
use pointwork_core::{Body, Executor as _, Origin, within};

use super::App;
use crate::app::module::Module;
use crate::scheduling::threads::Priority;
use crate::{Error, ErrorKind, OrError};

impl App {
    /// Requests the module's health route, if it has one, on a router of its own.
    ///
    /// # Errors
    /// If the status is 400 or more, or the limit of time for a probe is over.
    pub(super) async fn check_health(&self, module: &Module) -> Result<(), Error> {
        let Some(path) = &module.options.health else {
            return Ok(());
        };
        let failed = |message: String| Error::new(ErrorKind::Probe, message);
        let router = self
            .0
            .routers
            .router(module.routes("", Origin::Decorator)?)
            .or_error(ErrorKind::Refused, "its routes are in conflict")?;
        let invalid = format!("the health route `{path}` is not a path: expected one such as `/health`");
        let request = Request::builder()
            .method(Method::GET)
            .uri(path)
            .header(http::header::HOST, "localhost")
            .body(Body::empty())
            .or_error(ErrorKind::Refused, invalid)?;
        let limits = module.options.limits.as_ref();
        let limit = limits.unwrap_or(&self.0.engines.limits).probe;
        let threads = self.0.threads.clone();
        let until = threads.now() + limit;
        let checking = async move { within(&*threads, until, router.respond(None, request)).await };
        let status = match self.0.threads.spawn_at(Priority::Normal, checking).await {
            Ok(Some(reply)) => reply.status(),
            Ok(None) => {
                return Err(failed(format!(
                    "its health route `GET {path}` took longer than {limit:?}"
                )));
            }
            Err(panic) => return Err(failed("its health check panicked".to_owned()).with_source(panic)),
        };
        if !status.is_client_error() && !status.is_server_error() {
            return Ok(());
        }
        let error = failed(format!(
            "its health route `GET {path}` answers {status}, expected less than 400"
        ));
        Err(if status == StatusCode::NOT_FOUND {
            error.with_hint("the path is that of a route of the module itself")
        } else {
            error
        })
    }
}
