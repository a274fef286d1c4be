//! Small parts of what both kinds of blocks expand to.

use proc_macro2::{Group, TokenStream, TokenTree};
use quote::ToTokens as _;
use syn::Type;

/// The number of a handler or a listener.
pub(crate) fn number(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}

/// The tokens with the block's type in the place of `Self`: a constant is an item of its own and does not know the `Self`
/// around it.
pub(crate) fn without_self(tokens: TokenStream, of: &Type) -> TokenStream {
    let replace = |token| match token {
        TokenTree::Ident(ident) if ident == "Self" => of.to_token_stream(),
        TokenTree::Group(group) => {
            let mut inner = Group::new(group.delimiter(), without_self(group.stream(), of));
            inner.set_span(group.span());
            TokenTree::Group(inner).into()
        }
        other => other.into(),
    };
    tokens.into_iter().flat_map(replace).collect()
}
