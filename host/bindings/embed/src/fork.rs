//! Notices that the process was forked. A child has one thread, so that nothing of an application works there.

use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether this process is the child of a fork that came after the first [`watch`].
static FORKED: AtomicBool = AtomicBool::new(false);

/// The text for the child of a fork.
pub(crate) const MESSAGE: &str =
    "this process was forked from the one that started the application, expected the first application behind the fork";

/// Watches for forks from now on.
pub(crate) fn watch() {
    static WATCHED: Once = Once::new();
    WATCHED.call_once(|| {
        #[cfg(unix)]
        {
            extern "C" fn forked() {
                FORKED.store(true, Ordering::Relaxed);
            }

            // SAFETY: the function only stores an atomic, which is allowed in a child of a process with threads.
            let refused = unsafe { libc::pthread_atfork(None, None, Some(forked)) };
            if refused != 0 {
                tracing::warn!("a fork of this process will not be noticed: error {refused} of the operating system");
            }
        }
    });
}

pub(crate) fn happened() -> bool {
    FORKED.load(Ordering::Relaxed)
}
