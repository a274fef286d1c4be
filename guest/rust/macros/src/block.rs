//! An impl block whose functions the host calls: a controller or a channel.

use proc_macro2::TokenStream;
use quote::quote;
use syn::parse::{ParseStream, Parser as _};
use syn::{Attribute, ImplItem, ItemImpl, LitStr, Type};

use crate::errors::{self, Errors};
use crate::events_used::events_used;
use crate::metadata::Metadata;
use crate::signature::{Signature, Terms};

/// A function that the host calls: a handler or a listener.
pub(crate) trait Function: Sized {
    const TERMS: Terms;

    /// Reads the argument of the block's attribute: the prefix of a controller, the name of a channel.
    fn block_argument(input: ParseStream<'_>) -> syn::Result<Option<LitStr>>;

    fn check_block_argument(argument: &LitStr, errors: &mut Errors);

    /// Reads the attributes of a function, of which there is at least one.
    fn read(signature: Signature, attributes: &[Attribute], argument: Option<&LitStr>, errors: &mut Errors) -> Self;

    /// Whether the SDK has an attribute of that name for functions of this block.
    fn is_attribute(name: &str) -> bool;

    /// The impls for the block's type.
    fn expand(block: &Block, argument: Option<&LitStr>, functions: &[Self]) -> TokenStream;
}

/// The parts of a block besides its functions that the generated code needs.
pub(crate) struct Block {
    pub(crate) ty: Type,
    pub(crate) metadata: Metadata,
    /// The events that its functions use, as an expression of type `&'static [Option<&'static str>]`.
    pub(crate) events_used: TokenStream,
}

/// Expands the attribute of a block. The attributes of its functions are removed; functions without one are left alone
/// (spec D8).
pub(crate) fn expand<F: Function>(arguments: TokenStream, item: TokenStream) -> TokenStream {
    let Terms {
        block: kind,
        block_example,
        function,
        function_example,
        ..
    } = F::TERMS;
    let Ok(mut block) = syn::parse2::<ItemImpl>(item.clone()) else {
        return errors::beside(
            item,
            &format!("`#[{kind}]` is not on an impl block, expected `{block_example}`"),
        );
    };
    let mut errors = Errors::default();
    let argument = errors.keep(F::block_argument.parse2(arguments)).flatten();
    if let Some(argument) = &argument {
        F::check_block_argument(argument, &mut errors);
    }
    check(&block, &F::TERMS, &mut errors);

    let mut functions = Vec::new();
    for item in &mut block.items {
        let taken = take::<F>(item);
        if let ImplItem::Fn(item) = item
            && !taken.is_empty()
        {
            let signature = Signature::read(item, &F::TERMS, &mut errors);
            functions.push(F::read(signature, &taken, argument.as_ref(), &mut errors));
        } else {
            for attribute in &taken {
                let name = name(attribute).unwrap_or_default();
                errors.at(
                    attribute,
                    format_args!("`#[{name}]` is not on a function, expected `fn` after it"),
                );
            }
        }
    }
    if functions.is_empty() && errors.is_empty() {
        let message = format!(
            "this {kind} has no {function}, expected at least one function with an attribute such as \
             `{function_example}`"
        );
        errors.at(&block.self_ty, message);
    }
    let expanded = if errors.is_empty() {
        let read = Block {
            ty: (*block.self_ty).clone(),
            metadata: Metadata::read(&block.attrs),
            events_used: events_used(&block),
        };
        F::expand(&read, argument.as_ref(), &functions)
    } else {
        errors.into_tokens()
    };
    quote!(#block #expanded)
}

fn check(block: &ItemImpl, terms: &Terms, errors: &mut Errors) {
    let Terms {
        block: kind, function, ..
    } = terms;
    if let Some((path, _)) = &block.trait_ {
        let message = format!(
            "`#[{kind}]` is on the impl of a trait, expected an inherent impl block: functions of a trait cannot be \
             {function}s"
        );
        errors.at(path, message);
    }
    if let Some(parameter) = block.generics.params.first() {
        errors.at(
            parameter,
            format_args!("this {kind} is generic, expected a concrete type"),
        );
    }
    if !matches!(*block.self_ty, Type::Path(_)) {
        errors.at(&block.self_ty, "expected a struct or an enum of this crate");
    }
}

/// Removes the SDK's attributes from an item.
fn take<F: Function>(item: &mut ImplItem) -> Vec<Attribute> {
    let attributes = match item {
        ImplItem::Fn(item) => &mut item.attrs,
        ImplItem::Const(item) => &mut item.attrs,
        ImplItem::Type(item) => &mut item.attrs,
        ImplItem::Macro(item) => &mut item.attrs,
        _ => return Vec::new(),
    };
    attributes
        .extract_if(.., |attribute| {
            name(attribute).is_some_and(|name| F::is_attribute(&name))
        })
        .collect()
}

/// The name of an attribute that may be one of the SDK: `get` for `#[get]` and `#[pointwork_guest::attributes::get]`.
pub(crate) fn name(attribute: &Attribute) -> Option<String> {
    let segments = &attribute.path().segments;
    let is_sdk = segments.len() == 1 || segments.first().is_some_and(|first| first.ident == "pointwork_guest");
    segments.last().filter(|_| is_sdk).map(|last| last.ident.to_string())
}
