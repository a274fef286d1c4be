//! Compiling components: on a thread of the application, or in a process of its own.

mod worker;

pub use self::worker::{Worker, work};
