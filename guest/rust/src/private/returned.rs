//! Checks of the return types of handlers and guards at compile time.

use std::marker::PhantomData;
use std::ops::ControlFlow;

use http::StatusCode;

use crate::failure::Failure;
use crate::reply::{Deferred, Html, IntoOutcome, NoContent, Outcome, Redirect, Reply};

/// The return type of a handler, or the value of a guard.
///
/// Its inherent constants exist for some types only, and have priority over those of [`NotReturned`] and [`NeverRefuses`].
#[derive(Debug)]
pub struct Returned<T>(PhantomData<T>);

impl<T: IntoOutcome> Returned<T> {
    /// Whether nobody replies if the handler takes no context.
    pub const IS_NOTHING: bool = T::IS_NOTHING;
}

impl<T: Future> Returned<T> {
    /// Whether a guard gives it without awaiting it.
    pub const IS_FUTURE: bool = true;
}

macro_rules! may_refuse {
    ($([$($parameter:ident)*] $ty:ty: $shown:literal;)*) => {$(
        impl<$($parameter,)*> Returned<$ty> {
            /// The type, if its values may mean that a guard refuses the request, which every value lets pass.
            pub const MAY_REFUSE: &'static str = $shown;
        }
    )*};
}

may_refuse! {
    [] bool: "a `bool`";
    [] Deferred: "a `Deferred`";
    [] Failure: "a `Failure`";
    [] NoContent: "a `NoContent`";
    [] Outcome: "an `Outcome`";
    [] Redirect: "a `Redirect`";
    [] Reply: "a `Reply`";
    [] StatusCode: "a status";
    [B C] ControlFlow<B, C>: "a `ControlFlow`";
    [T] Html<T>: "an `Html`";
    [T] Option<T>: "an `Option`";
    [T E] Result<T, E>: "a `Result`";
    [T] (StatusCode, T): "a tuple with a status";
    [T U] (StatusCode, T, U): "a tuple with a status";
}

/// For a type that a handler cannot return: the compiler has an error for it.
pub trait NotReturned {
    const IS_NOTHING: bool = false;
}

impl<T> NotReturned for Returned<T> {}

/// For the value of a guard that is of any other type.
pub trait NeverRefuses {
    const IS_FUTURE: bool = false;
    const MAY_REFUSE: &'static str = "";
}

impl<T> NeverRefuses for Returned<T> {}

/// Compiles only if the handler did not take a context that its reply needs.
pub fn check_context<T: IntoOutcome, const TAKEN: bool>(_value: &T) {
    const {
        assert!(
            !(TAKEN && T::KEEPS_CONTEXT),
            "a handler whose reply is an iterator or a stream takes the context by reference or not at all"
        );
    }
}
