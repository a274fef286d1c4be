//! Reading the bodies of requests: whole, or chunk by chunk.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll, ready};

use bytes::{Bytes, BytesMut};
use http_body::Body as HttpBody;

use super::body::{Body, BodyError};
use super::json_body;
use crate::events::caller::Caller;
use crate::{Charge, Crash, CrashKind, Failure, FailureCode, MemoryAccount, MemoryExceeded};

/// Reads a body to its end into memory, which grows with the chunks as they arrive.
pub(crate) struct Collect {
    body: Body,
    limit: u64,
    memory: Option<Arc<MemoryAccount>>,
    charge: Charge,
    /// Most bodies come in one chunk, which is not copied.
    first: Bytes,
    /// All chunks, once there are two.
    all: Vec<u8>,
}

impl Collect {
    /// A body of at most `limit` bytes.
    ///
    /// # Errors
    /// At once, if the body declares that it is longer.
    pub(crate) fn new(mut body: Body, limit: u64) -> Result<Self, BodyError> {
        if body.size_hint().lower() > limit {
            return Err(BodyError::TooLarge { limit: Some(limit) });
        }
        Ok(Self {
            memory: body.memory(),
            charge: body.take_charge(),
            body,
            limit,
            first: Bytes::new(),
            all: Vec::new(),
        })
    }

    fn take(&mut self, chunk: Bytes) -> Result<(), BodyError> {
        let length = self.first.len().max(self.all.len()) + chunk.len();
        if length as u64 > self.limit {
            return Err(BodyError::TooLarge {
                limit: Some(self.limit),
            });
        }
        if let Some(memory) = &self.memory {
            self.charge.grow(memory, chunk.len() as u64)?;
        }
        if length == chunk.len() {
            self.first = chunk;
        } else {
            if self.all.is_empty() {
                self.all.extend_from_slice(&std::mem::take(&mut self.first));
            }
            self.all.extend_from_slice(&chunk);
        }
        Ok(())
    }
}

impl Future for Collect {
    /// The bytes, which count as long as the charge is held.
    type Output = Result<(Bytes, Charge), BodyError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        while let Some(frame) = ready!(Pin::new(&mut this.body).poll_frame(cx)?) {
            if let Ok(chunk) = frame.into_data() {
                this.take(chunk)?;
            }
        }
        let (first, all) = (std::mem::take(&mut this.first), std::mem::take(&mut this.all));
        let bytes = if all.is_empty() { first } else { all.into() };
        Poll::Ready(Ok((bytes, std::mem::take(&mut this.charge))))
    }
}

/// The failure for a body without memory left for it, which is reported.
pub(crate) fn overloaded(needed: &str, exceeded: MemoryExceeded, caller: Option<&Caller>) -> Failure {
    if let Some(caller) = caller {
        let message = format!("{needed} more memory than {} bytes", exceeded.limit);
        caller.report(Crash::new(CrashKind::Limit, message).at_limit("body-memory"));
    }
    Failure::from(&BodyError::Overloaded(exceeded))
}

/// The body of a request whose handler may run.
pub(crate) struct ArrivedBody {
    pub(crate) body: Body,
    /// Counts it as one that the module has not taken.
    pub(crate) of_module: Charge,
}

/// The limits of a request's body, in bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BodyLimits {
    /// As much may be held in memory.
    pub(crate) body: u64,
    /// As much may be read chunk by chunk.
    pub(crate) stream_body: u64,
    /// `None` if the body is no JSON, or JSON has no limits of its own.
    pub(crate) json: Option<JsonLimits>,
}

/// The limits of a request body with JSON.
#[derive(Clone, Copy, Debug)]
pub(crate) struct JsonLimits {
    /// Whether `body` is the limit for JSON.
    is_narrower: bool,
    values: usize,
}

impl BodyLimits {
    /// The limits of a request that declares JSON, for its length in bytes and for its values.
    pub(super) fn for_json(mut self, length: Option<u64>, values: Option<usize>) -> Self {
        let narrower = length.filter(|&length| length < self.body);
        self.json = Some(JsonLimits {
            is_narrower: narrower.is_some(),
            values: values.unwrap_or(usize::MAX),
        });
        self.body = narrower.unwrap_or(self.body);
        self
    }

    /// Checks a whole body.
    ///
    /// # Errors
    /// It has too many JSON values, which is reported.
    pub(super) fn check_values(self, body: &[u8], caller: Option<&Caller>) -> Result<(), Failure> {
        let Some(JsonLimits { values, .. }) = self.json else {
            return Ok(());
        };
        // No text has more values than bytes.
        if body.len() <= values || json_body::values(body) <= values {
            return Ok(());
        }
        let message = format!("the request body has more than {values} JSON values, the limit `json-values`");
        Err(too_large(message, "json-values", caller))
    }

