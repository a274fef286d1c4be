//! The code of a controller.

use proc_macro2::TokenStream;
use quote::{ToTokens as _, quote, quote_spanned};
use syn::spanned::Spanned as _;
use syn::{LitStr, Type};

use crate::block::Block;
use crate::expand::{Names, call, check_kinds, dispatch, first_with, form, is_kind, number};
use crate::handler::Handler;
use crate::mapping::Mapping;

pub(crate) fn controller(block: &Block, prefix: Option<&LitStr>, handlers: &[Handler]) -> TokenStream {
    let Block {
        ty,
        generics,
        metadata,
        place,
        events_used,
    } = block;
    let (parameters, _, bounds) = generics.split_for_impl();
    let name = type_name(ty);
    let prefix = prefix.map_or_else(|| "/".to_owned(), LitStr::value);
    let count = number(handlers.len());
    let routes = handlers
        .iter()
        .enumerate()
        .flat_map(|(index, handler)| routes(number(index), handler));
    let (is_async, form) = form(handlers.iter().map(|handler| &handler.signature));
    let names = Names {
        argument: quote!(::pointwork_guest::__private::HandlerArgument),
        source: quote!(context),
        error: quote!(::pointwork_guest::Outcome::Thrown),
    };
    let unknown = quote!(::pointwork_guest::__private::unknown_handler());
    let served = |is_awaited, names: &Names| {
        let bodies = handlers.iter().map(|handler| body(handler, is_awaited, &form, names));
        dispatch(&quote!(handler), bodies, &unknown)
    };
    let signatures = handlers.iter().map(|handler| &handler.signature);
    let (handle, handle_async, blocking) = if is_async {
        (
            unknown.clone(),
            served(true, &names),
            quote!(::core::option::Option::None),
        )
    } else {
        // The arguments are read in the form of the module; the functions need nothing of it.
        let converted = Names {
            source: quote!(context.into_blocking()),
            ..names.clone()
        };
        let blocking = first_with(ty, signatures, &form, &names, &["Context"]);
        (served(false, &names), served(true, &converted), blocking)
    };
    let checks = handlers.iter().map(|handler| checks(ty, handler, &form, &names));
    quote! {
        #[automatically_derived]
        impl #parameters ::pointwork_guest::Controller for #ty #bounds {
            const NAME: &'static str = #name;
            const PREFIX: &'static str = #prefix;
            const HANDLERS: u32 = #count;
            const ROUTES: &'static [::pointwork_guest::Route] = &[#(#routes),*];
            const METADATA: ::pointwork_guest::Metadata = #metadata;
            const EVENTS_USED: &'static [::core::option::Option<&'static str>] = #events_used;
            const PLACE: &'static str = #place;
            const BLOCKING: ::core::option::Option<&'static str> = #blocking;
            type Form = #form;

            #[allow(unused_variables, reason = "a controller has one of the two forms")]
            fn handle(handler: u32, context: ::pointwork_guest::Context) -> ::pointwork_guest::Outcome {
                #handle
            }

            async fn handle_async(handler: u32, context: ::pointwork_guest::AsyncContext) -> ::pointwork_guest::Outcome {
                #handle_async
            }
        }

        #(#checks)*
    }
}

/// The name of the block's type in the source.
fn type_name(ty: &Type) -> String {
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

fn routes(index: u32, handler: &Handler) -> impl Iterator<Item = TokenStream> {
    let name = handler.signature.name();
    let metadata = &handler.signature.metadata;
    handler.mappings.iter().map(move |mapping| {
        let Mapping { method, paths, body } = mapping;
        let literals = paths.iter().filter_map(|path| path.literal.as_ref());
        let patterns = paths.iter().map(|path| {
            let (full, canonical) = (path.pattern.as_str(), path.pattern.canonical());
            quote!((#full, #canonical))
        });
        quote! {
            ::pointwork_guest::Route {
                handler: #index,
                name: #name,
                method: #method,
                paths: &[#(#literals),*],
                patterns: &[#(#patterns),*],
                body: #body,
                metadata: #metadata,
            }
        }
    })
}

fn body(handler: &Handler, is_awaited: bool, form: &TokenStream, names: &Names) -> TokenStream {
    let call = call(&handler.signature, form, names, |argument| {
        let (ty, name, trait_) = (&argument.ty, &argument.name, &names.argument);
        if is_awaited {
            quote_spanned!(ty.span()=> <#ty as #trait_<#form, _>>::ready(&context, #name).await)
        } else {
            quote_spanned!(ty.span()=> <#ty as #trait_<#form, _>>::ready_blocking(&context, #name))
        }
    });
    let outcome = quote_spanned!(handler.signature.output=> ::pointwork_guest::IntoOutcome::into_outcome(value));
    quote!(#call #outcome)
}

/// Constants that fail to compile: mistakes that only types show.
fn checks(ty: &Type, handler: &Handler, form: &TokenStream, names: &Names) -> TokenStream {
    let Handler { signature, mappings } = handler;
    let mut checks = check_kinds(ty, "handler", signature, form, names, &["Body", "Context"]);
    if let Some(span) = signature.open_body
        && let Some(mapping) = mappings.iter().find(|mapping| mapping.body != "stream")
    {
        let (name, mode) = (signature.name(), mapping.body);
        let effect = if mode == "none" {
            "the call fails"
        } else {
            "it runs when the whole body is there"
        };
        let message = format!(
            "handler `{name}` calls `open_body` and has `body = \"{mode}\"`, so that {effect}; declare `body = \"stream\"` to \
             read the body as it arrives"
        );
        // The one way of a macro to warn.
        checks.extend(quote_spanned! {span=>
            const _: () = {
                #[deprecated(note = #message)]
                const OPENS_BODY: () = ();
                OPENS_BODY
            };
        });
    }
    let takes_none = mappings.iter().any(|mapping| mapping.body == "none");
    for argument in &signature.arguments {
        let parameter = &argument.name;
        if takes_none {
            let is_body = is_kind(ty, argument, form, names, "Body");
            let message = format!(
                "handler `{}` has `body = \"none\"` and takes the body, expected `body = \"whole\"` or no argument for it",
                signature.name()
            );
            checks.extend(quote_spanned! {argument.ty.span()=>
                const _: () = ::core::assert!(!#is_body, #message);
            });
        }
        let is_parameter = is_kind(ty, argument, form, names, "PathParam");
        let patterns = mappings
            .iter()
            .flat_map(|mapping| &mapping.paths)
            .map(|path| &path.pattern);
        for path in patterns.filter(|pattern| !pattern.param_names().iter().any(|name| **name == **parameter)) {
            let message = format!(
                "handler `{}` takes a path parameter `{parameter}`, but its path `{path}` has no `:{parameter}`; give the \
                 argument the name of the parameter",
                signature.name(),
            );
            checks.extend(quote_spanned! {argument.ty.span()=>
                const _: () = ::core::assert!(!#is_parameter, #message);
            });
        }
    }
    checks
}
