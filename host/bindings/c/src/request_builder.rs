//! Requests that the program makes for the application.

use std::ffi::c_void;
use std::mem::MaybeUninit;

use pointwork_embed::bytes::Bytes;
use pointwork_embed::http::{Method, Request, Uri, Version};
use pointwork_embed::{Body, Host, Peer};

use crate::body::{OutgoingBody, PwSource};
use crate::bytes::{PwBytes, PwDrop, PwText, User, given, optional_text, text};
use crate::error::{PwError, guard, guard_or, guard_value};
use crate::header::add_header;

/// Builds a request for the application, exactly as the client sent it.
#[derive(Debug)]
pub struct PwRequestBuilder {
    pub(crate) head: Request<()>,
    body: OutgoingBody,
}

impl PwRequestBuilder {
    pub(crate) fn into_request(self: Box<Self>, host: &Host) -> Request<Body> {
        let Self { head, body } = *self;
        head.map(|()| body.into_body(host))
    }
}

/// Makes a request of HTTP/1.1, with a target such as "/products?page=2". It needs a header `host`. Free *builder with
/// pw_request_builder_free, unless a function takes it over.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pw_request_builder_new(
    method: PwText,
    target: PwText,
    builder: Option<&mut MaybeUninit<Box<PwRequestBuilder>>>,
) -> Option<Box<PwError>> {
    guard_value(builder, "builder", || {
        let method = Method::from_bytes(text(method, "method")?.as_bytes());
        let target = text(target, "target")?.parse::<Uri>();
        let mut head = Request::new(());
        *head.method_mut() = method.map_err(|_| PwError::argument("method", "an HTTP token"))?;
        *head.uri_mut() =
            target.map_err(|error| PwError::argument("target", &format!("one such as /products ({error})")))?;
        let body = OutgoingBody::Whole(Bytes::new());
        Ok(Box::new(PwRequestBuilder { head, body }))
    })
}

/// Adds a header. The value may have bytes above 127 in any encoding, and no control characters but tabs.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pw_request_builder_add_header(
    builder: Option<&mut PwRequestBuilder>,
    name: PwText,
    value: PwText,
) -> Option<Box<PwError>> {
    guard(|| add_header(given(builder, "builder")?.head.headers_mut(), name, value))
}

/// Sets the version of HTTP: 10, 11 or 20.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pw_request_builder_set_version(
    builder: Option<&mut PwRequestBuilder>,
    version: u32,
) -> Option<Box<PwError>> {
    guard(|| {
        *given(builder, "builder")?.head.version_mut() = match version {
            10 => Version::HTTP_10,
            11 => Version::HTTP_11,
            20 => Version::HTTP_2,
            _ => return Err(PwError::argument("version", "10, 11 or 20")),
        };
        Ok(())
    })
}

/// Sets the client: an address such as "192.0.2.7:4711" or NULL, and whether its connection has TLS.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pw_request_builder_set_peer(
    builder: Option<&mut PwRequestBuilder>,
    address: PwText,
    is_secure: bool,
) -> Option<Box<PwError>> {
    guard(|| {
        let builder = given(builder, "builder")?;
        let address = optional_text(address, "address")?.map(str::parse).transpose();
        let address = address.map_err(|_| PwError::argument("address", "one such as 192.0.2.7:4711"))?;
        builder.head.extensions_mut().insert(Peer::new(address, is_secure));
        Ok(())
    })
}

/// Sets the whole body, which is copied.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pw_request_builder_set_body(
    builder: Option<&mut PwRequestBuilder>,
    data: PwBytes,
) -> Option<Box<PwError>> {
    guard(|| {
        let data = data.get("data")?.to_vec();
        given(builder, "builder")?.body = OutgoingBody::Whole(data.into());
        Ok(())
    })
}

/// Sets a body that a callback writes chunk by chunk, as somebody reads it; a `length` below 0 is not known.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pw_request_builder_set_source(
    builder: Option<&mut PwRequestBuilder>,
    source: PwSource,
    user: *mut c_void,
    drop: PwDrop,
    length: i64,
) -> Option<Box<PwError>> {
    let user = User::new(user, drop);
    guard(|| {
        let sourced = given(OutgoingBody::sourced(source, user, length), "source")?;
        given(builder, "builder")?.body = sourced;
        Ok(())
    })
}

/// Frees a request. NULL is nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pw_request_builder_free(builder: Option<Box<PwRequestBuilder>>) {
    guard_or((), || drop(builder));
}
