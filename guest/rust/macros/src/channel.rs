//! `#[channel]` itself.

use proc_macro2::{Span, TokenStream};
use quote::quote;
use syn::parse::{ParseStream, Parser as _};
use syn::{Attribute, ImplItem, ItemImpl, LitStr, Token};

use crate::errors::Errors;
use crate::{block, errors, expand_channel, listener};

const EXPECTED_NAME: &str = "expected the channel's name, `#[channel(\"db\")]`";

pub(crate) fn channel(arguments: TokenStream, item: TokenStream) -> TokenStream {
    let Ok(mut block) = syn::parse2::<ItemImpl>(item.clone()) else {
        return errors::beside(
            item,
            "`#[channel]` stands on an impl block, expected `#[channel(\"db\")] impl Db { … }`",
        );
    };
    let mut errors = Errors::default();
    let name = errors.keep(name.parse2(arguments));
    if let Some(name) = &name {
        check_name(name, &mut errors);
    }
    block::check(&block, &block::CHANNEL, &mut errors);

    let mut listeners = Vec::new();
    for item in &mut block.items {
        match item {
            ImplItem::Fn(function) => listeners.extend(listener::read(function, name.as_ref(), &mut errors)),
            ImplItem::Const(item) => misplaced(&mut item.attrs, &mut errors),
            ImplItem::Type(item) => misplaced(&mut item.attrs, &mut errors),
            ImplItem::Macro(item) => misplaced(&mut item.attrs, &mut errors),
            _ => {}
        }
    }
    if listeners.is_empty() && errors.is_empty() {
        errors.at(
            &block.self_ty,
            "this channel has no listener, expected at least one function with an attribute such as `#[on(\"product:all\")]`",
        );
    }
    let expanded = match name {
        Some(name) if errors.is_empty() => expand_channel::channel(&block.self_ty, &name, &listeners),
        _ => errors.into_tokens(),
    };
    quote!(#block #expanded)
}

fn name(input: ParseStream<'_>) -> syn::Result<LitStr> {
    if input.is_empty() {
        return Err(syn::Error::new(
            Span::call_site(),
            format!("found no name, {EXPECTED_NAME}"),
        ));
    }
    if !input.peek(LitStr) {
        return Err(input.error(format!("found no name, {EXPECTED_NAME}")));
    }
    let name = input.parse()?;
    let _: Option<Token![,]> = input.parse()?;
    if input.is_empty() {
        Ok(name)
    } else {
        Err(input.error(format!("found more than that, {EXPECTED_NAME}")))
    }
}

/// The host checks again: a module need not be written with this macro.
fn check_name(name: &LitStr, errors: &mut Errors) {
    let text = name.value();
    let wrong = |char: char| char == ':' || char.is_whitespace() || char.is_control();
    let problem = match text.chars().find(|&char| wrong(char)) {
        None if text.is_empty() => "it is empty".to_owned(),
        None => return,
        Some(':') => "found `:`, which parts the channel from the event".to_owned(),
        Some(found) => format!("found {found:?}"),
    };
    errors.at(
        name,
        format_args!("`{text}` is no channel name: {problem}; expected a word such as `db`"),
    );
}

/// Takes `#[on]` off an item that cannot be a listener.
fn misplaced(attributes: &mut Vec<Attribute>, errors: &mut Errors) {
    attributes.retain(|attribute| {
        let is_on = listener::is_on(attribute);
        if is_on {
            errors.at(attribute, "`#[on]` stands on a function, expected `fn` after it");
        }
        !is_on
    });
}
