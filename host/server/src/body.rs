//! Request bodies: from hyper's kind, or any other, to the core's.

use std::error::Error as StdError;
use std::io;

use bytes::Bytes;
use http_body::Body as HttpBody;
use http_body_util::{BodyExt as _, LengthLimitError};
use pointwork_core::{Body, BodyError};

/// An error of any kind, as bodies have them.
pub type BoxError = Box<dyn StdError + Send + Sync>;

/// The core's body for the body of a request, with errors of the core's kinds. A body that is known to be empty costs
/// nothing.
pub fn request_body<B: HttpBody<Data = Bytes, Error: Into<BoxError>> + Send + 'static>(body: B) -> Body {
    if body.is_end_stream() {
        return Body::empty();
    }
    Body::stream(body.map_err(|error| body_error(error.into())))
}

/// The error in the core's kinds, by the first of its causes that has one.
fn body_error(error: BoxError) -> BodyError {
    let error = match error.downcast::<BodyError>() {
        Ok(known) => return *known,
        Err(error) => error,
    };
    let mut cause: Option<&(dyn StdError + 'static)> = Some(&*error);
    while let Some(current) = cause {
        cause = current.source();
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
        } else if let Some(known) = current.downcast_ref::<io::Error>() {
            use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, TimedOut, UnexpectedEof};
            match known.kind() {
                TimedOut => return BodyError::Timeout,
                UnexpectedEof | ConnectionReset | ConnectionAborted | BrokenPipe => return BodyError::Incomplete,
                _ => {}
            }
            // Its `source` leaves out the very error that it holds.
            if let Some(held) = known.get_ref() {
                cause = Some(held);
            }
        } else if current.is::<LengthLimitError>() {
            return BodyError::TooLarge { limit: None };
        }
    }
    BodyError::Transport(error)
}
