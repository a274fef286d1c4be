//! Patterns in salvo's syntax.

use std::fmt::Write as _;

use pointwork_core::routing::{Pattern, Segment};

/// The pattern as salvo writes it, `a/{p1}/{**p2}`, without the slash before it; the root is empty.
///
/// `None` if a literal holds what salvo's parser reads as something else: a slash, a brace, or a blank before it. A
/// doubled brace should stand for one, and does not at the beginning of a segment.
pub(crate) fn path(pattern: &Pattern) -> Option<String> {
    let mut path = String::new();
    for segment in pattern.segments() {
        if !path.is_empty() {
            path.push('/');
        }
        // Writing to a String cannot fail.
        let _ = match segment {
            Segment::Literal(text) if text.contains(['/', '{', '}']) || text.starts_with([' ', '\t']) => return None,
            Segment::Literal(text) => write!(path, "{text}"),
            Segment::Param(name) => write!(path, "{{{name}}}"),
            Segment::Rest(name) => write!(path, "{{**{name}}}"),
            _ => return None,
        };
    }
    Some(path)
}

#[cfg(test)]
mod tests {
    use pointwork_core::routing::Pattern;
    use salvo_core::routing::PathFilter;

    use super::path;

    fn of(pattern: &str) -> Option<String> {
        path(&Pattern::parse(pattern).unwrap())
    }

    #[test]
    fn parameters_and_rests_are_written_as_salvo_does() {
        assert_eq!(of("/").as_deref(), Some(""));
        assert_eq!(of("/a/:p1/b/*p2").as_deref(), Some("a/{p1}/b/{**p2}"));
    }

    #[test]
    fn literals_are_written_decoded() {
        assert_eq!(of("/caf%C3%A9/a%20b").as_deref(), Some("café/a b"));
    }

    #[test]
    fn what_salvo_would_read_otherwise_has_no_path() {
        for pattern in ["/a%2Fb", "/{a", "/a}", "/{{a}}", "/%20a", "/%09a", "/x/%20a"] {
            assert_eq!(of(pattern), None, "{pattern}");
        }
    }

    #[test]
    fn whatever_has_a_path_is_taken_by_salvo() {
        let marks = "!\"$&'()+,;<=>@[\\]^_`|~-.%3A%2A%23%3F%25a%20";
        for pattern in [
            format!("/{marks}"),
            format!("/{marks}/:p1"),
            format!("/:p1/{marks}/*p2"),
        ] {
            PathFilter::try_new(of(&pattern).unwrap()).unwrap();
        }
    }
}
