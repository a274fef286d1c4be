//! The test binary `wire`, and what it shares with the behaviour suite: the five adapters, one HTTP client, and the
//! declared differences.
//!
//! A case states what an adapter does on the wire: native handlers behind a real socket, and a client that sees every byte.
//! It is written once and runs on every adapter; `tests/wire` adds the cases of single frameworks, such as mounting.
//!
//! ```text
//! cargo test -p pointwork-wire-tests --test wire -- actix::streams
//! ```
//!
//! Where an adapter may differ stands in `tests/differences.toml`, as expected failures of cases. Names of headers are
//! compared without case, and lines of headers without their order, unless a case is about these.

pub mod adapters;
mod broken;
mod case;
mod cases;
pub mod client;
pub mod differences;
mod probe;
mod routes;
mod server;

pub use adapters::{ADAPTERS, Adapter, On};
pub use case::{Case, block_on, main, message, run};
pub use cases::all;
pub use client::PATIENCE;
pub use probe::{Probe, Reply, within};
pub use routes::{observed, publish, published, route, routes};
pub use server::Server;
