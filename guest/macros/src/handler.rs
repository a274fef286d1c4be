//! One function of the impl block.

use proc_macro2::Span;
use syn::{FnArg, GenericParam, ImplItemFn, Pat, PatType, ReturnType, Safety, Type};

use crate::errors::Errors;
use crate::mapping::{self, Mapping};

/// A function with at least one handler attribute.
pub(crate) struct Handler {
    pub(crate) ident: syn::Ident,
    pub(crate) is_async: bool,
    pub(crate) arguments: Vec<Argument>,
    pub(crate) output: Span,
    pub(crate) mappings: Vec<Mapping>,
}

pub(crate) struct Argument {
    /// The name to look a path parameter up by; empty if the pattern has no single name.
    pub(crate) name: String,
    pub(crate) ty: Type,
}

impl Argument {
    /// By reference is how a handler borrows the context; everything else is taken by value.
    pub(crate) fn is_reference(&self) -> bool {
        matches!(self.ty, Type::Reference(_))
    }
}

/// Takes the handler attributes off the function. `None` if it has none: then it is no handler (spec D8).
pub(crate) fn read(function: &mut ImplItemFn, errors: &mut Errors) -> Option<Handler> {
    let mut mappings = Vec::new();
    let mut found = false;
    function.attrs.retain(|attribute| {
        let Some(name) = mapping::name(attribute) else {
            return true;
        };
        found = true;
        mappings.extend(mapping::read(attribute, &name, errors));
        false
    });
    if !found {
        return None;
    }
    check_signature(function, errors);
    let arguments = function.sig.inputs.iter().filter_map(|input| match input {
        FnArg::Typed(typed) => Some(argument(typed)),
        FnArg::Receiver(_) => None,
    });
    Some(Handler {
        ident: function.sig.ident.clone(),
        is_async: function.sig.asyncness.is_some(),
        arguments: arguments.collect(),
        output: match &function.sig.output {
            ReturnType::Default => function.sig.ident.span(),
            ReturnType::Type(_, ty) => syn::spanned::Spanned::span(&**ty),
        },
        mappings,
    })
}

fn check_signature(function: &ImplItemFn, errors: &mut Errors) {
    let sig = &function.sig;
    let name = &sig.ident;
    if let Some(receiver) = sig.receiver() {
        errors.at(
            receiver,
            format_args!(
                "handler `{name}` takes `self`, expected none: instances of a module come and go, so a controller holds \
                 no state; call a channel that does"
            ),
        );
    }
    for parameter in &sig.generics.params {
        if !matches!(parameter, GenericParam::Lifetime(_)) {
            errors.at(
                parameter,
                format_args!("handler `{name}` is generic, expected types that the host can call"),
            );
        }
    }
    for input in &sig.inputs {
        if let FnArg::Typed(PatType { ty, .. }) = input
            && matches!(**ty, Type::ImplTrait(_))
        {
            errors.at(
                ty,
                format_args!("handler `{name}` takes an `impl` type, expected a type that the host can call"),
            );
        }
    }
    if let Safety::Unsafe(token) = &sig.safety {
        errors.at(
            token,
            format_args!("handler `{name}` is `unsafe`, expected a safe function"),
        );
    }
    for attribute in function
        .attrs
        .iter()
        .filter(|attribute| attribute.path().is_ident("cfg"))
    {
        errors.at(
            attribute,
            format_args!("handler `{name}` has a `#[cfg]`, expected none: put it on a controller of its own"),
        );
    }
}

fn argument(typed: &PatType) -> Argument {
    Argument {
        name: pattern_name(&typed.pat).unwrap_or_default(),
        ty: (*typed.ty).clone(),
    }
}

/// `id`, `_id` and `Path(id)` are all the parameter `id`.
fn pattern_name(pattern: &Pat) -> Option<String> {
    match pattern {
        Pat::Ident(ident) => {
            let name = syn::ext::IdentExt::unraw(&ident.ident).to_string();
            Some(name.strip_prefix('_').map_or_else(|| name.clone(), str::to_owned))
        }
        Pat::TupleStruct(tuple) if tuple.elems.len() == 1 => pattern_name(&tuple.elems[0]),
        _ => None,
    }
}
