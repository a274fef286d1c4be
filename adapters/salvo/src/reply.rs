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
    // Whole where it is whole, since middleware that compresses or caches looks for that. An empty one is no
    // `ResBody::None`: to salvo that is a reply still to be made, and a catcher would make an error page of it.
    res.body = match body.try_into_bytes() {
        Ok(bytes) => ResBody::Once(bytes),
        Err(body) => ResBody::stream(BodyStream::new(body).map_ok(BytesFrame)),
    };
}
