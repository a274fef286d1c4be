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

/// The syntax of other frameworks. Brackets are a valid literal, which an author hardly means.
fn misread(path: &str) -> Option<String> {
    let parameter = path.split('/').find_map(|segment| {
        [('{', '}'), ('<', '>'), ('[', ']')].into_iter().find_map(|(open, close)| {
            let found = segment.find([open, close])?;
            let inner = segment.strip_prefix(open).and_then(|inner| inner.strip_suffix(close));
            Some(match inner {
                Some(inner) => format!("a parameter is written `{}`, found `{segment}`", own_form(inner)),
                None => {
                    let escape = format!("%{:02X}", segment.as_bytes()[found]);
                    format!(
                        "a parameter is a whole segment, such as `:name`, found `{segment}`; a literal bracket is written `{escape}`"
                    )
                }
            })
        })
    });
    let query = || {
        path.contains('?')
            .then(|| "found `?`, expected a path without a query: read the query with `Query<…>`".to_owned())
    };
    parameter.or_else(query)
}

/// A parameter of another framework, without its brackets, its type and its pattern: `id`, `id:int`, `int:id`, `*rest`,
/// `rest:path`, `path:rest`, `rest..`, `...rest`.
fn own_form(inner: &str) -> String {
    const TYPES: [&str; 8] = ["path", "int", "str", "string", "uuid", "float", "u32", "u64"];
    let (first, last) = inner.split_once(':').unwrap_or((inner, ""));
    let (name, ty) = if TYPES.contains(&first) && !last.is_empty() {
        (last, first)
    } else {
        (first, last)
    };
    let is_rest = name.starts_with('*') || name.contains("..") || ty == "path";
    let sigil = if is_rest { '*' } else { ':' };
    format!("{sigil}{}", name.trim_matches(['*', '.', '?']))
}
