//! Finds the handler of a test request by the rules of the host, within one controller.

use std::fmt::Write as _;

use pointwork_patterns::text::decode;
use pointwork_patterns::{Pattern, Segment};

use crate::bindings::types::Property;
use crate::controller::{Controller, Route};

pub(super) struct Found {
    pub(super) route: &'static Route,
    pub(super) pattern: Pattern,
    pub(super) params: Vec<Property>,
}

/// The route with the highest precedence, or the list of all routes.
pub(super) fn find<C: Controller>(method: &str, path: &str) -> Result<Found, String> {
    let mut found = Vec::new();
    let mut all = String::new();
    for route in C::ROUTES {
        for (pattern, _) in route.patterns {
            let _ = writeln!(all, "  {} {pattern}", route.method.unwrap_or("any method"));
            let rank = match route.method {
                Some(expected) if expected == method => 0,
                Some("GET") if method == "HEAD" => 1,
                Some(_) => continue,
                None => 2,
            };
            let pattern = Pattern::parse(pattern).expect("the macro has read the pattern");
            if let Some(params) = params(&pattern, path) {
                found.push((rank, Found { route, pattern, params }));
            }
        }
    }
    let first = found.into_iter().min_by(|(rank, one), (other_rank, other)| {
        let order = one.pattern.cmp_precedence(&other.pattern);
        order.then(rank.cmp(other_rank))
    });
    first.map(|(_, found)| found).ok_or(all)
}

/// The parameters of a path by a pattern; `None` if the path does not match.
pub(super) fn params(pattern: &Pattern, path: &str) -> Option<Vec<Property>> {
    let mut left = Some(path.strip_prefix('/')?).filter(|path| !path.is_empty());
    let mut params = Vec::new();
    for expected in pattern.segments() {
        let rest = left?;
        let (segment, after) = match rest.split_once('/') {
            Some((segment, after)) => (segment, Some(after)),
            None => (rest, None),
        };
        left = after;
        let (name, text) = match expected {
            Segment::Literal(literal) if **literal == *decode(segment).ok()? => continue,
            Segment::Param(name) if !segment.is_empty() => (name, segment),
            Segment::Rest(name) if !rest.is_empty() => {
                left = None;
                (name, rest)
            }
            _ => return None,
        };
        params.push(Property {
            name: name.to_string(),
            value: decode(text).ok()?,
        });
    }
    left.is_none().then_some(params)
}

#[cfg(test)]
mod tests {
    use pointwork_patterns::Pattern;

    fn params(pattern: &str, path: &str) -> Option<Vec<(String, String)>> {
        let params = super::params(&Pattern::parse(pattern).unwrap(), path)?.into_iter();
        Some(params.map(|param| (param.name, param.value)).collect())
    }

    #[test]
    fn parameters_are_decoded_after_the_split() {
        assert_eq!(params("/a/:x", "/a/b%2Fc"), Some(vec![("x".into(), "b/c".into())]));
        assert_eq!(params("/a/*rest", "/a/b/c"), Some(vec![("rest".into(), "b/c".into())]));
        assert_eq!(params("/a/:x", "/a/%ff"), None);
    }

    #[test]
    fn another_number_of_segments_does_not_match() {
        assert_eq!(params("/", "/"), Some(vec![]));
        for (pattern, path) in [
            ("/a/:x", "/a"),
            ("/a/:x", "/a/"),
            ("/a", "/a/"),
            ("/a/*rest", "/a/"),
            ("/", "//"),
        ] {
            assert_eq!(params(pattern, path), None, "{pattern} {path}");
        }
    }
}
