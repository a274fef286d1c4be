use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote};

/// Collects errors, so that an author sees all of them at once.
#[derive(Default)]
pub(crate) struct Errors(Vec<syn::Error>);

impl Errors {
    /// Notes an error at the tokens of `at`.
    pub(crate) fn at(&mut self, at: &impl ToTokens, message: impl std::fmt::Display) {
        self.0.push(syn::Error::new_spanned(at, message));
    }

    /// Keeps the value, or notes the error.
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

/// The item as it is, and an error at the attribute that led here.
pub(crate) fn beside(item: TokenStream, message: &str) -> TokenStream {
    let error = syn::Error::new(Span::call_site(), message).to_compile_error();
    quote!(#error #item)
}
