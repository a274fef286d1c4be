//! Request bodies: from actix-web's kind, which stays on its thread, to the core's, which may be read from any.

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use actix_web::dev::Payload;
use actix_web::error::PayloadError;
use bytes::Bytes;
use futures_util::Stream;
use http_body::{Body as HttpBody, Frame, SizeHint};
use pointwork_core::{Body, BodyError};

use crate::link::Link;

/// The core's body for a payload, and what has to be polled on the payload's own thread for it to arrive.
///
/// A piece is fetched when the reader waits for one, never before: the client is slowed down to the reader's pace.
pub(crate) fn bridge(payload: Payload, length: Option<u64>, link: Option<Arc<Link>>) -> (Body, Option<Pump>) {
    if matches!(payload, Payload::None) || length == Some(0) {
        return (Body::empty(), None);
    }
    let slot = Arc::new(Mutex::new(Slot::default()));
    let arriving = Arriving {
        slot: slot.clone(),
        link,
        left: length,
        ended: false,
    };
    (Body::stream(arriving), Some(Pump { payload, slot }))
}

/// The place where a piece is handed over.
#[derive(Default)]
struct Slot {
    piece: Option<Piece>,
    wanted: bool,
    reader: Option<Waker>,
    pump: Option<Waker>,
    pump_gone: bool,
}

enum Piece {
    Data(Bytes),
    Broken(BodyError),
    End,
}

fn lock(slot: &Mutex<Slot>) -> MutexGuard<'_, Slot> {
    // Nothing panics while it holds the lock.
    slot.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The end that is read from any thread.
struct Arriving {
    slot: Arc<Mutex<Slot>>,
    link: Option<Arc<Link>>,
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
        if slot.pump_gone {
            return Poll::Ready(Piece::Broken(BodyError::Incomplete));
        }
        slot.wanted = true;
        slot.reader = Some(cx.waker().clone());
        if let Some(pump) = slot.pump.take() {
            pump.wake();
        }
        drop(slot);
        match self.link.as_ref().map_or(Ok(()), |link| link.await_body(cx.waker())) {
            Ok(()) => Poll::Pending,
            Err(error) => Poll::Ready(Piece::Broken(error)),
        }
    }
}

impl HttpBody for Arriving {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        if self.ended {
            return Poll::Ready(None);
        }
        self.poll_piece(cx).map(|piece| match piece {
            Piece::Data(data) => {
                if let Some(left) = &mut self.left {
                    *left = left.saturating_sub(data.len() as u64);
                }
                Some(Ok(Frame::data(data)))
            }
            Piece::Broken(error) => {
                self.ended = true;
                Some(Err(error))
            }
            Piece::End => {
                self.ended = true;
                None
            }
        })
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
}

impl Pump {
    /// Hands over what the reader waits for. Ready when it has all of it.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        {
            let mut slot = lock(&self.slot);
            if !slot.wanted || slot.piece.is_some() {
                slot.pump = Some(cx.waker().clone());
                return Poll::Pending;
            }
        }
        let Poll::Ready(piece) = self.poll_payload(cx) else {
            return Poll::Pending;
        };
        let more = matches!(piece, Piece::Data(_));
        let mut slot = lock(&self.slot);
        slot.piece = Some(piece);
        slot.wanted = false;
        slot.pump = Some(cx.waker().clone());
        if let Some(reader) = slot.reader.take() {
            reader.wake();
        }
        if more { Poll::Pending } else { Poll::Ready(()) }
    }

    fn poll_payload(&mut self, cx: &mut Context<'_>) -> Poll<Piece> {
        loop {
            let Poll::Ready(next) = Pin::new(&mut self.payload).poll_next(cx) else {
                return Poll::Pending;
            };
            return Poll::Ready(match next {
                Some(Ok(data)) if data.is_empty() => continue,
                Some(Ok(data)) => Piece::Data(data),
                Some(Err(error)) => Piece::Broken(body_error(error)),
                None => Piece::End,
            });
        }
    }
}

impl Drop for Pump {
    fn drop(&mut self) {
        let mut slot = lock(&self.slot);
        slot.pump_gone = true;
        if let Some(reader) = slot.reader.take() {
            reader.wake();
        }
    }
}

fn body_error(error: PayloadError) -> BodyError {
    match error {
        PayloadError::Incomplete(_) => BodyError::Incomplete,
        other => BodyError::Transport(Box::new(other)),
    }
}
