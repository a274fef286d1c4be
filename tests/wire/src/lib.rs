//! What every adapter does on the wire, written once: native handlers behind a real socket, and a client that sees every
//! byte.
//!
//! An adapter's `tests/wire/main.rs` implements [`Subject`] and calls [`main`], which runs all [common cases](all) on it,
//! and the adapter's own beside them: mounting, its framework's words for a match, and what else no other adapter has.
//!
//! ```no_run
//! # use std::process::ExitCode;
//! use pointwork_wire_tests::{Subject, main as run};
//!
//! # fn example<OnHyper: Subject>() -> ExitCode {
//! run::<OnHyper>([])
//! # }
//! ```
//!
//! An adapter may differ only in what its [`Differences`] declare, each with the sentence of its docs that says so; the
//! case then asserts what it does instead. Names of headers are compared without case, and lines of headers without their
//! order, unless a case is about these.
//!
//! A case is a function that [`cases!`] lists; one that is not listed is dead code, which the compiler tells.

mod case;
mod cases;
mod client;
mod differences;
mod http2;
mod routes;
mod server;
mod subject;

pub use case::{Case, block_on, main};
pub use cases::all;
pub use client::{Client, PATIENCE, Reply, within};
pub use differences::{Differences, Http2};
pub use routes::{observed, publish, published, route, routes};
pub use server::Server;
pub use subject::Subject;
