//! Replies, from the core's kind to salvo's.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body as HttpBody, Frame, SizeHint};
use pointwork_core::{Body, BodyError};
use salvo_core::http::ResBody;
use salvo_core::{BoxedError, Response};

/// Makes the reply salvo's response. Headers that a middleware set there stay, unless the reply has them.
pub(crate) async fn put(reply: http::Response<Body>, res: &mut Response) {
    let (parts, body) = reply.into_parts();
    res.status_code(parts.status);
    if res.headers.is_empty() {
        res.headers = parts.headers;
    } else {
        res.headers.extend(parts.headers);
    }
    res.extensions.extend(parts.extensions);
    res.body = leaving(body).await;
}

/// The body, at once where it is whole, since middleware that compresses or caches looks for that.
///
/// An empty one is no [`ResBody::None`]: to salvo that is a reply still to be made, and a catcher would make an error page
/// of it.
async fn leaving(mut body: Body) -> ResBody {
    let Some(length) = body.size_hint().exact() else {
        return streamed(Poll::Pending, body);
    };
    if length == 0 && body.is_end_stream() {
        return ResBody::Once(Bytes::new());
    }
    // One look, without waiting: a whole body is ready, and what comes later is read later.
    let first = poll_fn(|cx| Poll::Ready(Pin::new(&mut body).poll_frame(cx))).await;
    match first {
        Poll::Ready(Some(Ok(frame))) if body.is_end_stream() && frame.is_data() => {
            ResBody::Once(frame.into_data().unwrap_or_default())
        }
        first => streamed(first, body),
    }
}

fn streamed(first: Look, body: Body) -> ResBody {
    ResBody::Boxed(Box::pin(Leaving {
        first,
        body: Mutex::new(body),
    }))
}

/// What a look at a body found.
type Look = Poll<Option<Result<Frame<Bytes>, BodyError>>>;

/// A body with what the look at it found before it. salvo's bodies have to be `Sync`, which the lock is for: it is never
/// contended.
struct Leaving {
    first: Look,
    body: Mutex<Body>,
}

impl HttpBody for Leaving {
    type Data = Bytes;
    type Error = BoxedError;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxedError>>> {
        let frame = match std::mem::replace(&mut self.first, Poll::Pending) {
            Poll::Ready(first) => Poll::Ready(first),
            Poll::Pending => {
                let body = self.body.get_mut().unwrap_or_else(PoisonError::into_inner);
                Pin::new(body).poll_frame(cx)
            }
        };
        frame.map(|frame| frame.map(|frame| frame.map_err(Into::into)))
    }

    fn is_end_stream(&self) -> bool {
        self.first.is_pending() && self.body.lock().unwrap_or_else(PoisonError::into_inner).is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let rest = self.body.lock().unwrap_or_else(PoisonError::into_inner).size_hint();
        let first = match &self.first {
            Poll::Ready(Some(Ok(frame))) => frame.data_ref().map_or(0, |data| data.len() as u64),
            _ => 0,
        };
        let mut hint = SizeHint::new();
        hint.set_lower(rest.lower().saturating_add(first));
        if let Some(upper) = rest.upper().and_then(|upper| upper.checked_add(first)) {
            hint.set_upper(upper);
        }
        hint
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use http_body_util::BodyExt;

    use super::*;

    /// Pieces of a length that is known beforehand; `None` is a piece that is not there yet.
    struct Pieces(VecDeque<Option<&'static str>>);

    impl HttpBody for Pieces {
        type Data = Bytes;
        type Error = BodyError;

        fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Look {
            match self.0.pop_front() {
                Some(Some(piece)) => Poll::Ready(Some(Ok(Frame::data(piece.into())))),
                Some(None) => {
                    cx.waker().wake_by_ref();
                    Poll::Pending
                }
                None => Poll::Ready(None),
            }
        }

        fn is_end_stream(&self) -> bool {
            self.0.is_empty()
        }

        fn size_hint(&self) -> SizeHint {
            SizeHint::with_exact(self.0.iter().flatten().map(|piece| piece.len() as u64).sum())
        }
    }

    async fn leaves(pieces: impl Into<VecDeque<Option<&'static str>>>) -> ResBody {
        leaving(Body::stream(Pieces(pieces.into()))).await
    }

    #[tokio::test]
    async fn a_body_in_one_piece_leaves_whole() {
        for body in [leaving(Body::from("whole")).await, leaves([Some("whole")]).await] {
            assert!(matches!(body, ResBody::Once(bytes) if bytes == "whole"));
        }
        for body in [leaving(Body::empty()).await, leaves([]).await] {
            assert!(matches!(body, ResBody::Once(bytes) if bytes.is_empty()));
        }
    }

    #[tokio::test]
    async fn a_body_in_several_pieces_loses_none_of_them_to_the_look() {
        for pieces in [
            [Some("one"), Some("two")],
            [Some("onetwo"), None],
            [None, Some("onetwo")],
        ] {
            let body = leaves(pieces).await;
            assert!(body.is_boxed());
            assert_eq!(HttpBody::size_hint(&body).exact(), Some(6));
            assert!(!HttpBody::is_end_stream(&body));
            assert_eq!(body.collect().await.unwrap().to_bytes(), "onetwo");
        }
    }

    #[tokio::test]
    async fn a_body_of_unknown_length_is_not_looked_at() {
        let (mut writer, body) = Body::channel();
        writer.write("piece").await.unwrap();
        let body = leaving(body).await;
        assert!(body.is_boxed());
        drop(writer);
        assert!(body.collect().await.is_err());
    }
}
