//! The two forms of a module, as type parameters.

/// Marks what belongs to the synchronous form: an instance does one thing at a time, and a call suspends it.
#[derive(Debug)]
pub enum Blocking {}

/// Marks what belongs to the asynchronous form: a call is awaited, and meanwhile the instance does other work.
#[derive(Debug)]
pub enum Async {}

/// [`Blocking`] or [`Async`].
pub trait Form: sealed::Sealed + 'static {}

impl Form for Blocking {}
impl Form for Async {}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Blocking {}
    impl Sealed for super::Async {}
}
