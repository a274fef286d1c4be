//! A request's body out of a connection that only its owner may read.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use bytes::{Bytes, BytesMut};
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

/// A body, and the pump that has to run beside its reader.
///
/// Nothing is read before the reader asks for it: trillium sends `100 Continue` at the first read.
pub(crate) fn pumped(length: Option<u64>, trailers: Option<Trailers>) -> (Pump, Body) {
    let shared = Arc::new(Mutex::new(Shared::default()));
    let body = Pumped {
        shared: shared.clone(),
        left: length,
    };
    let pump = Pump {
        shared,
        length,
        trailers,
    };
    (pump, Body::stream(body))
}

/// The limit for what comes without being a part of the body: trillium keeps trailers of any length.
pub(crate) struct Trailers {
    /// How many bytes were read.
    pub(crate) count: Arc<AtomicUsize>,
    pub(crate) limit: usize,
}

#[derive(Default)]
struct Shared {
    slot: Slot,
    /// Where the pump waits.
    pump: Option<Waker>,
    /// The pump is gone: nothing more comes.
    closed: bool,
}

#[derive(Default)]
enum Slot {
    #[default]
    Empty,
    Wanted(Waker),
    Piece(Result<Bytes, BodyError>),
    End,
    /// The reader is gone.
    Abandoned,
}

fn lock(shared: &Mutex<Shared>) -> MutexGuard<'_, Shared> {
    // Nothing panics while it holds the lock.
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(crate) struct Pump {
    shared: Arc<Mutex<Shared>>,
    length: Option<u64>,
    trailers: Option<Trailers>,
}

impl Pump {
    /// Runs until the body ends, or its reader is gone.
    pub(crate) async fn run(self, mut body: RequestBody<'_>) -> Rest {
        // The core has the limit.
        body.set_max_len(u64::MAX);
        let mut left = self.length.unwrap_or(u64::MAX);
        while left > 0 {
            if !self.wanted().await {
                return Rest::Unread;
            }
            let mut piece = BytesMut::zeroed(left.min(PIECE) as usize);
            if let Some(trailers) = &self.trailers {
                trailers.count.store(0, Ordering::Relaxed);
            }
            let read = poll_fn(|cx| match Pin::new(&mut body).poll_read(cx, &mut piece) {
                Poll::Pending if self.has_long_trailers() => {
                    Poll::Ready(Err(io::Error::other("its trailers are too long")))
                }
                read => read,
            });
            match read.await {
                Ok(0) => {
                    self.give(Slot::End);
                    return Rest::None;
                }
                Ok(length) => {
                    left -= length as u64;
                    piece.truncate(length);
                    self.give(Slot::Piece(Ok(piece.freeze())));
                }
                Err(error) => {
                    self.give(Slot::Piece(Err(self.sort(error))));
                    return Rest::Unknown;
                }
            }
        }
        Rest::None
    }

    fn has_long_trailers(&self) -> bool {
        let trailers = self.trailers.as_ref();
        trailers.is_some_and(|trailers| trailers.count.load(Ordering::Relaxed) > trailers.limit)
    }

    /// Completes when the reader asks for more, with `false` when it is gone.
    async fn wanted(&self) -> bool {
        poll_fn(|cx| {
            let mut shared = lock(&self.shared);
            match shared.slot {
                Slot::Wanted(_) => Poll::Ready(true),
                Slot::Abandoned => Poll::Ready(false),
                _ => {
                    shared.pump = Some(cx.waker().clone());
                    Poll::Pending
                }
            }
        })
        .await
    }

    fn give(&self, slot: Slot) {
        let mut shared = lock(&self.shared);
        // Waking only puts a task into a queue, so it may happen under the lock.
        match std::mem::replace(&mut shared.slot, slot) {
            Slot::Wanted(reader) => reader.wake(),
            before => shared.slot = before,
        }
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

impl Drop for Pump {
    fn drop(&mut self) {
        let mut shared = lock(&self.shared);
        shared.closed = true;
        if let Slot::Wanted(reader) = &shared.slot {
            reader.wake_by_ref();
        }
    }
}

struct Pumped {
    shared: Arc<Mutex<Shared>>,
    left: Option<u64>,
}

impl HttpBody for Pumped {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let this = &mut *self;
        if this.left == Some(0) {
            return Poll::Ready(None);
        }
        let mut shared = lock(&this.shared);
        match std::mem::take(&mut shared.slot) {
            Slot::Piece(piece) => {
                if let (Some(left), Ok(data)) = (&mut this.left, &piece) {
                    *left = left.saturating_sub(data.len() as u64);
                }
                Poll::Ready(Some(piece.map(Frame::data)))
            }
            Slot::End => {
                shared.slot = Slot::End;
                Poll::Ready(None)
            }
            _ if shared.closed => Poll::Ready(Some(Err(BodyError::Incomplete))),
            _ => {
                shared.slot = Slot::Wanted(cx.waker().clone());
                if let Some(pump) = shared.pump.take() {
                    pump.wake();
                }
                Poll::Pending
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.left == Some(0) || matches!(lock(&self.shared).slot, Slot::End)
    }

    fn size_hint(&self) -> SizeHint {
        self.left.map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}

impl Drop for Pumped {
    fn drop(&mut self) {
        let mut shared = lock(&self.shared);
        shared.slot = Slot::Abandoned;
        if let Some(pump) = shared.pump.take() {
            pump.wake();
        }
    }
}
