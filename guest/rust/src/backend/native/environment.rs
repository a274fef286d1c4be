//! The functions of the interface `environment` that the SDK itself calls.

use std::cell::RefCell;

use crate::bindings::types::Property;

thread_local! {
    /// The variables of the test that runs on this thread.
    static VARIABLES: RefCell<Vec<Property>> = const { RefCell::new(Vec::new()) };
}

pub(crate) fn variables() -> Vec<Property> {
    VARIABLES.with_borrow(Clone::clone)
}

/// Runs code with these variables.
pub(crate) fn with_variables<T>(variables: &[Property], code: impl FnOnce() -> T) -> T {
    /// Puts the variables of the test around this one back, also after a panic.
    struct Before(Vec<Property>);

    impl Drop for Before {
        fn drop(&mut self) {
            VARIABLES.set(std::mem::take(&mut self.0));
        }
    }

    let _before = Before(VARIABLES.replace(variables.to_vec()));
    code()
}
