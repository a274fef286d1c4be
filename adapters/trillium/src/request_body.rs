//! A request's body out of a connection that only its owner may read.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};

use bytes::{Bytes, BytesMut};
use futures_channel::{mpsc, oneshot};
use futures_util::{SinkExt as _, StreamExt as _};
use http_body::{Body as HttpBody, Frame, SizeHint};
use pointwork_core::{Body, BodyError};
use trillium::RequestBody;
use trillium_server_common::AsyncRead;

/// The number of bytes that are read at a time.
const PIECE: u64 = 16 * 1024;

/// How far a request's body was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rest {
    /// To its end.
    None,
    /// Not to its end.
    Unread,
    /// It is malformed or broke off, so its end is not known.
    Unknown,
}

/// The limit for what comes without being a part of the body: trillium keeps trailers of any length.
pub(crate) struct Trailers {
    /// How many bytes were read.
    pub(crate) count: Arc<AtomicUsize>,
    pub(crate) limit: usize,
}

/// A body, and the pump that has to run beside its reader.
///
/// Nothing is read before the reader asks for it: trillium sends `100 Continue` at the first read.
pub(crate) fn pumped(length: Option<u64>, trailers: Option<Trailers>) -> (Pump, Body) {
    let (want, wanted) = oneshot::channel();
    let (pieces, receiver) = mpsc::channel(0);
    let body = Pumped {
        want: Some(want),
        pieces: receiver,
        left: length,
    };
    let pump = Pump {
        wanted,
        pieces,
        length,
        trailers,
    };
    (pump, Body::stream(body))
}

/// An empty piece is the end.
type Piece = Result<Bytes, BodyError>;

pub(crate) struct Pump {
    wanted: oneshot::Receiver<()>,
    pieces: mpsc::Sender<Piece>,
    length: Option<u64>,
    trailers: Option<Trailers>,
}

impl Pump {
    /// Runs until the body ends, or its reader is gone.
    pub(crate) async fn run(mut self, mut body: RequestBody<'_>) -> Rest {
        // The core has the limit.
        body.set_max_len(u64::MAX);
        if (&mut self.wanted).await.is_err() {
            return Rest::Unread;
        }
        let mut left = self.length.unwrap_or(u64::MAX);
        while left > 0 {
            let mut buf = BytesMut::zeroed(left.min(PIECE) as usize);
            let (piece, rest) = match self.read(&mut body, &mut buf).await {
                Ok(length) => {
                    left -= length as u64;
                    buf.truncate(length);
                    let ends = length == 0 || left == 0;
                    (Ok(buf.freeze()), ends.then_some(Rest::None))
                }
                Err(error) => (Err(self.sort(error)), Some(Rest::Unknown)),
            };
            // Not `send`, which would go on waiting until the piece is taken.
            let taken = self.pieces.feed(piece).await;
            if let Some(rest) = rest {
                return rest;
            }
            if taken.is_err() {
                return Rest::Unread;
            }
        }
        Rest::None
    }

    async fn read(&self, body: &mut RequestBody<'_>, piece: &mut [u8]) -> io::Result<usize> {
        if let Some(trailers) = &self.trailers {
            trailers.count.store(0, Ordering::Relaxed);
        }
        let are_long = |trailers: &Trailers| trailers.count.load(Ordering::Relaxed) > trailers.limit;
        poll_fn(|cx| match Pin::new(&mut *body).poll_read(cx, piece) {
            Poll::Pending if self.trailers.as_ref().is_some_and(are_long) => {
                Poll::Ready(Err(io::Error::other("its trailers are too long")))
            }
            read => read,
        })
        .await
    }

    /// Sorts trillium's errors into the core's kinds.
    fn sort(&self, error: io::Error) -> BodyError {
        match error.kind() {
            // With a length nothing can be malformed: trillium says so of an early end.
            io::ErrorKind::InvalidData if self.length.is_some() => BodyError::Incomplete,
            io::ErrorKind::UnexpectedEof
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::BrokenPipe => BodyError::Incomplete,
            _ => BodyError::Transport(error.into()),
        }
    }
}

struct Pumped {
    /// Until the first piece is asked for.
    want: Option<oneshot::Sender<()>>,
    pieces: mpsc::Receiver<Piece>,
    /// How many bytes are left, where that is known; 0 at the end.
    left: Option<u64>,
}

impl HttpBody for Pumped {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        if self.left == Some(0) {
            return Poll::Ready(None);
        }
        if let Some(want) = self.want.take() {
            let _ = want.send(());
        }
        // Without a piece the pump is gone: the reply began, or the client left.
        let piece = ready!(self.pieces.poll_next_unpin(cx)).unwrap_or(Err(BodyError::Incomplete));
        match &piece {
            Ok(data) if data.is_empty() => {
                self.left = Some(0);
                return Poll::Ready(None);
            }
            Ok(data) => {
                if let Some(left) = &mut self.left {
                    *left = left.saturating_sub(data.len() as u64);
                }
            }
            Err(_) => {}
        }
        Poll::Ready(Some(piece.map(Frame::data)))
    }

    fn is_end_stream(&self) -> bool {
        self.left == Some(0)
    }

    fn size_hint(&self) -> SizeHint {
        self.left.map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}
