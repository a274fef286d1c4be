//! The panic hook: reports a panic to the host before the trap, which carries no message.

use std::panic::PanicHookInfo;
use std::sync::Once;

use crate::backend::log;
use crate::bindings::types::{Frame, Report};

/// Sets the hook, once per instance.
pub(crate) fn set_hook() {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        std::panic::set_hook(Box::new(|panic| {
            log::panicked(&report(panic));
            // After the report, since it panics itself if the value that was being printed panicked.
            super::output::flush();
        }));
    });
}

/// Rust knows the place of the panic, and no further frame without debug information.
fn report(panic: &PanicHookInfo<'_>) -> Report {
    let frame = panic.location().map(|location| Frame {
        function: String::new(),
        file: location.file().to_owned(),
        line: location.line(),
    });
    Report {
        message: panic.payload_as_str().unwrap_or("the panic has no message").to_owned(),
        exception: None,
        stack: frame.into_iter().collect(),
    }
}
