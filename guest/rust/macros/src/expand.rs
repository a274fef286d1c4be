//! From a controller that was read to Rust.

use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens as _, format_ident, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{LitStr, Type};

use crate::handler::Handler;
use crate::tokens::{number, without_self};

pub(crate) fn controller(ty: &Type, name: &str, prefix: Option<&LitStr>, handlers: &[Handler]) -> TokenStream {
    let prefix = prefix.map_or_else(|| "/".to_owned(), LitStr::value);
    let count = number(handlers.len());
    let routes = handlers
        .iter()
        .enumerate()
        .flat_map(|(index, handler)| routes(number(index), handler));
    let is_async = handlers.iter().any(|handler| handler.is_async);
    let form = if is_async { quote!(Async) } else { quote!(Blocking) };
    let form = quote!(::pointwork_guest::form::#form);
    let checks = handlers.iter().map(|handler| checks(ty, handler, &prefix, &form));
    let arms = handlers.iter().enumerate().map(|(index, handler)| {
        let index = number(index);
        let body = call(handler, is_async, &form);
        quote!(#index => { #body })
    });
    let dispatch = quote! {
        match handler {
            #(#arms)*
            _ => ::pointwork_guest::__private::unknown_handler(),
        }
    };
    let (handle_async, blocking) = if is_async {
        (dispatch, TokenStream::new())
    } else {
        let delegate = quote! {
            <Self as ::pointwork_guest::BlockingController>::handle(
                handler,
                ::pointwork_guest::__private::into_blocking(context),
            )
        };
        let blocking = quote! {
            #[automatically_derived]
            impl ::pointwork_guest::BlockingController for #ty {
                fn handle(handler: u32, context: ::pointwork_guest::Context) -> ::pointwork_guest::Outcome {
                    #dispatch
                }
            }
        };
        (delegate, blocking)
    };
    quote! {
        #[automatically_derived]
        impl ::pointwork_guest::Controller for #ty {
            const NAME: &'static str = #name;
            const PREFIX: &'static str = #prefix;
            const HANDLERS: u32 = #count;
            const ROUTES: &'static [::pointwork_guest::Route] = &[#(#routes),*];

            async fn handle_async(handler: u32, context: ::pointwork_guest::AsyncContext) -> ::pointwork_guest::Outcome {
                #handle_async
            }
        }

        #blocking

        #(#checks)*
    }
}

fn routes(index: u32, handler: &Handler) -> Vec<TokenStream> {
    let name = syn::ext::IdentExt::unraw(&handler.ident).to_string();
    let route = |mapping: &crate::mapping::Mapping| {
        let (method, paths) = (&mapping.method, &mapping.paths);
        quote! {
            ::pointwork_guest::Route { handler: #index, name: #name, method: #method, paths: &[#(#paths),*] }
        }
    };
    handler.mappings.iter().map(route).collect()
}

/// Reads the arguments, runs the handler and makes the outcome.
fn call(handler: &Handler, is_async: bool, form: &TokenStream) -> TokenStream {
    let mut reads = TokenStream::new();
    let mut passed = Vec::new();
    let mut borrows = false;
    for (index, argument) in handler.arguments.iter().enumerate() {
        let (ty, name) = (&argument.ty, &argument.name);
        if argument.is_reference() {
            borrows = true;
            passed.push(quote_spanned!(ty.span()=> &context));
            continue;
        }
        let ready = format_ident!("ready_{index}");
        let read = if is_async {
            quote_spanned!(ty.span()=> ::pointwork_guest::__private::ready::<#ty, _>(&context, #name).await)
        } else {
            quote_spanned!(ty.span()=> ::pointwork_guest::__private::ready_blocking::<#ty, _>(&context, #name))
        };
        reads.extend(quote! {
            let #ready = match #read {
                ::core::result::Result::Ok(value) => value,
                ::core::result::Result::Err(throw) => return ::pointwork_guest::Outcome::Throw(throw),
            };
        });
        passed.push(finish(ty, &ready, form));
    }
    let holder = if borrows {
        quote!(::core::option::Option::None)
    } else {
        quote!(::core::option::Option::Some(context))
    };
    let ident = &handler.ident;
    let wait = handler.is_async.then(|| quote!(.await));
    let outcome = quote_spanned!(handler.output=> ::pointwork_guest::IntoOutcome::into_outcome(value));
    quote! {
        #reads
        #[allow(unused_mut, unused_variables, reason = "a handler need not use all that it is given")]
        let mut holder: ::core::option::Option<::pointwork_guest::Context<#form>> = #holder;
        let value = Self::#ident(#(#passed),*)#wait;
        #outcome
    }
}

fn finish(ty: &Type, ready: &Ident, form: &TokenStream) -> TokenStream {
    quote_spanned! {ty.span()=>
        <#ty as ::pointwork_guest::__private::Argument<#form, _>>::finish(#ready, &mut holder)
    }
}

/// What tokens do not show and types do, as constants, which every build evaluates.
fn checks(controller: &Type, handler: &Handler, prefix: &str, form: &TokenStream) -> TokenStream {
    let name = syn::ext::IdentExt::unraw(&handler.ident).to_string();
    let mut checks = TokenStream::new();
    let (mut bodies, mut contexts) = (quote!(0), quote!(0));
    for argument in &handler.arguments {
        if argument.is_reference() {
            contexts.extend(quote!(+ 1));
            continue;
        }
        let span = argument.ty.span();
        // A constant is an item of its own and does not know the `Self` around it.
        let ty = without_self(argument.ty.to_token_stream(), controller);
        let kind = quote_spanned!(span=> <#ty as ::pointwork_guest::__private::Argument<#form, _>>::KIND);
        bodies.extend(quote!(+ ::core::matches!(#kind, ::pointwork_guest::__private::Kind::Body) as u8));
        contexts.extend(quote!(+ ::core::matches!(#kind, ::pointwork_guest::__private::Kind::Context) as u8));
        let parameter = &argument.name;
        for path in paths(handler) {
            let message = format!(
                "handler `{name}` takes a path parameter `{parameter}`, but its path `{}` has no `:{parameter}`; name the \
                 argument like the parameter",
                shown(prefix, &path)
            );
            checks.extend(quote_spanned! {span=>
                const _: () = ::core::assert!(
                    !::core::matches!(#kind, ::pointwork_guest::__private::Kind::PathParam)
                        || ::pointwork_guest::__private::has_param(#prefix, #path, #parameter),
                    #message
                );
            });
        }
    }
    if handler.arguments.len() < 2 {
        return checks;
    }
    let two_bodies = format!("handler `{name}` takes the body twice, expected one argument that is read from it");
    let two_contexts = format!("handler `{name}` takes the context twice, expected one argument");
    checks.extend(quote_spanned! {handler.ident.span()=>
        const _: () = ::core::assert!(2u8 > #bodies, #two_bodies);
        const _: () = ::core::assert!(2u8 > #contexts, #two_contexts);
    });
    checks
}

fn paths(handler: &Handler) -> Vec<String> {
    let of = |mapping: &crate::mapping::Mapping| match mapping.paths.is_empty() {
        true => vec![String::new()],
        false => mapping.paths.iter().map(LitStr::value).collect(),
    };
    handler.mappings.iter().flat_map(of).collect()
}

fn shown(prefix: &str, path: &str) -> String {
    let joined = [prefix, path].map(|part| part.trim_matches('/')).join("/");
    format!("/{}", joined.trim_matches('/'))
}
