//! `#[controller]` itself.

use proc_macro2::TokenStream;
use quote::quote;
use syn::parse::{ParseStream, Parser as _};
use syn::{Attribute, ImplItem, ItemImpl, LitStr, Token};

use crate::errors::Errors;
use crate::{block, errors, expand, handler, mapping, path};

const EXPECTED_PREFIX: &str = "expected `#[controller]` or one prefix, `#[controller(\"products\")]`";

pub(crate) fn controller(arguments: TokenStream, item: TokenStream) -> TokenStream {
    let Ok(mut block) = syn::parse2::<ItemImpl>(item.clone()) else {
        return not_an_impl(item);
    };
    let mut errors = Errors::default();
    let prefix = errors.keep(prefix.parse2(arguments)).flatten();
    if let Some(prefix) = &prefix {
        path::check(prefix, &mut errors);
    }
    block::check(&block, &block::CONTROLLER, &mut errors);

    let mut handlers = Vec::new();
    for item in &mut block.items {
        match item {
            ImplItem::Fn(function) => handlers.extend(handler::read(function, &mut errors)),
            ImplItem::Const(item) => misplaced(&mut item.attrs, &mut errors),
            ImplItem::Type(item) => misplaced(&mut item.attrs, &mut errors),
            ImplItem::Macro(item) => misplaced(&mut item.attrs, &mut errors),
            _ => {}
        }
    }
    if handlers.is_empty() && errors.is_empty() {
        errors.at(
            &block.self_ty,
            "this controller has no handler, expected at least one function with an attribute such as `#[get]`",
        );
    }
    if !errors.is_empty() {
        let errors = errors.into_tokens();
        return quote!(#block #errors);
    }
    let controller = expand::controller(&block.self_ty, &block::name(&block.self_ty), prefix.as_ref(), &handlers);
    quote!(#block #controller)
}

fn prefix(input: ParseStream<'_>) -> syn::Result<Option<LitStr>> {
    if input.is_empty() {
        return Ok(None);
    }
    if !input.peek(LitStr) {
        return Err(input.error(format!("found no prefix, {EXPECTED_PREFIX}")));
    }
    let prefix = input.parse()?;
    let _: Option<Token![,]> = input.parse()?;
    if input.is_empty() {
        Ok(Some(prefix))
    } else {
        Err(input.error(format!("found more than that, {EXPECTED_PREFIX}")))
    }
}

fn not_an_impl(item: TokenStream) -> TokenStream {
    errors::beside(
        item,
        "`#[controller]` stands on an impl block, expected `#[controller(\"products\")] impl Products { … }`",
    )
}

/// Takes handler attributes off an item that cannot be a handler.
fn misplaced(attributes: &mut Vec<Attribute>, errors: &mut Errors) {
    attributes.retain(|attribute| {
        let Some(name) = mapping::name(attribute) else {
            return true;
        };
        errors.at(
            attribute,
            format_args!("`#[{name}]` stands on a function, expected `fn` after it"),
        );
        false
    });
}
