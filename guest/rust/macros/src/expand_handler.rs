//! The code of a controller.

use proc_macro2::TokenStream;
use quote::{ToTokens as _, quote, quote_spanned};
use syn::spanned::Spanned as _;
use syn::{LitStr, Type};

use crate::block::Block;
use crate::expand::{
    Names, Read, call, check_constraints, check_kinds, dispatch, form, is_blocking, is_kind, number, ready_async,
    type_name, without_self,
};
use crate::handler::Handler;
use crate::mapping::Mapping;
use crate::signature::Signature;

pub(crate) fn controller(block: &Block, prefix: Option<&LitStr>, handlers: &[Handler]) -> TokenStream {
    let Block {
        ty,
        generics,
        metadata,
        place,
        ..
    } = block;
    let (parameters, _, bounds) = generics.split_for_impl();
    let name = type_name(ty);
    let prefix = prefix.map_or_else(|| "/".to_owned(), LitStr::value);
    let count = number(handlers.len());
    let (is_async, form) = form(handlers.iter().map(|handler| &handler.signature));
    let names = Names {
        argument: quote!(::pointwork_guest::__private::HandlerArgument),
        source: quote!(::core::option::Option::Some(context.into_form::<#form>())),
        lent: Some(quote!(source.as_ref())),
        last: None,
        fail: quote!(break 'handled (
            ::pointwork_guest::Outcome::Thrown(error),
            ::core::option::Option::Some(context.into_form::<#form>())
        )),
    };
    let routes = handlers
        .iter()
        .enumerate()
        .flat_map(|(index, handler)| routes(number(index), handler, &needed(ty, handler, &form, &names)));
    let unknown = quote!(::pointwork_guest::__private::unknown_handler());
    let served = |read| {
        let bodies = handlers.iter().map(|handler| body(ty, handler, read, &form, &names));
        dispatch(&quote!(handler), bodies, &unknown)
    };
    let (handle, handle_async) = if is_async {
        (unknown.clone(), served(Read::Async))
    } else {
        (served(Read::Blocking), served(Read::Either))
    };
    let blocking = if is_async {
        quote!(::core::option::Option::None)
    } else {
        blocking(ty, handlers, &form, &names)
    };
    let takes_context = takes_context(ty, handlers, &form, &names);
    let (guards, events_used) = all_needed(block, handlers, &form, &names);
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
            const BLOCKING: ::core::option::Option<(&'static str, &'static str)> = #blocking;
            const TAKES_CONTEXT: ::core::option::Option<&'static str> = #takes_context;
            const GUARDS: &'static [::pointwork_guest::__private::Needed] = #guards;
            type Form = #form;

            #[allow(unused_variables, reason = "a controller has one of the two forms")]
            fn handle(
                handler: u32,
                context: ::pointwork_guest::Context,
            ) -> (::pointwork_guest::Outcome, ::core::option::Option<::pointwork_guest::Context>) {
                #handle
            }

            async fn handle_async(
                handler: u32,
                context: ::pointwork_guest::AsyncContext,
            ) -> (::pointwork_guest::Outcome, ::core::option::Option<::pointwork_guest::AsyncContext>) {
                #handle_async
            }
        }

        #(#checks)*
    }
}

