//! The signature of a handler or listener.

use proc_macro2::{Span, TokenStream, TokenTree};
use quote::{ToTokens as _, quote};
use syn::ext::IdentExt as _;
use syn::spanned::Spanned as _;
use syn::{
    FnArg, GenericArgument, GenericParam, Ident, ImplItemFn, Pat, PatType, PathArguments, ReturnType, Safety, Type,
};

use crate::errors::Errors;
use crate::metadata::Metadata;

/// The terms for a block and its functions in error messages.
pub(crate) struct Terms {
    /// `controller` or `channel`, which is also the name of the attribute.
    pub(crate) block: &'static str,
    /// A complete block.
    pub(crate) block_example: &'static str,
    /// `handler` or `listener`.
    pub(crate) function: &'static str,
    /// An attribute of a function.
    pub(crate) function_example: &'static str,
    /// Where to keep state instead.
    pub(crate) state: &'static str,
    /// Whether the function may have the type parameter `F: ModuleForm`.
    pub(crate) may_have_form: bool,
}

/// The parts of a handler's or listener's signature that the generated code needs.
#[derive(Clone)]
pub(crate) struct Signature {
    pub(crate) ident: Ident,
    pub(crate) is_async: bool,
    /// Whether it takes a context or a delivery of the asynchronous form, by its name.
    pub(crate) takes_async: bool,
    pub(crate) arguments: Vec<Argument>,
    /// The return type, or the name of the function if there is none.
    pub(crate) output: Span,
    /// Whether the return type is written as a `Result`.
    pub(crate) returns_result: bool,
    /// The return type.
    pub(crate) returned: TokenStream,
    /// Whether the return type has a part that is not named, or a lifetime of the function.
    pub(crate) has_unnamed_output: bool,
    pub(crate) metadata: Metadata,
    /// Where the function names `open_body`.
    pub(crate) open_body: Option<Span>,
    /// The type parameter for the form, of a guard or hook for both forms.
    pub(crate) form_parameter: Option<Ident>,
}

/// One argument, by value or by shared reference.
#[derive(Clone)]
pub(crate) struct Argument {
    /// The name of the argument, which is also the name of its path parameter. Empty if the pattern has no single name.
    pub(crate) name: String,
    /// The type without the reference.
    pub(crate) ty: Type,
    pub(crate) is_reference: bool,
}

impl Signature {
    /// Reads a signature, and adds an error for each part that the host could not call.
    pub(crate) fn read(function: &ImplItemFn, terms: &Terms, errors: &mut Errors) -> Self {
        let signature = &function.sig;
        let name = format!("{} `{}`", terms.function, signature.ident);
        check(function, &name, terms, errors);
        let (output, returns_result) = match &signature.output {
            ReturnType::Default => (signature.ident.span(), false),
            ReturnType::Type(_, ty) => (ty.span(), is_result(ty)),
        };
        let inputs = signature.inputs.iter().filter_map(|input| match input {
            FnArg::Typed(typed) => Some(argument(typed, &name, terms, errors)),
            FnArg::Receiver(_) => None,
        });
        Self {
            ident: signature.ident.clone(),
            is_async: signature.asyncness.is_some(),
            takes_async: ["AsyncContext", "AsyncDelivery"]
                .iter()
                .any(|name| find(signature.inputs.to_token_stream(), name).is_some()),
            arguments: inputs.collect(),
            output,
            returns_result,
            returned: match &signature.output {
                ReturnType::Default => quote!(()),
                ReturnType::Type(_, ty) => ty.to_token_stream(),
            },
            has_unnamed_output: match &signature.output {
                ReturnType::Default => false,
                ReturnType::Type(_, ty) => has_unnamed(ty.to_token_stream()),
            },
            metadata: Metadata::read(&function.attrs),
            open_body: find(function.block.to_token_stream(), "open_body"),
            form_parameter: form_parameter(function, terms),
        }
    }

    /// The name of the function in the source.
    pub(crate) fn name(&self) -> String {
        self.ident.unraw().to_string()
    }
}

/// The first parameter, if it is `F: ModuleForm` of a function that may be for both forms.
fn form_parameter(function: &ImplItemFn, terms: &Terms) -> Option<Ident> {
    match function.sig.generics.params.first()? {
        GenericParam::Type(parameter) if terms.may_have_form => {
            let is_form = find(parameter.bounds.to_token_stream(), "ModuleForm").is_some();
            is_form.then(|| parameter.ident.clone())
        }
        _ => None,
    }
}

