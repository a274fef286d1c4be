//! Replies, from the core's kind to salvo's.

use futures_util::TryStreamExt as _;
use http_body_util::BodyStream;
use pointwork_core::Body;
use salvo_core::Response;
use salvo_core::http::ResBody;
use salvo_core::http::body::BytesFrame;

/// Makes the reply salvo's response. Headers that a middleware set there stay, unless the reply has them.
pub(crate) fn put(reply: http::Response<Body>, res: &mut Response) {
    let (parts, body) = reply.into_parts();
    res.status_code(parts.status);
    if res.headers.is_empty() {
        res.headers = parts.headers;
    } else {
        res.headers.extend(parts.headers);
    }
    res.extensions.extend(parts.extensions);
    // A whole body stays whole, for middleware that compresses or caches. An empty body does not become `ResBody::None`: to
    // salvo that is a missing reply, and a catcher would make an error page of it.
    res.body = match body.try_into_bytes() {
        Ok(bytes) => ResBody::Once(bytes),
        Err(body) => ResBody::stream(BodyStream::new(body).map_ok(BytesFrame)),
    };
}
