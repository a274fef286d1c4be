//! The panic hook: reports a panic to the host before the trap, which on `wasm32-unknown-unknown` carries no message.

use std::cell::Cell;

use crate::backend::log;

thread_local! {
    static IS_SET: Cell<bool> = const { Cell::new(false) };
}

/// Sets the hook, once per instance.
pub(crate) fn set_hook() {
    if !IS_SET.replace(true) {
        std::panic::set_hook(Box::new(|panic| log::panicked(&panic.to_string())));
    }
}
