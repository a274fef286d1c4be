//! The events that the functions of a block call, emit or hand over to.
//!
//! The macro sees tokens only: it takes the type of each `call::<…>`, `emit::<…>` and `hand_over::<…>`, and the compiler
//! decides whether that is an event. It leaves out types that exist inside the function only, and code under `#[cfg]`.

use std::collections::HashSet;

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use quote::quote;
use syn::{GenericParam, ImplItem, ItemImpl, Type};

use crate::expand::without_self;

const FUNCTIONS: &[&str] = &["call", "emit", "hand_over"];

/// An expression of type `&'static [Option<&'static str>]`.
pub(crate) fn events_used(block: &ItemImpl) -> TokenStream {
    let mut found = Vec::new();
    for item in &block.items {
        let ImplItem::Fn(function) = item else { continue };
        let mut own = Own::default();
        for parameter in &function.sig.generics.params {
            if let GenericParam::Type(parameter) = parameter {
                own.names.insert(parameter.ident.to_string());
            }
        }
        let body = &function.block;
        let tokens = quote!(#body);
        own.read(&tokens);
        scan(tokens, &mut |ty| {
            if !own.has(&ty) {
                found.push(without_self(ty, &block.self_ty));
            }
        });
    }
    if found.is_empty() {
        return quote!(&[]);
    }
    quote! {{
        #[allow(unused_imports, reason = "a type that is an event has a constant of its own")]
        use ::pointwork_guest::__private::NotAnEvent as _;
        #[allow(deprecated, reason = "the function that uses the event has the warning")]
        const EVENTS: &[::core::option::Option<&'static str>] =
            &[#(::pointwork_guest::__private::EventName::<#found>::NAME),*];
        EVENTS
    }}
}

/// The names that exist inside a function only.
#[derive(Default)]
struct Own {
    names: HashSet<String>,
    /// Whether a `use` brings names that the macro does not see.
    has_glob: bool,
}

impl Own {
    /// Reads items and generic parameters, at any depth.
    fn read(&mut self, tokens: &TokenStream) {
        let tokens: Vec<_> = tokens.clone().into_iter().collect();
        for (at, token) in tokens.iter().enumerate() {
            match token {
                TokenTree::Group(group) => {
                    let is_map = at >= 2 && is(&tokens[at - 1], '!') && is_ident(&tokens[at - 2], "events");
                    if is_map {
                        self.names.extend(idents(group.stream()));
                    }
                    self.read(&group.stream());
                }
                TokenTree::Ident(ident) => match ident.to_string().as_str() {
                    "struct" | "enum" | "type" | "trait" | "union" | "mod" => {
                        self.names.extend(tokens.get(at + 1).map(ToString::to_string));
                    }
                    "fn" | "impl" => self.take_until(&tokens[at + 1..], |token| matches!(token, TokenTree::Group(_))),
                    "use" => self.take_until(&tokens[at + 1..], |token| is(token, ';')),
                    _ => {}
                },
                _ => {}
            }
        }
    }

    fn take_until(&mut self, tokens: &[TokenTree], is_end: impl Fn(&TokenTree) -> bool) {
        let end = tokens.iter().position(is_end).unwrap_or(tokens.len());
        let taken: TokenStream = tokens[..end].iter().cloned().collect();
        self.has_glob |= has_glob(taken.clone());
        self.names.extend(idents(taken));
    }

    fn has(&self, ty: &TokenStream) -> bool {
        let mut tokens = ty.clone().into_iter().skip_while(|token| is(token, ':'));
        let is_global = is_first(ty, ':');
        let first = tokens.next().map(|token| token.to_string()).unwrap_or_default();
        let is_rooted = is_global || ["crate", "self", "super", "Self"].contains(&first.as_str());
        !is_rooted && (self.has_glob || self.names.contains(&first))
    }
}

fn is_first(tokens: &TokenStream, char: char) -> bool {
    tokens.clone().into_iter().next().is_some_and(|token| is(&token, char))
}

fn is(token: &TokenTree, char: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == char)
}

fn is_ident(token: &TokenTree, name: &str) -> bool {
    matches!(token, TokenTree::Ident(ident) if ident == name)
}

/// All identifiers, at any depth.
fn idents(tokens: TokenStream) -> Vec<String> {
    let of = |token| match token {
        TokenTree::Ident(ident) => vec![ident.to_string()],
        TokenTree::Group(group) => idents(group.stream()),
        _ => Vec::new(),
    };
    tokens.into_iter().flat_map(of).collect()
}

fn has_glob(tokens: TokenStream) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Group(group) => has_glob(group.stream()),
        token => is(&token, '*'),
    })
}

