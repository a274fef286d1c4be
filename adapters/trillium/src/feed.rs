//! A request's body out of a connection that only its owner may read.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use http_body::{Body as HttpBody, Frame, SizeHint};
use pointwork_core::{Body, BodyError};
use trillium::RequestBody;
use trillium_server_common::AsyncRead;

/// How much is read at a time.
const PIECE: usize = 16 * 1024;

/// A body, and the pump that has to run beside whoever reads it.
///
/// Nothing is read before somebody asks for it: trillium tells a client that expects 100 to go on when its body is read
/// first.
pub(crate) fn feed(length: Option<u64>) -> (Pump, Body) {
    let shared = Arc::new(Mutex::new(Shared::default()));
    let body = Fed {
        shared: shared.clone(),
        left: length,
    };
    (Pump { shared, length }, Body::stream(body))
}

#[derive(Default)]
struct Shared {
    wanted: bool,
    left_alone: bool,
    next: Next,
    reader: Option<Waker>,
    pump: Option<Waker>,
}

#[derive(Default)]
enum Next {
    #[default]
    Nothing,
    Piece(Result<Bytes, BodyError>),
    End,
    Gone,
}

fn lock(shared: &Mutex<Shared>) -> MutexGuard<'_, Shared> {
    // Nothing panics while it holds the lock.
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(crate) struct Pump {
    shared: Arc<Mutex<Shared>>,
    length: Option<u64>,
}

impl Pump {
    /// Runs until the body is at its end, or nobody has it any more.
    pub(crate) async fn run(self, mut body: RequestBody<'_>) {
        // The core has the limit.
        body.set_max_len(u64::MAX);
        let mut buf = vec![0; PIECE];
        let mut left = self.length.unwrap_or(u64::MAX);
        while left > 0 && self.wanted().await {
            match poll_fn(|cx| Pin::new(&mut body).poll_read(cx, &mut buf)).await {
                Ok(0) => return self.give(Next::End),
                Ok(length) => {
                    left = left.saturating_sub(length as u64);
                    self.give(Next::Piece(Ok(Bytes::copy_from_slice(&buf[..length]))));
                }
                Err(error) => return self.give(Next::Piece(Err(sort(error)))),
            }
        }
    }

    /// Completes when somebody asks for more, with `false` when nobody can any more.
    async fn wanted(&self) -> bool {
        poll_fn(|cx| {
            let mut shared = lock(&self.shared);
            if shared.wanted || shared.left_alone {
                return Poll::Ready(shared.wanted);
            }
            shared.pump = Some(cx.waker().clone());
            Poll::Pending
        })
        .await
    }

    fn give(&self, next: Next) {
        let mut shared = lock(&self.shared);
        shared.wanted = false;
        shared.next = next;
        wake(shared.reader.take());
    }
}

impl Drop for Pump {
    fn drop(&mut self) {
        if matches!(lock(&self.shared).next, Next::Nothing) {
            self.give(Next::Gone);
        }
    }
}

struct Fed {
    shared: Arc<Mutex<Shared>>,
    left: Option<u64>,
}

impl HttpBody for Fed {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let this = &mut *self;
        if this.left == Some(0) {
            return Poll::Ready(None);
        }
        let mut shared = lock(&this.shared);
        match std::mem::take(&mut shared.next) {
            Next::Nothing => {
                shared.wanted = true;
                shared.reader = Some(cx.waker().clone());
                wake(shared.pump.take());
                Poll::Pending
            }
            Next::Piece(piece) => {
                if piece.is_err() || Arc::strong_count(&this.shared) == 1 {
                    shared.next = Next::Gone;
                }
                drop(shared);
                if let (Some(left), Ok(data)) = (&mut this.left, &piece) {
                    *left = left.saturating_sub(data.len() as u64);
                }
                Poll::Ready(Some(piece.map(Frame::data)))
            }
            Next::End => {
                shared.next = Next::End;
                Poll::Ready(None)
            }
            Next::Gone => {
                shared.next = Next::Gone;
                Poll::Ready(Some(Err(BodyError::Incomplete)))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.left == Some(0) || matches!(lock(&self.shared).next, Next::End)
    }

    fn size_hint(&self) -> SizeHint {
        self.left.map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}

impl Drop for Fed {
    fn drop(&mut self) {
        let mut shared = lock(&self.shared);
        shared.left_alone = true;
        wake(shared.pump.take());
    }
}

/// Waking only puts a task into a queue, so it may happen under the lock.
fn wake(waker: Option<Waker>) {
    if let Some(waker) = waker {
        waker.wake();
    }
}

/// Sorts trillium's errors into the core's kinds.
fn sort(error: io::Error) -> BodyError {
    match error.kind() {
        io::ErrorKind::TimedOut => BodyError::Timeout,
        io::ErrorKind::UnexpectedEof
        | io::ErrorKind::ConnectionReset
        | io::ErrorKind::ConnectionAborted
        | io::ErrorKind::BrokenPipe => BodyError::Incomplete,
        _ => BodyError::Transport(error.into()),
    }
}
