//! Request bodies that stay with their connection.

use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker, ready};

use bytes::Bytes;
use http_body::{Body as HttpBody, Frame, SizeHint};

use crate::{Body, BodyError};

/// A piece of a body; `None` is the end.
type Piece = Option<Result<Bytes, BodyError>>;

/// The writing half of a request's body that only the task of its connection may read.
///
/// The pump hands over a piece when the reader waits for one, never before: so the client is slowed down to the pace of
/// the reader. Dropping the pump before the end breaks the body off with [`BodyError::Incomplete`].
pub struct BodyPump {
    shared: Arc<Mutex<Shared>>,
    left: Option<u64>,
    is_over: bool,
}

impl BodyPump {
    /// A pump, and the body that it fills. With a length the body ends there, whatever comes behind it.
    pub fn new(length: Option<u64>) -> (Self, Body) {
        let shared = Arc::<Mutex<Shared>>::default();
        let reader = Reader {
            shared: shared.clone(),
            left: length,
            is_over: false,
        };
        let pump = Self {
            shared,
            left: length,
            is_over: false,
        };
        (pump, Body::stream(reader))
    }

    /// Completes with true when the reader waits for a piece, and with false when it is gone or has the whole body.
    pub fn poll_wanted(&mut self, cx: &mut Context<'_>) -> Poll<bool> {
        let mut shared = lock(&self.shared);
        if self.is_over || shared.reader_is_gone {
            return Poll::Ready(false);
        }
        if shared.wanted {
            return Poll::Ready(true);
        }
        shared.pump = Some(cx.waker().clone());
        Poll::Pending
    }

    /// Hands over the piece that the reader waits for; `None` is the end. An empty piece is not allowed.
    pub fn put(&mut self, mut piece: Piece) {
        if let (Some(Ok(data)), Some(left)) = (&mut piece, &mut self.left) {
            data.truncate(usize::try_from(*left).unwrap_or(usize::MAX));
            *left -= data.len() as u64;
        }
        self.is_over = !matches!(piece, Some(Ok(_))) || self.left == Some(0);
        lock(&self.shared).put(piece);
    }

    /// The number of bytes that are still to come, if it is known.
    pub fn left(&self) -> Option<u64> {
        self.left
    }

    /// Whether the reader has the whole body, or an error in place of its rest.
    pub fn is_over(&self) -> bool {
        self.is_over
    }
}

impl Drop for BodyPump {
    fn drop(&mut self) {
        let mut shared = lock(&self.shared);
        if !self.is_over && shared.piece.is_none() {
            shared.put(Some(Err(BodyError::Incomplete)));
        }
    }
}

impl fmt::Debug for BodyPump {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BodyPump")
            .field("left", &self.left)
            .field("is_over", &self.is_over)
            .finish_non_exhaustive()
    }
}

#[derive(Default)]
struct Shared {
    piece: Option<Piece>,
    wanted: bool,
    reader_is_gone: bool,
    reader: Option<Waker>,
    pump: Option<Waker>,
}

impl Shared {
    fn put(&mut self, piece: Piece) {
        self.piece = Some(piece);
        self.wanted = false;
        wake(&mut self.reader);
    }
}

fn wake(waker: &mut Option<Waker>) {
    if let Some(waker) = waker.take() {
        waker.wake();
    }
}

fn lock(shared: &Mutex<Shared>) -> MutexGuard<'_, Shared> {
    // Nothing panics while it holds the lock.
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

struct Reader {
    shared: Arc<Mutex<Shared>>,
    left: Option<u64>,
    is_over: bool,
}

impl Reader {
    fn poll_piece(&self, cx: &mut Context<'_>) -> Poll<Piece> {
        let mut shared = lock(&self.shared);
        if let Some(piece) = shared.piece.take() {
            return Poll::Ready(piece);
        }
        shared.wanted = true;
        shared.reader = Some(cx.waker().clone());
        wake(&mut shared.pump);
        Poll::Pending
    }
}

impl HttpBody for Reader {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        if self.is_over {
            return Poll::Ready(None);
        }
        let piece = ready!(self.poll_piece(cx));
        if let (Some(Ok(data)), Some(left)) = (&piece, &mut self.left) {
            *left = left.saturating_sub(data.len() as u64);
        }
        self.is_over = !matches!(piece, Some(Ok(_))) || self.left == Some(0);
        Poll::Ready(piece.map(|data| data.map(Frame::data)))
    }

    fn is_end_stream(&self) -> bool {
        self.is_over
    }

    fn size_hint(&self) -> SizeHint {
        self.left.map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        let mut shared = lock(&self.shared);
        shared.reader_is_gone = true;
        wake(&mut shared.pump);
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use futures_util::FutureExt as _;
    use http_body_util::BodyExt as _;

    use super::*;

    fn wanted(pump: &mut BodyPump) -> Option<bool> {
        poll_fn(|cx| pump.poll_wanted(cx)).now_or_never()
    }

    #[test]
    fn a_piece_is_wanted_when_the_reader_waits_and_the_length_ends_the_body() {
        let (mut pump, mut body) = BodyPump::new(Some(5));
        assert_eq!(wanted(&mut pump), None);
        assert!(body.frame().now_or_never().is_none());
        assert_eq!(wanted(&mut pump), Some(true));
        pump.put(Some(Ok(Bytes::from_static(b"abc"))));
        assert_eq!((wanted(&mut pump), pump.left()), (None, Some(2)));
        assert_eq!(
            body.frame()
                .now_or_never()
                .unwrap()
                .unwrap()
                .unwrap()
                .into_data()
                .unwrap(),
            "abc"
        );
        assert!(body.frame().now_or_never().is_none());
        pump.put(Some(Ok(Bytes::from_static(b"defg"))));
        assert!(pump.is_over());
        assert_eq!(body.bytes().now_or_never().unwrap().unwrap(), "de");
    }

    #[test]
    fn either_half_sees_that_the_other_is_gone() {
        let (pump, body) = BodyPump::new(None);
        drop(pump);
        let broken = body.bytes().now_or_never().unwrap();
        assert!(matches!(broken, Err(BodyError::Incomplete)));
        let (mut pump, body) = BodyPump::new(None);
        drop(body);
        assert_eq!(wanted(&mut pump), Some(false));
    }
}
