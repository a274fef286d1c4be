//! Bodies that cross the language boundary piece by piece. The reader asks for each piece, so a slow reader slows the writer
//! down, and nothing is kept for it.

use std::future::Future as _;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll, Wake, Waker, ready};

use bytes::Bytes;
use http_body::{Body as HttpBody, Frame, SizeHint};
use parking_lot::Mutex;
use pointwork::{Body, BodyError, BodyReader, off_fiber};
use pointwork_core::BoxFuture;
use tokio::runtime::Handle;
use tokio::sync::watch;

use crate::fork;
use crate::function::{Calling, Function};
use crate::nesting::depth;
use crate::waiting::{Waiting, wait};

/// The next part of a body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// Bytes. No bytes are nothing: another piece follows.
    Data(Bytes),
    /// The end.
    End,
    /// The body broke off, for this reason.
    Failed(String),
}

/// A body that the host's language writes: the function gives one piece for each call, and is not called again before
/// it answered. It is dropped when the body is over or nobody reads it any more.
pub type Source = Function<(), Piece>;

/// The body that a source writes, and its length in bytes if it is known. Bytes past that length are dropped. A piece
/// that is not there when `cut` becomes true, or has no sender any more, does not come.
pub(crate) fn body_of(source: Source, length: Option<u64>, threads: &Handle, mut cut: watch::Receiver<bool>) -> Body {
    Body::stream(Sourced {
        source: Some(source),
        calling: None,
        depth: depth(),
        left: length,
        threads: threads.clone(),
        cut: Box::pin(async move {
            // An error means that the application is gone.
            let _ = cut.wait_for(|is_cut| *is_cut).await;
        }),
    })
}

struct Sourced {
    /// `None` once the body is over.
    source: Option<Source>,
    calling: Option<Calling<(), Piece>>,
    /// Of the function whose body it is.
    depth: usize,
    left: Option<u64>,
    threads: Handle,
    /// The end of the application.
    cut: BoxFuture<'static, ()>,
}

impl HttpBody for Sourced {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let this = &mut *self;
        if this.left == Some(0) {
            this.source = None;
        }
        let Some(source) = &this.source else {
            return Poll::Ready(None);
        };
        let calling = this
            .calling
            .get_or_insert_with(|| source.call((), this.depth, &this.threads));
        let piece = match Pin::new(calling).poll(cx) {
            Poll::Ready(piece) => piece,
            // Its reader may be the program, which the end of the application would leave waiting.
            Poll::Pending => {
                ready!(this.cut.as_mut().poll(cx));
                Some(Piece::Failed("the application was closed".to_owned()))
            }
        };
        this.calling = None;
        let failed = match piece {
            Some(Piece::Data(data)) if data.is_empty() => {
                // A source without end of such pieces must not keep the thread.
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            Some(Piece::Data(mut data)) => {
                if let Some(left) = &mut this.left {
                    data.truncate(usize::try_from(*left).unwrap_or(usize::MAX));
                    *left -= data.len() as u64;
                }
                return Poll::Ready(Some(Ok(Frame::data(data))));
            }
            Some(Piece::End) if this.left.is_none() => {
                this.source = None;
                return Poll::Ready(None);
            }
            Some(Piece::End) => BodyError::Incomplete,
            Some(Piece::Failed(reason)) => BodyError::Transport(reason.into()),
            None => BodyError::Transport("the function that writes the body gave no answer".into()),
        };
        this.source = None;
        Poll::Ready(Some(Err(failed)))
    }

    fn is_end_stream(&self) -> bool {
        self.source.is_none() || self.left == Some(0)
    }

    fn size_hint(&self) -> SizeHint {
        self.left.map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}

/// A body that the host's language reads, piece by piece. Dropping it before its end tells the writer that nobody reads
/// it any more.
#[derive(Debug)]
pub struct Pieces {
    read: Read,
    threads: Handle,
}

#[derive(Debug)]
enum Read {
    Reply(Body),
    Request(BodyReader),
    Over,
}

impl Pieces {
    /// The body of a reply.
    pub(crate) fn of_reply(body: Body, threads: &Handle) -> Self {
        let (read, threads) = (Read::Reply(body), threads.clone());
        Self { read, threads }
    }

    /// The body of a request, within the limits of its route.
    pub(crate) fn of_request(reader: BodyReader, threads: &Handle) -> Self {
        let (read, threads) = (Read::Request(reader), threads.clone());
        Self { read, threads }
    }

    /// The next piece, or `None` if it is not there yet: then `wake` is called once when it is worth to ask again, from
    /// any thread. A later call replaces the function of an earlier one, which is then dropped without a call.
    pub fn next(&mut self, wake: impl FnOnce() + Send + 'static) -> Option<Piece> {
        // Most pieces are there, and need no waker of their own.
        if let Poll::Ready(piece) = self.poll(Waker::noop()) {
            return Some(piece);
        }
        let waker = Waker::from(Arc::new(WakeOnce(Mutex::new(Some(Box::new(wake))))));
        match self.poll(&waker) {
            Poll::Ready(piece) => Some(piece),
            Poll::Pending => None,
        }
    }

    /// Waits for the next piece on the calling thread. `None` if `waiting` gave up.
    pub fn next_blocking(&mut self, waiting: Waiting<'_>) -> Option<Piece> {
        let threads = self.threads.clone();
        wait(&threads, std::future::poll_fn(|cx| self.poll(cx.waker())), waiting)
    }

    fn poll(&mut self, waker: &Waker) -> Poll<Piece> {
        if fork::happened() {
            // Nobody would wake the reader.
            return Poll::Ready(Piece::Failed(fork::MESSAGE.to_owned()));
        }
        let _entered = self.threads.enter();
        let mut cx = TaskContext::from_waker(waker);
        let piece = match &mut self.read {
            Read::Over => Piece::End,
            Read::Request(reader) => match ready!(reader.poll_read(&mut cx, usize::MAX)) {
                Ok(Some(data)) => Piece::Data(data),
                Ok(None) => Piece::End,
                Err(failure) => Piece::Failed(failure.to_string()),
            },
            Read::Reply(body) => loop {
                match ready!(Pin::new(&mut *body).poll_frame(&mut cx)) {
                    None => break Piece::End,
                    Some(Err(error)) => break Piece::Failed(pointwork_core::error_chain(&error)),
                    Some(Ok(frame)) => match frame.into_data() {
                        Ok(data) if !data.is_empty() => break Piece::Data(data),
                        _ => {}
                    },
                }
            },
        };
        if !matches!(piece, Piece::Data(_)) {
            self.read = Read::Over;
        }
        Poll::Ready(piece)
    }
}

/// A waker that calls a function of the host's language, once.
struct WakeOnce(Mutex<Option<Box<dyn FnOnce() + Send>>>);

impl Wake for WakeOnce {
    fn wake(self: Arc<Self>) {
        if let Some(wake) = self.0.lock().take() {
            off_fiber(wake);
        }
    }
}

impl Drop for WakeOnce {
    fn drop(&mut self) {
        // Its captures may be of the host's language.
        if let Some(wake) = self.0.get_mut().take() {
            off_fiber(move || drop(wake));
        }
    }
}
