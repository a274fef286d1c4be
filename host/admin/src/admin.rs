//! The endpoint and its routes.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Request, State};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use http::StatusCode;
use pointwork::{App, ModuleState};
use pointwork_core::Serving;
use serde_json::json;

use crate::changes::Changes;
use crate::places::Place;
use crate::problem::Problem;
use crate::state::{AdminOptions, Shared, SharedState};
use crate::{Error, ErrorKind, Listener, events, metrics, modules, server, upload};

/// The time to read the body of a request without the token: a client that still sends would not see the reply.
const REFUSED_BODY: Duration = Duration::from_secs(1);

/// The admin endpoint of an application. Cheap to clone; it can serve on several listeners.
///
/// Create one for each application: it counts the changes from then on.
#[derive(Clone, Debug)]
pub struct Admin(Shared);

impl Admin {
    /// An endpoint with the default options: for Unix sockets, since it has no token.
    ///
    /// # Errors
    /// [`App`](ErrorKind::App) if the application refuses the listeners for its changes.
    pub fn new(app: &App) -> Result<Self, Error> {
        Self::with_options(app, AdminOptions::new())
    }

    /// An endpoint with other options.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn with_options(app: &App, options: AdminOptions) -> Result<Self, Error> {
        let changes = Changes::count(app).map_err(|error| {
            Error::new(ErrorKind::App, "the admin endpoint cannot listen to changes").with_source(error)
        })?;
        Ok(Self(Arc::new(SharedState {
            app: app.clone(),
            options,
            changes,
        })))
    }

    /// Serves on a listener. Await or spawn the result within a tokio runtime.
    ///
    /// A graceful shutdown ([`Serving::with_graceful_shutdown`]) accepts no further connection and gives requests in
    /// flight [`AdminOptions::shutdown_grace`].
    ///
    /// # Errors
    /// [`Token`](ErrorKind::Token) for an address without a token.
    ///
    /// # Cancel safety
    /// Dropping the result cuts every connection. A change that is under way is either not made, or made in full.
    pub fn serve(&self, listener: Listener) -> Result<Serving, Error> {
        if listener.is_open() && self.0.options.token.is_none() {
            let message =
                format!("the admin endpoint on {listener} has no token, so anybody could replace the modules");
            return Err(Error::new(ErrorKind::Token, message));
        }
        let (router, grace) = (self.router(), self.0.options.shutdown_grace);
        Ok(Serving::new(move |signal| {
            server::serve(listener, router, signal, grace)
        }))
    }

    fn router(&self) -> Router {
        Router::new()
            .route("/modules", get(modules::list))
            .route(
                "/modules/{name}",
                get(modules::show).put(modules::put).delete(modules::remove),
            )
            .route("/modules/{name}/rollback", post(modules::roll_back))
            .route("/events", get(events::list))
            .route("/events/{channel}/dead", get(events::dead_letters))
            .route(
                "/events/{channel}/dead/{id}",
                get(events::dead_letter).delete(events::discard),
            )
            .route("/events/{channel}/dead/{id}/retry", post(events::retry))
            .route("/routes", get(routes))
            .route("/metrics", get(metrics::show))
            .route("/health", get(health))
            .route("/ready", get(ready))
            .fallback(not_found)
            .method_not_allowed_fallback(not_allowed)
            .layer(middleware::from_fn_with_state(self.0.clone(), authenticate))
            .with_state(self.0.clone())
    }
}

async fn authenticate(State(admin): State<Shared>, request: Request, next: Next) -> Response {
    if let Some(token) = &admin.options.token
        && !token.authorizes(request.headers())
    {
        let (head, body) = request.into_parts();
        upload::discard(&head.headers, body, REFUSED_BODY).await;
        return Problem::new(StatusCode::UNAUTHORIZED, "the token is missing or wrong")
            .with_hint("send it as `Authorization: Bearer …`")
            .into_response();
    }
    match request.extensions().get::<Arc<Place>>() {
        Some(place) if !place.authorise() => {
            let message = "the admin endpoint has no place for one more connection";
            Problem::new(StatusCode::SERVICE_UNAVAILABLE, message)
                .with_hint("close another one")
                .into_response()
        }
        _ => next.run(request).await,
    }
}

