//! Headers of requests, replies and failures.

use std::mem::MaybeUninit;

use pointwork_embed::http::{HeaderMap, HeaderName, HeaderValue};

use crate::bytes::{PwBytes, PwText, any_text, output, text};
use crate::error::PwError;

/// The name and the value of a header, which live as long as their owner.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct PwHeader {
    /// The name.
    pub name: PwBytes,
    /// The value.
    pub value: PwBytes,
}

/// The most headers of a request or a reply. A map has room for twice as many, and what the application adds must not
/// overflow it.
const MOST: usize = 16 * 1024;

/// Adds a header of the program, checked.
pub(crate) fn add_header(headers: &mut HeaderMap, name: PwText, value: PwText) -> Result<(), Box<PwError>> {
    let name = HeaderName::from_bytes(text(name, "name")?.as_bytes());
    // Clients send other encodings than UTF-8, too, and a server passes on what they sent.
    let value = HeaderValue::from_bytes(any_text(value, "value")?);
    let name = name.map_err(|_| PwError::argument("name", "the name of a header"))?;
    let value = value.map_err(|_| PwError::argument("value", "the value of a header, without control characters"))?;
    let too_many = || PwError::argument("name", &format!("one of at most {MOST} headers"));
    if headers.len() >= MOST {
        return Err(too_many());
    }
    headers.try_append(name, value).map_err(|_| too_many())?;
    Ok(())
}

/// The first header of that name.
pub(crate) fn header_of(headers: Option<&HeaderMap>, name: PwText) -> PwBytes {
    let value = text(name, "name").ok().and_then(|name| headers?.get(name));
    value.map_or(PwBytes::NONE, |value| PwBytes::new(value.as_bytes()))
}

/// Writes the header at that place; false behind the last one.
pub(crate) fn header_at(headers: Option<&HeaderMap>, index: usize, header: Option<&mut MaybeUninit<PwHeader>>) -> bool {
    let Ok(header) = output(header, "header") else {
        return false;
    };
    let Some((name, value)) = headers.and_then(|headers| headers.iter().nth(index)) else {
        return false;
    };
    header.write(PwHeader {
        name: PwBytes::new(name.as_str().as_bytes()),
        value: PwBytes::new(value.as_bytes()),
    });
    true
}
