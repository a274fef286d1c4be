//! Reply bodies, from the core's kind to axum's.

use std::pin::Pin;
use std::task::{Context, Poll};

use axum::response::Response;
use bytes::Bytes;
use http::header::CONTENT_LENGTH;
use http_body::{Body as HttpBody, Frame, SizeHint};
use pointwork_core::{Body, BodyError};

/// axum writes a `Content-Length` by the body's size where the head has none. The core writes one wherever there is to be
/// one, and its silence is meant: a reply with 204 or 304 has none, though its body has no bytes. So the size is not told.
pub(crate) fn convert(reply: http::Response<Body>) -> Response {
    let told = reply.headers().contains_key(CONTENT_LENGTH);
    reply.map(|body| {
        if told {
            axum::body::Body::new(body)
        } else {
            axum::body::Body::new(Unsized { body })
        }
    })
}

pin_project_lite::pin_project! {
    struct Unsized {
        #[pin]
        body: Body,
    }
}

impl HttpBody for Unsized {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        self.project().body.poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::default()
    }
}
