//! The path of one request, checked and ready to be matched.

use http::uri::PathAndQuery;
use http::{Method, Uri};
use pointwork_patterns::text::{BadText, decode};

use super::params::Source;

/// The target of a request is not a path that can be routed. The answer is 400 (spec P8).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BadTarget {
    /// A `%` that is not followed by two hexadecimal digits, at this byte offset of the path.
    #[error("the path has a `%` at byte {0}, expected two hexadecimal digits after it")]
    Escape(usize),
    /// The path, percent-decoded, is not UTF-8.
    #[error("the path is not UTF-8 once it is percent-decoded")]
    Utf8,
    /// The target has no path, or one that does not begin with `/`. `*` is valid for OPTIONS only, a bare authority for
    /// CONNECT only.
    #[error("the request target is not a path, expected one that begins with `/`")]
    NotAPath,
}

/// The target of a request.
pub(super) enum RequestTarget<'u> {
    /// `OPTIONS *`: the server as a whole.
    Server,
    Path(Path<'u>),
}

impl<'u> RequestTarget<'u> {
    /// Checks the whole path, so that a bad one gets the same answer whatever routes there are.
    pub(super) fn parse(method: &Method, uri: &'u Uri) -> Result<Self, BadTarget> {
        let path = uri.path();
        match path {
            "*" if method == Method::OPTIONS => return Ok(Self::Server),
            "" if method == Method::CONNECT => {
                return Ok(Self::Path(Path {
                    text: Text::Raw("/", None),
                    end: 1,
                }));
            }
            _ if !path.starts_with('/') => return Err(BadTarget::NotAPath),
            _ => {}
        }
        if !path.as_bytes().contains(&b'%') {
            return Ok(Self::Path(Path {
                end: path.len(),
                text: Text::Raw(path, uri.path_and_query()),
            }));
        }
        let mut decoded = String::with_capacity(path.len());
        let mut slashes = Vec::new();
        let mut at = 0;
        for segment in path[1..].split('/') {
            slashes.push(decoded.len());
            decoded.push('/');
            at += 1;
            decoded.push_str(&decode(segment).map_err(|bad| match bad {
                BadText::Escape(offset) => BadTarget::Escape(at + offset),
                BadText::Utf8 => BadTarget::Utf8,
            })?);
            at += segment.len();
        }
        Ok(Self::Path(Path {
            end: decoded.len(),
            text: Text::Decoded(decoded, slashes),
        }))
    }
}

/// A path, as the decoded segments that the matcher compares.
pub(super) struct Path<'u> {
    text: Text<'u>,
    /// The end of the path for the matcher. It lies before the text's end if a trailing slash is ignored.
    end: usize,
}

/// Both forms begin with `/`. Positions in them are byte offsets.
enum Text<'u> {
    /// A path without escapes, which needs no decoding.
    Raw(&'u str, Option<&'u PathAndQuery>),
    /// A path that was decoded, with the offsets of the slashes between segments. Any other slash came from `%2F`.
    Decoded(String, Vec<usize>),
}

impl Path<'_> {
    pub(super) fn is_raw(&self) -> bool {
        matches!(self.text, Text::Raw(..))
    }

    /// Ignores one slash at the end, if there is a segment before it.
    pub(super) fn ignore_trailing_slash(&mut self) {
        let last = self.end - 1;
        let (ends, doubled) = match &self.text {
            Text::Raw(text, _) => (text.ends_with('/'), text.ends_with("//")),
            Text::Decoded(_, slashes) => (
                slashes.last() == Some(&last),
                slashes.iter().rev().nth(1) == Some(&last.wrapping_sub(1)),
            ),
        };
        if ends && !doubled && last > 0 {
            self.end = last;
        }
    }

    /// The position of the first segment; `None` for the root, which has none.
    pub(super) fn start(&self) -> Option<usize> {
        (self.end > 1).then_some(1)
    }

    /// The segment at this position, and the position of the next one.
    pub(super) fn segment(&self, at: usize) -> (&str, Option<usize>) {
        let (text, slash) = match &self.text {
            Text::Raw(text, _) => (
                *text,
                text.as_bytes()[at..self.end]
                    .iter()
                    .position(|byte| *byte == b'/')
                    .map(|slash| at + slash),
            ),
            Text::Decoded(text, slashes) => {
                let next = slashes.partition_point(|slash| *slash < at);
                (
                    text.as_str(),
                    slashes.get(next).copied().filter(|slash| *slash < self.end),
                )
            }
        };
        let end = slash.unwrap_or(self.end);
        (&text[at..end], slash.map(|slash| slash + 1))
    }

    /// Whether a rest segment can match at this position.
    pub(super) fn has_rest(&self, at: usize) -> bool {
        at < self.end
    }

    pub(super) fn end(&self) -> usize {
        self.end
    }

    /// The text that captured ranges point into, kept alive for the parameters.
    pub(super) fn into_source(self) -> Source {
        match self.text {
            Text::Raw(_, Some(path)) => Source::Path(path.clone()),
            Text::Raw(path, None) => Source::Decoded(path.into()),
            Text::Decoded(path, _) => Source::Decoded(path.into()),
        }
    }
}
