//! Pointwork embedded in programs of C: the functions of `include/pointwork.h`, on [`pointwork_embed`].
//!
//! The header documents every function; it is made of the comments here. A panic never leaves a function: it is an error.
//!
//! # Safety
//! The rules at the top of `include/pointwork.h` hold for every function: a pointer is valid or NULL, a text ends in a zero byte, and
//! no value is used after a function took it over.

#![expect(
    clippy::missing_safety_doc,
    reason = "the crate's documentation has the rules of all functions"
)]

mod answer;
mod app;
mod body;
mod bytes;
mod error;
mod event;
mod handle;
mod header;
mod log;
mod reply;
mod request;
mod request_builder;
mod server;
mod waiting;

pub use answer::*;
pub use app::*;
pub use body::*;
pub use bytes::*;
pub use error::*;
pub use event::*;
pub use handle::*;
pub use header::*;
pub use log::*;
pub use reply::*;
pub use request::*;
pub use request_builder::*;
pub use server::*;
