//! Replies, of the program and to it.

use std::ffi::c_void;
use std::mem::MaybeUninit;

use pointwork_embed::http::{Response, StatusCode};
use pointwork_embed::{Body, Host};

use crate::body::{OutgoingBody, PwBody, PwSource};
use crate::bytes::{PwBytes, PwDrop, PwText, User, given};
use crate::error::{PwError, guard, guard_or, guard_value};
use crate::header::{PwHeader, add_header, header_at, header_of};

/// A reply: one that the program makes, or one that it got.
#[derive(Debug)]
pub struct PwReply {
    head: Response<()>,
    body: Content,
}

#[derive(Debug)]
enum Content {
    OutgoingBody(OutgoingBody),
    Got(Body, Host),
    Taken,
}

impl PwReply {
    pub(crate) fn got(reply: Response<Body>, host: &Host) -> Box<Self> {
        let (head, body) = reply.into_parts();
        Box::new(Self {
            head: Response::from_parts(head, ()),
            body: Content::Got(body, host.clone()),
        })
    }

    pub(crate) fn into_response(self, host: &Host) -> Response<Body> {
        let Self { head, body } = self;
        head.map(|()| match body {
            Content::OutgoingBody(given) => given.into_body(host),
            Content::Got(body, _) => body,
            Content::Taken => Body::empty(),
        })
    }
}

/// A status from `lowest` to 599.
pub(crate) fn status_of(status: u16, lowest: u16) -> Result<StatusCode, Box<PwError>> {
    let valid = StatusCode::from_u16(status).ok();
    let valid = valid.filter(|_| (lowest..600).contains(&status));
    valid.ok_or_else(|| PwError::argument("status", &format!("{lowest} to 599")))
}

/// Makes a reply with that status, 200 to 599, without headers and body. Free *reply with pw_reply_free, unless a
/// function takes it over.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pw_reply_new(
    status: u16,
    reply: Option<&mut MaybeUninit<Box<PwReply>>>,
) -> Option<Box<PwError>> {
    guard_value(reply, "reply", || {
        let mut head = Response::new(());
        *head.status_mut() = status_of(status, 200)?;
        let body = Content::OutgoingBody(OutgoingBody::Whole(pointwork_embed::bytes::Bytes::new()));
        Ok(Box::new(PwReply { head, body }))
    })
}

/// Adds a header. The value may have bytes above 127 in any encoding, and no control characters but tabs.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pw_reply_add_header(
    reply: Option<&mut PwReply>,
    name: PwText,
    value: PwText,
) -> Option<Box<PwError>> {
    guard(|| add_header(given(reply, "reply")?.head.headers_mut(), name, value))
}

/// Sets the whole body, which is copied.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pw_reply_set_body(reply: Option<&mut PwReply>, data: PwBytes) -> Option<Box<PwError>> {
    guard(|| {
        let data = data.get("data")?.to_vec();
        given(reply, "reply")?.body = Content::OutgoingBody(OutgoingBody::Whole(data.into()));
        Ok(())
    })
}

/// Sets a body that a callback writes chunk by chunk; a `length` below 0 is not known.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pw_reply_set_source(
    reply: Option<&mut PwReply>,
    source: PwSource,
    user: *mut c_void,
    drop: PwDrop,
    length: i64,
) -> Option<Box<PwError>> {
    let user = User::new(user, drop);
    guard(|| {
        let sourced = given(OutgoingBody::sourced(source, user, length), "source")?;
        given(reply, "reply")?.body = Content::OutgoingBody(sourced);
        Ok(())
    })
}

/// The status; 0 for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pw_reply_status(reply: Option<&PwReply>) -> u16 {
    reply.map_or(0, |reply| reply.head.status().as_u16())
}

/// The length of the body of a reply that the program got, in bytes; below 0 if it is not known beforehand.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pw_reply_length(reply: Option<&PwReply>) -> i64 {
    guard_or(-1, || match reply.map(|reply| &reply.body) {
        Some(Content::Got(body, _)) => body
            .known_length()
            .and_then(|length| length.try_into().ok())
            .unwrap_or(-1),
        _ => -1,
    })
}

/// The first header of that name, in any case; `data` is NULL if there is none. It lives as long as the reply.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pw_reply_header(reply: Option<&PwReply>, name: PwText) -> PwBytes {
    guard_or(PwBytes::NONE, || {
        header_of(reply.map(|reply| reply.head.headers()), name)
    })
}

/// The header at that place, from 0; false behind the last one. It lives as long as the reply.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pw_reply_header_at(
    reply: Option<&PwReply>,
    index: usize,
    header: Option<&mut MaybeUninit<PwHeader>>,
) -> bool {
    guard_or(false, || {
        header_at(reply.map(|reply| reply.head.headers()), index, header)
    })
}

/// The body of a reply that the program got, once. Free *body with pw_body_free.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pw_reply_body(
    reply: Option<&mut PwReply>,
    body: Option<&mut MaybeUninit<Box<PwBody>>>,
) -> Option<Box<PwError>> {
    guard_value(body, "body", || {
        let reply = given(reply, "reply")?;
        match std::mem::replace(&mut reply.body, Content::Taken) {
            Content::Got(body, host) => Ok(PwBody::new(host.chunks(body))),
            other => {
                reply.body = other;
                Err(PwError::argument(
                    "reply",
                    "one that the program got, whose body was not taken",
                ))
            }
        }
    })
}

/// Frees a reply. NULL is nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pw_reply_free(reply: Option<Box<PwReply>>) {
    guard_or((), || drop(reply));
}
