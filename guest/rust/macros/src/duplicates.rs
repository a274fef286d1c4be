//! Two routes of a controller that answer the same requests.
//!
//! `module!` compares the routes of all controllers, with methods that are known by their value only. This check has the
//! better place for its message.

use std::collections::HashMap;

use syn::LitStr;

use crate::errors::Errors;
use crate::handler::Handler;

/// Adds an error for each path whose method and shape another route has (spec P7).
pub(crate) fn check(handlers: &[Handler], errors: &mut Errors) {
    let mut seen: HashMap<(String, String), (String, String)> = HashMap::new();
    for handler in handlers {
        let name = handler.signature.name();
        for mapping in &handler.mappings {
            let paths: Vec<Option<&LitStr>> = match mapping.paths.as_slice() {
                [] => vec![None],
                paths => paths.iter().map(Some).collect(),
            };
            for path in paths {
                let text = path.map(LitStr::value).unwrap_or_default();
                let key = (mapping.method.to_string(), canonical(&text));
                let Some((other, shown)) = seen.get(&key) else {
                    seen.insert(key, (name.clone(), text));
                    continue;
                };
                let other = if *other == name {
                    "has this route twice".to_owned()
                } else if shown.is_empty() {
                    format!("answers the same requests as handler `{other}`, which has the same method and no path")
                } else {
                    format!(
                        "answers the same requests as handler `{other}`, which has the same method and the path `{shown}`"
                    )
                };
                let message = format!("handler `{name}` {other}; expected one of them");
                match path {
                    Some(path) => errors.at(path, message),
                    None => errors.at(&handler.signature.ident, message),
                }
            }
        }
    }
}

/// The path without the names of parameters, slashes at its ends and percent-encoding.
fn canonical(path: &str) -> String {
    let segments = path
        .trim_matches('/')
        .split('/')
        .map(|segment| match segment.as_bytes() {
            [b':', ..] => ":".to_owned(),
            [b'*', ..] => "*".to_owned(),
            bytes => decoded(bytes),
        });
    segments.collect::<Vec<_>>().join("/")
}

/// Each byte of a literal in one way.
fn decoded(mut bytes: &[u8]) -> String {
    let mut text = String::new();
    while let [first, rest @ ..] = bytes {
        let escaped = rest.get(..2).filter(|_| *first == b'%');
        let escaped = escaped.and_then(|digits| u8::from_str_radix(str::from_utf8(digits).ok()?, 16).ok());
        let (byte, length) = escaped.map_or((*first, 1), |byte| (byte, 3));
        text += &format!("{byte:02x}");
        bytes = &bytes[length..];
    }
    text
}

#[cfg(test)]
mod tests {
    use super::canonical;

    #[test]
    fn names_slashes_and_escapes_make_no_difference() {
        for (one, other) in [
            ("/a/:id/", "a/:name"),
            ("*rest", "/*all"),
            ("caf%C3%A9", "café"),
            ("%2f", "%2F"),
            ("", "/"),
        ] {
            assert_eq!(canonical(one), canonical(other));
        }
        for (one, other) in [("a/b", "a%2Fb"), (":id", "*id"), ("a", "A"), ("%3Aid", ":id")] {
            assert_ne!(canonical(one), canonical(other));
        }
    }
}
