//! The adapter between `wasi_snapshot_preview1`, which the standard libraries of guest languages import, and the contract
//! of Pointwork. With it `println!`, `SystemTime`, `HashMap` and crates such as `uuid` work in a controller, and the
//! component imports nothing but the contract.
//!
//! The encoder of `wit-component` takes the adapter together with the core module of the guest:
//!
//! ```
//! # fn encode(module: &[u8]) -> Result<Vec<u8>, Box<dyn std::error::Error>> {
//! use pointwork_wasi::{ADAPTER, MODULE};
//! use wit_component::ComponentEncoder;
//!
//! let encoder = ComponentEncoder::default().validate(true).module(module)?;
//! Ok(encoder.adapter(MODULE, ADAPTER)?.encode()?)
//! # }
//! ```
//!
//! The functions of the adapter and their answers:
//!
//! | function | answer |
//! |---|---|
//! | `fd_write` to 1 and 2 | `log.print`: lines of the log |
//! | `clock_time_get` | `environment.now` for the real time, `environment.monotonic` for the monotonic clock |
//! | `random_get` | `environment.random` |
//! | `environ_get` | `environment.variables` |
//! | `args_get` | no arguments |
//! | `fd_read` of 0 | the end of the file |
//! | files and sockets | an error |
//! | `poll_oneoff` with a clock, `proc_exit`, `proc_raise` | `log.panicked` with a sentence, and a trap |
//!
//! The source is `adapter.wat`, WebAssembly text. A test of this crate builds `adapter.wasm` from it, so that
//! an encoder needs neither a compiler nor a WebAssembly target.

/// The module of the imports that the adapter answers.
pub const MODULE: &str = "wasi_snapshot_preview1";

/// The adapter: a core module for `ComponentEncoder::adapter`.
pub const ADAPTER: &[u8] = include_bytes!("adapter.wasm");

/// A component that exports WASI 0.2 and imports the contract alone, for [`compose`].
pub const COMPONENT: &[u8] = include_bytes!("component.wasm");

mod compose;
mod error;

pub use compose::compose;
pub use error::{Error, ErrorKind};
