//! The admin endpoint of a Pointwork application: it lists the modules, and replaces them while they serve (spec S3).
//!
//! It listens apart from the application: on a Unix socket that its owner alone can open, or on an address with a token.
//!
//! ```no_run
//! use pointwork::App;
//! use pointwork_admin::{Admin, Listener};
//!
//! # async fn run(app: App) -> Result<(), Box<dyn std::error::Error>> {
//! let admin = Admin::new(&app)?;
//! # #[cfg(unix)]
//! let listener = Listener::unix("/run/shop/admin.sock")?;
//! # #[cfg(not(unix))]
//! # let listener: Listener = unreachable!();
//! tokio::spawn(admin.serve(listener)?);
//! # Ok(())
//! # }
//! ```
//!
//! Until a request with the token has arrived, a connection has 5 s and one of 32 places: one more connection takes the place of
//! the oldest. A request without the token gets 401, and its connection is closed. The 64 connections with an authorised
//! request have places of their own; one more gets 503.
//!
//! # Requests
//!
//! | request | what it does | reply |
//! |---|---|---|
//! | `GET /modules` | lists the modules, in the order loaded | 200, an array of [`ModuleStatus`](pointwork::ModuleStatus) |
//! | `GET /modules/{name}` | shows a module | 200, a [`ModuleStatus`](pointwork::ModuleStatus) |
//! | `PUT /modules/{name}` | replaces the module by the component in the body, or adds it; the component that serves changes nothing | 200 or 201, a [`Change`](pointwork::Change) |
//! | `DELETE /modules/{name}` | removes the module | 200, a [`Change`](pointwork::Change) |
//! | `POST /modules/{name}/rollback` | returns to the previous version | 200, a [`Change`](pointwork::Change) |
//! | `GET /events` | lists the durable channels with their figures | 200, an array of objects |
//! | `GET /events/{channel}/dead` | lists dead letters, the oldest first: up to `most` (100, at most 1,000) behind the one with the id `after` | 200, an array of objects without payloads |
//! | `GET /events/{channel}/dead/{id}` | shows a dead letter with its payload, as `payload` or, if it is no JSON, as `base64` | 200, an object |
//! | `POST /events/{channel}/dead/{id}/retry` | puts the event behind those that wait | 200, an object with the id |
//! | `DELETE /events/{channel}/dead/{id}` | drops a dead letter | 200, an object with the id |
//! | `GET /routes` | lists the routes | 200, an array of [`pointwork::RouteRecord`] |
//! | `GET /metrics` | metrics in the text format of OpenMetrics, which Prometheus reads | 200 |
//! | `GET /health` | shows that the process runs | 200 |
//! | `GET /ready` | shows whether every module is there in its recorded version, what is still starting, and the modules that are held back | 200, or 503 with those that could not be restored ([`pointwork::RestoreFailure`]), and what is starting |
//!
//! A `PUT` may have a `Content-Digest` (RFC 9530): a component with another SHA-256 is refused. A new module gets the options
//! of [`AdminOptions::module_options`] for its name; a replaced one keeps its own. If the client disconnects before the
//! reply, the change is either not made, or made in full.
//!
//! # Metrics
//!
//! Requests are measured in the application itself, on every adapter alike. The histogram
//! `pointwork_request_duration_seconds` has the time from the head of a request to the head of its reply, also of one that is
//! streamed, in buckets from 0.0001 to 10 s ([`DURATION_BUCKETS`](pointwork::DURATION_BUCKETS)). A request whose client leaves
//! before that is not counted. Its labels are:
//!
//! | label | value |
//! |---|---|
//! | `method` | the method of the route, or `ALL` |
//! | `route` | the pattern of the route, such as `/products/:id`; `unmatched` for the requests that no route answered |
//! | `status` | `2xx`, `3xx`, `4xx` or `5xx` |
//!
//! There is a series for each route that had a request, not for each path. A route keeps its counts when its module is
//! swapped, and also when the route is gone, until the process ends: a count never decreases.
//!
//! # Errors
//!
//! The reply to a request that fails is a [`ProblemReport`] with one of these statuses:
//!
//! | status | when |
//! |---|---|
//! | 400 | the name of the module is invalid or not UTF-8, the digest is invalid, or the body breaks off |
//! | 401 | the token is missing or wrong |
//! | 404, 405 | the module, the durable channel, the dead letter, the resource or the method does not exist |
//! | 408 | the client pauses for longer than [`AdminOptions::body_timeout`] |
//! | 409 | the routes or channels are in conflict with others, or there is no version to roll back to |
//! | 413 | the component is larger than [`AdminOptions::component_limit`] |
//! | 422 | the component is refused: it is invalid, has another digest, is of another world, or fails its probe |
//! | 500 | the host itself failed; the state directory cannot be written |
//! | 503 | the application is closed, or 64 other connections are authorised |
//!
//! Unix sockets need a Unix system.

#![forbid(unsafe_code)]
#![expect(
    clippy::disallowed_methods,
    reason = "the admin endpoint runs in processes that a test starts"
)]

mod admin;
mod changes;
mod error;
mod events;
mod listener;
mod metrics;
mod modules;
mod places;
mod problem;
mod server;
#[cfg(unix)]
mod socket;
mod state;
mod token;
mod upload;

pub use admin::Admin;
pub use error::{Error, ErrorKind};
pub use listener::Listener;
pub use problem::ProblemReport;
pub use state::AdminOptions;
pub use token::Token;
