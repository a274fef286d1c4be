//! Clients that leave while the next chunk of their reply does not come.
//!
//! hyper notices by reading. But it reads nothing while it holds bytes behind the request, such as the head of the next one. So
//! where such bytes have come, the connection is watched for its end by a descriptor of its own.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use futures_util::FutureExt as _;
use http_body::{Body as HttpBody, Frame, SizeHint};
use pin_project_lite::pin_project;
use tokio::io::Interest;
use tokio::net::TcpStream;

use crate::body::BoxError;
use crate::state::ConnectionState;

/// Completes when the client has closed its direction of the connection, also if bytes are unread.
fn poll_closed(stream: &TcpStream, cx: &mut Context<'_>) -> Poll<()> {
    loop {
        if ready!(stream.poll_read_ready(cx)).is_err() {
            return Poll::Ready(());
        }
        let ready = stream.ready(Interest::READABLE).now_or_never();
        if ready.is_some_and(|ready| ready.is_ok_and(|ready| ready.is_read_closed())) {
            return Poll::Ready(());
        }
        // Clears the readiness of the socket, so that its next event wakes the task.
        let seen = || Err::<(), _>(io::ErrorKind::WouldBlock.into());
        let _ = stream.try_io(Interest::READABLE, seen);
    }
}

pin_project! {
    /// The body of a reply, which breaks off when the client leaves.
    pub(crate) struct WatchedReply<B> {
        #[pin]
        body: B,
        // `None` for a body of known length, whose next chunk comes.
        state: Option<Chunked>,
    }
}

/// The state of a connection whose reply comes in chunks.
struct Chunked(Arc<ConnectionState>);

impl Drop for Chunked {
    fn drop(&mut self) {
        self.0.writes_chunks(false);
    }
}

impl<B: HttpBody> WatchedReply<B> {
    pub(crate) fn new(body: B, state: &Arc<ConnectionState>) -> Self {
        let is_chunked = body.size_hint().exact().is_none();
        let state = is_chunked.then(|| Chunked(state.clone()));
        if let Some(Chunked(state)) = &state {
            state.writes_chunks(true);
        }
        Self { body, state }
    }
}

impl<B: HttpBody<Data = Bytes, Error: Into<BoxError>>> HttpBody for WatchedReply<B> {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let this = self.project();
        if let Poll::Ready(frame) = this.body.poll_frame(cx) {
            return Poll::Ready(frame.map(|frame| frame.map_err(Into::into)));
        }
        let Some(client) = this.state.as_ref().and_then(|state| state.0.client()) else {
            return Poll::Pending;
        };
        ready!(poll_closed(client, cx));
        Poll::Ready(Some(Err("the client left".into())))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