async fn routes(State(admin): State<Shared>) -> Response {
    Json(admin.app.routes()).into_response()
}

async fn health() -> Response {
    Json(json!({"status": "up"})).into_response()
}

/// An application is ready when each of its modules is there in the version that it is meant to be, and the channels that it serves to
/// other processes have been served once. Circuit breakers do not count: a load balancer would take the server away from the
/// handlers that work, and from the calls that close the breaker.
async fn ready(State(admin): State<Shared>) -> Response {
    let statuses = admin.app.statuses();
    let held: Vec<_> = statuses
        .iter()
        .filter(|status| status.state == ModuleState::HeldBack)
        .map(|status| status.info.name.as_str())
        .collect();
    let restore_failures = admin.app.restore_failures();
    let starting = admin.app.bus().starting();
    let ready = restore_failures.is_empty() && starting.is_empty();
    let status = if ready {
        StatusCode::OK
    } else {
        StatusCode::SERVICE_UNAVAILABLE
    };
    let report = json!({"ready": ready, "held-back": held, "restore-failures": restore_failures, "starting": starting});
    (status, Json(report)).into_response()
}

async fn not_found(request: Request) -> Problem {
    Problem::new(StatusCode::NOT_FOUND, format!("there is no `{}`", request.uri().path()))
}

async fn not_allowed(request: Request) -> Problem {
    let message = format!("{} is not allowed for `{}`", request.method(), request.uri().path());
    Problem::new(StatusCode::METHOD_NOT_ALLOWED, message)
}

#[cfg(test)]
mod tests {
    use axum::body::Body;
    use http::header;
    use tokio::net::TcpListener;
    use tower::ServiceExt as _;

    use super::*;

    const TOKEN: &str = "4uQ8cVfN1xW7kR2pZ9sT0b";

    fn endpoint(token: Option<&str>) -> Admin {
        let app = App::new().expect("threads start");
        let token = token.map(|token| crate::Token::new(token).expect("long enough"));
        let options = token.into_iter().fold(AdminOptions::new(), AdminOptions::token);
        Admin::with_options(&app, options).expect("it listens to changes")
    }

    async fn status(admin: &Admin, request: http::request::Builder) -> StatusCode {
        let request = request.body(Body::empty()).expect("a request");
        admin.router().oneshot(request).await.expect("it never fails").status()
    }

    #[tokio::test]
    async fn every_path_needs_the_token() {
        let admin = endpoint(Some(TOKEN));
        for path in ["/modules", "/metrics", "/health", "/ready", "/nothing"] {
            let status = status(&admin, Request::get(path)).await;
            assert_eq!(status, StatusCode::UNAUTHORIZED, "{path}");
        }
        let shown = Request::get("/health").header(header::AUTHORIZATION, format!("Bearer {TOKEN}"));
        assert_eq!(status(&admin, shown).await, StatusCode::OK);
    }

    /// Spec E6.
    #[tokio::test]
    async fn failures_are_metrics_by_code_and_party_at_fault() {
        let admin = endpoint(None);
        let caller = admin.0.app.bus().caller();
        caller.emit_raw("db:nobody", pointwork::Payload::null());
        let request = Request::get("/metrics").body(Body::empty()).expect("a request");
        let response = admin.router().oneshot(request).await.expect("it never fails");
        let body = axum::body::to_bytes(response.into_body(), usize::MAX);
        let text = String::from_utf8(body.await.expect("a whole body").to_vec()).expect("text");
        let line = r#"pointwork_failures_total{code="unknown-event",fault="module"} 1"#;
        assert!(text.lines().any(|found| found == line), "{text}");
    }

    #[tokio::test]
    async fn address_without_a_token_is_refused() {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let error = endpoint(None)
            .serve(Listener::tcp(listener))
            .expect_err("it has no token");
        assert_eq!(error.kind(), ErrorKind::Token);
    }
}
