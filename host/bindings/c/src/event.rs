//! Events: those that a callback gets, and those that a program calls and emits.

use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::sync::OnceLock;

use pointwork_embed::{Caller, EventCall, Failure, Host, Payload, within};

use crate::bytes::{PwBytes, PwText, User, given, output, text};
use crate::error::{PwError, PwErrorKind, guard, guard_or, guard_value, part};
use crate::request::PwRequest;
use crate::waiting::{at_most, in_time, time_of};

/// An event of a channel.
#[derive(Debug)]
pub struct PwEvent {
    call: EventCall,
    id: OnceLock<String>,
    request_id: String,
    host: Host,
}

/// Calls and emits events.
#[derive(Debug)]
pub struct PwCaller {
    caller: Caller,
    host: Host,
}

/// A payload: its content type and its data.
#[derive(Debug)]
pub struct PwPayload(Payload);

/// Gets the result of a call: a payload, or an error and NULL. Whichever is there is taken over.
pub type PwOnPayload =
    Option<extern "C" fn(user: *mut c_void, error: Option<Box<PwError>>, payload: Option<Box<PwPayload>>)>;

impl PwEvent {
    pub(crate) fn new(call: EventCall, host: &Host) -> Self {
        Self {
            id: OnceLock::new(),
            request_id: call.request_id().unwrap_or_default(),
            host: host.clone(),
            call,
        }
    }
}

/// A payload of the program, checked. Its content type may become the value of a header.
pub(crate) fn payload(content_type: PwText, data: PwBytes) -> Result<Payload, Box<PwError>> {
    let content_type = text(content_type, "content_type")?;
    if content_type.is_empty()
        || !content_type
            .bytes()
            .all(|byte| byte == b'\t' || (b' '..=b'~').contains(&byte))
    {
        let expected = "one such as \"application/json\": ASCII without control characters";
        return Err(PwError::argument("content_type", expected));
    }
    Ok(Payload::new(content_type.to_owned(), data.get("data")?.to_vec()))
}

impl PwCaller {
    pub(crate) fn new(caller: Caller, host: &Host) -> Box<Self> {
        let host = host.clone();
        Box::new(Self { caller, host })
    }
}

/// The name of the event within its channel. It lives as long as the event.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pw_event_name(event: Option<&PwEvent>) -> PwBytes {
    part(event, |event| event.call.event())
}

/// The payload of the event. It lives as long as the event.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pw_event_data(event: Option<&PwEvent>) -> PwBytes {
    part(event, |event| event.call.payload.data())
}

/// The content type of the payload. It lives as long as the event.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pw_event_content_type(event: Option<&PwEvent>) -> PwBytes {
    part(event, |event| event.call.payload.content_type())
}

/// The id of the request that led to the event; no bytes outside of one. It lives as long as the event.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pw_event_request_id(event: Option<&PwEvent>) -> PwBytes {
    part(event, |event| &*event.request_id)
}

/// The id of the event: the same for each attempt to deliver it, another one for each event. It lives as long as the event.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pw_event_id(event: Option<&PwEvent>) -> PwBytes {
    part(event, |event| &**event.id.get_or_init(|| event.call.id()))
}

/// The number of this attempt to deliver the event, from 1; always 1 unless its channel is durable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pw_event_attempt(event: Option<&PwEvent>) -> u32 {
    guard_or(0, || event.map_or(0, |event| event.call.attempt()))
}

/// The request that was handed over with the event, once: reply with pw_request_send, and free it with pw_request_free.
/// NULL if there is none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pw_event_take_request(event: Option<&mut PwEvent>) -> Option<Box<PwRequest>> {
    guard_or(None, || {
        let event = event?;
        let context = event.call.take_request()?;
        Some(PwRequest::of_context(context, &event.host))
    })
}

/// Calls and emits events in the chain of this one. Free *caller with pw_caller_free.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pw_event_caller(
    event: Option<&PwEvent>,
    caller: Option<&mut MaybeUninit<Box<PwCaller>>>,
) -> Option<Box<PwError>> {
    guard_value(caller, "caller", || {
        let event = given(event, "event")?;
        Ok(PwCaller::new(event.call.caller().clone(), &event.host))
    })
}

/// Calls an event, such as "db:product:one". With `done` it returns at once, and `done` gets the result; `payload` may
/// be NULL then. Without it waits, and *payload is to be freed with pw_payload_free. The data is copied. A failure of
/// the listener is PW_ERROR_KIND_FAILED with its message; see pw_error_code and pw_error_status. A call that takes
/// longer than `timeout_ms`, 0 for no limit, is cancelled: PW_ERROR_KIND_TIMED_OUT.
#[unsafe(no_mangle)]
#[allow(clippy::too_many_arguments, reason = "one function of C for one operation")]
pub unsafe extern "C" fn pw_caller_call(
    caller: Option<&PwCaller>,
    event: PwText,
    content_type: PwText,
    data: PwBytes,
    timeout_ms: u64,
    payload: Option<&mut MaybeUninit<Box<PwPayload>>>,
    done: PwOnPayload,
    user: *mut c_void,
) -> Option<Box<PwError>> {
    guard(|| {
        let output = output(payload, "payload");
        let PwCaller { caller, host } = given(caller, "caller")?;
        let event = text(event, "event")?.to_owned();
        let sent = self::payload(content_type, data)?;
        let calling = pointwork_embed::call(caller.clone(), event, sent);
        let Some(done) = done else {
            let output = output?;
            let result = in_time(host.wait(calling, at_most(timeout_ms))?, timeout_ms)?.map_err(failed)?;
            output.write(Box::new(PwPayload(result)));
            return Ok(());
        };
        let user = User::new(user, None);
        host.run(within(time_of(timeout_ms), calling), move |result| {
            let result = result
                .map_err(Box::<PwError>::from)
                .and_then(|result| result.map_err(failed));
            match result {
                Ok(payload) => done(user.pointer(), None, Some(Box::new(PwPayload(payload)))),
                Err(error) => done(user.pointer(), Some(error), None),
            }
        })?;
        Ok(())
    })
}

fn failed(failure: Failure) -> Box<PwError> {
    PwError::failed(PwErrorKind::Failed, failure.message().to_owned(), &failure)
}

/// Emits an event, and does not wait. The data is copied. An event that nobody listens to is one line in the log.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pw_caller_emit(
    caller: Option<&PwCaller>,
    event: PwText,
    content_type: PwText,
    data: PwBytes,
) -> Option<Box<PwError>> {
    guard(|| {
        let PwCaller { caller, host } = given(caller, "caller")?;
        host.app()?;
        let payload = payload(content_type, data)?;
        caller.emit_raw(text(event, "event")?, payload);
        Ok(())
    })
}

/// Frees a caller. NULL is nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pw_caller_free(caller: Option<Box<PwCaller>>) {
    guard_or((), || drop(caller));
}

/// The data of a payload. It lives as long as the payload.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pw_payload_data(payload: Option<&PwPayload>) -> PwBytes {
    part(payload, |payload| payload.0.data())
}

/// The content type of a payload. It lives as long as the payload.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pw_payload_content_type(payload: Option<&PwPayload>) -> PwBytes {
    part(payload, |payload| payload.0.content_type())
}

/// Frees a payload. NULL is nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pw_payload_free(payload: Option<Box<PwPayload>>) {
    drop(payload);
}
