//! Request bodies: from actix-web's kind, which stays on its thread, to the core's, which may be read from any.

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker, ready};

use actix_web::dev::Payload;
use actix_web::error::PayloadError;
use bytes::Bytes;
use futures_util::Stream;
use http_body::{Body as HttpBody, Frame, SizeHint};
use pointwork_core::{Body, BodyError};

/// The core's body for a payload, and the pump that has to be polled on the payload's own thread for it to arrive.
///
/// A piece is fetched when the reader waits for one, never before: the client is slowed down to the reader's pace. With
/// a length the body ends there, whatever the payload still yields.
pub(crate) fn bridge(payload: Payload, length: Option<u64>) -> (Body, Pump) {
    let slot = Arc::new(Mutex::new(Slot::default()));
    let arriving = Arriving {
        slot: slot.clone(),
        left: length,
        ended: false,
    };
    let pump = Pump {
        payload,
        slot,
        left: length,
        over: false,
    };
    (Body::stream(arriving), pump)
}

/// An item of a payload; `None` is the end.
type Piece = Option<Result<Bytes, BodyError>>;

/// The place where a piece is handed over.
#[derive(Default)]
struct Slot {
    piece: Option<Piece>,
    wanted: bool,
    reader: Option<Waker>,
    pump: Option<Waker>,
}

impl Slot {
    fn put(&mut self, piece: Piece) {
        self.piece = Some(piece);
        self.wanted = false;
        if let Some(reader) = self.reader.take() {
            reader.wake();
        }
    }
}

fn lock(slot: &Mutex<Slot>) -> MutexGuard<'_, Slot> {
    // Nothing panics while it holds the lock.
    slot.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The end that is read from any thread.
struct Arriving {
    slot: Arc<Mutex<Slot>>,
    /// If it is known, how many bytes there are still to come.
    left: Option<u64>,
    ended: bool,
}

impl Arriving {
    fn poll_piece(&self, cx: &mut Context<'_>) -> Poll<Piece> {
        let mut slot = lock(&self.slot);
        if let Some(piece) = slot.piece.take() {
            return Poll::Ready(piece);
        }
        slot.wanted = true;
        slot.reader = Some(cx.waker().clone());
        if let Some(pump) = slot.pump.take() {
            pump.wake();
        }
        Poll::Pending
    }
}

impl HttpBody for Arriving {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        if self.ended {
            return Poll::Ready(None);
        }
        let piece = ready!(self.poll_piece(cx));
        self.ended = match (&piece, &mut self.left) {
            (Some(Ok(data)), Some(left)) => {
                *left = left.saturating_sub(data.len() as u64);
                *left == 0
            }
            (Some(Ok(_)), None) => false,
            _ => true,
        };
        Poll::Ready(piece.map(|data| data.map(Frame::data)))
    }

    fn is_end_stream(&self) -> bool {
        self.ended
    }

    fn size_hint(&self) -> SizeHint {
        self.left.map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}

/// The end that stays with the payload. Dropping it breaks the body off.
///
/// It is kept until the reply is written, even if nobody reads: by it actix-http tells that a body was left unread, and
/// closes the connection.
pub(crate) struct Pump {
    payload: Payload,
    slot: Arc<Mutex<Slot>>,
    left: Option<u64>,
    over: bool,
}

impl Pump {
    /// Hands over the piece that the reader waits for. Says whether it did.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> bool {
        {
            let mut slot = lock(&self.slot);
            if self.over || !slot.wanted {
                slot.pump = Some(cx.waker().clone());
                return false;
            }
        }
        let Poll::Ready(piece) = self.poll_payload(cx) else {
            return false;
        };
        self.over = !matches!(piece, Some(Ok(_))) || self.left == Some(0);
        lock(&self.slot).put(piece);
        true
    }

    /// Whether the reader has all there is.
    pub(crate) fn is_over(&self) -> bool {
        self.over
    }

    fn poll_payload(&mut self, cx: &mut Context<'_>) -> Poll<Piece> {
        loop {
            return Poll::Ready(match ready!(Pin::new(&mut self.payload).poll_next(cx)) {
                Some(Ok(data)) if data.is_empty() => continue,
                Some(Ok(mut data)) => {
                    if let Some(left) = &mut self.left {
                        data.truncate(usize::try_from(*left).unwrap_or(usize::MAX));
                        *left -= data.len() as u64;
                    }
                    Some(Ok(data))
                }
                Some(Err(PayloadError::Incomplete(_))) => Some(Err(BodyError::Incomplete)),
                Some(Err(error)) => Some(Err(BodyError::Transport(Box::new(error)))),
                None => None,
            });
        }
    }
}

impl Drop for Pump {
    fn drop(&mut self) {
        let mut slot = lock(&self.slot);
        if !self.over && slot.piece.is_none() {
            slot.put(Some(Err(BodyError::Incomplete)));
        }
    }
}
