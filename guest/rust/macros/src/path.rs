//! Checks the paths of controllers and handlers.

use syn::LitStr;

use crate::errors::Errors;

/// Adds an error if a path is not a valid pattern (spec P3, P4, P6). The host checks prefix and path together again.
pub(crate) fn check(path: &LitStr, errors: &mut Errors) {
    let text = path.value();
    let inner = text.strip_prefix('/').unwrap_or(&text);
    let inner = inner.strip_suffix('/').unwrap_or(inner);
    if inner.is_empty() {
        return;
    }
    let mut names: Vec<&str> = Vec::new();
    let mut segments = inner.split('/').peekable();
    while let Some(segment) = segments.next() {
        if let Some(problem) = problem(segment, segments.peek().is_none(), &mut names) {
            errors.at(path, format_args!("path `{text}` is not a valid pattern: {problem}"));
            return;
        }
    }
}

fn problem<'a>(segment: &'a str, last: bool, names: &mut Vec<&'a str>) -> Option<String> {
    let name = match segment.as_bytes().first() {
        None => return Some("found an empty segment, expected text between two `/`".into()),
        Some(b':') => &segment[1..],
        Some(b'*') if !last => {
            return Some(format!(
                "`{segment}` captures the rest of the path, expected it as the last segment"
            ));
        }
        Some(b'*') => &segment[1..],
        Some(_) => return literal_problem(segment),
    };
    if !is_name(name) {
        return Some(format!(
            "`{segment}` has no valid name, expected a letter or `_`, then letters, digits, `_` or `-`"
        ));
    }
    if names.contains(&name) {
        return Some(format!("`{name}` is captured twice, expected each name once"));
    }
    names.push(name);
    None
}

fn is_name(name: &str) -> bool {
    let mut chars = name.chars();
    chars
        .next()
        .is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
        && chars.all(|char| char.is_ascii_alphanumeric() || char == '_' || char == '-')
}

fn literal_problem(segment: &str) -> Option<String> {
    if let Some(name) = segment.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) {
        let (sigil, name) = name.strip_prefix('*').map_or((':', name), |rest| ('*', rest));
        return Some(format!("a parameter is written `{sigil}{name}`, found `{segment}`"));
    }
    let found = segment
        .chars()
        .find(|&char| char.is_whitespace() || char.is_control() || ":*?#".contains(char))?;
    Some(match found {
        '?' => "found `?`, expected a path without a query: read the query with `Query<…>`".into(),
        ':' | '*' => {
            format!("found `{found}` inside `{segment}`, expected it at the beginning of a segment, or percent-encoded")
        }
        _ => format!("found {found:?} in `{segment}`, expected it percent-encoded"),
    })
}
