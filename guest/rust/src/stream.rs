//! Request and reply bodies as streams.

use std::marker::PhantomData;

use crate::backend;
use crate::failure::Failure;
use crate::form::{Async, Blocking};

/// The request body as a stream; from [`Context::open_body`](crate::Context::open_body).
///
/// Dropping it discards the rest of the body.
#[derive(Debug)]
pub struct BodyReader<F = Blocking> {
    raw: backend::BodyReader,
    form: PhantomData<F>,
}

impl<F> BodyReader<F> {
    pub(crate) fn new(raw: backend::BodyReader) -> Self {
        Self { raw, form: PhantomData }
    }
}

impl BodyReader<Blocking> {
    /// The next chunk, 1 to `max` bytes; `None` at the end. A `max` of 0 counts as 1.
    ///
    /// # Errors
    ///
    /// `gone` if the client disconnected; `too-large` if the body is over the host's limit.
    pub fn read(&self, max: u32) -> Result<Option<Vec<u8>>, Failure> {
        backend::blocking::read(&self.raw, max).map_err(Failure::from_call("read"))
    }
}

impl BodyReader<Async> {
    /// The next chunk, 1 to `max` bytes; `None` at the end. A `max` of 0 counts as 1.
    ///
    /// # Errors
    ///
    /// `gone` if the client disconnected; `too-large` if the body is over the host's limit.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future may lose a chunk.
    pub async fn read(&self, max: u32) -> Result<Option<Vec<u8>>, Failure> {
        backend::waiting::read(&self.raw, max)
            .await
            .map_err(Failure::from_call("read"))
    }
}

/// The reply body as a stream; from [`Context::open_reply`](crate::Context::open_reply).
///
/// Call `finish` at the end. Dropping it before aborts the reply, so that the client detects that the
/// body is incomplete.
#[derive(Debug)]
#[must_use = "dropping it aborts the reply"]
pub struct BodyWriter<F = Blocking> {
    raw: backend::BodyWriter,
    form: PhantomData<F>,
}

impl<F> BodyWriter<F> {
    pub(crate) fn new(raw: backend::BodyWriter) -> Self {
        Self { raw, form: PhantomData }
    }
}

impl BodyWriter<Blocking> {
    /// Writes a chunk. Waits while the client reads more slowly than the handler writes. An empty chunk writes nothing, and
    /// fails when the client disconnected.
    ///
    /// # Errors
    ///
    /// `gone` if the client disconnected.
    pub fn write(&self, chunk: impl AsRef<[u8]>) -> Result<(), Failure> {
        backend::blocking::write(&self.raw, chunk.as_ref()).map_err(Failure::from_call("write"))
    }

    /// Completes the reply. Waits as [`write`](Self::write) does.
    ///
    /// # Errors
    ///
    /// `gone` if the client disconnected.
    pub fn finish(self) -> Result<(), Failure> {
        backend::blocking::finish(&self.raw).map_err(Failure::from_call("finish"))
    }
}

impl BodyWriter<Async> {
    /// Writes a chunk. Waits while the client reads more slowly than the handler writes. An empty chunk writes nothing, and
    /// fails when the client disconnected.
    ///
    /// # Errors
    ///
    /// `gone` if the client disconnected.
    ///
    /// # Cancel safety
    ///
    /// After the future was dropped, the chunk may or may not have been written; do not write another one.
    pub async fn write(&self, chunk: impl Into<Vec<u8>>) -> Result<(), Failure> {
        backend::waiting::write(&self.raw, chunk.into())
            .await
            .map_err(Failure::from_call("write"))
    }

    /// Completes when nobody reads the body any more: the client disconnected, or wants no body, as for HEAD.
    ///
    /// For a handler whose next chunk may never come: it waits for the chunk and for this at the same time, so that a client
    /// that left does not keep its call. [`write`](Self::write) tells the same at the next chunk. In a unit test it completes
    /// if the request is `cancelled`.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe.
    pub async fn closed(&self) {
        backend::waiting::closed(&self.raw).await;
    }

    /// Completes the reply. Waits as [`write`](Self::write) does.
    ///
    /// # Errors
    ///
    /// `gone` if the client disconnected.
    ///
    /// # Cancel safety
    ///
    /// After the future was dropped, the reply may or may not be complete.
    pub async fn finish(self) -> Result<(), Failure> {
        backend::waiting::finish(&self.raw)
            .await
            .map_err(Failure::from_call("finish"))
    }
}
