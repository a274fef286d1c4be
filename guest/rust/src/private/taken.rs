//! Checks of the arguments of functions at compile time.

use std::marker::PhantomData;

/// The type of an argument.
///
/// Its inherent constant exists for types with constraints of the crate `garde` that nothing checks, and has priority over the
/// constant of [`Unconstrained`].
#[derive(Debug)]
pub struct Taken<T>(PhantomData<T>);

/// For an argument of any other type.
pub trait Unconstrained {
    const IS_UNCHECKED: bool = false;
    const IS_UNCHECKED_PAYLOAD: bool = false;
}

impl<T> Unconstrained for Taken<T> {}

#[cfg(feature = "garde")]
mod constrained {
    use garde::Validate;

    use super::Taken;
    use crate::extract::{Form, JsonOrForm, Params, Query};
    use crate::failure::Failure;
    use crate::json::Json;

    macro_rules! constrained {
        ($($ty:ident)*) => {$(
            impl<T: Validate<Context: Default>> Taken<$ty<T>> {
                /// Whether a handler, guard or hook gets the value without the checks of `Valid`.
                pub const IS_UNCHECKED: bool = true;
            }

            impl<T: Validate<Context: Default>> Taken<Option<$ty<T>>> {
                /// The same for a value that may be absent.
                pub const IS_UNCHECKED: bool = true;
            }

            impl<T: Validate<Context: Default>> Taken<Result<$ty<T>, Failure>> {
                /// The same for a value that may be refused.
                pub const IS_UNCHECKED: bool = true;
            }
        )*};
    }

    constrained! { Form Json JsonOrForm Params Query }

    impl<T: Validate<Context: Default>> Taken<T> {
        /// Whether a listener gets the payload without the checks of `Valid`.
        pub const IS_UNCHECKED_PAYLOAD: bool = true;
    }
}
