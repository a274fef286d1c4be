//! Collects and reports errors.

use std::fmt::Display;

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote};
use syn::Token;
use syn::parse::ParseStream;

/// Collects errors, so that an author sees all of them at once.
#[derive(Default)]
pub(crate) struct Errors(Vec<syn::Error>);

impl Errors {
    /// Adds an error at the tokens of `at`.
    pub(crate) fn at(&mut self, at: &impl ToTokens, message: impl Display) {
        self.0.push(syn::Error::new_spanned(at, message));
    }

    /// Returns the value, or adds the error.
    pub(crate) fn keep<T>(&mut self, result: syn::Result<T>) -> Option<T> {
        result.map_err(|error| self.0.push(error)).ok()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn into_tokens(self) -> TokenStream {
        self.0.iter().map(syn::Error::to_compile_error).collect()
    }
}

/// The unchanged item, and an error at the attribute.
pub(crate) fn beside(item: TokenStream, message: &str) -> TokenStream {
    let error = syn::Error::new(Span::call_site(), message).to_compile_error();
    quote!(#error #item)
}

/// Accepts the end of the arguments, after an optional comma.
pub(crate) fn end(input: ParseStream<'_>, message: impl Display) -> syn::Result<()> {
    let _: Option<Token![,]> = input.parse()?;
    if input.is_empty() {
        Ok(())
    } else {
        Err(input.error(message))
    }
}
