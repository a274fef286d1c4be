//! The code that handlers and listeners have in common.

use proc_macro2::{Group, Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::Type;
use syn::spanned::Spanned as _;

use crate::signature::{Argument, Signature, argument_of};

/// The names of the SDK's items for one kind of function.
#[derive(Clone)]
pub(crate) struct Names {
    /// The trait of an argument.
    pub(crate) argument: TokenStream,
    /// The value that moves into the function if it takes it by value, as an `Option`.
    pub(crate) source: TokenStream,
    /// What an argument by reference borrows, as an `Option`; `None` where such an argument is made like one by value.
    pub(crate) lent: Option<TokenStream>,
    /// The last argument, which is not read.
    pub(crate) last: Option<TokenStream>,
    /// Ends the function with the `error` of an argument.
    pub(crate) fail: TokenStream,
}

impl Names {
    /// An item of the argument's trait, with the arguments of a call.
    ///
    /// The compiler gives an expression the span from its first token to its last one: here that of the type. It reports
    /// errors of the same span once.
    pub(crate) fn item(
        &self,
        ty: impl ToTokens,
        form: &TokenStream,
        item: &str,
        arguments: Option<TokenStream>,
    ) -> TokenStream {
        let mut tokens = ty.to_token_stream().into_iter().map(|token| token.span());
        let first = tokens.next().unwrap_or_else(Span::call_site);
        let last = tokens.last().unwrap_or(first);
        let (trait_, item) = (&self.argument, Ident::new(item, last));
        let arguments = arguments.map(|arguments| quote_spanned!(last=> (#arguments)));
        let item = quote_spanned!(first=> <#ty as #trait_<#form, _>>::#item);
        quote!(#item #arguments)
    }
}

/// How the arguments of a handler or guard are read, and its guards and hooks run.
#[derive(Clone, Copy)]
pub(crate) enum Read {
    /// In a synchronous module.
    Blocking,
    /// In an asynchronous module.
    Async,
    /// In an asynchronous module, for a function of the synchronous form.
    Either,
}

/// The form of a block: asynchronous if one of its functions is, or takes a context of that form.
pub(crate) fn form<'a>(mut signatures: impl Iterator<Item = &'a Signature>) -> (bool, TokenStream) {
    let is_async = signatures.any(|signature| signature.is_async || signature.takes_async);
    let form = if is_async { quote!(Async) } else { quote!(Blocking) };
    (is_async, quote!(::pointwork_guest::form::#form))
}

/// The match over the numbers of a block's functions.
pub(crate) fn dispatch(
    number_of: &TokenStream,
    bodies: impl Iterator<Item = TokenStream>,
    unknown: &TokenStream,
) -> TokenStream {
    let arms = bodies.enumerate().map(|(index, body)| {
        let index = number(index);
        quote!(#index => { #body })
    });
    quote! {
        match #number_of {
            #(#arms)*
            _ => #unknown,
        }
    }
}

/// Reads the arguments, then calls the function: statements that leave its return value in `value`. `read` makes the
/// expression that reads one argument.
pub(crate) fn call(
    signature: &Signature,
    form: &TokenStream,
    names: &Names,
    read: impl Fn(&Argument) -> TokenStream,
) -> TokenStream {
    let generics = signature.form_parameter.as_ref().map(|_| quote!(::<#form>));
    let Names {
        source,
        lent,
        last,
        fail,
        ..
    } = names;
    let (mut reads, mut finishes, mut lends, mut passed) =
        (TokenStream::new(), TokenStream::new(), TokenStream::new(), Vec::new());
    for (index, argument) in signature.arguments.iter().enumerate() {
        let (ty, read) = (&argument.ty, read(argument));
        let (ready, value) = (format_ident!("ready_{index}"), format_ident!("argument_{index}"));
        reads.extend(quote! {
            let #ready = match #read {
                ::core::result::Result::Ok(ready) => ready,
                ::core::result::Result::Err(error) => #fail,
            };
        });
        if let Some(lent) = lent.as_ref().filter(|_| argument.is_reference) {
            let lend = names.item(ty, form, "lend", Some(quote!(&#ready, #lent)));
            lends.extend(quote!(let #value = #lend;));
            passed.push(quote_spanned!(ty.span()=> #value));
            continue;
        }
        let finish = names.item(ty, form, "finish", Some(quote!(#ready, &mut source)));
        finishes.extend(quote!(let #value = #finish;));
        let reference = argument.is_reference.then(|| quote!(&));
        passed.push(quote_spanned!(ty.span()=> #reference #value));
    }
    passed.extend(last.clone());
    let ident = &signature.ident;
    let value = quote!(Self::#ident #generics(#(#passed),*));
    let value = if signature.is_async { wait(ident, &value) } else { value };
    quote! {
        #reads
        #[allow(unused_mut, unused_variables, reason = "a function need not take every argument")]
        let mut source = #source;
        #finishes
        #lends
        #[allow(deprecated, reason = "a deprecated function is still served")]
        let value = #value;
    }
}

/// Waits for a future. A function of its own polls it, which keeps the function's name in the binary: the body of an
/// `async fn` would be inlined here.
fn wait(ident: &Ident, future: &TokenStream) -> TokenStream {
    quote! {{
        #[cfg_attr(target_arch = "wasm32", inline(never))]
        fn #ident<F: ::core::future::Future>(
            future: ::core::pin::Pin<&mut F>,
            context: &mut ::core::task::Context<'_>,
        ) -> ::core::task::Poll<F::Output> {
            future.poll(context)
        }
        let mut future = ::core::pin::pin!(#future);
        ::core::future::poll_fn(|context| #ident(future.as_mut(), context)).await
    }}
}

/// Constants that fail to compile if a function takes two arguments of one of these kinds. Only types show that.
pub(crate) fn check_kinds(
    block: &Type,
    function: &str,
    signature: &Signature,
    form: &TokenStream,
    names: &Names,
    kinds: &[&str],
) -> TokenStream {
    if signature.arguments.len() < 2 {
        return TokenStream::new();
    }
    let checks = kinds.iter().map(|kind| {
        let counted = signature
            .arguments
            .iter()
            .map(|argument| is_kind(block, argument, form, names, kind));
        let message = format!(
            "{function} `{}` takes the {} twice, expected one argument for it",
            signature.name(),
            kind.to_lowercase()
        );
        quote_spanned! {signature.ident.span()=>
            const _: () = ::core::assert!(2u8 > #((#counted) as u8)+*, #message);
        }
    });
    checks.collect()
}

/// Whether an argument is of this kind, as a constant expression.
pub(crate) fn is_kind(block: &Type, argument: &Argument, form: &TokenStream, names: &Names, kind: &str) -> TokenStream {
    let kind = format_ident!("{kind}");
    let found = names.item(without_self(argument.ty.to_token_stream(), block), form, "KIND", None);
    quote!(::core::matches!(#found, ::pointwork_guest::__private::ArgumentKind::#kind))
}

/// A constant that fails to compile if the type of an argument has constraints that nothing checks. `constant` is the one of
/// `Taken` for this kind of function, and `function` names the function.
pub(crate) fn check_constraints(block: &Type, argument: &Argument, constant: &str, function: &str) -> TokenStream {
    let Argument { ty, .. } = argument;
    let constant = format_ident!("{constant}");
    let message = format!(
        "{function} takes `{}`, whose constraints of `garde` nothing checks; expected `{}`, or `garde::Unvalidated<…>` within it to \
         check the value later",
        shown(ty),
        validated(ty)
    );
    let taken = without_self(ty.to_token_stream(), block);
    quote_spanned! {ty.span()=>
        const _: () = {
            #[allow(unused_imports, reason = "the type may have constraints")]
            use ::pointwork_guest::__private::Unconstrained as _;
            ::core::assert!(!::pointwork_guest::__private::Taken::<#taken>::#constant, #message);
        };
    }
}

/// The type with `Valid` around what is validated.
fn validated(ty: &Type) -> String {
    for (outer, end) in [("Option", ">"), ("Result", ", Failure>")] {
        if let Some(inner) = argument_of(ty, outer) {
            return format!("{outer}<Valid<{}>{end}", shown(inner));
        }
    }
    format!("Valid<{}>", shown(ty))
}

fn shown(ty: &Type) -> String {
    ty.to_token_stream().to_string().replace(' ', "")
}

/// Reads an argument of a handler or guard of form `form` in an asynchronous module.
pub(crate) fn ready_async(
    ty: &Type,
    name: &str,
    form: &TokenStream,
    names: &Names,
    context: &TokenStream,
) -> TokenStream {
    let ready = names.item(ty, form, "ready_async", Some(quote!(form, #context, #name)));
    quote_spanned! {ty.span()=> {
        #[allow(unused_imports, reason = "an argument may have the asynchronous form")]
        use ::pointwork_guest::__private::NotAsync as _;
        let form = ::pointwork_guest::__private::FormOf::<#ty>::FORM;
        #ready.await
    }}
}

/// Whether an argument of a function without `async` has the synchronous form only, as a constant expression, where
/// `NotAsync` is imported.
pub(crate) fn is_blocking(ty: &TokenStream, form: &TokenStream, names: &Names) -> TokenStream {
    let has_form = names.item(ty, form, "HAS_FORM", None);
    quote!((#has_form && ::pointwork_guest::__private::FormOf::<#ty>::IS_BLOCKING))
}

/// The name of the first function that takes an argument of one of these kinds, as a constant expression.
pub(crate) fn first_with<'a>(
    block: &Type,
    signatures: impl DoubleEndedIterator<Item = &'a Signature>,
    form: &TokenStream,
    names: &Names,
    kinds: &[&str],
) -> TokenStream {
    signatures
        .rev()
        .fold(quote!(::core::option::Option::None), |rest, signature| {
            let arguments = signature.arguments.iter();
            let mut found =
                arguments.flat_map(|argument| kinds.iter().map(|kind| is_kind(block, argument, form, names, kind)));
            let Some(first) = found.next() else { return rest };
            let name = signature.name();
            quote! {
                if #first #(|| #found)* { ::core::option::Option::Some(#name) } else { #rest }
            }
        })
}

/// The number of a handler or a listener.
pub(crate) fn number(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}

/// Replaces `Self` by the block's type: a constant is an item of its own, in which `Self` is not defined.
pub(crate) fn without_self(tokens: TokenStream, block: &Type) -> TokenStream {
    replaced(tokens, "Self", &block.to_token_stream())
}

/// Replaces an identifier at any depth.
pub(crate) fn replaced(tokens: TokenStream, name: &str, by: &TokenStream) -> TokenStream {
    let replace = |token| match token {
        TokenTree::Ident(ident) if ident == name => by.clone(),
        TokenTree::Group(group) => {
            let mut inner = Group::new(group.delimiter(), replaced(group.stream(), name, by));
            inner.set_span(group.span());
            TokenTree::Group(inner).into()
        }
        other => other.into(),
    };
    tokens.into_iter().flat_map(replace).collect()
}

/// The name of a block's type in the source.
pub(crate) fn type_name(ty: &Type) -> String {
    match ty {
        Type::Path(path) => path
            .path
            .segments
            .last()
            .map(|last| last.ident.to_string())
            .unwrap_or_default(),
        other => other.to_token_stream().to_string(),
    }
}
