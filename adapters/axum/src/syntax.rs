//! The core's patterns in axum's syntax.

use pointwork_core::routing::{Pattern, Segment};

/// axum's tree panics at more; the core has no such bound.
const MOST_PARAMS: usize = 25;

/// `/a/:id/*rest` as `/a/{id}/{*rest}`.
///
/// axum compares literals with the path as it was sent. One that cannot stand there unescaped never matches; the core
/// finds such a route without a hint. `None` if axum cannot hold it.
pub(crate) fn path(pattern: &Pattern) -> Option<String> {
    if pattern.param_names().len() > MOST_PARAMS {
        return None;
    }
    let mut path = String::new();
    for segment in pattern.segments() {
        path.push('/');
        match segment {
            Segment::Literal(text) => path.push_str(&text.replace('{', "{{").replace('}', "}}")),
            Segment::Param(name) => path.push_str(&format!("{{{name}}}")),
            Segment::Rest(name) => path.push_str(&format!("{{*{name}}}")),
            _ => return None,
        }
    }
    if path.is_empty() {
        path.push('/');
    }
    Some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_written_as_axum_reads_them() {
        for (pattern, expected) in [
            ("/", "/"),
            ("/a/:id", "/a/{id}"),
            ("/a/:id/b/*rest", "/a/{id}/b/{*rest}"),
            ("/a{b}", "/a{{b}}"),
        ] {
            assert_eq!(path(&Pattern::parse(pattern).unwrap()).as_deref(), Some(expected));
        }
    }
}
