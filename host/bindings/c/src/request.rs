//! Requests for routes of the program, and requests that were handed over to it.

use std::mem::MaybeUninit;

use pointwork_embed::{Chunks, Context, Failure, Host};

use crate::answer::failure_of;
use crate::body::PwBody;
use crate::bytes::{PwBytes, PwText, given, text};
use crate::error::{PwError, PwErrorKind, guard, guard_or, guard_value, part};
use crate::event::{PwCaller, payload};
use crate::header::{PwHeader, header_at, header_of};
use crate::reply::PwReply;

/// A request that waits for its reply.
#[derive(Debug)]
pub struct PwRequest {
    context: Context,
    host: Host,
    request_id: String,
    remote_address: String,
}

impl PwRequest {
    pub(crate) fn of_context(context: Context, host: &Host) -> Box<Self> {
        Box::new(Self {
            request_id: context.request_id().to_string(),
            remote_address: context.remote_address().unwrap_or_default(),
            host: host.clone(),
            context,
        })
    }

    fn chunks(&self) -> Result<Chunks, Box<PwError>> {
        let chunks = self.host.request_body(&self.context);
        chunks.map_err(refused)
    }
}

/// The method. It lives as long as the request, as all parts do.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pw_request_method(request: Option<&PwRequest>) -> PwBytes {
    part(request, |request| request.context.method().as_str())
}

/// The path as the client sent it, without the query.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pw_request_path(request: Option<&PwRequest>) -> PwBytes {
    part(request, |request| request.context.path())
}

/// The query without the `?`; no bytes for none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pw_request_query(request: Option<&PwRequest>) -> PwBytes {
    part(request, |request| request.context.query().unwrap_or_default())
}

/// The pattern of the route, such as /products/:id.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pw_request_route(request: Option<&PwRequest>) -> PwBytes {
    part(request, |request| &*request.context.route().path)
}

/// The id of the request, as the log and the reply name it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pw_request_id(request: Option<&PwRequest>) -> PwBytes {
    part(request, |request| &*request.request_id)
}

/// The client as address:port; no bytes if it is not known.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pw_request_remote_address(request: Option<&PwRequest>) -> PwBytes {
    part(request, |request| &*request.remote_address)
}

/// A parameter of the path; `data` is NULL if the route has none of that name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pw_request_param(request: Option<&PwRequest>, name: PwText) -> PwBytes {
    guard_or(PwBytes::NONE, || {
        let (Some(request), Ok(name)) = (request, text(name, "name")) else {
            return PwBytes::NONE;
        };
        request
            .context
            .param(name)
            .map_or(PwBytes::NONE, |value| PwBytes::new(value.as_bytes()))
    })
}

/// The first header of that name, in any case; `data` is NULL if there is none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pw_request_header(request: Option<&PwRequest>, name: PwText) -> PwBytes {
    guard_or(PwBytes::NONE, || {
        header_of(request.map(|request| request.context.headers()), name)
    })
}

/// The header at that place, from 0; false behind the last one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pw_request_header_at(
    request: Option<&PwRequest>,
    index: usize,
    header: Option<&mut MaybeUninit<PwHeader>>,
) -> bool {
    guard_or(false, || {
        header_at(request.map(|request| request.context.headers()), index, header)
    })
}

/// The body, once. Free *body with pw_body_free.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pw_request_body(
    request: Option<&PwRequest>,
    body: Option<&mut MaybeUninit<Box<PwBody>>>,
) -> Option<Box<PwError>> {
    guard_value(body, "body", || {
        let request = given(request, "request")?;
        Ok(PwBody::new(request.chunks()?))
    })
}

/// Calls and emits events in the chain of the request. Free *caller with pw_caller_free.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pw_request_caller(
    request: Option<&PwRequest>,
    caller: Option<&mut MaybeUninit<Box<PwCaller>>>,
) -> Option<Box<PwError>> {
    guard_value(caller, "caller", || {
        let request = given(request, "request")?;
        Ok(PwCaller::new(request.context.caller().clone(), &request.host))
    })
}

/// Replies to a request that was handed over, or whose answer was deferred. The reply is taken over. A second one is
/// refused.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pw_request_send(
    request: Option<&PwRequest>,
    reply: Option<Box<PwReply>>,
) -> Option<Box<PwError>> {
    guard(|| {
        let request = given(request, "request")?;
        let reply = (*given(reply, "reply")?).into_response(&request.host);
        request.context.send(reply).map_err(refused)
    })
}

/// Fails a request that was handed over, or whose answer was deferred, as pw_answer_fail does.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pw_request_fail(
    request: Option<&PwRequest>,
    status: u16,
    code: PwText,
    message: PwText,
) -> Option<Box<PwError>> {
    guard(|| {
        let failure = failure_of(status, code, message)?;
        given(request, "request")?.context.send(failure).map_err(refused)
    })
}

/// Hands a request over with an event, such as "response:send", whose listener replies in place of the program. The
/// data is copied. The request stays the program's to free, and it does not reply any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pw_request_hand_over(
    request: Option<&PwRequest>,
    event: PwText,
    content_type: PwText,
    data: PwBytes,
) -> Option<Box<PwError>> {
    guard(|| {
        let request = given(request, "request")?;
        request.host.app()?;
        let payload = payload(content_type, data)?;
        let context = request.context.clone();
        context.hand_over_raw(text(event, "event")?, payload).map_err(refused)
    })
}

fn refused(failure: Failure) -> Box<PwError> {
    PwError::failed(PwErrorKind::Refused, failure.to_string(), &failure)
}

/// Whether a reply would be in vain: the client went away, or the deadline passed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pw_request_is_cancelled(request: Option<&PwRequest>) -> bool {
    guard_or(true, || request.is_none_or(|request| request.context.is_cancelled()))
}

/// Frees a request. When its last holder is gone and nobody replied, the client gets 500. NULL is nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pw_request_free(request: Option<Box<PwRequest>>) {
    guard_or((), || drop(request));
}
