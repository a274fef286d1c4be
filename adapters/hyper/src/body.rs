//! Request bodies: from hyper's kind, or any other, to the core's.

use std::error::Error as StdError;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body as HttpBody, Frame, SizeHint};
use pointwork_core::{Body, BodyError};
use tokio::time::{Instant, Sleep, sleep_until};

/// An error of any kind, as bodies have them.
pub type BoxError = Box<dyn StdError + Send + Sync>;

/// The core's body for a request; one that is known to be empty costs nothing.
pub(crate) fn convert<B>(body: B, timeout: Option<Duration>) -> Body
where
    B: HttpBody<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    if body.is_end_stream() {
        return Body::empty();
    }
    Body::stream(Arriving {
        inner: body,
        timeout,
        timer: None,
        waiting: false,
    })
}

pin_project_lite::pin_project! {
    /// A body that still arrives, and may not take too long between two pieces.
    ///
    /// Only the time during which somebody waits counts. A body that came along with its head costs no timer.
    struct Arriving<B> {
        #[pin]
        inner: B,
        timeout: Option<Duration>,
        timer: Option<Pin<Box<Sleep>>>,
        waiting: bool,
    }
}

impl<B> HttpBody for Arriving<B>
where
    B: HttpBody<Data = Bytes>,
    B::Error: Into<BoxError>,
{
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let this = self.project();
        if let Poll::Ready(frame) = this.inner.poll_frame(cx) {
            *this.waiting = false;
            return Poll::Ready(frame.map(|frame| frame.map_err(|error| body_error(error.into()))));
        }
        let Some(timeout) = *this.timeout else {
            return Poll::Pending;
        };
        let timer = this.timer.get_or_insert_with(|| {
            *this.waiting = true;
            Box::pin(sleep_until(Instant::now() + timeout))
        });
        if !std::mem::replace(this.waiting, true) {
            timer.as_mut().reset(Instant::now() + timeout);
        }
        ready!(timer.as_mut().poll(cx));
        Poll::Ready(Some(Err(BodyError::Timeout)))
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
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
        }
        cause = current.source();
    }
    BodyError::Transport(error)
}