/// Whether a type has `impl …`, or a lifetime other than `'static`.
fn has_unnamed(ty: TokenStream) -> bool {
    let mut is_lifetime = false;
    ty.into_iter().any(|token| match token {
        TokenTree::Ident(ident) if std::mem::take(&mut is_lifetime) => ident != "static",
        TokenTree::Ident(ident) => ident == "impl",
        TokenTree::Punct(punct) => {
            is_lifetime = punct.as_char() == '\'';
            false
        }
        TokenTree::Group(group) => has_unnamed(group.stream()),
        TokenTree::Literal(_) => false,
    })
}

/// The first identifier of that name, at any depth.
pub(crate) fn find(tokens: TokenStream, name: &str) -> Option<Span> {
    tokens.into_iter().find_map(|token| match token {
        TokenTree::Ident(ident) => (ident == name).then(|| ident.span()),
        TokenTree::Group(group) => find(group.stream(), name),
        _ => None,
    })
}

fn check(function: &ImplItemFn, name: &str, terms: &Terms, errors: &mut Errors) {
    let signature = &function.sig;
    if let Some(receiver) = signature.receiver() {
        let Terms { block, state, .. } = terms;
        let message = format!(
            "{name} takes `self`, expected no `self`: a {block} has no state, since instances of a module are replaced at \
             any time; {state}"
        );
        errors.at(receiver, message);
    }
    for parameter in signature
        .generics
        .params
        .iter()
        .skip(usize::from(form_parameter(function, terms).is_some()))
    {
        if !matches!(parameter, GenericParam::Lifetime(_)) {
            errors.at(parameter, format_args!("{name} is generic, expected concrete types"));
        }
    }
    if let Safety::Unsafe(token) = &signature.safety {
        errors.at(token, format_args!("{name} is `unsafe`, expected a safe function"));
    }
    for attribute in function
        .attrs
        .iter()
        .filter(|attribute| attribute.path().is_ident("cfg"))
    {
        let message = format!(
            "{name} has a `#[cfg]`, expected none: move the function to a {} of its own and put the `#[cfg]` on that",
            terms.block
        );
        errors.at(attribute, message);
    }
}

fn argument(typed: &PatType, function: &str, terms: &Terms, errors: &mut Errors) -> Argument {
    let (ty, is_reference) = match &*typed.ty {
        Type::Reference(reference) => (&*reference.elem, true),
        ty => (ty, false),
    };
    let is_str = matches!(ty, Type::Path(path) if path.path.is_ident("str"));
    let is_mutable = matches!(&*typed.ty, Type::Reference(reference) if reference.mutability.is_some());
    if is_mutable || is_str || matches!(ty, Type::Slice(_)) {
        let shown = typed.ty.to_token_stream().to_string().replace("& ", "&");
        let message = format!(
            "{function} takes `{shown}`, expected an owned type such as `String` or `Vec<u8>`, or a shared \
             reference to one"
        );
        errors.at(&typed.ty, message);
    }
    if matches!(ty, Type::ImplTrait(_)) {
        errors.at(
            ty,
            format_args!("{function} takes an `impl` type, expected a concrete type"),
        );
    }
    if argument_of(ty, "Option").is_some_and(|inner| is_named(inner, "Guarded")) {
        let shown = ty.to_token_stream().to_string().replace(' ', "");
        let message = format!(
            "{function} takes `{shown}`, and a guard that refuses a request gives an error; expected `Result<Guarded<…>, \
             Failure>`, with the error for the {terms}",
            terms = terms.function
        );
        errors.at(ty, message);
    }
    Argument {
        name: pattern_name(&typed.pat).unwrap_or_default(),
        ty: ty.clone(),
        is_reference,
    }
}

/// `id`, `_id` and `Path(id)` are all the parameter `id`.
fn pattern_name(pattern: &Pat) -> Option<String> {
    match pattern {
        Pat::Ident(ident) => {
            let name = ident.ident.unraw().to_string();
            Some(name.strip_prefix('_').unwrap_or(&name).to_owned())
        }
        Pat::TupleStruct(tuple) if tuple.elems.len() == 1 => pattern_name(&tuple.elems[0]),
        _ => None,
    }
}

fn is_result(ty: &Type) -> bool {
    is_named(ty, "Result")
}

fn is_named(ty: &Type, name: &str) -> bool {
    matches!(ty, Type::Path(path) if path.path.segments.last().is_some_and(|last| last.ident == name))
}

/// The first argument of a generic type of that name.
pub(crate) fn argument_of<'a>(ty: &'a Type, name: &str) -> Option<&'a Type> {
    let Type::Path(path) = ty else { return None };
    let last = path.path.segments.last()?;
    match &last.arguments {
        PathArguments::AngleBracketed(arguments) if last.ident == name => match arguments.args.first()? {
            GenericArgument::Type(ty) => Some(ty),
            _ => None,
        },
        _ => None,
    }
}
