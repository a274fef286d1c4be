//! An impl block whose functions the host calls: a controller or a channel.

use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens as _, quote};
use syn::parse::{ParseStream, Parser as _};
use syn::{Attribute, Generics, ImplItem, ImplItemFn, Item, ItemImpl, LitStr, Meta, TraitItem, Type, parse_quote};

use crate::errors::{self, Errors};
use crate::events_used::events_used;
use crate::metadata::Metadata;
use crate::signature::{Signature, Terms};

/// The arguments of a block's attribute.
#[derive(Default)]
pub(crate) struct BlockArguments {
    /// The prefix of a controller, the name of a channel.
    pub(crate) text: Option<LitStr>,
    /// The guards of a controller.
    pub(crate) guards: Vec<Type>,
    /// The after-hooks of a controller.
    pub(crate) hooks: Vec<Type>,
}

/// A function that the host calls: a handler or a listener.
pub(crate) trait Function: Sized {
    const TERMS: Terms;

    /// Reads the arguments of the block's attribute.
    fn block_arguments(input: ParseStream<'_>) -> syn::Result<BlockArguments>;

    fn check_block_argument(argument: &LitStr, errors: &mut Errors);

    /// Reads the attributes of a function, of which there is at least one.
    fn read(signature: Signature, attributes: &[Attribute], of: &BlockArguments, errors: &mut Errors) -> Self;

    /// Whether the SDK has an attribute of that name for functions of this block.
    fn is_attribute(name: &str) -> bool;

    /// Checks the functions together.
    fn check(functions: &[Self], errors: &mut Errors);

    /// The impls for the block's type.
    fn expand(block: &Block, arguments: &BlockArguments, functions: &[Self]) -> TokenStream;
}

/// The parts of a block besides its functions that the generated code needs.
pub(crate) struct Block {
    pub(crate) ty: Type,
    pub(crate) generics: Generics,
    pub(crate) metadata: Metadata,
    /// Its path in the source, as an expression of type `&'static str`.
    pub(crate) place: TokenStream,
    /// The events that its functions use, as an expression of type `&'static [Option<&'static str>]`.
    pub(crate) events_used: TokenStream,
}

/// Expands the attribute of a block. The attributes of its functions are removed; functions without one are left alone.
pub(crate) fn expand<F: Function>(arguments: TokenStream, item: TokenStream) -> TokenStream {
    let Terms {
        block: kind,
        function,
        function_example,
        ..
    } = F::TERMS;
    let mut block = match syn::parse2(item.clone()) {
        Ok(Item::Impl(block)) => block,
        Ok(other) => return not_a_block::<F>(other),
        // The compiler has the better words for code that is no Rust.
        Err(_) => return item,
    };
    let mut errors = Errors::default();
    let arguments = errors.keep(F::block_arguments.parse2(arguments)).unwrap_or_default();
    if let Some(text) = &arguments.text {
        F::check_block_argument(text, &mut errors);
    }
    check(&block, &F::TERMS, &mut errors);

    let mut functions = Vec::new();
    for item in &mut block.items {
        let taken = take::<F>(item, &mut errors);
        if let ImplItem::Fn(item) = item
            && !taken.is_empty()
        {
            let signature = Signature::read(item, &F::TERMS, &mut errors);
            keep_name(item);
            functions.push(F::read(signature, &taken, &arguments, &mut errors));
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
    F::check(&functions, &mut errors);
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
            generics: block.generics.clone(),
            metadata: Metadata::read(&block.attrs),
            place: place(kind, &block.self_ty),
            events_used: events_used(&block),
        };
        let declared = declared(&read, &block.attrs);
        let expanded = F::expand(&read, &arguments, &functions);
        quote!(#declared #expanded)
    } else {
        let (errors, stub) = (errors.into_tokens(), stub::<F>(&block.self_ty, &block.generics));
        quote!(#errors #stub)
    };
    quote!(#block #expanded)
}

/// An error at the attribute of another item, which keeps the compiler from further ones.
fn not_a_block<F: Function>(mut item: Item) -> TokenStream {
    let Terms {
        block, block_example, ..
    } = F::TERMS;
    let mut stub = TokenStream::new();
    match &mut item {
        Item::Struct(item) => stub = stub_of::<F>(&item.ident, &item.generics),
        Item::Enum(item) => stub = stub_of::<F>(&item.ident, &item.generics),
        Item::Trait(item) => {
            for item in &mut item.items {
                if let TraitItem::Fn(function) = item {
                    take_from::<F>(&mut function.attrs);
                }
            }
        }
        _ => {}
    }
    let message = format!("`#[{block}]` is not on an impl block, expected `{block_example}`");
    let error = errors::beside(item.to_token_stream(), &message);
    quote!(#error #stub)
}

fn stub_of<F: Function>(name: &Ident, generics: &Generics) -> TokenStream {
    let (_, arguments, _) = generics.split_for_impl();
    stub::<F>(&parse_quote!(#name #arguments), generics)
}

/// Impls without a function, beside an error: the type is still a controller or channel, so that `module!` reports no
/// second error.
fn stub<F: Function>(ty: &Type, generics: &Generics) -> TokenStream {
    let block = Block {
        ty: ty.clone(),
        generics: generics.clone(),
        metadata: Metadata::read(&[]),
        place: quote!(""),
        events_used: quote!(&[]),
    };
    F::expand(&block, &BlockArguments::default(), &[])
}

/// Keeps the function's name in the binary, for the backtrace of a crash and the warnings of `pointwork build`: it would be
/// inlined, since it has one caller.
pub(crate) fn keep_name(function: &mut ImplItemFn) {
    if !function
        .attrs
        .iter()
        .any(|attribute| attribute.path().is_ident("inline"))
    {
        function
            .attrs
            .push(parse_quote!(#[cfg_attr(target_arch = "wasm32", inline(never))]));
    }
}

fn place(kind: &str, ty: &Type) -> TokenStream {
    let kind = format!("{kind} `");
    let name = format!("::{}` at ", ty.to_token_stream().to_string().replace(' ', ""));
    quote! {
        ::core::concat!(#kind, ::core::module_path!(), #name, ::core::file!(), ":", ::core::line!())
    }
}

/// A line in a section of the binary. `pointwork build` compares the lines with those of `module!`, and warns of a block
/// that is in no list. `allow(dead_code)` on the block prevents it.
fn declared(block: &Block, attributes: &[Attribute]) -> TokenStream {
    let allows = |attribute: &Attribute| match &attribute.meta {
        Meta::List(list) if list.path.is_ident("allow") || list.path.is_ident("expect") => {
            list.tokens.to_string().contains("dead_code")
        }
        _ => false,
    };
    if attributes.iter().any(allows) {
        return TokenStream::new();
    }
    let place = &block.place;
    quote! {
        #[cfg(target_arch = "wasm32")]
        const _: () = {
            const LINE: &[&str] = &[#place, "\n"];
            #[allow(dead_code, reason = "the section is read, not the static")]
            #[unsafe(link_section = "pointwork:declared")]
            static DECLARED: [u8; ::pointwork_guest::__private::length(LINE)] =
                ::pointwork_guest::__private::joined(LINE);
        };
    }
}

pub(crate) fn check(block: &ItemImpl, terms: &Terms, errors: &mut Errors) {
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
fn take<F: Function>(item: &mut ImplItem, errors: &mut Errors) -> Vec<Attribute> {
    let attributes = match item {
        ImplItem::Fn(item) => &mut item.attrs,
        ImplItem::Const(item) => &mut item.attrs,
        ImplItem::Type(item) => &mut item.attrs,
        ImplItem::Macro(item) => &mut item.attrs,
        _ => return Vec::new(),
    };
    for attribute in attributes.extract_if(.., |attribute| {
        name(attribute).is_some_and(|name| is_upper_case::<F>(&name))
    }) {
        let (name, function) = (name(&attribute).unwrap_or_default(), F::TERMS.function);
        let lower = name.to_ascii_lowercase();
        errors.at(
            &attribute,
            format_args!("`#[{name}]` is not an attribute of a {function}, expected `#[{lower}]`"),
        );
    }
    take_from::<F>(attributes)
}

/// `#[GET]` and `#[Get]` are those of other frameworks.
fn is_upper_case<F: Function>(name: &str) -> bool {
    !F::is_attribute(name) && F::is_attribute(&name.to_ascii_lowercase())
}

fn take_from<F: Function>(attributes: &mut Vec<Attribute>) -> Vec<Attribute> {
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
