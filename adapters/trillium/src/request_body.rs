//! The body of a request, which only the owner of its connection may read.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;

use bytes::BytesMut;
use pointwork_core::BodyError;
use pointwork_core::adapter::BodyPump;
use trillium::RequestBody;
use trillium_server_common::AsyncRead;

/// The number of bytes that are read at a time.
const CHUNK: u64 = 16 * 1024;

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

/// The limit for bytes that are read without being a part of the body: trillium keeps trailers of any length.
pub(crate) struct TrailerLimit {
    pub(crate) count: Arc<AtomicUsize>,
    pub(crate) limit: usize,
}

/// Fills the core's body until it ends, or its reader is gone.
///
/// Nothing is read before the reader waits for it: trillium sends `100 Continue` at the first read.
pub(crate) async fn fill(mut pump: BodyPump, mut body: RequestBody<'_>, trailers: Option<TrailerLimit>) -> Rest {
    // The core has the limit.
    body.set_max_len(u64::MAX);
    while poll_fn(|cx| pump.poll_wanted(cx)).await {
        let mut chunk = BytesMut::zeroed(pump.left().unwrap_or(CHUNK).min(CHUNK) as usize);
        match read(&mut body, &mut chunk, trailers.as_ref()).await {
            Ok(0) => pump.put(None),
            Ok(length) => {
                chunk.truncate(length);
                pump.put(Some(Ok(chunk.freeze())));
            }
            Err(error) => {
                let error = body_error(error, pump.left().is_some());
                pump.put(Some(Err(error)));
                return Rest::Unknown;
            }
        }
    }
    if pump.is_over() { Rest::None } else { Rest::Unread }
}

async fn read(body: &mut RequestBody<'_>, chunk: &mut [u8], trailers: Option<&TrailerLimit>) -> io::Result<usize> {
    if let Some(trailers) = trailers {
        trailers.count.store(0, Ordering::Relaxed);
    }
    let is_exceeded = |trailers: &TrailerLimit| trailers.count.load(Ordering::Relaxed) > trailers.limit;
    poll_fn(|cx| match Pin::new(&mut *body).poll_read(cx, chunk) {
        Poll::Pending if trailers.is_some_and(is_exceeded) => {
            Poll::Ready(Err(io::Error::other("its trailers are too long")))
        }
        read => read,
    })
    .await
}

/// trillium's error in the core's kinds.
fn body_error(error: io::Error, has_length: bool) -> BodyError {
    use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, InvalidData, UnexpectedEof};
    match error.kind() {
        // A body with a length cannot be malformed: this is trillium's kind for an early end.
        InvalidData if has_length => BodyError::Incomplete,
        UnexpectedEof | ConnectionReset | ConnectionAborted | BrokenPipe => BodyError::Incomplete,
        _ => BodyError::Transport(error.into()),
    }
}
