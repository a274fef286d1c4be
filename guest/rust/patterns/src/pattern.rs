//! Path patterns: grammar, normal form and precedence.

use std::cmp::Ordering;
use std::fmt::{self, Write as _};
use std::sync::Arc;

use crate::error::PatternError;
use crate::parse;
use crate::text::encode_literal;

/// One segment of a [`Pattern`]. The enum is exhaustive: code that matches paths must handle each kind.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Segment {
    /// This text, percent-decoded. It may contain any character, `/` included, where the pattern has an escape.
    Literal(Box<str>),
    /// `:name`: one segment that is not empty.
    Param(Arc<str>),
    /// `*name`: the rest of the path, at least one byte, slashes included. Always the last segment.
    Rest(Arc<str>),
}

impl Segment {
    fn rank(&self) -> u8 {
        match self {
            Self::Literal(_) => 0,
            Self::Param(_) => 1,
            Self::Rest(_) => 2,
        }
    }
}

/// The full path of a route, in normal form: it starts with `/` and, except for the root, does not end
/// with one.
///
/// # Grammar
///
/// A pattern is `/`, or a sequence of segments, each with a `/` before it:
///
/// - `:name` captures one segment; `*name`, as the last segment only, captures the rest. A name is an
///   ASCII letter or `_`, then ASCII letters, digits, `_` and `-`, and occurs once in a pattern.
/// - Anything else is a literal. It is compared percent-decoded, so `/café` and `/caf%C3%A9` are one pattern. `:` and
///   `*` have to be escaped in a literal (`%3A`, `%2A`), and so have white space, `?` and `#`.
///
/// One slash at the beginning and one at the end are optional.
///
/// # Equality
///
/// Two patterns are equal if they match the same paths with the same parameter names. Conflicts are decided by
/// [`canonical`](Self::canonical), which ignores the names.
#[derive(Clone)]
pub struct Pattern {
    text: Arc<str>,
    canonical: Arc<str>,
    segments: Arc<[Segment]>,
    names: Arc<[Arc<str>]>,
}

impl Pattern {
    /// Reads a full path. The empty text is the root.
    ///
    /// # Errors
    ///
    /// The text does not follow the grammar. The error gives the position, what was found and what was expected.
    ///
    /// ```
    /// use pointwork_patterns::Pattern;
    ///
    /// let pattern = Pattern::parse("products/:id/").unwrap();
    /// assert_eq!(pattern.as_str(), "/products/:id");
    ///
    /// let error = Pattern::parse("/files/*rest/size").unwrap_err();
    /// assert_eq!(
    ///     error.to_string(),
    ///     "path `/files/*rest/size` is not a valid pattern: found `/` at byte 12, expected the end, since `*rest` captures \
    ///      the rest of the path",
    /// );
    /// ```
    pub fn parse(text: &str) -> Result<Self, PatternError> {
        Self::join("", text)
    }

    /// Joins a prefix and a path. Each may be empty, and may begin and end with a slash.
    ///
    /// # Errors
    ///
    /// The prefix or the path does not follow the grammar, or the two together do not: a name that occurs in both, a
    /// path after `*rest`. The error quotes the text at fault.
    ///
    /// ```
    /// use pointwork_patterns::Pattern;
    ///
    /// assert_eq!(Pattern::join("api/v1", "/health").unwrap().as_str(), "/api/v1/health");
    /// assert_eq!(Pattern::join("products", "").unwrap().as_str(), "/products");
    /// assert_eq!(Pattern::join("/", "").unwrap().as_str(), "/");
    /// ```
    pub fn join(prefix: &str, path: &str) -> Result<Self, PatternError> {
        let mut parser = parse::Parser::default();
        parser.read(prefix)?;
        parser.read(path)?;
        Ok(Self::new(parser.text, parser.segments))
    }

    /// This pattern with a prefix before it, such as a global prefix. Each call adds the prefix; the caller
    /// makes sure that a global prefix is applied once.
    ///
    /// # Errors
    ///
    /// As for [`join`](Self::join).
    pub fn prefixed(&self, prefix: &str) -> Result<Self, PatternError> {
        Self::join(prefix, &self.text)
    }

    fn new(mut text: String, segments: Vec<Segment>) -> Self {
        if text.is_empty() {
            text.push('/');
        }
        let names: Arc<[_]> = segments
            .iter()
            .filter_map(|segment| match segment {
                Segment::Literal(_) => None,
                Segment::Param(name) | Segment::Rest(name) => Some(Arc::clone(name)),
            })
            .collect();
        Self {
            text: text.into(),
            canonical: canonical_text(&segments).into(),
            segments: segments.into(),
            names,
        }
    }

    /// The pattern as written, with the slashes of the normal form.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The segments; the root has none.
    pub fn segments(&self) -> &[Segment] {
        &self.segments
    }

    /// The names of the parameters, from left to right.
    pub fn param_names(&self) -> &[Arc<str>] {
        &self.names
    }

    /// The names, for the parameters of a request.
    #[doc(hidden)]
    pub fn shared_names(&self) -> &Arc<[Arc<str>]> {
        &self.names
    }

    /// The canonical text: parameters named by position, literals escaped in one way, as in `/a/:p1/*p2`.
    ///
    /// Two patterns match the same paths exactly if their canonical texts are equal, which makes it the key for
    /// conflicts. It is itself a pattern.
    ///
    /// ```
    /// use pointwork_patterns::Pattern;
    ///
    /// assert_eq!(Pattern::parse("/café/:id/*path").unwrap().canonical(), "/caf%C3%A9/:p1/*p2");
    /// ```
    pub fn canonical(&self) -> &str {
        &self.canonical
    }

    /// Orders by precedence: the lesser pattern is tried first.
    ///
    /// Segments are compared from left to right: a literal before a parameter before a rest. Patterns that this does
    /// not order have no path in common or have the same shape. The former are ordered by the text of their literals,
    /// then by length, so that the order never depends on the order of declaration. The latter are `Equal`, whatever
    /// their parameter names.
    pub fn cmp_precedence(&self, other: &Self) -> Ordering {
        let pairs = self.segments.iter().zip(other.segments.iter());
        for (mine, others) in pairs {
            let order = match (mine, others) {
                (Segment::Literal(mine), Segment::Literal(others)) => mine.cmp(others),
                _ => mine.rank().cmp(&others.rank()),
            };
            if order.is_ne() {
                return order;
            }
        }
        self.segments.len().cmp(&other.segments.len())
    }
}

fn canonical_text(segments: &[Segment]) -> String {
    if segments.is_empty() {
        return "/".to_owned();
    }
    let mut text = String::new();
    let mut position = 0;
    for segment in segments {
        // Writing to a String cannot fail.
        let _ = match segment {
            Segment::Literal(literal) => write!(text, "/{}", encode_literal(literal)),
            Segment::Param(_) => {
                position += 1;
                write!(text, "/:p{position}")
            }
            Segment::Rest(_) => {
                position += 1;
                write!(text, "/*p{position}")
            }
        };
    }
    text
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.segments == other.segments
    }
}

impl Eq for Pattern {}

impl std::hash::Hash for Pattern {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.segments.hash(state);
    }
}

impl fmt::Debug for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pattern({:?})", self.text)
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::str::FromStr for Pattern {
    type Err = PatternError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::parse(text)
    }
}
