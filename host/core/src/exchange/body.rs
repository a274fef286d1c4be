//! Request and reply bodies.

use std::future::{Future, poll_fn, ready};
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Context as TaskContext, Poll};
use std::time::Duration;

use bytes::Bytes;
use event_listener::Event;
use futures_channel::mpsc;
use futures_util::task::AtomicWaker;
use futures_util::{SinkExt, StreamExt, stream};
use http::StatusCode;
use http_body::{Body as HttpBody, Frame, SizeHint};
use http_body_util::{BodyExt, StreamBody};

use super::end_gate::EndGate;
use super::pace::Pace;
use crate::{Charge, Executor, Failure, FailureCode, MemoryAccount, MemoryExceeded};

/// Why a body broke off.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BodyError {
    /// It is longer than a limit.
    #[error("the body is longer than {}", limit.map_or_else(|| "allowed".to_owned(), |limit| format!("{limit} bytes")))]
    TooLarge {
        /// The limit, in bytes; `None` for a limit around the adapter that does not tell.
        limit: Option<u64>,
    },
    /// It stopped before its end: the client went away, or the writer was dropped without
    /// [`finish`](BodyWriter::finish).
    #[error("the body broke off before its end")]
    Incomplete,
    /// The client took longer than the adapter waits, or sent less in a time than
    /// [`RouterOptions::body_rate`](crate::RouterOptions::body_rate) expects.
    #[error("the body did not arrive in time")]
    Timeout,
    /// An event that was emitted before the end of the reply was not recorded (spec N2).
    #[error("an event of the request could not be recorded")]
    Unrecorded,
    /// The bodies of all requests need more memory than
    /// [`RouterOptions::body_memory`](crate::RouterOptions::body_memory) allows.
    #[error("the server holds as many request bodies as it may: {0}")]
    Overloaded(#[from] MemoryExceeded),
    /// Anything else that the adapter met.
    #[error("the body could not be read")]
    Transport(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl From<&BodyError> for Failure {
    fn from(error: &BodyError) -> Self {
        // The client is late or gone, in place of a party of the server.
        let (code, status) = match error {
            BodyError::TooLarge { .. } => return Self::of(FailureCode::TOO_LARGE, error.to_string()),
            BodyError::Overloaded(_) => {
                let message = "the server holds as many request bodies as it may";
                return Self::of(FailureCode::OVERLOADED, message);
            }
            BodyError::Unrecorded => return Self::of(FailureCode::UNRECORDED, error.to_string()),
            BodyError::Timeout => (FailureCode::DEADLINE, StatusCode::REQUEST_TIMEOUT),
            BodyError::Incomplete | BodyError::Transport(_) => (FailureCode::GONE, StatusCode::BAD_REQUEST),
        };
        Self::with_code(code, status, error.to_string())
    }
}

/// A body, whole or chunk by chunk. Every adapter turns its own kind into this one, and this one into its own.
///
/// It is an [`http_body::Body`] with `Bytes` as data; trailers pass through.
#[derive(Default, derive_more::Debug)]
#[debug("Body({:?})", self.size_hint())]
pub struct Body(BodyKind);

#[derive(Default)]
enum BodyKind {
    #[default]
    Empty,
    Full(Bytes, Charge),
    Stream {
        body: Pin<Box<dyn HttpBody<Data = Bytes, Error = BodyError> + Send>>,
        limit: Option<LengthLimit>,
        pace: Option<Box<Pace>>,
        /// Counts the bytes of a request's body while it is collected.
        memory: Option<Arc<MemoryAccount>>,
        /// The time limit of the [`BodyWriter`], if the body has one.
        writing: Option<Arc<WriteLimit>>,
        /// Holds the end of a reply back; `None` without a durable channel.
        end: Option<Box<EndGate>>,
    },
}

/// The time that a writer waits for the reader of its body. The router sets it when the reply goes to the adapter.
#[derive(Default, derive_more::Debug)]
#[debug("WriteLimit")]
struct WriteLimit {
    timeout: OnceLock<(Duration, Arc<dyn Executor>)>,
    /// A writer that waited before the limit was set.
    writer: AtomicWaker,
    /// Whether the writer was told that nobody reads.
    is_left: AtomicBool,
    /// Whether the writer ended the body before its reader left.
    is_ended: AtomicBool,
    /// Notified when the body is dropped. Without a listener it costs nothing.
    closing: Event,
}

/// Lies in the body that a [`BodyWriter`] writes, and is dropped with that body, after the receiver of the chunks.
struct Reader(Arc<WriteLimit>);

impl Drop for Reader {
    fn drop(&mut self) {
        // `Event::notify` allocates, even if nobody listens.
        if self.0.closing.total_listeners() > 0 {
            self.0.closing.notify(usize::MAX);
        }
    }
}

/// The number of bytes that a streamed body may have, and how many of them are left.
struct LengthLimit {
    bytes: u64,
    left: u64,
}

impl Body {
    /// No bytes.
    pub fn empty() -> Self {
        Self::default()
    }

    /// Any body that can be read from another thread.
    pub fn stream(body: impl HttpBody<Data = Bytes, Error = BodyError> + Send + 'static) -> Self {
        Self(BodyKind::Stream {
            body: Box::pin(body),
            limit: None,
            pace: None,
            memory: None,
            writing: None,
            end: None,
        })
    }

    /// A body that has arrived, and that counts until it is taken.
    pub(crate) fn charged(bytes: Bytes, charge: Charge) -> Self {
        if bytes.is_empty() {
            Self::empty()
        } else {
            Self(BodyKind::Full(bytes, charge))
        }
    }

    /// A body that is written chunk by chunk, with room for one chunk that was not yet read.
    pub fn channel() -> (BodyWriter, Self) {
        let (sender, receiver) = mpsc::channel(0);
        let limit = Arc::<WriteLimit>::default();
        let reader = Reader(limit.clone());
        let data = move |chunk: Option<Bytes>| {
            let _reader = &reader;
            chunk.map(|chunk| Ok(Frame::data(chunk)))
        };
        // Only a writer that was dropped closes the channel before the end.
        let broken_off = stream::iter([Some(Err(BodyError::Incomplete))]);
        let chunks = receiver.map(data).chain(broken_off);
        let chunks = StreamBody::new(chunks.take_while(|chunk| ready(chunk.is_some())).filter_map(ready));
        let mut body = Self::stream(chunks);
        if let BodyKind::Stream { writing, .. } = &mut body.0 {
            *writing = Some(limit.clone());
        }
        (BodyWriter { sender, limit }, body)
    }

    /// Limits the time for which the [`BodyWriter`] waits for its reader.
    pub(crate) fn limit_writing(&self, timeout: Duration, executor: &Arc<dyn Executor>) {
        if let BodyKind::Stream {
            writing: Some(limit), ..
        } = &self.0
        {
            // A reply has one router.
            let _ = limit.timeout.set((timeout, executor.clone()));
            limit.writer.wake();
        }
    }

    /// Holds the end of a streamed body back.
    pub(crate) fn end_after(&mut self, gate: EndGate) {
        if let BodyKind::Stream { body, end, .. } = &mut self.0
            && !body.is_end_stream()
        {
            *end = Some(Box::new(gate));
        }
    }

    /// The same body, breaking off with [`BodyError::TooLarge`] after `limit` bytes.
    ///
    /// # Errors
    /// At once, if the body declares that it is longer.
    pub fn limited(mut self, limit: u64) -> Result<Self, BodyError> {
        if self.size_hint().lower() > limit {
            return Err(BodyError::TooLarge { limit: Some(limit) });
        }
        if let BodyKind::Stream { limit: current, .. } = &mut self.0 {
            let (bytes, left) = (limit, limit);
            *current = Some(LengthLimit { bytes, left });
        }
        Ok(self)
    }

    /// The same body, breaking off with [`BodyError::Timeout`] when its next chunk takes longer than `pause`; `None` is
    /// unlimited. A later limit replaces an earlier one.
    ///
    /// Only the time during which somebody waits counts. A body that came along with its head costs no timer.
    #[must_use]
    pub fn within(self, pause: Option<Duration>, executor: &Arc<dyn Executor>) -> Self {
        self.at_pace(pause, 0, executor)
    }

    /// As [`within`](Self::within), and breaking off as well when fewer bytes arrive than `rate` per second, see
    /// [`Pace`]; 0 is unlimited.
    #[must_use]
    pub(crate) fn at_pace(mut self, longest: Option<Duration>, rate: u64, executor: &Arc<dyn Executor>) -> Self {
        if let BodyKind::Stream { pace, .. } = &mut self.0 {
            let limited = longest.is_some() || rate > 0;
            *pace = limited.then(|| Box::new(Pace::new(longest, rate, executor.clone())));
        }
        self
    }

    /// Nobody waits for the next chunk, after a poll that was pending: the time until the next poll is not the client's.
    pub(crate) fn nobody_waits(&mut self) {
        if let BodyKind::Stream { pace: Some(pace), .. } = &mut self.0 {
            pace.arrived(0);
        }
    }

    /// The same body; its bytes are counted in this account when the body is collected.
    #[must_use]
    pub(crate) fn counted(mut self, account: &Arc<MemoryAccount>) -> Self {
        if let BodyKind::Stream { memory, .. } = &mut self.0 {
            *memory = Some(account.clone());
        }
        self
    }

    /// The account of a body that is to be counted.
    pub(crate) fn memory(&self) -> Option<Arc<MemoryAccount>> {
        match &self.0 {
            BodyKind::Stream { memory, .. } => memory.clone(),
            BodyKind::Empty | BodyKind::Full(..) => None,
        }
    }

    /// Takes the charge of a body that has arrived.
    pub(crate) fn take_charge(&mut self) -> Charge {
        match &mut self.0 {
            BodyKind::Full(_, charge) => std::mem::take(charge),
            BodyKind::Empty | BodyKind::Stream { .. } => Charge::default(),
        }
    }

    /// The length in bytes, if it is known beforehand.
    pub fn known_length(&self) -> Option<u64> {
        self.size_hint().exact()
    }

    /// The bytes of a body that is whole.
    ///
    /// ```
    /// use pointwork_core::Body;
    ///
    /// assert_eq!(Body::from("whole").try_into_bytes().unwrap(), "whole");
    /// let (_writer, in_chunks) = Body::channel();
    /// assert!(in_chunks.try_into_bytes().is_err());
    /// ```
    ///
    /// # Errors
    /// The body as it was, if it comes in chunks.
    pub fn try_into_bytes(self) -> Result<Bytes, Self> {
        match self.0 {
            BodyKind::Empty => Ok(Bytes::new()),
            BodyKind::Full(bytes, _) => Ok(bytes),
            BodyKind::Stream { .. } => Err(self),
        }
    }

    /// Reads to the end.
    ///
    /// # Errors
    /// As the body's own: it broke off, or went over its limit.
    ///
    /// # Cancel safety
    /// Not cancel safe: what was read is lost.
    pub async fn bytes(self) -> Result<Bytes, BodyError> {
        Ok(self.collect().await?.to_bytes())
    }
}

impl<T: Into<Bytes>> From<T> for Body {
    fn from(bytes: T) -> Self {
        Self::charged(bytes.into(), Charge::default())
    }
}

impl HttpBody for Body {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        match &mut self.0 {
            BodyKind::Empty => Poll::Ready(None),
            BodyKind::Full(bytes, _) => {
                let bytes = std::mem::take(bytes);
                self.0 = BodyKind::Empty;
                Poll::Ready(Some(Ok(Frame::data(bytes))))
            }
            BodyKind::Stream {
                body, limit, pace, end, ..
            } => {
                if let Some(end) = end.as_mut().filter(|end| end.holds()) {
                    return end.poll(cx);
                }
                let Poll::Ready(frame) = body.as_mut().poll_frame(cx) else {
                    let over = pace.as_mut().map_or(Poll::Pending, |pace| pace.poll_over(cx));
                    return over.map(|()| Some(Err(BodyError::Timeout)));
                };
                let data = frame.as_ref().and_then(|frame| frame.as_ref().ok());
                let length = data.and_then(Frame::data_ref).map_or(0, |data| data.len() as u64);
                if let Some(pace) = pace {
                    pace.arrived(length);
                }
                if let Some(limit) = limit {
                    match limit.left.checked_sub(length) {
                        Some(left) => limit.left = left,
                        None => {
                            return Poll::Ready(Some(Err(BodyError::TooLarge {
                                limit: Some(limit.bytes),
                            })));
                        }
                    }
                }
                if let Some(end) = end {
                    // A server reads no further than to the length that it knows.
                    let is_last = frame.is_none() || body.size_hint().exact() == Some(0);
                    if is_last && !matches!(frame, Some(Err(_))) {
                        end.hold(frame);
                        return end.poll(cx);
                    }
                }
                Poll::Ready(frame)
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.0 {
            BodyKind::Empty => true,
            BodyKind::Full(..) => false,
            BodyKind::Stream { body, end, .. } => end.is_none() && body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            BodyKind::Empty => SizeHint::with_exact(0),
            BodyKind::Full(bytes, _) => SizeHint::with_exact(bytes.len() as u64),
            BodyKind::Stream { body, .. } => body.size_hint(),
        }
    }
}

/// Writes a reply body chunk by chunk.
///
/// Dropping it without [`finish`](Self::finish) breaks the reply off, so that the client can tell that it is not whole.
#[derive(Debug)]
pub struct BodyWriter {
    /// `None` is the end.
    sender: mpsc::Sender<Option<Bytes>>,
    limit: Arc<WriteLimit>,
}

/// The longest chunk that passes to the reader at once, in bytes.
const MAX_CHUNK: usize = 256 * 1024;

impl BodyWriter {
    /// Writes a chunk, waiting while the client is slower than the writer. An empty chunk writes nothing, and fails
    /// when nobody reads any more.
    ///
    /// # Errors
    /// [`GONE`](FailureCode::GONE) when nobody reads any more, or when the chunk before was not taken within
    /// [`ServerOptions::write_timeout`](crate::ServerOptions::write_timeout). The reply breaks off then.
    ///
    /// # Cancel safety
    /// Cancelled while it waits, it has written nothing of data up to 256 KiB, and perhaps a part of longer data.
    pub async fn write(&mut self, data: impl Into<Bytes>) -> Result<(), Failure> {
        let mut data = data.into();
        // A client that takes a long chunk slowly is not one that takes nothing.
        while data.len() > MAX_CHUNK {
            self.send(Some(data.split_to(MAX_CHUNK))).await?;
        }
        if data.is_empty() {
            return if self.sender.is_closed() {
                Err(self.left())
            } else {
                Ok(())
            };
        }
        self.send(Some(data)).await
    }

    /// Ends the body.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    ///
    /// # Cancel safety
    /// Cancelled, the body counts as broken off.
    pub async fn finish(mut self) -> Result<(), Failure> {
        // Before the reader has the end, after which it may leave.
        self.limit.is_ended.store(true, Ordering::Relaxed);
        let finished = self.send(None).await;
        self.limit.is_ended.store(finished.is_ok(), Ordering::Relaxed);
        finished
    }

    /// Completes when nobody reads the body any more: the client went away, or wants no body, as for HEAD.
    ///
    /// For a writer whose next chunk may never come. [`write`](Self::write) tells the same at the next chunk.
    ///
    /// # Cancel safety
    /// Cancel safe. The future does not keep the body open.
    pub fn closed(&self) -> impl Future<Output = ()> + Send + use<> {
        let listener = self.limit.closing.listen();
        // The body may have been dropped before.
        let is_closed = self.sender.is_closed();
        async move {
            if !is_closed {
                listener.await;
            }
        }
    }

    /// Breaks the body off from elsewhere.
    pub(crate) fn breaker(&self) -> BodyBreaker {
        BodyBreaker {
            sender: self.sender.clone(),
            limit: self.limit.clone(),
        }
    }

    async fn send(&mut self, chunk: Option<Bytes>) -> Result<(), Failure> {
        let Self { sender, limit } = self;
        let sent = {
            // Not `send`, which would go on waiting until the chunk is read.
            let mut feed = pin!(sender.feed(chunk));
            let mut timer = None;
            poll_fn(|cx| {
                if let Poll::Ready(sent) = feed.as_mut().poll(cx) {
                    return Poll::Ready(sent.is_ok());
                }
                limit.writer.register(cx.waker());
                let Some((timeout, executor)) = limit.timeout.get() else {
                    return Poll::Pending;
                };
                let timer = timer.get_or_insert_with(|| executor.sleep_until(executor.now() + *timeout));
                timer.as_mut().poll(cx).map(|()| false)
            })
            .await
        };
        if sent {
            return Ok(());
        }
        sender.close_channel();
        Err(self.left())
    }

    /// Notes that the writer is told that nobody reads, and makes the failure.
    fn left(&self) -> Failure {
        self.limit.is_left.store(true, Ordering::Relaxed);
        Failure::of(FailureCode::GONE, "nobody reads the reply any more")
    }
}

impl Drop for BodyWriter {
    fn drop(&mut self) {
        if !self.sender.is_closed() {
            self.limit.is_ended.store(true, Ordering::Relaxed);
        }
        // A breaker does not keep the body open.
        self.sender.close_channel();
    }
}

/// Breaks a reply body off, unless it is finished.
#[derive(Debug)]
pub(crate) struct BodyBreaker {
    sender: mpsc::Sender<Option<Bytes>>,
    limit: Arc<WriteLimit>,
}

impl BodyBreaker {
    /// Whether the reader left before the writer ended the body.
    pub(crate) fn is_unread(&self) -> bool {
        self.sender.is_closed() && !self.limit.is_ended.load(Ordering::Relaxed)
    }

    /// Returns whether the writer was told that nobody reads the body.
    pub(crate) fn break_off(&self) -> bool {
        self.sender.clone().close_channel();
        self.limit.is_left.load(Ordering::Relaxed)
    }
}
