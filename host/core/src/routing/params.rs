//! The path parameters of a request.

use std::fmt;
use std::sync::Arc;

use http::uri::PathAndQuery;
use smallvec::SmallVec;

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
    names: Arc<[Arc<str>]>,
    source: Source,
    /// One for each name, each within the source.
    ranges: Ranges,
}

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
    pub(super) fn new(names: &Arc<[Arc<str>]>, source: Source, ranges: Ranges) -> Self {
        debug_assert_eq!(names.len(), ranges.len());
        Self {
            captured: Some(Captured {
                names: Arc::clone(names),
                source,
                ranges,
            }),
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
        let names = self.captured.as_ref().map_or(&[][..], |captured| &captured.names);
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
