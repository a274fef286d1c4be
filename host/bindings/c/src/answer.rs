//! Answers of callbacks.

use std::ffi::c_void;

use pointwork_embed::{
    Answer, AnswerCell, AnswerError, Body, Failure, FailureCode, Fault, Host, Payload, http::Response, with_details,
};
use serde::de::IgnoredAny;

use crate::bytes::{PwBytes, PwDrop, PwGone, PwText, User, given, optional_text, text};
use crate::error::{PwError, PwErrorKind, guard, guard_or};
use crate::event::payload;
use crate::reply::{PwReply, status_of};

type EventAnswer = Result<Payload, Fault>;
type RequestAnswer = Result<Option<Response<Body>>, Fault>;

/// The answer to one call of a callback. It is given once, from any thread; a second one is refused with
/// PW_ERROR_KIND_REFUSED, and one that nobody waits for any more with PW_ERROR_KIND_CLOSED.
#[derive(Debug)]
pub struct PwAnswer {
    kind: Kind,
    host: Host,
}

#[derive(Debug)]
enum Kind {
    Event(AnswerCell<EventAnswer>),
    Request(AnswerCell<RequestAnswer>),
}

impl PwAnswer {
    pub(crate) fn of_event(answer: Answer<EventAnswer>, host: &Host) -> Box<Self> {
        let (kind, host) = (Kind::Event(answer.into()), host.clone());
        Box::new(Self { kind, host })
    }

    pub(crate) fn of_request(answer: Answer<RequestAnswer>, host: &Host) -> Box<Self> {
        let (kind, host) = (Kind::Request(answer.into()), host.clone());
        Box::new(Self { kind, host })
    }

    fn payload(&self, payload: Payload) -> Result<(), Box<PwError>> {
        match &self.kind {
            Kind::Event(answer) => told(answer.send(Ok(payload))),
            Kind::Request(_) => Err(PwError::argument(
                "answer",
                "the answer of an event: a route is answered with a reply",
            )),
        }
    }

    fn fault(&self, fault: Fault) -> Result<(), Box<PwError>> {
        told(match &self.kind {
            Kind::Event(answer) => answer.send(Err(fault)),
            Kind::Request(answer) => answer.send(Err(fault)),
        })
    }
}

fn told(sent: Result<(), AnswerError>) -> Result<(), Box<PwError>> {
    sent.map_err(|error| {
        let kind = match error {
            AnswerError::Twice => PwErrorKind::Refused,
            _ => PwErrorKind::Closed,
        };
        PwError::new(kind, error.to_string())
    })
}

/// Answers an event with a payload, which is copied. `content_type` is usually "application/json"; the data is not
/// looked at.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pw_answer_payload(
    answer: Option<&PwAnswer>,
    content_type: PwText,
    data: PwBytes,
) -> Option<Box<PwError>> {
    guard(|| {
        let answer = given(answer, "answer")?;
        answer.payload(payload(content_type, data)?)
    })
}

/// Answers an event with JSON, such as "null". A text that is no JSON is PW_ERROR_KIND_ARGUMENT, and answers nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pw_answer_json(answer: Option<&PwAnswer>, json: PwText) -> Option<Box<PwError>> {
    guard(|| {
        let answer = given(answer, "answer")?;
        let json = text(json, "json")?;
        if let Err(error) = serde_json::from_str::<IgnoredAny>(json) {
            return Err(PwError::argument("json", &format!("JSON ({error})")));
        }
        answer.payload(Payload::new("application/json", json.as_bytes().to_vec()))
    })
}

/// Answers a request with a reply, which is taken over.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pw_answer_reply(
    answer: Option<&PwAnswer>,
    reply: Option<Box<PwReply>>,
) -> Option<Box<PwError>> {
    guard(|| {
        let answer = given(answer, "answer")?;
        let reply = (*given(reply, "reply")?).into_response(&answer.host);
        match &answer.kind {
            Kind::Request(answer) => told(answer.send(Ok(Some(reply)))),
            Kind::Event(_) => Err(PwError::argument(
                "answer",
                "the answer of a request: an event is answered with a payload",
            )),
        }
    })
}

