//! One function of a channel's impl block.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens as _, quote, quote_spanned};
use syn::parse::ParseStream;
use syn::spanned::Spanned as _;
use syn::{Attribute, FnArg, ImplItemFn, LitStr, Meta, ReturnType, Token, Type, TypePath};

use crate::block;
use crate::errors::Errors;

const EXPECTED_EVENT: &str = "expected the event's name within the channel, `#[on(\"product:all\")]`, or its type, \
                              `#[on(ProductById)]`";

/// A function with at least one `#[on]`.
pub(crate) struct Listener {
    pub(crate) ident: syn::Ident,
    pub(crate) is_async: bool,
    pub(crate) arguments: Vec<Argument>,
    pub(crate) output: Span,
    /// Whether the return type is written as a `Result`.
    pub(crate) is_result: bool,
    pub(crate) events: Vec<Event>,
}

/// One argument, by value or by reference.
pub(crate) struct Argument {
    /// The type without the reference.
    pub(crate) ty: Type,
    pub(crate) is_reference: bool,
}

/// What one `#[on]` names.
pub(crate) enum Event {
    Name(LitStr),
    Type(TypePath),
}

impl Event {
    pub(crate) fn span(&self) -> Span {
        match self {
            Self::Name(name) => name.span(),
            Self::Type(path) => path.span(),
        }
    }

    /// As it is written.
    pub(crate) fn shown(&self) -> String {
        match self {
            Self::Name(name) => name.value(),
            Self::Type(path) => path.to_token_stream().to_string().replace(' ', ""),
        }
    }

    /// The event's own name, an expression of type `&'static str`.
    pub(crate) fn own_name(&self, channel: &LitStr) -> TokenStream {
        match self {
            Self::Name(name) => quote!(#name),
            Self::Type(path) => quote_spanned! {path.span()=>
                ::pointwork_guest::__private::own_name(#channel, <#path as ::pointwork_guest::Event>::NAME)
            },
        }
    }
}

pub(crate) fn is_on(attribute: &Attribute) -> bool {
    let path = attribute.path();
    let qualified = path
        .segments
        .first()
        .is_some_and(|first| first.ident == "pointwork_guest");
    (path.segments.len() == 1 || qualified) && path.segments.last().is_some_and(|last| last.ident == "on")
}

/// Takes `#[on]` off the function. `None` if it has none: then it is no listener.
pub(crate) fn read(function: &mut ImplItemFn, channel: Option<&LitStr>, errors: &mut Errors) -> Option<Listener> {
    let mut events = Vec::new();
    let mut found = false;
    function.attrs.retain(|attribute| {
        if !is_on(attribute) {
            return true;
        }
        found = true;
        if let Some(event) = errors.keep(event(attribute)) {
            check_prefix(&event, channel, errors);
            events.push(event);
        }
        false
    });
    if !found {
        return None;
    }
    block::check_signature(function, &block::CHANNEL, errors);
    let name = &function.sig.ident;
    let inputs = function.sig.inputs.iter();
    let arguments = inputs.filter_map(|input| match input {
        FnArg::Typed(typed) => Some(argument(&typed.ty, name, errors)),
        FnArg::Receiver(_) => None,
    });
    let arguments = arguments.collect();
    let (output, is_result) = match &function.sig.output {
        ReturnType::Default => (name.span(), false),
        ReturnType::Type(_, ty) => (ty.span(), is_result(ty)),
    };
    Some(Listener {
        ident: name.clone(),
        is_async: function.sig.asyncness.is_some(),
        arguments,
        output,
        is_result,
        events,
    })
}

fn event(attribute: &Attribute) -> syn::Result<Event> {
    let Meta::List(list) = &attribute.meta else {
        return Err(syn::Error::new(
            attribute.span(),
            format!("found no event, {EXPECTED_EVENT}"),
        ));
    };
    list.parse_args_with(|input: ParseStream<'_>| {
        let event = if input.peek(LitStr) {
            Event::Name(input.parse()?)
        } else {
            let path = input.parse::<TypePath>();
            Event::Type(
                path.map_err(|error| syn::Error::new(error.span(), format!("found no event, {EXPECTED_EVENT}")))?,
            )
        };
        let _: Option<Token![,]> = input.parse()?;
        if input.is_empty() {
            Ok(event)
        } else {
            Err(input.error(format!(
                "found more than one argument, {EXPECTED_EVENT}; a listener of several events has several `#[on]`"
            )))
        }
    })
}

/// A name that begins with the channel's is legal, and almost certainly not what was meant.
fn check_prefix(event: &Event, channel: Option<&LitStr>, errors: &mut Errors) {
    let (Event::Name(name), Some(channel)) = (event, channel) else {
        return;
    };
    let (text, channel) = (name.value(), channel.value());
    if let Some(own) = text.strip_prefix(&channel).and_then(|rest| rest.strip_prefix(':')) {
        errors.at(
            name,
            format_args!("`{text}` begins with the channel's name, expected the event's name within it: `{own}`"),
        );
    }
}

fn argument(ty: &Type, listener: &syn::Ident, errors: &mut Errors) -> Argument {
    let Type::Reference(reference) = ty else {
        return Argument {
            ty: ty.clone(),
            is_reference: false,
        };
    };
    let unsized_text = matches!(&*reference.elem, Type::Path(path) if path.path.is_ident("str"));
    if reference.mutability.is_some() || unsized_text || matches!(*reference.elem, Type::Slice(_)) {
        errors.at(
            ty,
            format_args!(
                "listener `{listener}` takes `{}`, expected an owned type such as `String` or `Vec<u8>`, or a shared \
                 reference to one",
                ty.to_token_stream().to_string().replace("& ", "&")
            ),
        );
    }
    Argument {
        ty: (*reference.elem).clone(),
        is_reference: true,
    }
}

fn is_result(ty: &Type) -> bool {
    matches!(ty, Type::Path(path) if path.path.segments.last().is_some_and(|last| last.ident == "Result"))
}