    /// The failure for a body that broke off. One that is too long is reported.
    pub(crate) fn failed(self, error: &BodyError, caller: Option<&Caller>) -> Failure {
        let (limit, name, hint) = match *error {
            BodyError::TooLarge { limit: Some(limit) } if limit == self.body => {
                let is_json = self.json.is_some_and(|json| json.is_narrower);
                let name = if is_json { "json-body" } else { "body" };
                (limit, name, "; a handler may take longer ones as a `stream`")
            }
            BodyError::TooLarge { limit: Some(limit) } if limit == self.stream_body => (limit, "stream-body", ""),
            BodyError::Overloaded(exceeded) => {
                return overloaded("the request bodies of the application need", exceeded, caller);
            }
            // A limit of the framework's, or no limit at all.
            _ => return Failure::from(error),
        };
        let message = format!("the request body is longer than {limit} bytes, the limit `{name}`{hint}");
        too_large(message, name, caller)
    }
}

/// The failure for a body past that limit, which is reported.
fn too_large(message: String, limit: &'static str, caller: Option<&Caller>) -> Failure {
    if let Some(caller) = caller {
        caller.report(Crash::new(CrashKind::Limit, &*message).at_limit(limit));
    }
    Failure::of(FailureCode::TOO_LARGE, message)
}

/// Frames of a body are joined up to this length, in bytes. How a body is cut into frames is up to the client, and a module pays for each chunk.
const JOINED: usize = 4096;

/// Reads a request body chunk by chunk, in chunks of a size that the reader chooses.
#[derive(Debug)]
pub struct BodyReader {
    body: Body,
    rest: Bytes,
    /// How the body ended behind `rest`.
    end: Option<Result<(), BodyError>>,
    limits: BodyLimits,
    /// Reports once that the body is too long.
    caller: Option<Caller>,
    /// Those of the application and of the module.
    _charges: [Charge; 2],
}

impl BodyReader {
    pub(crate) fn new(body: ArrivedBody, limits: BodyLimits, caller: Caller) -> Self {
        let ArrivedBody { mut body, of_module } = body;
        Self {
            _charges: [body.take_charge(), of_module],
            body,
            rest: Bytes::new(),
            end: None,
            limits,
            caller: Some(caller),
        }
    }

    /// The next chunk, 1 to `max` bytes, or `None` at the end. A `max` of 0 counts as 1. Short frames that have arrived come in one chunk.
    ///
    /// # Errors
    /// As the body's own: it broke off, or went over its limit.
    ///
    /// # Cancel safety
    /// Cancel safe: a chunk that was not returned comes with the next call.
    pub async fn read(&mut self, max: usize) -> Result<Option<Bytes>, Failure> {
        poll_fn(|cx| self.poll_read(cx, max)).await
    }

    /// As [`read`](Self::read), for a caller that polls by itself.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn poll_read(&mut self, cx: &mut TaskContext<'_>, max: usize) -> Poll<Result<Option<Bytes>, Failure>> {
        if self.rest.is_empty() {
            ready!(self.poll_frames(cx));
        }
        if !self.rest.is_empty() {
            let length = self.rest.len().min(max.max(1));
            return Poll::Ready(Ok(Some(self.rest.split_to(length))));
        }
        if let Some(Err(error)) = self.end.take_if(|end| end.is_err()) {
            return Poll::Ready(Err(self.failed(&error)));
        }
        Poll::Ready(Ok(None))
    }

    /// Waits for data, and joins the short frames that have arrived. Sets `end` at the end of the body.
    fn poll_frames(&mut self, cx: &mut TaskContext<'_>) -> Poll<()> {
        let mut joined = BytesMut::new();
        while self.end.is_none() && self.rest.len().max(joined.len()) < JOINED {
            match Pin::new(&mut self.body).poll_frame(cx) {
                Poll::Pending if self.rest.is_empty() => return Poll::Pending,
                Poll::Pending => {
                    self.body.nobody_waits();
                    break;
                }
                Poll::Ready(None) => self.end = Some(Ok(())),
                Poll::Ready(Some(Err(error))) => self.end = Some(Err(error)),
                Poll::Ready(Some(Ok(frame))) => {
                    let Ok(data) = frame.into_data() else { continue };
                    if self.rest.is_empty() {
                        self.rest = data;
                        continue;
                    }
                    if joined.is_empty() {
                        joined.extend_from_slice(&self.rest);
                    }
                    joined.extend_from_slice(&data);
                }
            }
        }
        if !joined.is_empty() {
            self.rest = joined.freeze();
        }
        Poll::Ready(())
    }

    /// Reads to the end, within the limits of what may be held in memory. A body that `is_checked` was whole before.
    pub(crate) async fn read_all(mut self, is_checked: bool) -> Result<Bytes, Failure> {
        let body = std::mem::take(&mut self.body);
        let bytes = match Collect::new(body, self.limits.body) {
            Ok(collect) => collect.await,
            Err(error) => Err(error),
        };
        let (bytes, _) = bytes.map_err(|error| self.failed(&error))?;
        if !is_checked {
            self.limits.check_values(&bytes, self.caller.as_ref())?;
        }
        Ok(bytes)
    }

    fn failed(&mut self, error: &BodyError) -> Failure {
        self.limits.failed(error, self.caller.take().as_ref())
    }
}
