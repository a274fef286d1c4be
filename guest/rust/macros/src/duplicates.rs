//! Two routes of a controller that answer the same requests.
//!
//! `module!` compares the routes of all controllers, with methods that are known by their value only. This check has the
//! better place for its message.

use std::collections::HashMap;

use syn::LitStr;

use crate::errors::Errors;
use crate::handler::Handler;
use crate::mapping::MappedPath;

/// Adds an error for each path whose method and shape another route has.
pub(crate) fn check(handlers: &[Handler], errors: &mut Errors) {
    let mut seen: HashMap<(String, &str), (String, String)> = HashMap::new();
    for handler in handlers {
        let name = handler.signature.name();
        for mapping in &handler.mappings {
            for MappedPath { literal, pattern } in &mapping.paths {
                let key = (mapping.method.to_string(), pattern.canonical());
                let text = literal.as_ref().map(LitStr::value).unwrap_or_default();
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
                match literal {
                    Some(path) => errors.at(path, message),
                    None => errors.at(&handler.signature.ident, message),
                }
            }
        }
    }
}
