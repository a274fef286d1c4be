//! Finds the handler of a test request by the rules of the host (spec P1 to P6, P8), within one controller.

use std::fmt::Write as _;

use crate::bindings::types::Property;
use crate::controller::{Controller, Route};

pub(super) struct Found {
    pub(super) handler: u32,
    pub(super) pattern: String,
    pub(super) body: &'static str,
    pub(super) params: Params,
}

/// The route with the highest precedence, or the list of all routes.
pub(super) fn find<C: Controller>(method: &str, path: &str) -> Result<Found, String> {
    let mut best: Option<((Vec<u8>, bool), Found)> = None;
    let mut all = String::new();
    for (route, pattern) in patterns::<C>() {
        let _ = writeln!(all, "  {} {pattern}", route.method.unwrap_or("any method"));
        if route.method.is_some_and(|expected| expected != method) {
            continue;
        }
        let Some((ranks, params)) = capture(&pattern, path) else {
            continue;
        };
        // A literal wins over a parameter, a parameter over a rest, and a route for the method over one for all
        // methods.
        let rank = (ranks, route.method.is_none());
        if best.as_ref().is_none_or(|(other, _)| rank < *other) {
            best = Some((
                rank,
                Found {
                    handler: route.handler,
                    pattern,
                    body: route.body,
                    params,
                },
            ));
        }
    }
    best.map(|(_, found)| found).ok_or(all)
}

fn patterns<C: Controller>() -> impl Iterator<Item = (&'static Route, String)> {
    C::ROUTES.iter().flat_map(|route| {
        let paths = if route.paths.is_empty() { &[""] } else { route.paths };
        paths.iter().map(move |path| (route, join(C::PREFIX, path)))
    })
}

fn join(prefix: &str, path: &str) -> String {
    let joined = format!("{}/{}", prefix.trim_matches('/'), path.trim_matches('/'));
    format!("/{}", joined.trim_matches('/'))
}

/// The parameters of a path by a pattern; `None` if the path does not match.
pub(super) fn params(pattern: &str, path: &str) -> Option<Params> {
    capture(pattern, path).map(|(_, params)| params)
}

type Params = Vec<Property>;

/// The rank of each segment, where a lower one wins, and the parameters.
fn capture(pattern: &str, path: &str) -> Option<(Vec<u8>, Params)> {
    let (mut pattern, mut path) = (pattern.strip_prefix('/')?, Some(path.strip_prefix('/')?));
    let (mut ranks, mut params) = (Vec::new(), Params::new());
    loop {
        let (expected, pattern_rest) = split(pattern);
        if let Some(name) = expected.strip_prefix('*') {
            let rest = path.filter(|rest| !rest.is_empty())?;
            ranks.push(2);
            params.push(param(name, rest)?);
            return Some((ranks, params));
        }
        let (segment, path_rest) = split(path?);
        match expected.strip_prefix(':') {
            Some(name) if !segment.is_empty() => {
                ranks.push(1);
                params.push(param(name, segment)?);
            }
            None if decode(expected)? == decode(segment)? => ranks.push(0),
            _ => return None,
        }
        path = path_rest;
        match pattern_rest {
            Some(rest) => pattern = rest,
            None => return path.is_none().then_some((ranks, params)),
        }
    }
}

fn param(name: &str, text: &str) -> Option<Property> {
    Some(Property {
        name: name.into(),
        value: decode(text)?,
    })
}

fn split(text: &str) -> (&str, Option<&str>) {
    text.split_once('/')
        .map_or((text, None), |(segment, rest)| (segment, Some(rest)))
}

fn decode(text: &str) -> Option<String> {
    let mut bytes = text.bytes();
    let mut decoded = Vec::with_capacity(text.len());
    while let Some(byte) = bytes.next() {
        decoded.push(match byte {
            b'%' => hex(bytes.next()?)? << 4 | hex(bytes.next()?)?,
            other => other,
        });
    }
    String::from_utf8(decoded).ok()
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit)
        .to_digit(16)
        .and_then(|value| u8::try_from(value).ok())
}

#[cfg(test)]
mod tests {
    use super::join;

    fn params(pattern: &str, path: &str) -> Option<Vec<(String, String)>> {
        let params = super::params(pattern, path)?.into_iter();
        Some(params.map(|param| (param.name, param.value)).collect())
    }

    #[test]
    fn prefix_and_path_are_joined_with_or_without_slashes() {
        assert_eq!(join("products", ":id"), "/products/:id");
        assert_eq!(join("/", "/health"), "/health");
        assert_eq!(join("/", ""), "/");
    }

    #[test]
    fn parameters_are_decoded_after_the_split() {
        assert_eq!(params("/a/:x", "/a/b%2Fc"), Some(vec![("x".into(), "b/c".into())]));
        assert_eq!(params("/a/*rest", "/a/b/c"), Some(vec![("rest".into(), "b/c".into())]));
        assert_eq!(params("/a/:x", "/a/%ff"), None);
    }

    #[test]
    fn another_number_of_segments_does_not_match() {
        assert_eq!(params("/a/:x", "/a"), None);
        assert_eq!(params("/a/:x", "/a/"), None);
        assert_eq!(params("/a", "/a/"), None);
        assert_eq!(params("/a/*rest", "/a/"), None);
    }
}
