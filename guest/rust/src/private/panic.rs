//! The panic hook: reports a panic to the host before the trap, which on `wasm32-unknown-unknown` carries no message.

use std::sync::Once;

use crate::backend::log;

/// Sets the hook, once per instance.
pub(crate) fn set_hook() {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| std::panic::set_hook(Box::new(|panic| log::panicked(&panic.to_string()))));
}
