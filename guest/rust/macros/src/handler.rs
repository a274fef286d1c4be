//! One function of the impl block.

use proc_macro2::Span;
use syn::{FnArg, ImplItemFn, Pat, PatType, ReturnType, Type};

use crate::block;
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
    block::check_signature(function, &block::CONTROLLER, errors);
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
