//! The admin endpoint of a Pointwork application: who may reach it sees the modules at work, and changes them while they
//! serve (spec S3).
//!
//! It listens apart from the application, on a Unix socket that its owner alone can open, or on an address with a token.
//! Nothing listens unless somebody asks for it.
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
//! # Requests
//!
//! | request | what it does | reply |
//! |---|---|---|
//! | `GET /modules` | lists the modules, in the order loaded | 200, an array of [`ModuleReport`] |
//! | `GET /modules/{name}` | tells of one | 200, a [`ModuleReport`] |
//! | `PUT /modules/{name}` | the body is a component: puts it in the place of the module, or loads it if there is none | 200 or 201, a [`ChangeReport`] |
//! | `DELETE /modules/{name}` | takes the module out | 200, a [`ChangeReport`] |
//! | `POST /modules/{name}/rollback` | makes the version before current again | 200, a [`ChangeReport`] |
//! | `GET /routes` | lists the routes | 200, an array of [`pointwork::RouteRecord`] |
//! | `GET /metrics` | figures in the text format of OpenMetrics, which Prometheus reads | 200 |
//! | `GET /health` | says that the process lives | 200 |
//! | `GET /ready` | says whether every module serves | 200, or 503 with those that are held back |
//!
//! A `PUT` may have a `Content-Digest` as RFC 9530 describes it: a component with another SHA-256 is refused. The module
//! that is loaded gets the options that [`AdminOptions::module_options`] gives for its name; one that is replaced keeps its
//! own. A client that breaks off before the reply began changes nothing, or sees the change whole at the next look.
//!
//! # Errors
//!
//! Whatever does not succeed is answered with a [`ProblemReport`], and with one of these:
//!
//! | status | when |
//! |---|---|
//! | 400 | the name of the module or the digest cannot be read, or the body breaks off |
//! | 401 | the token is missing or wrong |
//! | 404, 405 | there is no such module; there is no such resource or method |
//! | 408 | the body stands still |
//! | 409 | the routes or channels are in conflict with others, or there is no version to roll back to |
//! | 413 | the component is longer than [`AdminOptions::component_limit`] |
//! | 422 | the component is refused: it is none, its digest is another one, it is of another world, it fails its probe |
//! | 500 | the host itself failed |
//!
//! Unix sockets are there on Unix alone.

mod admin;
mod changes;
mod error;
mod listener;
mod metrics;
mod modules;
mod problem;
mod report;
mod server;
#[cfg(unix)]
mod socket;
mod token;
mod upload;

pub use admin::{Admin, AdminOptions};
pub use error::{Error, ErrorKind};
pub use listener::Listener;
pub use problem::ProblemReport;
pub use report::{ChangeReport, ChannelReport, ModuleReport};
pub use token::Token;
