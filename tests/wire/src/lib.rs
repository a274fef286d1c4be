//! The test binary `wire`, and the parts that it shares with the behaviour suite: the five adapters, one HTTP client,
//! and the declared differences.
//!
//! A case proves the behaviour of an adapter on the wire: native handlers behind a real socket, and a client that sees
//! every byte. It is written once and runs on every adapter; `tests/wire/tests/wire` adds the cases of single
//! frameworks, such as their middleware.
//!
//! ```text
//! cargo test -p pointwork-wire-tests --test wire -- actix::streams
//! ```
//!
//! `tests/differences.toml` declares how adapters may differ, as expected failures of cases. Names of headers are
//! compared without case, and lines of headers without their order, unless a case tests these.

pub mod adapters;
mod apart;
mod broken;
mod case;
mod cases;
pub mod client;
pub mod differences;
mod probe;
mod routes;
mod server;
pub mod users;

pub use adapters::{ADAPTERS, Adapter, On};
pub use case::{Case, block_on, main};
pub use cases::all;
pub use probe::{Probe, Reply, within};
pub use routes::{
    RouteGate, broken_off, client_route, connected, gated, observed, publish, published, route, route_with, routes,
};
pub use server::Server;
