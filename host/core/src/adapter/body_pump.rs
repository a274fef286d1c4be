//! Request bodies that stay with their connection.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_util::task::AtomicWaker;
use http_body::{Body as HttpBody, Frame, SizeHint};
use parking_lot::Mutex;

use crate::{Body, BodyError};

/// A chunk of a body; `None` is the end.
type PumpChunk = Option<Result<Bytes, BodyError>>;

/// The writing half of a request's body that only the task of its connection may read.
///
/// The pump hands over a chunk when the reader waits for one, never before: so the client is slowed down to the pace of
/// the reader. Dropping the pump before the end breaks the body off with [`BodyError::Incomplete`].
#[derive(derive_more::Debug)]
#[debug("BodyPump")]
pub struct BodyPump(Arc<SharedSlot>);

/// The slot, and the tasks of its two halves, which are woken without the lock: a wake may run any code of an executor.
#[derive(Default)]
struct SharedSlot {
    slot: Mutex<PumpSlot>,
    reader: AtomicWaker,
    pump: AtomicWaker,
}

/// The place where a chunk is handed over.
#[derive(Default)]
struct PumpSlot {
    chunk: Option<PumpChunk>,
    /// The number of bytes that are not handed over yet, if it is known.
    left: Option<u64>,
    is_over: bool,
    is_wanted: bool,
    reader_is_gone: bool,
    pump_is_gone: bool,
}

impl BodyPump {
    /// A pump, and the body that it fills. With a length the body ends there, whatever comes behind it.
    pub fn new(length: Option<u64>) -> (Self, Body) {
        let slot = PumpSlot {
            left: length,
            is_over: length == Some(0),
            ..PumpSlot::default()
        };
        let shared = Arc::new(SharedSlot {
            slot: Mutex::new(slot),
            ..SharedSlot::default()
        });
        (Self(shared.clone()), Body::stream(PumpReader(shared)))
    }

    /// Completes with true when the reader waits for a chunk, and with false when it is gone or has the whole body.
    pub fn poll_wanted(&mut self, cx: &mut Context<'_>) -> Poll<bool> {
        self.0.pump.register(cx.waker());
        let slot = self.0.slot.lock();
        if slot.is_over || slot.reader_is_gone {
            Poll::Ready(false)
        } else if slot.is_wanted {
            Poll::Ready(true)
        } else {
            Poll::Pending
        }
    }

    /// Hands over the chunk that the reader waits for; `None` is the end. An empty chunk is not allowed.
    pub fn put(&mut self, mut chunk: PumpChunk) {
        let mut slot = self.0.slot.lock();
        if let (Some(Ok(data)), Some(left)) = (&mut chunk, &mut slot.left) {
            data.truncate(usize::try_from(*left).unwrap_or(usize::MAX));
            *left -= data.len() as u64;
        }
        slot.is_over = !matches!(chunk, Some(Ok(_))) || slot.left == Some(0);
        slot.chunk = Some(chunk);
        slot.is_wanted = false;
        drop(slot);
        self.0.reader.wake();
    }

    /// The number of bytes that are not handed over yet, if it is known.
    pub fn left(&self) -> Option<u64> {
        self.0.slot.lock().left
    }

    /// Whether the end of the body is handed over, or an error in place of its rest.
    pub fn is_over(&self) -> bool {
        self.0.slot.lock().is_over
    }
}

impl Drop for BodyPump {
    fn drop(&mut self) {
        self.0.slot.lock().pump_is_gone = true;
        self.0.reader.wake();
    }
}

struct PumpReader(Arc<SharedSlot>);

impl HttpBody for PumpReader {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        self.0.reader.register(cx.waker());
        let mut slot = self.0.slot.lock();
        if let Some(chunk) = slot.chunk.take() {
            return Poll::Ready(chunk.map(|data| data.map(Frame::data)));
        }
        if slot.is_over {
            return Poll::Ready(None);
        }
        if slot.pump_is_gone {
            slot.is_over = true;
            return Poll::Ready(Some(Err(BodyError::Incomplete)));
        }
        slot.is_wanted = true;
        drop(slot);
        self.0.pump.wake();
        Poll::Pending
    }

    fn is_end_stream(&self) -> bool {
        let slot = self.0.slot.lock();
        slot.is_over && slot.chunk.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        let slot = self.0.slot.lock();
        let Some(left) = slot.left else {
            return SizeHint::default();
        };
        let waiting = match &slot.chunk {
            Some(Some(Ok(data))) => data.len() as u64,
            _ => 0,
        };
        SizeHint::with_exact(left + waiting)
    }
}

impl Drop for PumpReader {
    fn drop(&mut self) {
        self.0.slot.lock().reader_is_gone = true;
        self.0.pump.wake();
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

    fn chunk(data: &'static str) -> PumpChunk {
        Some(Ok(Bytes::from_static(data.as_bytes())))
    }

    #[test]
    fn a_chunk_is_wanted_when_the_reader_waits_and_the_length_ends_the_body() {
        let (mut pump, mut body) = BodyPump::new(Some(5));
        assert_eq!(wanted(&mut pump), None);
        assert!(body.frame().now_or_never().is_none());
        assert_eq!(wanted(&mut pump), Some(true));
        pump.put(chunk("abc"));
        assert_eq!((wanted(&mut pump), pump.left()), (None, Some(2)));
        assert_eq!(body.known_length(), Some(5));
        let frame = body.frame().now_or_never().unwrap().unwrap().unwrap();
        assert_eq!(
            (frame.into_data().unwrap().as_ref(), body.known_length()),
            (&b"abc"[..], Some(2))
        );
        assert!(body.frame().now_or_never().is_none());
        pump.put(chunk("defg"));
        assert_eq!((pump.is_over(), wanted(&mut pump)), (true, Some(false)));
        drop(pump);
        assert_eq!(body.bytes().now_or_never().unwrap().unwrap(), "de");
    }

    #[test]
    fn either_half_sees_that_the_other_is_gone() {
        let (mut pump, mut body) = BodyPump::new(None);
        pump.put(chunk("abc"));
        drop(pump);
        assert!(body.frame().now_or_never().unwrap().unwrap().is_ok());
        let rest = body.bytes().now_or_never().unwrap();
        assert!(matches!(rest, Err(BodyError::Incomplete)));
        let (mut pump, body) = BodyPump::new(None);
        drop(body);
        assert_eq!(wanted(&mut pump), Some(false));
    }
}
