//! Reply bodies, from the core's kind to axum's.

use axum::response::Response;
use http::header::CONTENT_LENGTH;
use http_body_util::BodyExt as _;
use pointwork_core::Body;

/// axum writes a `Content-Length` by the body's size where the head has none. The core writes one wherever there is to be
/// one, and its silence is meant: a reply with 204 or 304 has none, though its body has no bytes. So the size is not told:
/// a body with mapped frames knows none.
pub(crate) fn convert(reply: http::Response<Body>) -> Response {
    let told = reply.headers().contains_key(CONTENT_LENGTH);
    reply.map(|body| {
        if told {
            axum::body::Body::new(body)
        } else {
            axum::body::Body::new(body.map_frame(|frame| frame))
        }
    })
}
