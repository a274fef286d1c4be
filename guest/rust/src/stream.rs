//! Bodies piece by piece.

use std::marker::PhantomData;

use crate::form::{Async, Blocking};
use crate::{CallError, backend};

/// The request body, piece by piece; from [`Context::open_body`](crate::Context::open_body).
///
/// Dropping it tells the host that the rest is not wanted.
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
    /// The next piece, 1 to `max` bytes; `None` at the end. A `max` of 0 counts as 1.
    ///
    /// # Errors
    ///
    /// The client went away (`gone`) or the body is over the host's limit (`too-large`).
    pub fn read(&self, max: u32) -> Result<Option<Vec<u8>>, CallError> {
        self.raw.read(max).map_err(|failure| CallError::new("read", failure))
    }
}

impl BodyReader<Async> {
    /// The next piece, 1 to `max` bytes; `None` at the end. A `max` of 0 counts as 1.
    ///
    /// # Errors
    ///
    /// The client went away (`gone`) or the body is over the host's limit (`too-large`).
    ///
    /// # Cancel safety
    ///
    /// Dropping the future may lose a piece.
    pub async fn read(&self, max: u32) -> Result<Option<Vec<u8>>, CallError> {
        backend::waiting::read(&self.raw, max)
            .await
            .map_err(|failure| CallError::new("read", failure))
    }
}

/// The reply body, piece by piece; from [`Context::open_reply`](crate::Context::open_reply).
///
/// End it with [`finish`](Self::finish). Dropping it without breaks the reply off, so that the client can tell that it
/// is not whole.
#[derive(Debug)]
#[must_use = "dropping it breaks the reply off"]
pub struct BodyWriter<F = Blocking> {
    raw: backend::BodyWriter,
    form: PhantomData<F>,
}

impl<F> BodyWriter<F> {
    pub(crate) fn new(raw: backend::BodyWriter) -> Self {
        Self { raw, form: PhantomData }
    }

    /// Ends the reply.
    ///
    /// # Errors
    ///
    /// The client went away (`gone`).
    pub fn finish(self) -> Result<(), CallError> {
        self.raw.finish().map_err(|failure| CallError::new("finish", failure))
    }
}

impl BodyWriter<Blocking> {
    /// Writes a piece. Waits while the client is slower than the handler.
    ///
    /// # Errors
    ///
    /// The client went away (`gone`).
    pub fn write(&self, chunk: impl AsRef<[u8]>) -> Result<(), CallError> {
        self.raw
            .write(chunk.as_ref())
            .map_err(|failure| CallError::new("write", failure))
    }
}

impl BodyWriter<Async> {
    /// Writes a piece. Waits while the client is slower than the handler.
    ///
    /// # Errors
    ///
    /// The client went away (`gone`).
    ///
    /// # Cancel safety
    ///
    /// Dropping the future leaves open whether the piece was written; do not write on.
    pub async fn write(&self, chunk: impl Into<Vec<u8>>) -> Result<(), CallError> {
        backend::waiting::write(&self.raw, chunk.into())
            .await
            .map_err(|failure| CallError::new("write", failure))
    }
}
