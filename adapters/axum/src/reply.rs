//! Reply bodies, from the core's kind to axum's.

use axum::response::Response;
use http::header::CONTENT_LENGTH;
use http_body_util::BodyExt as _;
use pointwork_core::Body;

/// axum adds a `Content-Length` from the body's size where the head has none. The core writes one wherever one belongs, and
/// leaves it out on purpose elsewhere, with 204 or 304. So the size is hidden there: a body with mapped frames has none.
pub(crate) fn convert(reply: http::Response<Body>) -> Response {
    let has_length = reply.headers().contains_key(CONTENT_LENGTH);
    reply.map(|body| {
        if has_length {
            axum::body::Body::new(body)
        } else {
            axum::body::Body::new(body.map_frame(|frame| frame))
        }
    })
}
