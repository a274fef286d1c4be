//! Requests, calls and operations within one another: a function that answers a request by another request to the same
//! application, which calls the same function.

use std::cell::Cell;

use http::Request;
use pointwork_core::{Caller, Chain, Failure, Nested, Payload};
use tokio::runtime::Handle;

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

/// The depth within the present one.
///
/// # Errors
/// [`Nested`](ErrorKind::Nested).
pub(crate) fn deeper() -> Result<usize, Error> {
    refuse_at_the_end_of_a_thread()?;
    let depth = depth();
    if depth >= MOST {
        let message = format!(
            "a request or a call is within {MOST} others, expected a function that sends none to its own route or event without end"
        );
        return Err(Error::new(ErrorKind::Nested, message));
    }
    Ok(depth + 1)
}

/// Runs something one level deeper.
///
/// # Errors
/// As [`deeper`].
pub(crate) fn nested<T>(run: impl FnOnce() -> T) -> Result<T, Error> {
    Ok(at_depth(deeper()?, run))
}

/// # Errors
/// [`Host`](ErrorKind::Host): the destructors of this thread run, or those of the process on its main thread. The variables of
/// tokio in the thread are gone, and a poll would panic.
pub(crate) fn refuse_at_the_end_of_a_thread() -> Result<(), Error> {
    if Handle::try_current().is_err_and(|error| error.is_thread_local_destroyed()) {
        let message = "the application was used by a destructor of a thread that ends, expected another thread";
        return Err(Error::new(ErrorKind::Host, message));
    }
    Ok(())
}

/// Tells a request that was made here how deep it is. Functions that it leads to are called at that depth, also on the threads
/// to which a guest moves.
pub(crate) fn at_this_depth<B>(mut request: Request<B>) -> Request<B> {
    // A function is at depth 1 at least.
    if depth() > 1 {
        request.extensions_mut().insert(Nested(depth()));
    }
    request
}

/// The depth of a function that is called in that chain.
pub(crate) fn depth_in(chain: &Chain) -> usize {
    chain.nested().0.max(1)
}

/// Calls an event: an operation for [`Host::run`](crate::Host::run) or [`Host::wait`](crate::Host::wait), within whatever is
/// around the code that makes it.
pub fn call(
    caller: Caller,
    event: String,
    payload: Payload,
) -> impl Future<Output = Result<Result<Payload, Failure>, Error>> + Send {
    let caller = caller.nested(Nested(depth() + 1));
    async move { Ok(caller.call_raw(&event, payload).await) }
}
