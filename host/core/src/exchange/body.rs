//! Request and reply bodies.

use std::future::ready;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll, ready};
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_channel::mpsc;
use futures_util::{SinkExt, StreamExt, stream};
use http::StatusCode;
use http_body::{Body as HttpBody, Frame, SizeHint};
use http_body_util::{BodyExt, StreamBody};

use crate::events::caller::Caller;
use crate::{BoxFuture, Crash, CrashKind, Executor, Failure, FailureCode};

/// Why a body broke off.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BodyError {
    /// It is longer than the limit, in bytes.
    #[error("the body is longer than {limit} bytes")]
    TooLarge {
        /// The limit, in bytes.
        limit: u64,
    },
    /// It stopped before its end: the client went away, or the writer was dropped without
    /// [`finish`](BodyWriter::finish).
    #[error("the body broke off before its end")]
    Incomplete,
    /// The client took longer than the adapter waits.
    #[error("the body did not arrive in time")]
    Timeout,
    /// Anything else that the adapter met.
    #[error("the body could not be read")]
    Transport(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl From<&BodyError> for Failure {
    fn from(error: &BodyError) -> Self {
        let (code, status) = match error {
            BodyError::TooLarge { .. } => (FailureCode::TOO_LARGE, StatusCode::PAYLOAD_TOO_LARGE),
            BodyError::Timeout => (FailureCode::DEADLINE, StatusCode::REQUEST_TIMEOUT),
            BodyError::Incomplete | BodyError::Transport(_) => (FailureCode::GONE, StatusCode::BAD_REQUEST),
        };
        Failure::with_code(code, status, error.to_string())
    }
}

/// A body, whole or piece by piece. Every adapter turns its own kind into this one, and this one into its own.
///
/// It is an [`http_body::Body`] with `Bytes` as data; trailers pass through.
#[derive(Default, derive_more::Debug)]
#[debug("Body({:?})", self.size_hint())]
pub struct Body(BodyKind);

#[derive(Default)]
enum BodyKind {
    #[default]
    Empty,
    Full(Bytes),
    Stream {
        body: Pin<Box<dyn HttpBody<Data = Bytes, Error = BodyError> + Send>>,
        limit: Option<LengthLimit>,
        timeout: Option<Box<Timeout>>,
    },
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
            timeout: None,
        })
    }

    /// A body that is written piece by piece, with room for one piece that was not yet read.
    pub fn channel() -> (BodyWriter, Self) {
        let (sender, receiver) = mpsc::channel(0);
        let data = |piece: Option<Bytes>| piece.map(|piece| Ok(Frame::data(piece)));
        // Only a writer that was dropped closes the channel before the end.
        let broken_off = stream::iter([Some(Err(BodyError::Incomplete))]);
        let pieces = receiver.map(data).chain(broken_off);
        let body = StreamBody::new(pieces.take_while(|piece| ready(piece.is_some())).filter_map(ready));
        (BodyWriter { sender }, Self::stream(body))
    }

    /// The same body, breaking off with [`BodyError::TooLarge`] after `limit` bytes.
    ///
    /// # Errors
    /// At once, if the body declares that it is longer.
    pub fn limited(mut self, limit: u64) -> Result<Self, BodyError> {
        if self.size_hint().lower() > limit {
            return Err(BodyError::TooLarge { limit });
        }
        if let BodyKind::Stream { limit: current, .. } = &mut self.0 {
            let (bytes, left) = (limit, limit);
            *current = Some(LengthLimit { bytes, left });
        }
        Ok(self)
    }

    /// The same body, breaking off with [`BodyError::Timeout`] when its next piece takes longer than `pause`; `None` is
    /// unlimited. A later limit replaces an earlier one.
    ///
    /// Only the time during which somebody waits counts. A body that came along with its head costs no timer.
    #[must_use]
    pub fn within(mut self, pause: Option<Duration>, executor: &Arc<dyn Executor>) -> Self {
        if let (BodyKind::Stream { timeout, .. }, Some(pause)) = (&mut self.0, pause) {
            *timeout = Some(Box::new(Timeout {
                pause,
                executor: executor.clone(),
                timer: None,
            }));
        }
        self
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
    /// let (_writer, in_pieces) = Body::channel();
    /// assert!(in_pieces.try_into_bytes().is_err());
    /// ```
    ///
    /// # Errors
    /// The body as it was, if it comes in pieces.
    pub fn try_into_bytes(self) -> Result<Bytes, Self> {
        match self.0 {
            BodyKind::Empty => Ok(Bytes::new()),
            BodyKind::Full(bytes) => Ok(bytes),
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
        Collect::new(self, u64::MAX)?.await
    }
}

impl<T: Into<Bytes>> From<T> for Body {
    fn from(bytes: T) -> Self {
        let bytes = bytes.into();
        if bytes.is_empty() {
            Self::empty()
        } else {
            Self(BodyKind::Full(bytes))
        }
    }
}

impl HttpBody for Body {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        match &mut self.0 {
            BodyKind::Empty => Poll::Ready(None),
            BodyKind::Full(bytes) => {
                let bytes = std::mem::take(bytes);
                self.0 = BodyKind::Empty;
                Poll::Ready(Some(Ok(Frame::data(bytes))))
            }
            BodyKind::Stream { body, limit, timeout } => {
                let polled = body.as_mut().poll_frame(cx);
                if let Some(timeout) = timeout
                    && timeout.is_over(polled.is_pending(), cx)
                {
                    return Poll::Ready(Some(Err(BodyError::Timeout)));
                }
                let frame = ready!(polled);
                let data = frame
                    .as_ref()
                    .and_then(|frame| frame.as_ref().ok())
                    .and_then(Frame::data_ref);
                if let (Some(limit), Some(data)) = (limit, data) {
                    match limit.left.checked_sub(data.len() as u64) {
                        Some(left) => limit.left = left,
                        None => return Poll::Ready(Some(Err(BodyError::TooLarge { limit: limit.bytes }))),
                    }
                }
                Poll::Ready(frame)
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.0 {
            BodyKind::Empty => true,
            BodyKind::Full(_) => false,
            BodyKind::Stream { body, .. } => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            BodyKind::Empty => SizeHint::with_exact(0),
            BodyKind::Full(bytes) => SizeHint::with_exact(bytes.len() as u64),
            BodyKind::Stream { body, .. } => body.size_hint(),
        }
    }
}

/// Reads a body to its end into memory, which grows with the pieces as they arrive.
pub(crate) struct Collect {
    body: Body,
    limit: u64,
    /// Most bodies come in one piece, which is not copied.
    first: Bytes,
    /// All pieces, once there are two.
    all: Vec<u8>,
}

impl Collect {
    /// A body of at most `limit` bytes.
    ///
    /// # Errors
    /// At once, if the body declares that it is longer.
    pub(crate) fn new(body: Body, limit: u64) -> Result<Self, BodyError> {
        if body.size_hint().lower() > limit {
            return Err(BodyError::TooLarge { limit });
        }
        Ok(Self {
            body,
            limit,
            first: Bytes::new(),
            all: Vec::new(),
        })
    }

    fn take(&mut self, piece: Bytes) -> Result<(), BodyError> {
        let length = self.first.len().max(self.all.len()) + piece.len();
        if length as u64 > self.limit {
            return Err(BodyError::TooLarge { limit: self.limit });
        }
        if length == piece.len() {
            self.first = piece;
        } else {
            if self.all.is_empty() {
                self.all.extend_from_slice(&std::mem::take(&mut self.first));
            }
            self.all.extend_from_slice(&piece);
        }
        Ok(())
    }
}

impl Future for Collect {
    type Output = Result<Bytes, BodyError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        while let Some(frame) = ready!(Pin::new(&mut this.body).poll_frame(cx)?) {
            if let Ok(piece) = frame.into_data() {
                this.take(piece)?;
            }
        }
        let (first, all) = (std::mem::take(&mut this.first), std::mem::take(&mut this.all));
        Poll::Ready(Ok(if all.is_empty() { first } else { all.into() }))
    }
}

/// See [`Body::within`].
struct Timeout {
    pause: Duration,
    executor: Arc<dyn Executor>,
    /// Runs while somebody waits.
    timer: Option<BoxFuture<'static, ()>>,
}

impl Timeout {
    fn is_over(&mut self, waits: bool, cx: &mut TaskContext<'_>) -> bool {
        let start = || self.executor.sleep_until(Instant::now() + self.pause);
        let over = waits && self.timer.get_or_insert_with(start).as_mut().poll(cx).is_ready();
        if over || !waits {
            self.timer = None;
        }
        over
    }
}

/// Writes a reply body piece by piece.
///
/// Dropping it without [`finish`](Self::finish) breaks the reply off, so that the client can tell that it is not whole.
#[derive(Debug)]
pub struct BodyWriter {
    /// `None` is the end.
    sender: mpsc::Sender<Option<Bytes>>,
}

impl BodyWriter {
    /// Writes a piece, waiting while the client is slower than the writer. An empty piece is nothing.
    ///
    /// # Errors
    /// [`GONE`](FailureCode::GONE) when nobody reads any more.
    ///
    /// # Cancel safety
    /// Cancelled while it waits, it has written nothing.
    pub async fn write(&mut self, data: impl Into<Bytes>) -> Result<(), Failure> {
        let data = data.into();
        if data.is_empty() {
            return Ok(());
        }
        self.send(Some(data)).await
    }

    /// Ends the body.
    ///
    /// # Errors
    /// [`GONE`](FailureCode::GONE) when nobody reads any more.
    ///
    /// # Cancel safety
    /// Cancelled, the body counts as broken off.
    pub async fn finish(mut self) -> Result<(), Failure> {
        self.send(None).await
    }

    async fn send(&mut self, piece: Option<Bytes>) -> Result<(), Failure> {
        // Not `send`, which would go on waiting until the piece is read.
        self.sender
            .feed(piece)
            .await
            .map_err(|_| Failure::internal(FailureCode::GONE, "nobody reads the reply any more"))
    }
}

/// The limits of a request's body, in bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BodyLimits {
    /// As much may be held in memory.
    pub(crate) body: u64,
    /// As much may be read piece by piece.
    pub(crate) stream_body: u64,
}

