//! Pointwork's behaviour suite.
//!
//! The suite is a library that works on a running subject: an application on one adapter, reached over sockets, and a
//! control handle. A [`case`](case::Case) describes one behaviour and the rows of the specification that it proves. It
//! is written once, and declares the parts that it exercises; [`matrix`] decides where it runs. `tests/suite/tests/behaviour`
//! runs the cases, one test for each case and adapter or language:
//!
//! ```text
//! cargo test --workspace --test behaviour -- hyper::literal_beats_parameter
//! ```
//!
//! A test checks that each row of `tests/spec.md` has a case. `tests/differences.toml`
//! declares how adapters may differ; a declared difference that is not seen is an error. Random tables and requests
//! compare the adapters, see [`fuzz`].

pub mod adapters;
pub mod app;
pub mod broken;
pub mod case;
pub mod cases;
pub mod differences;
pub mod event_log;
pub mod fixtures;
pub mod flavor;
pub mod fuzz;
pub mod guest;
pub mod judge;
pub mod languages;
pub mod logs;
pub mod matrix;
pub mod rows;
pub mod subject;

pub use pointwork_wire_tests::client;

/// The snippets of the README compile.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
mod readme {}

/// The snippets of the page about handlers compile and run.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/handlers.md")]
mod handlers {}

/// The snippets of the page about events compile and run.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/events.md")]
mod events {}

/// The snippets of the page about SQLite compile and run.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/sqlite.md")]
mod sqlite {}
