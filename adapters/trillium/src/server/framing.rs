//! Where the body of a request ends (RFC 9112, section 6).

use std::fmt;

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, Version, header};

use super::chunks::{Chunks, take};

/// How the rest of a request's body is told from what follows it.
#[derive(Debug)]
pub(crate) enum Framing {
    /// It is over.
    Over,
    /// So many bytes.
    Length(u64),
    /// Chunks.
    Chunked(Chunks),
    /// Nobody can tell: the core refuses the request, and nothing after its head is read.
    Unclear,
}

/// One step of reading a body.
#[derive(Debug)]
pub(crate) enum Step {
    Data(Bytes),
    /// More bytes have to come first.
    More,
    End,
}

/// A body that breaks its own framing; it names what is wrong.
#[derive(Debug)]
pub(crate) struct Malformed(pub(crate) &'static str);

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of a chunked body is malformed", self.0)
    }
}

impl std::error::Error for Malformed {}

impl Framing {
    /// What the head says; `None` if it contradicts itself, as all adapters refuse it.
    pub(crate) fn of(version: Version, headers: &HeaderMap) -> Option<Self> {
        let mut lengths = headers.get_all(header::CONTENT_LENGTH).iter().map(length);
        let length = match lengths.next() {
            Some(first) => Some(first?),
            None => None,
        };
        if lengths.next().is_some() {
            return None;
        }
        let Some(codings) = headers.get_all(header::TRANSFER_ENCODING).iter().next_back() else {
            return Some(match length {
                None | Some(0) => Self::Over,
                Some(length) => Self::Length(length),
            });
        };
        let last = codings.to_str().ok()?.rsplit(',').next()?.trim();
        if length.is_some() || version != Version::HTTP_11 || !last.eq_ignore_ascii_case("chunked") {
            return None;
        }
        let alone = headers.get_all(header::TRANSFER_ENCODING).iter().count() == 1 && codings.len() == last.len();
        Some(if alone {
            Self::Chunked(Chunks::Size)
        } else {
            Self::Unclear
        })
    }

    /// Takes what it can from the front of the buffer.
    pub(crate) fn next(&mut self, buffer: &mut BytesMut) -> Result<Step, Malformed> {
        let step = match self {
            Self::Over | Self::Unclear => Step::End,
            Self::Length(_) if buffer.is_empty() => Step::More,
            Self::Length(left) => {
                let piece = take(buffer, *left);
                *left -= piece.len() as u64;
                if *left == 0 {
                    *self = Self::Over;
                }
                Step::Data(piece)
            }
            Self::Chunked(chunks) => chunks.next(buffer)?,
        };
        if matches!(step, Step::End) && matches!(self, Self::Chunked(_)) {
            *self = Self::Over;
        }
        Ok(step)
    }

    /// The length that the head declared, before anything was read.
    pub(crate) fn declared(&self) -> Option<u64> {
        match self {
            Self::Over | Self::Unclear => Some(0),
            Self::Length(length) => Some(*length),
            Self::Chunked(_) => None,
        }
    }
}

/// Digits and nothing else.
fn length(value: &http::HeaderValue) -> Option<u64> {
    let text = value.to_str().ok()?;
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().ok()).flatten()
}