impl BodyLimits {
    /// The failure for a body that broke off. One that is too long is reported.
    pub(crate) fn failed(self, error: &BodyError, caller: Option<&Caller>) -> Failure {
        let (limit, name, hint) = match *error {
            BodyError::TooLarge { limit } if limit == self.body => {
                (limit, "body", "; a handler may take longer ones as a `stream`")
            }
            BodyError::TooLarge { limit } if limit == self.stream_body => (limit, "stream-body", ""),
            // A limit of the framework's, or no limit at all.
            _ => return Failure::from(error),
        };
        let message = format!("the request body is longer than {limit} bytes, the limit `{name}`{hint}");
        if let Some(caller) = caller {
            caller.report(Crash::new(CrashKind::Limit, &*message).at_limit(name));
        }
        Failure::with_code(FailureCode::TOO_LARGE, StatusCode::PAYLOAD_TOO_LARGE, message)
    }
}

/// Reads a request body piece by piece, in pieces of a size that the reader chooses.
#[derive(Debug)]
pub struct BodyReader {
    body: Body,
    rest: Bytes,
    limits: BodyLimits,
    /// Reports once that the body is too long.
    caller: Option<Caller>,
}

impl BodyReader {
    pub(crate) fn new(body: Body, limits: BodyLimits, caller: Caller) -> Self {
        Self {
            body,
            rest: Bytes::new(),
            limits,
            caller: Some(caller),
        }
    }