/// The guards, the arguments that may be guards, and the after-hooks of a handler, as constant expressions.
fn needed(ty: &Type, handler: &Handler, form: &TokenStream, names: &Names) -> Vec<TokenStream> {
    let guards = handler.guards.iter().map(|guard| {
        let guard = without_self(guard.to_token_stream(), ty);
        quote_spanned!(guard.span()=> ::core::option::Option::Some(&<#guard as ::pointwork_guest::Guard>::DECLARED))
    });
    let arguments = handler.signature.arguments.iter().map(|argument| {
        let argument = without_self(argument.ty.to_token_stream(), ty);
        names.item(argument, form, "GUARD", None)
    });
    let hooks = handler.hooks.iter().map(|hook| {
        let hook = without_self(hook.to_token_stream(), ty);
        quote_spanned!(hook.span()=> ::core::option::Option::Some(&<#hook as ::pointwork_guest::AfterHook>::DECLARED))
    });
    guards.chain(arguments).chain(hooks).collect()
}

/// The checks of all handlers, and the events of the block with the events of its guards.
fn all_needed(block: &Block, handlers: &[Handler], form: &TokenStream, names: &Names) -> (TokenStream, TokenStream) {
    let (ty, own) = (&block.ty, &block.events_used);
    let all: Vec<_> = handlers
        .iter()
        .flat_map(|handler| needed(ty, handler, form, names))
        .collect();
    if all.is_empty() {
        return (quote!(&[]), own.clone());
    }
    let events = quote! {{
        const OWN: &[::core::option::Option<&'static str>] = #own;
        const GUARDS: &[::pointwork_guest::__private::Needed] = <#ty as ::pointwork_guest::Controller>::GUARDS;
        const ALL: [::core::option::Option<&'static str>; ::pointwork_guest::__private::events_length(OWN, GUARDS)] =
            ::pointwork_guest::__private::events(OWN, GUARDS);
        &ALL
    }};
    (quote!(&[#(#all),*]), events)
}

/// The first handler with an argument of the synchronous form only, and the type of the argument.
fn blocking(ty: &Type, handlers: &[Handler], form: &TokenStream, names: &Names) -> TokenStream {
    let arguments = handlers.iter().flat_map(|handler| {
        handler
            .signature
            .arguments
            .iter()
            .map(move |argument| (handler, argument))
    });
    let none = quote!(::core::option::Option::None);
    let first = arguments.rev().fold(none.clone(), |rest, (handler, argument)| {
        let (name, shown) = (
            handler.signature.name(),
            argument.ty.to_token_stream().to_string().replace(' ', ""),
        );
        let argument = without_self(argument.ty.to_token_stream(), ty);
        let blocks = is_blocking(&argument, form, names);
        quote!(if #blocks { ::core::option::Option::Some((#name, #shown)) } else { #rest })
    });
    if first.to_string() == none.to_string() {
        return none;
    }
    quote! {{
        #[allow(unused_imports, reason = "an argument may have the asynchronous form")]
        use ::pointwork_guest::__private::NotAsync as _;
        #first
    }}
}

/// The first handler that takes the context by value.
fn takes_context(ty: &Type, handlers: &[Handler], form: &TokenStream, names: &Names) -> TokenStream {
    handlers
        .iter()
        .rev()
        .fold(quote!(::core::option::Option::None), |rest, handler| {
            let name = handler.signature.name();
            match is_context_taken(ty, handler, form, names) {
                Some(taken) => quote!(if #taken { ::core::option::Option::Some(#name) } else { #rest }),
                None => rest,
            }
        })
}

/// Whether a handler takes the context by value, as a constant expression; `None` if it takes nothing by value.
fn is_context_taken(ty: &Type, handler: &Handler, form: &TokenStream, names: &Names) -> Option<TokenStream> {
    let values = handler
        .signature
        .arguments
        .iter()
        .filter(|argument| !argument.is_reference);
    let values: Vec<_> = values
        .map(|argument| is_kind(ty, argument, form, names, "Context"))
        .collect();
    (!values.is_empty()).then(|| quote!((#(#values)||*)))
}

fn routes(index: u32, handler: &Handler, needed: &[TokenStream]) -> Vec<TokenStream> {
    let name = handler.signature.name();
    let metadata = handler.signature.metadata.with(needed);
    let routes = handler.mappings.iter().map(|mapping| {
        let Mapping {
            method, paths, body, ..
        } = mapping;
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
    });
    routes.collect()
}

fn body(ty: &Type, handler: &Handler, read: Read, form: &TokenStream, names: &Names) -> TokenStream {
    let private = quote!(::pointwork_guest::__private);
    let guards = handler.guards.iter().map(|guard| {
        let run = match read {
            Read::Blocking => quote_spanned!(guard.span()=> <#guard as ::pointwork_guest::Guard>::pass(&context)),
            Read::Async | Read::Either => quote_spanned! {guard.span()=>
                <#guard as ::pointwork_guest::Guard>::pass_async(&context).await
            },
        };
        let fail = &names.fail;
        quote!(if let ::core::result::Result::Err(error) = #run { #fail })
    });
    let call = call(&handler.signature, form, names, |argument| {
        let (ty, name) = (&argument.ty, &argument.name);
        let ready = |item: &str| names.item(ty, form, item, Some(quote!(&context, #name)));
        match read {
            Read::Blocking => ready("ready_now"),
            Read::Async => {
                let ready = ready("ready");
                quote_spanned!(ty.span()=> #ready.await)
            }
            Read::Either => ready_async(ty, name, form, names, &quote!(&context)),
        }
    });
    // The SDK writes a streamed reply with the context, unless the handler took it.
    // Every token has the span of the return type: a wrong header names its place.
    let span = handler.signature.output;
    let (outcome_now, outcome) = if handler.signature.returns_result {
        (
            quote_spanned!(span=> ::pointwork_guest::__private::result_now),
            quote_spanned!(span=> ::pointwork_guest::__private::result),
        )
    } else {
        (
            quote_spanned!(span=> ::pointwork_guest::IntoOutcome::outcome_now),
            quote_spanned!(span=> ::pointwork_guest::IntoOutcome::outcome),
        )
    };
    let outcome = match read {
        Read::Blocking => quote_spanned!(handler.signature.output=> #outcome_now(value, source.as_deref())),
        Read::Async | Read::Either => {
            quote_spanned!(handler.signature.output=> #outcome(value, source.as_deref()).await)
        }
    };
    let check = is_context_taken(ty, handler, form, names)
        .map(|taken| quote_spanned!(handler.signature.output=> #private::check_context::<_, { #taken }>(&value);));
    let hooks = handler.hooks.iter().map(|hook| {
        let run = match read {
            Read::Blocking => quote_spanned! {hook.span()=>
                <#hook as ::pointwork_guest::AfterHook>::run(source.as_ref(), outcome)
            },
            Read::Async | Read::Either => quote_spanned! {hook.span()=>
                <#hook as ::pointwork_guest::AfterHook>::run_async(source.as_ref(), outcome).await
            },
        };
        quote!(let outcome = #run;)
    });
    let source = match read {
        Read::Blocking | Read::Async => quote!(source),
        Read::Either => quote!(source.map(::pointwork_guest::Context::into_form::<::pointwork_guest::form::Async>)),
    };
    quote! {
        let (outcome, source) = 'handled: {
            #(#guards)*
            #call
            #check
            (#outcome, source)
        };
        #[allow(unused_variables, reason = "it is for hooks")]
        let source = #source;
        #(#hooks)*
        (outcome, source)
    }
}

/// Constants that fail to compile: mistakes that only types show.
fn checks(ty: &Type, handler: &Handler, form: &TokenStream, names: &Names) -> TokenStream {
    let Handler {
        signature,
        mappings,
        guards: _,
        hooks,
    } = handler;
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
    checks.extend(check_reply(ty, signature, form, names));
    if let Some(taken) = is_context_taken(ty, handler, form, names) {
        for hook in hooks {
            let message = format!(
                "handler `{}` takes the context by value, and an after-hook needs it afterwards; take the context by \
                 reference, or put `#[after(none)]` on the handler",
                signature.name()
            );
            let hook = without_self(hook.to_token_stream(), ty);
            checks.extend(quote_spanned! {signature.ident.span()=>
                const _: () = ::core::assert!(
                    !(#taken && <#hook as ::pointwork_guest::AfterHook>::TAKES_CONTEXT),
                    #message
                );
            });
        }
    }
    checks.extend(check_bodies(ty, handler, form, names));
    checks.extend(check_parameters(ty, handler, form, names));
    let takes_none = mappings.iter().any(|mapping| mapping.body == "none");
    for argument in &signature.arguments {
        let function = format!("handler `{}`", signature.name());
        checks.extend(check_constraints(ty, argument, "IS_UNCHECKED", &function));
        if takes_none {
            let is_body = is_kind(ty, argument, form, names, "Body");
            let message = format!(
                "{function} has `body = \"none\"` and takes the body, expected `body = \"whole\"` or no argument for it"
            );
            checks.extend(quote_spanned! {argument.ty.span()=>
                const _: () = ::core::assert!(!#is_body, #message);
            });
        }
    }
    checks
}

/// Constants that fail to compile if a path lacks the parameter that a handler takes, or all paths lack an optional one.
fn check_parameters(ty: &Type, handler: &Handler, form: &TokenStream, names: &Names) -> TokenStream {
    let mut checks = TokenStream::new();
    let name = handler.signature.name();
    for argument in &handler.signature.arguments {
        let parameter = &argument.name;
        let (with, without): (Vec<_>, Vec<_>) = handler
            .mappings
            .iter()
            .flat_map(|mapping| &mapping.paths)
            .map(|path| &path.pattern)
            .partition(|pattern| pattern.param_names().iter().any(|name| **name == **parameter));
        if with.is_empty() {
            let is_optional = is_kind(ty, argument, form, names, "OptionalParam");
            let message = format!(
                "handler `{name}` takes a path parameter `{parameter}`, but none of its paths has a `:{parameter}`; give the \
                 argument the name of a parameter"
            );
            checks.extend(quote_spanned! {argument.ty.span()=>
                const _: () = ::core::assert!(!#is_optional, #message);
            });
        }
        let is_parameter = is_kind(ty, argument, form, names, "PathParam");
        for path in without {
            let message = format!(
                "handler `{name}` takes a path parameter `{parameter}`, but its path `{path}` has no `:{parameter}`; give the \
                 argument the name of the parameter"
            );
            checks.extend(quote_spanned! {argument.ty.span()=>
                const _: () = ::core::assert!(!#is_parameter, #message);
            });
        }
    }
    checks
}

/// Constants that fail to compile if a handler takes the body where a path parameter is meant, or of a request that has none.
fn check_bodies(ty: &Type, handler: &Handler, form: &TokenStream, names: &Names) -> TokenStream {
    let Handler {
        signature, mappings, ..
    } = handler;
    let (name, mut checks) = (signature.name(), TokenStream::new());
    for argument in &signature.arguments {
        let parameter = &argument.name;
        let is_body = is_kind(ty, argument, form, names, "Body");
        let mut paths = mappings
            .iter()
            .flat_map(|mapping| &mapping.paths)
            .map(|path| &path.pattern);
        let same = paths.find(|path| path.param_names().iter().any(|name| **name == **parameter));
        let (is_wrong, message) = if let Some(path) = same {
            let message = format!(
                "handler `{name}` takes the body as `{parameter}`, and its path `{path}` has a parameter of that name; take \
                 `Path<…>`, or give the argument another name"
            );
            (quote!(true), message)
        } else {
            let undeclared = mappings.iter().filter(|mapping| !mapping.declares_body);
            let is_read =
                undeclared.map(|Mapping { method, .. }| quote!(::pointwork_guest::__private::is_read(#method)));
            let message = format!(
                "handler `{name}` takes the body as `{parameter}`, and requests with GET or HEAD have none; take `Path<…>` or \
                 `Query<…>`, or declare `body = \"whole\"`"
            );
            (quote!(false #(|| #is_read)*), message)
        };
        checks.extend(quote_spanned! {argument.ty.span()=>
            const _: () = ::core::assert!(!(#is_body && (#is_wrong)), #message);
        });
    }
    checks
}

/// A constant that fails to compile if a handler returns nothing and takes no context, through which it could reply. A type
/// that a constant cannot name is that of a reply.
fn check_reply(ty: &Type, signature: &Signature, form: &TokenStream, names: &Names) -> TokenStream {
    if signature.has_unnamed_output {
        return TokenStream::new();
    }
    let arguments = signature.arguments.iter();
    let is_context = arguments.map(|argument| is_kind(ty, argument, form, names, "Context"));
    let returned = without_self(signature.returned.clone(), ty);
    let message = format!(
        "handler `{}` returns nothing and takes no context, so that nobody replies; expected a reply such as \
         `HttpStatus::NO_CONTENT`, or `ctx: &Context`, through which it replies",
        signature.name()
    );
    quote_spanned! {signature.ident.span()=>
        const _: () = {
            #[allow(unused_imports, reason = "the type may be none of a reply")]
            use ::pointwork_guest::__private::NotReturned as _;
            ::core::assert!(
                !::pointwork_guest::__private::Returned::<#returned>::IS_NOTHING #(|| #is_context)*,
                #message
            );
        };
    }
}
