//! Replies that are written in pieces after the handler returned.

mod sse;

use std::future::{poll_fn, ready};
use std::pin::{Pin, pin};
use std::task::Poll;

use futures_core::Stream;

pub use sse::{Sse, SseEvent, SsePiece};

use crate::failure::Failure;
use crate::form::{Async, Blocking, ModuleForm};
use crate::reply::{IntoOutcome, Outcome, Reply};
use crate::request::Request;
use crate::stream::BodyWriter;
use crate::waiting::now;

/// A reply whose body is an iterator or a stream; from [`Reply::iter`], [`Reply::stream`] and [`Sse`].
///
/// The SDK writes the pieces after the handler returned, as fast as the client reads them. The handler takes the context by
/// reference or not at all. A piece that is an error breaks the reply off, so that the client detects that the body is
/// incomplete; the error is logged.
///
/// When the client leaves, or wants no body (`HEAD`), the pieces are dropped: in an asynchronous module at once, also while the
/// next piece does not come; in a synchronous module at the next piece, which may be empty.
#[derive(Debug)]
#[must_use = "a reply does nothing until the handler returns it"]
pub struct Streamed<P> {
    head: Reply,
    pieces: P,
}

/// The pieces of a [`Streamed`] reply, for the return type of a handler: `Streamed<impl Pieces>`.
pub trait Pieces {
    #[doc(hidden)]
    fn next(&mut self) -> impl Future<Output = Option<Result<Vec<u8>, Failure>>>;
}

/// One piece: text, bytes, an [`SseEvent`], or a `Result` of them.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no piece of a body",
    label = "expected text, bytes, an `SseEvent`, or a `Result` of them"
)]
pub trait Piece {
    #[doc(hidden)]
    fn into_piece(self) -> Result<Vec<u8>, Failure>;
}

macro_rules! piece {
    ($($ty:ty)*) => {$(
        impl Piece for $ty {
            fn into_piece(self) -> Result<Vec<u8>, Failure> {
                Ok(self.into())
            }
        }
    )*};
}

piece! { String &'static str Vec<u8> &'static [u8] }

impl<T: Piece, E: Into<Failure>> Piece for Result<T, E> {
    fn into_piece(self) -> Result<Vec<u8>, Failure> {
        self.map_err(Into::into).and_then(Piece::into_piece)
    }
}

#[derive(Debug)]
struct OfIterator<I>(I);

impl<I: Iterator<Item: Piece>> Pieces for OfIterator<I> {
    fn next(&mut self) -> impl Future<Output = Option<Result<Vec<u8>, Failure>>> {
        ready(self.0.next().map(Piece::into_piece))
    }
}

#[derive(Debug)]
struct OfStream<S>(Pin<Box<S>>);

impl<S: Stream<Item: Piece>> Pieces for OfStream<S> {
    fn next(&mut self) -> impl Future<Output = Option<Result<Vec<u8>, Failure>>> {
        poll_fn(|task| {
            self.0
                .as_mut()
                .poll_next(task)
                .map(|piece| piece.map(Piece::into_piece))
        })
    }
}

impl<P: Pieces> Streamed<P> {
    /// Writes the reply. The error is one of the head: what happens later changes no outcome, since the client has the status.
    async fn write<F: ModuleForm>(mut self, request: Option<&Request>) -> Result<Outcome, Failure> {
        let Some(request) = request else {
            let message =
                "a handler whose reply is an iterator or a stream takes the context by reference or not at all";
            return Err(Failure::invalid_reply(message.into()));
        };
        let head = self.head.into_raw()?;
        let opened = request.raw.open_reply(head.status, &head.headers);
        let writer = BodyWriter::<F>::new(opened.map_err(Failure::from_call("open_reply"))?);
        if write_pieces(&mut self.pieces, &writer).await {
            // Fails only if the client left.
            let _ = F::finish(writer).await;
        }
        Ok(Outcome::Deferred)
    }
}

/// Returns whether all pieces are written. Otherwise a piece is an error, or the client has left.
async fn write_pieces<F: ModuleForm>(pieces: &mut impl Pieces, writer: &BodyWriter<F>) -> bool {
    let mut closed = pin!(F::closed(writer));
    loop {
        let piece = {
            let mut next = pin!(pieces.next());
            poll_fn(|task| match next.as_mut().poll(task) {
                Poll::Ready(piece) => Poll::Ready(Some(piece)),
                Poll::Pending => closed.as_mut().poll(task).map(|()| None),
            })
            .await
        };
        let written = match piece {
            // Also an empty piece, whose write fails when the client has left.
            Some(Some(Ok(piece))) => F::write(writer, piece).await,
            Some(Some(Err(failure))) => {
                crate::log::error!("the reply is broken off: {failure}");
                return false;
            }
            Some(None) => return true,
            None => return false,
        };
        if written.is_err() {
            return false;
        }
    }
}

impl<P: Pieces> IntoOutcome for Streamed<P> {
    const KEEPS_CONTEXT: bool = true;

    fn into_outcome(self) -> Outcome {
        self.outcome_now(None)
    }

    fn outcome_now(self, request: Option<&Request>) -> Outcome {
        now(self.write::<Blocking>(request)).unwrap_or_else(Outcome::Thrown)
    }

    async fn outcome(self, request: Option<&Request>) -> Outcome {
        self.write::<Async>(request).await.unwrap_or_else(Outcome::Thrown)
    }
}

impl Reply {
    /// Makes the pieces of an iterator the body. They are written one after the other, after the handler returned; see
    /// [`Streamed`].
    ///
    /// ```
    /// use pointwork_guest::testing::TestRequest;
    /// use pointwork_guest::{Context, HttpStatus, Pieces, Reply, Streamed, controller};
    ///
    /// struct Report;
    ///
    /// #[controller("report")]
    /// impl Report {
    ///     #[get]
    ///     fn rows(ctx: &Context) -> Streamed<impl Pieces> {
    ///         let rows = (1..=3).map(|row| format!("{row},{}\n", ctx.path()));
    ///         Reply::new(HttpStatus::OK).header("content-type", "text/csv").iter(rows)
    ///     }
    /// }
    ///
    /// let answer = TestRequest::get("/report").run::<Report>();
    /// assert_eq!(answer.text(), "1,/report\n2,/report\n3,/report\n");
    /// ```
    pub fn iter<I: IntoIterator<Item: Piece>>(self, pieces: I) -> Streamed<impl Pieces> {
        Streamed {
            head: self,
            pieces: OfIterator(pieces.into_iter()),
        }
    }

    /// Makes the pieces of a stream the body, in an asynchronous module. They are written one after the other, after the
    /// handler returned; see [`Streamed`].
    pub fn stream<S: Stream<Item: Piece>>(self, pieces: S) -> Streamed<impl Pieces> {
        Streamed {
            head: self,
            pieces: OfStream(Box::pin(pieces)),
        }
    }
}
