//! Paths where no parser sees them: in the tokens of a macro, and in the strings of an attribute.

use proc_macro2::{TokenStream, TokenTree};
use syn::{Attribute, LitStr, Meta};

/// The paths of two segments or more in the tokens of a macro.
pub(super) fn in_tokens(tokens: TokenStream) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    let mut path: Vec<String> = Vec::new();
    let mut colons = 0;
    let mut end = |path: &mut Vec<String>| {
        let path = std::mem::take(path);
        if path.len() > 1 {
            found.push(path);
        }
    };
    let mut groups = Vec::new();
    for token in tokens {
        match token {
            TokenTree::Ident(name) => {
                if colons != 2 {
                    end(&mut path);
                }
                // After `::` without a path before it, a name of another crate follows.
                if colons != 2 || !path.is_empty() {
                    path.push(name.to_string());
                }
                colons = 0;
            }
            TokenTree::Punct(punct) if punct.as_char() == ':' => {
                colons += 1;
                if colons > 2 {
                    end(&mut path);
                }
            }
            other => {
                end(&mut path);
                colons = 0;
                if let TokenTree::Group(group) = other {
                    groups.push(group.stream());
                }
            }
        }
    }
    end(&mut path);
    found.extend(groups.into_iter().flat_map(in_tokens));
    found
}

/// The paths in an attribute, those in its strings included, as `#[serde(with = "crate::time")]` has one.
pub(super) fn in_attribute(attribute: &Attribute) -> Vec<Vec<String>> {
    let Meta::List(list) = &attribute.meta else {
        return Vec::new();
    };
    let mut found = in_tokens(list.tokens.clone());
    for token in list.tokens.clone() {
        let TokenTree::Literal(literal) = token else { continue };
        let Ok(text) = syn::parse_str::<LitStr>(&literal.to_string()) else {
            continue;
        };
        if let Ok(path) = text.parse::<syn::Path>() {
            found.push(path.segments.iter().map(|segment| segment.ident.to_string()).collect());
        }
    }
    found
}
