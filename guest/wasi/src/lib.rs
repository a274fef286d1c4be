//! The adapters between WASI, which the standard libraries of guest languages import, and the contract of Pointwork. With them
//! `println!`, `SystemTime`, `HashMap` and crates such as `uuid` work in a Rust controller, `Date` in a JavaScript one, and `print`,
//! `datetime.now()`, `random`, `secrets` and `os.environ` in a Python one, and the component imports nothing but the contract.
//!
//! Compilers such as those of Rust and Go make a core module that imports `wasi_snapshot_preview1`. The encoder of
//! `wit-component` takes an adapter together with that module:
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
//! The tools of JavaScript and Python make a component that imports WASI 0.2. [`compose`] puts it together with [`COMPONENT`].
//!
//! The answers of both:
//!
//! | WASI 0.1 | WASI 0.2 | answer |
//! |---|---|---|
//! | `fd_write` to 1 and 2 | `stdout`, `stderr` | `log.print`: lines of the log |
//! | `clock_time_get` | `wall-clock`, `monotonic-clock` | `environment.now` for the real time, `environment.monotonic` for the monotonic clock |
//! | `random_get` | `random`, `insecure`, `insecure-seed` | `environment.random` |
//! | `environ_get` | `get-environment` | `environment.variables` |
//! | `args_get` | `get-arguments` | no arguments |
//! | `fd_read` of 0 | `stdin` | the end of the file |
//! | files and sockets | `filesystem`, `sockets` | an error |
//! | `poll_oneoff` with a clock | `poll` and `block` of a timer | `log.panicked` with a sentence, and a trap |
//! | `proc_exit`, `proc_raise` | `exit` | the same |
//!
//! The contract says what a program gets outside of a request: the time is 0, the random bits are always the same, and there are
//! no variables. A tool that takes a snapshot of a program after its top-level code ran, as those of JavaScript and Python do,
//! runs that code with its own WASI instead.
//!
//! The sources are WebAssembly text, `adapter.wat` and `component.wat`. Tests of this crate build `adapter.wasm` and
//! `component.wasm` from them, so that an encoder needs neither a compiler nor a WebAssembly target.

mod compose;
mod error;

pub use compose::compose;
pub use error::{Error, ErrorKind};

/// The module of the imports that the adapter answers.
pub const MODULE: &str = "wasi_snapshot_preview1";

/// The adapter: a core module for `ComponentEncoder::adapter`.
pub const ADAPTER: &[u8] = include_bytes!("adapter.wasm");

/// A component that exports WASI 0.2, and imports the contract alone.
pub const COMPONENT: &[u8] = include_bytes!("component.wasm");
