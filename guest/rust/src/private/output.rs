//! Gives the host what the standard library keeps of the standard output: a line without its newline. In the library's own
//! buffer it would stand before the next line of the instance, which may be one of another request.

use std::future::{Future, poll_fn};
use std::io::Write as _;
use std::pin::pin;

/// Writes what is left of the standard output. Nothing was printed in most calls; the lock and the look into the buffer are
/// all that it costs then.
pub(crate) fn flush() {
    // There is nowhere to report an error to, and the host never returns one.
    #[cfg(target_os = "wasi")]
    let _ = std::io::stdout().flush();
}

/// The same future, and after each poll that leaves it waiting its output is written: the instance may run another call then.
pub(crate) async fn flushed(future: impl Future<Output = ()>) {
    let mut future = pin!(future);
    poll_fn(|context| {
        let poll = future.as_mut().poll(context);
        if poll.is_pending() {
            flush();
        }
        poll
    })
    .await;
}
