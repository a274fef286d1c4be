//! The behaviour suite in hosts of other languages.
//!
//! A small program in each language embeds applications with that language's binding. The tests drive it by steps over a pipe:
//! [`InHost`] is a subject of the suite. The listeners of a case that are programs run in the host's language; functions
//! that are Rust run here, and the host passes their calls on and answers later.

mod calls;
mod process;
mod settings;
mod shadow;
mod subject;

pub use calls::Calls;
pub use process::{Process, Words, text};
pub use subject::{Host, InHost, Place};
