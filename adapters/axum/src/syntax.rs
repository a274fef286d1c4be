//! The core's patterns in axum's syntax.

use pointwork_core::routing::{Pattern, Segment};

/// axum's tree panics at more; the core has no such bound.
const MOST_PARAMS: usize = 25;

/// The parameter of a mount's path: the name under which axum hides the one of its own fallback from extractors, so that
/// layers find no parameter.
const HIDDEN: &str = "__private__axum_fallback";

/// `/a/:id/*rest` as `/a/{id}/{*rest}`.
///
/// axum compares literals with the path as it was sent. One that cannot stand there unescaped never matches; the core
/// finds such a route without a hint. `None` if axum cannot hold it.
pub(crate) fn path(pattern: &Pattern) -> Option<String> {
    let texts = pattern.segments().iter().map(|segment| match segment {
        Segment::Literal(text) => &**text,
        _ => "",
    });
    written(pattern, texts)
}

/// The paths of a prefix and of everything below it. Literals are escaped, as clients send them. `None` if axum cannot hold
/// them.
pub(crate) fn below(prefix: &Pattern) -> Option<Vec<String>> {
    let path = written(prefix, prefix.canonical().split('/').skip(1))?;
    if let Some(Segment::Rest(_)) = prefix.segments().last() {
        return Some(vec![path]);
    }
    if prefix.param_names().len() == MOST_PARAMS {
        return None;
    }
    let slash = format!("{}/", path.trim_end_matches('/'));
    let all = format!("{slash}{{*{HIDDEN}}}");
    Some(if slash == path {
        vec![path, all]
    } else {
        vec![path, slash, all]
    })
}

/// A pattern in axum's syntax, with this text for each literal.
fn written<'p>(pattern: &Pattern, literals: impl Iterator<Item = &'p str>) -> Option<String> {
    if pattern.param_names().len() > MOST_PARAMS {
        return None;
    }
    let mut path = String::new();
    for (segment, literal) in pattern.segments().iter().zip(literals) {
        path.push('/');
        match segment {
            Segment::Literal(_) => path.push_str(&literal.replace('{', "{{").replace('}', "}}")),
            Segment::Param(name) => path.push_str(&format!("{{{name}}}")),
            Segment::Rest(name) => path.push_str(&format!("{{*{name}}}")),
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

    #[test]
    fn a_prefix_is_a_path_for_itself_and_one_for_everything_below() {
        for (prefix, expected) in [
            ("/", &["/", "/{*__private__axum_fallback}"][..]),
            ("api", &["/api", "/api/", "/api/{*__private__axum_fallback}"]),
            (
                "café/:id",
                &[
                    "/caf%C3%A9/{id}",
                    "/caf%C3%A9/{id}/",
                    "/caf%C3%A9/{id}/{*__private__axum_fallback}",
                ],
            ),
            ("api/*rest", &["/api/{*rest}"]),
        ] {
            assert_eq!(below(&Pattern::parse(prefix).unwrap()).unwrap(), expected);
        }
        let params = |count: usize| (0..count).map(|name| format!("/:p{name}")).collect::<String>();
        assert!(below(&Pattern::parse(&params(24)).unwrap()).is_some());
        assert!(below(&Pattern::parse(&params(25)).unwrap()).is_none());
    }
}