/// Leaves the reply to a request to pw_request_send.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pw_answer_defer(answer: Option<&PwAnswer>) -> Option<Box<PwError>> {
    guard(|| match &given(answer, "answer")?.kind {
        Kind::Request(answer) => told(answer.send(Ok(None))),
        Kind::Event(_) => Err(PwError::argument("answer", "the answer of a request")),
    })
}

/// Fails on purpose: the caller, or the client, gets the status (400 to 599), the code (NULL for "failed") and the
/// message. With status 500 and a code for a mistake between a callback and a channel, such as "unknown-event" or
/// "bad-payload", the client gets a general sentence, and the message goes to the log: pass status, code and message of
/// the error of a call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pw_answer_fail(
    answer: Option<&PwAnswer>,
    status: u16,
    code: PwText,
    message: PwText,
) -> Option<Box<PwError>> {
    guard(|| {
        let answer = given(answer, "answer")?;
        answer.fault(Fault::Failed(failure_of(status, code, message)?))
    })
}

pub(crate) fn failure_of(status: u16, code: PwText, message: PwText) -> Result<Failure, Box<PwError>> {
    let (status, message) = (status_of(status, 400)?, text(message, "message")?);
    Ok(match optional_text(code, "code")? {
        Some(code) => Failure::with_code(FailureCode::new(code.to_owned()), status, message),
        None => Failure::new(status, message),
    })
}

/// As pw_answer_fail, with the status and the headers of a reply, which is taken over, and with `details`: a JSON
/// object whose fields stand beside the message; NULL for none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pw_answer_fail_with(
    answer: Option<&PwAnswer>,
    reply: Option<Box<PwReply>>,
    code: PwText,
    message: PwText,
    details: PwText,
) -> Option<Box<PwError>> {
    guard(|| {
        let answer = given(answer, "answer")?;
        let (head, _) = (*given(reply, "reply")?).into_response(&answer.host).into_parts();
        let mut failure = failure_of(head.status.as_u16(), code, message)?;
        if let Some(details) = optional_text(details, "details")? {
            failure = with_details(failure, details).map_err(|_| PwError::argument("details", "a JSON object"))?;
        }
        for (name, value) in &head.headers {
            failure = failure.header(name.clone(), value.clone());
        }
        answer.fault(Fault::Failed(failure))
    })
}

/// Reports a defect of the callback, as an exception in other languages: the message goes to the log and to the event
/// server:crashed, with the kind "exception"; the client gets 500 without it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pw_answer_crash(answer: Option<&PwAnswer>, message: PwText) -> Option<Box<PwError>> {
    guard(|| {
        let answer = given(answer, "answer")?;
        answer.fault(Fault::Threw(text(message, "message")?.to_owned()))
    })
}

/// Whether nobody waits for the answer any more, or it was given.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pw_answer_is_cancelled(answer: Option<&PwAnswer>) -> bool {
    guard_or(true, || match answer.map(|answer| &answer.kind) {
        Some(Kind::Event(answer)) => answer.is_cancelled(),
        Some(Kind::Request(answer)) => answer.is_cancelled(),
        None => true,
    })
}

/// Has `gone` called, on a thread of the application, once nobody waits for the answer any more: the client went away,
/// a deadline passed, or the application was closed. It must not block, and may free the answer. It is not called if
/// the answer is given or freed before that. `drop` gets `user` in any case. A second callback takes the place of the
/// first.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pw_answer_when_gone(
    answer: Option<&PwAnswer>,
    gone: PwGone,
    user: *mut c_void,
    drop: PwDrop,
) -> Option<Box<PwError>> {
    let user = User::new(user, drop);
    guard(|| {
        let (answer, gone) = (given(answer, "answer")?, given(gone, "gone")?);
        let gone = move || gone(user.pointer());
        match &answer.kind {
            Kind::Event(event) => answer.host.when_gone(event, gone),
            Kind::Request(request) => answer.host.when_gone(request, gone),
        }
        Ok(())
    })
}

/// Frees an answer. One that was not given is a defect of the callback: the client gets 500. NULL is nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pw_answer_free(answer: Option<Box<PwAnswer>>) {
    guard_or((), || drop(answer));
}
