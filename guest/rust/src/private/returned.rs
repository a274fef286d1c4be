//! What the compiler checks of the return types of handlers and guards.

use std::marker::PhantomData;

use crate::reply::IntoOutcome;

/// The return type of a handler, or the value of a guard.
///
/// Its inherent constants exist for some types only, and have priority over those of [`NotReturned`] and [`IsNotBool`].
#[derive(Debug)]
pub struct Returned<T>(PhantomData<T>);

impl<T: IntoOutcome> Returned<T> {
    /// Whether nobody replies if the handler takes no context.
    pub const IS_NOTHING: bool = T::IS_NOTHING;
}

impl Returned<bool> {
    pub const IS_BOOL: bool = true;
}

/// For a type that a handler cannot return: the compiler has an error for it.
pub trait NotReturned {
    const IS_NOTHING: bool = false;
}

impl<T> NotReturned for Returned<T> {}

/// For any other type.
pub trait IsNotBool {
    const IS_BOOL: bool = false;
}

impl<T> IsNotBool for Returned<T> {}

/// Compiles only if the handler did not take a context that its reply needs.
pub fn check_context<T: IntoOutcome, const TAKEN: bool>(_value: &T) {
    const {
        assert!(
            !(TAKEN && T::KEEPS_CONTEXT),
            "a handler whose reply is an iterator or a stream takes the context by reference or not at all"
        );
    }
}
