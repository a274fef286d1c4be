//! Request bodies: from hyper's kind, or any other, to the core's.

use std::error::Error as StdError;
use std::io;

use bytes::Bytes;
use http_body::Body as HttpBody;
use http_body_util::BodyExt as _;
use pointwork_core::{Body, BodyError};

/// An error of any kind, as bodies have them.
pub type BoxError = Box<dyn StdError + Send + Sync>;

/// The core's body for the body of a request, with its errors sorted; one that is known to be empty costs nothing.
pub fn arriving<B>(body: B) -> Body
where
    B: HttpBody<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    if body.is_end_stream() {
        return Body::empty();
    }
    Body::stream(body.map_err(|error| body_error(error.into())))
}

/// Sorts an error into the core's kinds, wherever in the chain of causes the telling one stands.
fn body_error(error: BoxError) -> BodyError {
    let error = match error.downcast::<BodyError>() {
        Ok(known) => return *known,
        Err(error) => error,
    };
    let mut cause: Option<&(dyn StdError + 'static)> = Some(&*error);
    while let Some(current) = cause {
        if let Some(known) = current.downcast_ref::<hyper::Error>() {
            if known.is_timeout() {
                return BodyError::Timeout;
            }
            if known.is_incomplete_message()
                || known.is_closed()
                || known.is_canceled()
                || known.is_body_write_aborted()
            {
                return BodyError::Incomplete;
            }
        }
        if let Some(known) = current.downcast_ref::<io::Error>() {
            match known.kind() {
                io::ErrorKind::TimedOut => return BodyError::Timeout,
                io::ErrorKind::UnexpectedEof
                | io::ErrorKind::ConnectionReset
                | io::ErrorKind::ConnectionAborted
                | io::ErrorKind::BrokenPipe => return BodyError::Incomplete,
                _ => {}
            }
            // Its `source` would leave out the very error that it holds.
            if let Some(held) = known.get_ref() {
                cause = Some(held);
                continue;
            }
        }
        cause = current.source();
    }
    BodyError::Transport(error)
}
