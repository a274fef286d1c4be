//! Pointwork embedded in programs of C: the functions of `include/pointwork.h`, on [`pointwork_embed`].
//!
//! The header documents every function; it is made of the comments here. A panic never leaves a function: it is an error.
//!
//! # Safety
//! The same rules hold for all functions. A pointer is NULL where the function allows it, or points to a live value: one that a
//! function of this library gave and that neither `free` nor another function has taken over since, or memory of the program with
//! the size that its type or its length says. A text is UTF-8 or ends with a NUL byte. A callback and its `user` may be used on any
//! thread until the function that frees `user` was called. What a function writes into is used by no other thread meanwhile.

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
mod message;
mod reply;
mod request;
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
pub use message::*;
pub use reply::*;
pub use request::*;
pub use server::*;
