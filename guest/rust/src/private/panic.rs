//! On `wasm32-unknown-unknown` a panic says nothing by itself. This hook tells the host before the trap.

use std::cell::Cell;

use crate::backend::log;

thread_local! {
    static SET: Cell<bool> = const { Cell::new(false) };
}

/// Sets the hook, once per instance.
pub(crate) fn tell_host() {
    if !SET.replace(true) {
        std::panic::set_hook(Box::new(|panic| log::panicked(&panic.to_string())));
    }
}
