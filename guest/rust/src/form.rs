//! The two forms of a module, as type parameters.

pub use crate::waiting::{ModuleForm, Synchronous};

/// The synchronous form: an instance handles one request or event at a time, and a call suspends it.
#[derive(Debug)]
pub enum Blocking {}

/// The asynchronous form: calls are awaited, and meanwhile the instance handles other requests and events.
#[derive(Debug)]
pub enum Async {}

pub(crate) mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Blocking {}
    impl Sealed for super::Async {}
}
