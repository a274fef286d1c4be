//! The path of one request: its segments, and the parameters that a pattern captures.

use std::fmt;
use std::sync::Arc;

use http::uri::PathAndQuery;
use http::{Method, Uri};
use pointwork_patterns::text::{BadText, decode};
use smallvec::SmallVec;

use crate::Shard;

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

/// The path parameters of one request, percent-decoded once (spec P4, P8).
///
/// [`Table::resolve`](super::Table::resolve) makes them. They may outlive the request and the table. Names are shared
/// with the route, values with the request's path if it had no escapes, so a clone copies no text.
#[derive(Clone, Default)]
pub struct Params {
    captured: Option<Captured>,
}

#[derive(Clone)]
struct Captured {
    names: Shard<Names>,
    source: Source,
    /// One for each name, each within the source.
    ranges: Ranges,
}

/// The names of the parameters of a pattern.
pub(super) type Names = Arc<[Arc<str>]>;

/// Four cover nearly every route without an allocation, in 32 bytes.
pub(super) type Ranges = SmallVec<[(u32, u32); 4]>;

#[derive(Clone)]
pub(super) enum Source {
    Path(PathAndQuery),
    Decoded(Arc<str>),
}

impl Source {
    fn get(&self, range: (u32, u32)) -> &str {
        let text = match self {
            Self::Path(path) => path.path(),
            Self::Decoded(text) => text,
        };
        &text[range.0 as usize..range.1 as usize]
    }
}

impl Params {
    pub(super) fn new(names: Shard<Names>, source: Source, ranges: Ranges) -> Self {
        debug_assert_eq!(names.len(), ranges.len());
        Self {
            captured: Some(Captured { names, source, ranges }),
        }
    }

    /// The value of the parameter of that name in the pattern, or `None` if the pattern has no such name.
    pub fn get(&self, name: &str) -> Option<&str> {
        let captured = self.captured.as_ref()?;
        self.at(captured.names.iter().position(|known| **known == *name)?)
    }

    /// The value of the parameter at that position in the pattern, from the left, beginning with 0.
    pub fn at(&self, index: usize) -> Option<&str> {
        let captured = self.captured.as_ref()?;
        captured.ranges.get(index).map(|range| captured.source.get(*range))
    }

    /// Names and values, in the order of the pattern.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &str)> {
        let names = self.captured.as_ref().map_or(&[][..], |captured| &**captured.names);
        names
            .iter()
            .enumerate()
            .map(|(index, name)| (&**name, self.at(index).unwrap_or_default()))
    }

    /// The number of parameters.
    pub fn len(&self) -> usize {
        self.captured.as_ref().map_or(0, |captured| captured.ranges.len())
    }

    /// Whether the pattern has no parameters.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl fmt::Debug for Params {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

/// Equal if names and values are, in order.
impl PartialEq for Params {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl Eq for Params {}
