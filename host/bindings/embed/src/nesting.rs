//! Requests, calls and operations within one another: a function that answers a request by another request to the same
//! application, which calls the same function.

use std::cell::Cell;
use std::pin::Pin;
use std::task::{Context as TaskContext, Poll};

use crate::error::{Error, ErrorKind};

/// How many of them may be within one another. On one thread each takes some of its stack.
const MOST: usize = 16;

thread_local! {
    static DEPTH: Cell<usize> = const { Cell::new(0) };
}

/// The number of requests and calls that the code on this thread is within: for languages whose functions go on elsewhere, see
/// [`at_depth`].
pub fn depth() -> usize {
    DEPTH.get()
}

/// Runs code that goes on for a function which began at that [`depth`], on this thread or another one: what the code asks of the
/// application is within the function's own request.
pub fn at_depth<T>(depth: usize, run: impl FnOnce() -> T) -> T {
    struct Left(usize);

    impl Drop for Left {
        fn drop(&mut self) {
            DEPTH.set(self.0);
        }
    }

    let _left = Left(DEPTH.replace(depth));
    run()
}

/// Runs something one level deeper, unless too many are around it already.
///
/// # Errors
/// [`Nested`](ErrorKind::Nested).
pub(crate) fn nested<T>(run: impl FnOnce() -> T) -> Result<T, Error> {
    let depth = depth();
    if depth >= MOST {
        let message = format!(
            "a request or a call is within {MOST} others, expected a function that sends none to its own route or event without end"
        );
        return Err(Error::new(ErrorKind::Nested, message));
    }
    Ok(at_depth(depth + 1, run))
}

/// A future whose polls are at the depth where it was made, on any thread.
pub(crate) struct AtDepth<F> {
    depth: usize,
    future: F,
}

impl<F> AtDepth<F> {
    pub(crate) fn here(future: F) -> Self {
        let depth = depth();
        Self { depth, future }
    }
}

impl<F: Future + Unpin> Future for AtDepth<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<F::Output> {
        at_depth(self.depth, || Pin::new(&mut self.future).poll(cx))
    }
}
