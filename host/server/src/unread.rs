//! The replies of HTTP/2 that a client leaves unread.
//!
//! A client that closes the window of a stream takes nothing of its reply, and its connection may be busy all the same:
//! the write timeout of the socket never sees it. hyper shows no window either. But hyper asks for the next chunk of a
//! reply when the client has room for the one before. So each reply goes to hyper in chunks, and its task ends when a chunk
//! waits for longer than the write timeout: h2 then resets this stream alone.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed, Ordering::SeqCst};
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body::{Body as HttpBody, Frame, SizeHint};
use hyper::rt::Executor;
use parking_lot::Mutex;
use pin_project_lite::pin_project;
use pointwork_core::Timers;
use pointwork_core::adapter::Timer;
use tokio::sync::Notify;

use crate::state::OpenStream;

/// The longest chunk of a reply that hyper gets, in bytes. One chunk may be in the buffers of h2, and one before them.
const CHUNK: usize = 16 * 1024;

/// The shortest bytes of which the last byte is a chunk of its own. The number of streams bounds shorter ones.
const LONG: usize = 1024;

/// The most bytes of one reply that count as unread. So one long reply that is not read holds up no other.
const MAX_OF_REPLY: usize = 64 * 1024;

/// A connection with more unread bytes of replies than this gets no further request handled.
const MAX_UNREAD: usize = 1024 * 1024;

/// The heads of requests that one connection may have waiting for the client to read replies, in bytes.
const MAX_WAITING: usize = 1024 * 1024;

/// The unread bytes of all replies of one connection.
#[derive(Debug)]
pub(crate) struct Unread {
    timers: Timers,
    bytes: AtomicUsize,
    /// The heads of the requests that wait for [`taken`](Self::taken), in bytes.
    waiting: AtomicUsize,
    /// Notified when the client has room for another chunk.
    taken: Notify,
    /// Of the stream whose request hyper hands to the service: its task comes next.
    next_stream: Mutex<Option<Arc<ChunkDeadline>>>,
}

/// The end of the write timeout for the chunk of a reply that hyper has; `None` without a chunk.
#[derive(Debug, Default)]
pub(crate) struct ChunkDeadline(Mutex<Option<Instant>>);

/// Unread bytes of one reply. They count until it is dropped.
#[derive(Debug)]
struct UnreadBytes {
    of: Arc<Unread>,
    bytes: usize,
}

/// The head of a request that waits, see [`Unread::admit`].
struct WaitingHead<'a> {
    of: &'a Unread,
    bytes: usize,
}

impl Unread {
    /// A connection without replies.
    pub(crate) fn new(timers: Timers) -> Self {
        Self {
            timers,
            bytes: AtomicUsize::new(0),
            waiting: AtomicUsize::new(0),
            taken: Notify::new(),
            next_stream: Mutex::default(),
        }
    }

    /// Begins a stream. Its task is the next one that [`StreamExecutor`] gets.
    pub(crate) fn begin(&self) -> Arc<ChunkDeadline> {
        let deadline = Arc::<ChunkDeadline>::default();
        *self.next_stream.lock() = Some(deadline.clone());
        deadline
    }

    /// Waits while the connection has too many unread bytes. Each chunk that the client takes lets one request pass, so a
    /// client that reads a long reply is answered beside it. False if too many heads wait already; `head` is the length of
    /// this one.
    ///
    /// # Cancel safety
    /// Cancel safe.
    pub(crate) async fn admit(&self, head: usize) -> bool {
        // Made before the count is read, so that no notification is lost.
        let taken = self.taken.notified();
        if self.bytes.load(SeqCst) < MAX_UNREAD {
            return true;
        }
        let _waiting = WaitingHead { of: self, bytes: head };
        if self.waiting.fetch_add(head, Relaxed) + head > MAX_WAITING {
            return false;
        }
        taken.await;
        true
    }

    /// The client took bytes, or its stream has ended.
    fn released(&self, bytes: usize) {
        let before = self.bytes.fetch_sub(bytes, SeqCst);
        if before - bytes < MAX_UNREAD {
            self.taken.notify_waiters();
        } else {
            self.taken.notify_one();
        }
    }
}

impl Drop for WaitingHead<'_> {
    fn drop(&mut self) {
        self.of.waiting.fetch_sub(self.bytes, Relaxed);
    }
}