/// Passes the type of each use to `found`.
fn scan(tokens: TokenStream, found: &mut impl FnMut(TokenStream)) {
    let tokens: Vec<_> = tokens.into_iter().collect();
    let mut at = 0;
    while at < tokens.len() {
        if let Some(end) = configured(&tokens[at..]) {
            at += end;
            continue;
        }
        if let Some(ty) = used(&tokens[at..]) {
            found(ty);
        }
        if let TokenTree::Group(group) = &tokens[at] {
            scan(group.stream(), found);
        }
        at += 1;
    }
}

/// The type in `call::<…>`, if the tokens begin with that and the type is a path.
fn used(tokens: &[TokenTree]) -> Option<TokenStream> {
    let [TokenTree::Ident(name), one, other, open, rest @ ..] = tokens else {
        return None;
    };
    if !FUNCTIONS.iter().any(|function| name == function) || !is(one, ':') || !is(other, ':') || !is(open, '<') {
        return None;
    }
    let mut depth = 1;
    let end = rest.iter().position(|token| {
        depth += i32::from(is(token, '<')) - i32::from(is(token, '>'));
        depth == 0
    })?;
    let ty: TokenStream = rest[..end].iter().cloned().collect();
    match syn::parse2(ty.clone()) {
        Ok(Type::Path(_)) => Some(ty),
        _ => None,
    }
}

/// The number of tokens from `#[cfg(…)]` to the end of its statement or block.
fn configured(tokens: &[TokenTree]) -> Option<usize> {
    let [hash, TokenTree::Group(group), rest @ ..] = tokens else {
        return None;
    };
    let is_cfg = is(hash, '#')
        && group
            .stream()
            .into_iter()
            .next()
            .is_some_and(|first| is_ident(&first, "cfg"));
    if !is_cfg {
        return None;
    }
    let is_block =
        |token: &TokenTree| matches!(token, TokenTree::Group(group) if group.delimiter() == Delimiter::Brace);
    let end = rest
        .iter()
        .position(|token| is(token, ';') || is(token, ',') || is_block(token));
    Some(2 + end.map_or(rest.len(), |end| end + 1))
}

#[cfg(test)]
mod tests {
    use syn::{ItemImpl, parse_quote};

    use super::events_used;

    /// The types that the macro found, without spaces.
    fn found(block: &ItemImpl) -> Vec<String> {
        let text = events_used(block).to_string().replace(' ', "");
        let names = text.split("EventName::<").skip(1);
        names
            .map(|rest| rest.split(">::NAME").next().unwrap_or_default().to_owned())
            .collect()
    }

    #[test]
    fn every_use_is_found_at_any_depth() {
        let block = parse_quote! {
            impl Products {
                async fn show(ctx: AsyncContext) {
                    try_join!(ctx.call::<A>(1), ctx.call::<events::B>(2)).await;
                    if let Some(x) = ctx.emit::<crate::C>(3).call::<D<u8>>(()) { Context::call::<E>(&ctx, 4) }
                    ctx.hand_over::<Self::F>(5)
                }
                fn helper(ctx: &Context) { ctx.emit::<G>(6); }
            }
        };
        let all = ["A", "events::B", "crate::C", "D<u8>", "E", "Products::F", "G"];
        assert_eq!(found(&block), all);
    }

    #[test]
    fn names_of_the_function_are_left_out() {
        let block = parse_quote! {
            impl Products {
                fn generic<A: Event>(ctx: &Context) { ctx.emit::<A>(1); }
                fn own(ctx: &Context) {
                    events! { pub B = "b:b": (); }
                    struct C;
                    use other::{D, e as E};
                    fn inner<F: Event>(ctx: &Context) { ctx.emit::<F>(1); }
                    ctx.emit::<B>(()).emit::<C>(()).emit::<D>(()).emit::<E>(()).emit::<crate::Seen>(());
                }
                fn glob(ctx: &Context) {
                    use other::*;
                    ctx.emit::<H>(()).emit::<super::Seen>(());
                }
                fn other(ctx: &Context) { ctx.emit::<&str>(()); let call = 1; ctx.emit(2); }
            }
        };
        assert_eq!(found(&block), ["crate::Seen", "super::Seen"]);
    }

    #[test]
    fn conditional_code_is_left_out() {
        let block = parse_quote! {
            impl Products {
                fn show(ctx: &Context) {
                    #[cfg(feature = "audit")]
                    ctx.emit::<A>(1);
                    #[cfg(feature = "audit")]
                    { ctx.emit::<B>(1); }
                    ctx.emit::<C>(1);
                }
            }
        };
        assert_eq!(found(&block), ["C"]);
    }
}
