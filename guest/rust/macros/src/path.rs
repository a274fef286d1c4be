//! Reads the paths of controllers and handlers.

use pointwork_patterns::Pattern;
use syn::LitStr;

use crate::errors::Errors;

/// Joins a prefix and a path. A path that is not a valid pattern is an error.
pub(crate) fn join(prefix: &str, path: &LitStr, errors: &mut Errors) -> Option<Pattern> {
    let text = path.value();
    let problem = match misread(&text) {
        Some(problem) => format!("path `{text}` is not a valid pattern: {problem}"),
        None => match Pattern::join(prefix, &text) {
            Ok(pattern) => return Some(pattern),
            Err(error) => error.to_string(),
        },
    };
    errors.at(path, problem);
    None
}

/// The syntax of other frameworks. Braces are a valid literal, which an author hardly means.
fn misread(path: &str) -> Option<String> {
    let in_braces = |segment: &str| Some(segment.strip_prefix('{')?.strip_suffix('}')?.to_owned());
    if let Some(name) = path.split('/').find_map(in_braces) {
        let (sigil, own) = name.strip_prefix('*').map_or((':', &*name), |own| ('*', own));
        return Some(format!("a parameter is written `{sigil}{own}`, found `{{{name}}}`"));
    }
    path.contains('?')
        .then(|| "found `?`, expected a path without a query: read the query with `Query<…>`".to_owned())
}