    /// The next piece, 1 to `max` bytes, or `None` at the end. A `max` of 0 counts as 1.
    ///
    /// # Errors
    /// As the body's own: it broke off, or went over its limit.
    ///
    /// # Cancel safety
    /// Cancel safe: a piece that was not returned comes with the next call.
    pub async fn read(&mut self, max: usize) -> Result<Option<Bytes>, Failure> {
        while self.rest.is_empty() {
            let Some(frame) = self.body.frame().await else {
                return Ok(None);
            };
            let frame = frame.map_err(|error| self.failed(&error))?;
            if let Ok(data) = frame.into_data() {
                self.rest = data;
            }
        }
        let length = self.rest.len().min(max.max(1));
        Ok(Some(self.rest.split_to(length)))
    }

    /// Reads to the end, within the limit of what may be held in memory.
    pub(crate) async fn read_all(mut self) -> Result<Bytes, Failure> {
        let body = std::mem::take(&mut self.body);
        let bytes = match Collect::new(body, self.limits.body) {
            Ok(collect) => collect.await,
            Err(error) => Err(error),
        };
        bytes.map_err(|error| self.failed(&error))
    }

    fn failed(&mut self, error: &BodyError) -> Failure {
        self.limits.failed(error, self.caller.take().as_ref())
    }
}
