//! Events that reply to the request whose context came with them (spec H6).

use pointwork::http::header::{CONTENT_TYPE, HeaderValue};
use pointwork::http::{Response, StatusCode};
use pointwork::{Body, Delivery, Failure, Listener, Payload};
use serde_json::Value;

/// Replies with the payload under the given status. Text (a JSON string) is sent as `text/plain`, anything else in the
/// content type of the payload.
pub(super) fn listener(status: u16) -> impl Listener {
    move |mut delivery: Delivery, payload: Payload| async move {
        let context = delivery.take_context().ok_or_else(|| {
            let event = delivery.event();
            failed(format!(
                "event `{event}` came without a context to reply to; hand it over with the event"
            ))
        })?;
        context.send(reply(status, payload)?)?;
        Ok(Payload::null())
    }
}

fn reply(status: u16, payload: Payload) -> Result<Response<Body>, Failure> {
    let status =
        StatusCode::from_u16(status).map_err(|_| failed(format!("a reply cannot have the status {status}")))?;
    let (content_type, body) = match payload.to() {
        Ok(Value::String(text)) => (HeaderValue::from_static("text/plain; charset=utf-8"), Body::from(text)),
        _ => {
            let value = HeaderValue::from_str(payload.content_type()).map_err(|_| {
                let content_type = payload.content_type().escape_debug();
                failed(format!("a reply cannot have the content type `{content_type}`"))
            })?;
            (value, Body::from(payload.into_data()))
        }
    };
    let mut reply = Response::new(body);
    *reply.status_mut() = status;
    reply.headers_mut().insert(CONTENT_TYPE, content_type);
    Ok(reply)
}

fn failed(message: String) -> Failure {
    Failure::new(StatusCode::INTERNAL_SERVER_ERROR, message)
}
