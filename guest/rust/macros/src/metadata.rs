//! The open properties of a block or a function, from its docs.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::{Attribute, Expr, ExprLit, Lit, Meta};

/// Keys with their values.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Metadata(Vec<(&'static str, String)>);

impl Metadata {
    /// The first paragraph of the docs is the summary, the rest the description.
    pub(crate) fn read(attributes: &[Attribute]) -> Self {
        let lines = attributes.iter().filter_map(doc).collect::<Vec<_>>().join("\n");
        let lines: Vec<_> = lines
            .lines()
            .map(|line| line.strip_prefix(' ').unwrap_or(line))
            .collect();
        let text = lines.join("\n");
        let (summary, description) = text.trim().split_once("\n\n").unwrap_or((text.trim(), ""));
        let mut all = Vec::new();
        for (key, text) in [
            ("summary", summary.replace('\n', " ")),
            ("description", description.trim().to_owned()),
        ] {
            if !text.is_empty() {
                all.push((key, text));
            }
        }
        all.extend(attributes.iter().find_map(deprecated).map(|note| ("deprecated", note)));
        Self(all)
    }

    /// These properties, and the guards and hooks that the compiler finds, as a constant expression.
    pub(crate) fn with(&self, needed: &[TokenStream]) -> TokenStream {
        if needed.is_empty() {
            return self.to_token_stream();
        }
        quote! {{
            const OWN: ::pointwork_guest::Metadata = #self;
            const NEEDED: &[::pointwork_guest::__private::Needed] = &[#(#needed),*];
            const ALL: [(&str, &str); ::pointwork_guest::__private::metadata_length(OWN, NEEDED)] =
                ::pointwork_guest::__private::metadata(OWN, NEEDED, ::core::module_path!());
            &ALL
        }}
    }
}

impl Metadata {
    /// Summary and description as one text; empty if there are no docs.
    pub(crate) fn text(&self) -> String {
        let docs = self.0.iter().filter(|(key, _)| *key != "deprecated");
        docs.map(|(_, text)| text.as_str()).collect::<Vec<_>>().join("\n\n")
    }
}

impl ToTokens for Metadata {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        let all = self.0.iter().map(|(key, value)| quote!((#key, #value)));
        tokens.extend(quote!(&[#(#all),*]));
    }
}

/// The text of `#[doc = "…"]`.
fn doc(attribute: &Attribute) -> Option<String> {
    match &attribute.meta {
        Meta::NameValue(pair) if pair.path.is_ident("doc") => text(&pair.value),
        _ => None,
    }
}

fn text(value: &Expr) -> Option<String> {
    match value {
        Expr::Lit(ExprLit {
            lit: Lit::Str(text), ..
        }) => Some(text.value()),
        _ => None,
    }
}

/// The note of `#[deprecated]`, or `true` if it has none.
fn deprecated(attribute: &Attribute) -> Option<String> {
    if !attribute.path().is_ident("deprecated") {
        return None;
    }
    let mut note = None;
    match &attribute.meta {
        Meta::NameValue(pair) => note = text(&pair.value),
        Meta::List(list) => {
            // The compiler reports an attribute that it cannot read.
            let _ = list.parse_nested_meta(|meta| {
                let value = meta.value()?.parse::<syn::LitStr>()?.value();
                if meta.path.is_ident("note") {
                    note = Some(value);
                }
                Ok(())
            });
        }
        Meta::Path(_) => {}
    }
    Some(note.unwrap_or_else(|| "true".to_owned()))
}

#[cfg(test)]
mod tests {
    use syn::{ItemFn, parse_quote};

    use super::Metadata;

    fn read(function: &ItemFn) -> Vec<(&'static str, String)> {
        Metadata::read(&function.attrs).0
    }

    #[test]
    fn the_first_paragraph_is_the_summary() {
        let function: ItemFn = parse_quote! {
            /// One product,
            /// by its id.
            ///
            /// Counts as a view.
            ///
            ///     indented
            #[deprecated = "use the list"]
            fn show() {}
        };
        assert_eq!(
            read(&function),
            [
                ("summary", "One product, by its id.".to_owned()),
                ("description", "Counts as a view.\n\n    indented".to_owned()),
                ("deprecated", "use the list".to_owned()),
            ]
        );
    }

    #[test]
    fn no_docs_are_no_metadata() {
        let function: ItemFn = parse_quote! {
            #[doc(hidden)]
            fn show() {}
        };
        assert_eq!(read(&function), []);
    }

    #[test]
    fn a_deprecation_has_its_note_or_none() {
        let with: ItemFn = parse_quote!(
            #[deprecated(since = "1.0", note = "old")]
            fn show() {}
        );
        let without: ItemFn = parse_quote!(
            #[deprecated]
            fn show() {}
        );
        assert_eq!(read(&with), [("deprecated", "old".to_owned())]);
        assert_eq!(read(&without), [("deprecated", "true".to_owned())]);
    }
}
