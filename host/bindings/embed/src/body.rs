//! Bodies that cross the language boundary chunk by chunk. The reader asks for each chunk, so a slow reader slows the writer
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
pub enum Chunk {
    /// Bytes. No bytes are nothing: another chunk follows.
    Data(Bytes),
    /// The end.
    End,
    /// The body broke off, for this reason.
    Failed(String),
}

/// A body that the host's language writes: the function gives one chunk for each call, and is not called again before
/// it answered. It is dropped when the body is over or nobody reads it any more.
pub type Source = Function<(), Chunk>;

/// The body that a source writes, and its length in bytes if it is known. Bytes past that length are dropped. A chunk
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
    calling: Option<Calling<(), Chunk>>,
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
        let chunk = match Pin::new(calling).poll(cx) {
            Poll::Ready(chunk) => chunk,
            // Its reader may be the program, which the end of the application would leave waiting.
            Poll::Pending => {
                ready!(this.cut.as_mut().poll(cx));
                Some(Chunk::Failed("the application was closed".to_owned()))
            }
        };
        this.calling = None;
        let failed = match chunk {
            Some(Chunk::Data(data)) if data.is_empty() => {
                // A source without end of such chunks must not keep the thread.
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            Some(Chunk::Data(mut data)) => {
                if let Some(left) = &mut this.left {
                    data.truncate(usize::try_from(*left).unwrap_or(usize::MAX));
                    *left -= data.len() as u64;
                }
                return Poll::Ready(Some(Ok(Frame::data(data))));
            }
            Some(Chunk::End) if this.left.is_none() => {
                this.source = None;
                return Poll::Ready(None);
            }
            Some(Chunk::End) => BodyError::Incomplete,
            Some(Chunk::Failed(reason)) => BodyError::Transport(reason.into()),
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

/// A body that the host's language reads, chunk by chunk. Dropping it before its end tells the writer that nobody reads
/// it any more.
#[derive(Debug)]
pub struct Chunks {
    read: Read,
    threads: Handle,
}

#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "a box would be an allocation for each body")]
enum Read {
    Reply(Body),
    Request(BodyReader),
    Over,
}

impl Chunks {
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

    /// The next chunk, or `None` if it is not there yet: then `wake` is called once when it is worth to ask again, from
    /// any thread. A later call replaces the function of an earlier one, which is then dropped without a call.
    pub fn next(&mut self, wake: impl FnOnce() + Send + 'static) -> Option<Chunk> {
        // Most chunks are there, and need no waker of their own.
        if let Poll::Ready(chunk) = self.poll(Waker::noop()) {
            return Some(chunk);
        }
        let waker = Waker::from(Arc::new(WakeOnce(Mutex::new(Some(Box::new(wake))))));
        match self.poll(&waker) {
            Poll::Ready(chunk) => Some(chunk),
            Poll::Pending => None,
        }
    }

    /// Waits for the next chunk on the calling thread. `None` if `waiting` gave up.
    pub fn next_blocking(&mut self, waiting: Waiting<'_>) -> Option<Chunk> {
        let threads = self.threads.clone();
        wait(&threads, std::future::poll_fn(|cx| self.poll(cx.waker())), waiting)
    }

    fn poll(&mut self, waker: &Waker) -> Poll<Chunk> {
        if fork::happened() {
            // Nobody would wake the reader.
            return Poll::Ready(Chunk::Failed(fork::MESSAGE.to_owned()));
        }
        let _entered = self.threads.enter();
        let mut cx = TaskContext::from_waker(waker);
        let chunk = match &mut self.read {
            Read::Over => Chunk::End,
            Read::Request(reader) => match ready!(reader.poll_read(&mut cx, usize::MAX)) {
                Ok(Some(data)) => Chunk::Data(data),
                Ok(None) => Chunk::End,
                Err(failure) => Chunk::Failed(failure.to_string()),
            },
            Read::Reply(body) => loop {
                match ready!(Pin::new(&mut *body).poll_frame(&mut cx)) {
                    None => break Chunk::End,
                    Some(Err(error)) => break Chunk::Failed(pointwork_core::error_chain(&error)),
                    Some(Ok(frame)) => match frame.into_data() {
                        Ok(data) if !data.is_empty() => break Chunk::Data(data),
                        _ => {}
                    },
                }
            },
        };
        if !matches!(chunk, Chunk::Data(_)) {
            self.read = Read::Over;
        }
        Poll::Ready(chunk)
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