impl UnreadBytes {
    fn new(of: &Arc<Unread>) -> Self {
        Self {
            of: of.clone(),
            bytes: 0,
        }
    }

    /// So many bytes of the reply are left.
    fn set(&mut self, left: u64) {
        let bytes = usize::try_from(left).unwrap_or(usize::MAX).min(MAX_OF_REPLY);
        if bytes >= self.bytes {
            self.of.bytes.fetch_add(bytes - self.bytes, SeqCst);
        } else {
            self.of.released(self.bytes - bytes);
        }
        self.bytes = bytes;
    }
}

impl Drop for UnreadBytes {
    fn drop(&mut self) {
        self.set(0);
    }
}

pin_project! {
    /// The body of a reply, in chunks of which each is timed until hyper asks for the next one.
    pub(crate) struct PacedReply<B> {
        #[pin]
        body: B,
        // The rest of the bytes that the body gave last, and whether those were `LONG`.
        rest: Bytes,
        is_long: bool,
        unread: UnreadBytes,
        deadline: Arc<ChunkDeadline>,
        write_timeout: Option<Duration>,
        // The stream is open until hyper drops the body.
        _stream: OpenStream,
    }
}

impl<B: HttpBody<Data = Bytes>> PacedReply<B> {
    pub(crate) fn new(
        body: B,
        unread: &Arc<Unread>,
        deadline: Arc<ChunkDeadline>,
        write_timeout: Option<Duration>,
        stream: OpenStream,
    ) -> Self {
        let mut unread = UnreadBytes::new(unread);
        unread.set(body.size_hint().lower());
        Self {
            body,
            rest: Bytes::new(),
            is_long: false,
            unread,
            deadline,
            write_timeout,
            _stream: stream,
        }
    }
}

impl<B: HttpBody<Data = Bytes>> HttpBody for PacedReply<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        let mut this = self.project();
        let left = |body: &B, rest: &Bytes| body.size_hint().lower().saturating_add(rest.len() as u64);
        // hyper has room for the next chunk.
        this.unread.set(left(&this.body, this.rest));
        *this.deadline.0.lock() = None;
        if this.rest.is_empty() {
            match ready!(this.body.as_mut().poll_frame(cx)?).map(Frame::into_data) {
                Some(Ok(data)) => (*this.is_long, *this.rest) = (data.len() >= LONG, data),
                Some(Err(other)) => return Poll::Ready(Some(Ok(other))),
                None => return Poll::Ready(None),
            }
        }
        this.unread.set(left(&this.body, this.rest));
        *this.deadline.0.lock() = this.write_timeout.map(|timeout| this.unread.of.timers.now() + timeout);
        // hyper asks for the next chunk when the client has room for the first byte of this one, so the last byte comes
        // alone: hyper has it until there is room for all bytes before.
        let mut length = this.rest.len().min(CHUNK);
        if *this.is_long && length == this.rest.len() && length > 1 {
            length -= 1;
        }
        Poll::Ready(Some(Ok(Frame::data(this.rest.split_to(length)))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let (rest, body) = (self.rest.len() as u64, self.body.size_hint());
        let mut hint = SizeHint::new();
        hint.set_lower(body.lower().saturating_add(rest));
        if let Some(upper) = body.upper() {
            hint.set_upper(upper.saturating_add(rest));
        }
        hint
    }
}

/// Spawns the tasks of the streams of one connection. A task ends early when the client leaves a chunk of its reply untaken
/// past the write timeout: hyper drops the stream, and h2 resets it.
#[derive(Clone)]
pub(crate) struct StreamExecutor(pub(crate) Arc<Unread>);

impl<F: Future<Output = ()> + Send + 'static> Executor<F> for StreamExecutor {
    fn execute(&self, task: F) {
        let (deadline, timers) = (self.0.next_stream.lock().take(), self.0.timers.clone());
        tokio::spawn(async move {
            let Some(deadline) = deadline else { return task.await };
            let mut timer = Timer::new(timers);
            let mut task = pin!(task);
            poll_fn(|cx| {
                if task.as_mut().poll(cx).is_ready() {
                    return Poll::Ready(());
                }
                let deadline = *deadline.0.lock();
                ready!(timer.poll(cx, deadline));
                tracing::debug!("a stream was reset: its client took none of its reply for too long");
                Poll::Ready(())
            })
            .await;
        });
    }
}
