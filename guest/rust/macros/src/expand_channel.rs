//! From a channel that was read to Rust.

use proc_macro2::TokenStream;
use quote::{ToTokens as _, format_ident, quote, quote_spanned};
use syn::spanned::Spanned as _;
use syn::{LitStr, Type};

use crate::listener::{Event, Listener};
use crate::tokens::{number, without_self};

pub(crate) fn channel(ty: &Type, name: &LitStr, listeners: &[Listener]) -> TokenStream {
    let count = number(listeners.len());
    let events = listeners
        .iter()
        .enumerate()
        .flat_map(|(index, listener)| events(number(index), listener, name, ty));
    let is_async = listeners.iter().any(|listener| listener.is_async);
    let form = if is_async { quote!(Async) } else { quote!(Blocking) };
    let form = quote!(::pointwork_guest::form::#form);
    let arms = listeners.iter().enumerate().map(|(index, listener)| {
        let index = number(index);
        let body = call(listener, name, &form);
        quote!(#index => { #body })
    });
    let dispatch = quote! {
        match listener {
            #(#arms)*
            _ => ::core::result::Result::Err(::pointwork_guest::__private::unknown_listener()),
        }
    };
    let answer = quote!(::core::result::Result<::pointwork_guest::Payload, ::pointwork_guest::Failure>);
    let (deliver_async, blocking) = if is_async {
        (dispatch, TokenStream::new())
    } else {
        let delegate = quote! {
            <Self as ::pointwork_guest::BlockingChannel>::deliver(
                listener,
                ::pointwork_guest::__private::into_blocking_delivery(delivery),
                payload,
            )
        };
        let blocking = quote! {
            #[automatically_derived]
            impl ::pointwork_guest::BlockingChannel for #ty {
                fn deliver(
                    listener: u32,
                    delivery: ::pointwork_guest::Delivery,
                    payload: ::pointwork_guest::Payload,
                ) -> #answer {
                    #dispatch
                }
            }
        };
        (delegate, blocking)
    };
    let checks = listeners.iter().map(|listener| argument_checks(ty, listener, &form));
    let event_checks = event_checks(ty, name, listeners);
    quote! {
        #[automatically_derived]
        impl ::pointwork_guest::Channel for #ty {
            const NAME: &'static str = #name;
            const LISTENERS: u32 = #count;
            const EVENTS: &'static [::pointwork_guest::Listener] = &[#(#events),*];

            async fn deliver_async(
                listener: u32,
                delivery: ::pointwork_guest::AsyncDelivery,
                payload: ::pointwork_guest::Payload,
            ) -> #answer {
                #deliver_async
            }
        }

        #blocking

        #(#checks)*
        #event_checks
    }
}

fn events<'a>(
    index: u32,
    listener: &'a Listener,
    channel: &'a LitStr,
    ty: &'a Type,
) -> impl Iterator<Item = TokenStream> + 'a {
    let name = source_name(listener);
    listener.events.iter().map(move |event| {
        let event = without_self(event.own_name(channel), ty);
        quote!(::pointwork_guest::Listener { listener: #index, name: #name, event: #event })
    })
}

fn source_name(listener: &Listener) -> String {
    syn::ext::IdentExt::unraw(&listener.ident).to_string()
}

/// Reads the arguments, runs the listener and makes the answer.
fn call(listener: &Listener, channel: &LitStr, form: &TokenStream) -> TokenStream {
    let (mut reads, mut finishes, mut passed) = (TokenStream::new(), TokenStream::new(), Vec::new());
    for (index, argument) in listener.arguments.iter().enumerate() {
        let ty = &argument.ty;
        let (ready, value) = (format_ident!("ready_{index}"), format_ident!("argument_{index}"));
        let span = ty.span();
        let heard = quote_spanned!(span=> <#ty as ::pointwork_guest::__private::Heard<#form, _>>);
        let read = quote_spanned!(span=> #heard::read(&delivery, &mut payload, #channel));
        let finish = quote_spanned!(span=> #heard::finish(#ready, &mut holder));
        reads.extend(quote! {
            let #ready = match #read {
                ::core::result::Result::Ok(value) => value,
                ::core::result::Result::Err(failure) => return ::core::result::Result::Err(failure),
            };
        });
        finishes.extend(quote!(let #value = #finish;));
        passed.push(if argument.is_reference {
            quote_spanned!(ty.span()=> &#value)
        } else {
            quote_spanned!(ty.span()=> #value)
        });
    }
    let ident = &listener.ident;
    let wait = listener.is_async.then(|| quote!(.await));
    let answer = if listener.is_result {
        quote!(answer_result)
    } else {
        quote!(answer)
    };
    let checks = listener.events.iter().filter_map(|event| match event {
        Event::Type(path) => Some(event_types(path, listener)),
        Event::Name(_) => None,
    });
    let answer = quote_spanned!(listener.output=> ::pointwork_guest::__private::#answer(value));
    quote! {
        #[allow(unused_mut, unused_variables, reason = "a listener need not use all that it is given")]
        let mut payload = ::core::option::Option::Some(payload);
        #reads
        #[allow(unused_mut, unused_variables, reason = "a listener need not use all that it is given")]
        let mut holder = ::core::option::Option::Some(delivery);
        #finishes
        let value = Self::#ident(#(#passed),*)#wait;
        #(#checks)*
        #answer
    }
}

/// Compiles only if payload and result are those of the event map (spec H8).
fn event_types(event: &syn::TypePath, listener: &Listener) -> TokenStream {
    let payloads = listener.arguments.iter().map(|argument| {
        let ty = &argument.ty;
        quote_spanned!(ty.span()=> ::pointwork_guest::__private::check_payload::<#event, #ty, _>();)
    });
    let output = if listener.is_result {
        quote_spanned!(listener.output=> ::pointwork_guest::__private::check_result::<#event, _, _, _>(&value);)
    } else {
        quote_spanned!(listener.output=> ::pointwork_guest::__private::check_output::<#event, _, _>(&value);)
    };
    quote!(#(#payloads)* #output)
}

/// What tokens do not show and types do, as constants, which every build evaluates.
fn argument_checks(channel: &Type, listener: &Listener, form: &TokenStream) -> TokenStream {
    if listener.arguments.len() < 2 {
        return TokenStream::new();
    }
    let name = source_name(listener);
    let checks = [("Delivery", "delivery"), ("Context", "context"), ("Payload", "payload")].map(|(kind, shown)| {
        let kind = format_ident!("{kind}");
        let counted = listener.arguments.iter().map(|argument| {
            let ty = without_self(argument.ty.to_token_stream(), channel);
            let found =
                quote_spanned!(argument.ty.span()=> <#ty as ::pointwork_guest::__private::Heard<#form, _>>::KIND);
            quote!(+ ::core::matches!(#found, ::pointwork_guest::__private::HeardKind::#kind) as u8)
        });
        let message = format!("listener `{name}` takes the {shown} twice, expected one argument");
        quote_spanned! {listener.ident.span()=>
            const _: () = ::core::assert!(2u8 > 0 #(#counted)*, #message);
        }
    });
    checks.into_iter().collect()
}

/// Each event has a name that can be called, and comes once.
fn event_checks(ty: &Type, channel: &LitStr, listeners: &[Listener]) -> TokenStream {
    let all = listeners
        .iter()
        .flat_map(|listener| listener.events.iter().map(move |event| (listener, event)));
    let checks = all.enumerate().map(|(index, (listener, event))| {
        let shown = escaped(&event.shown());
        let own_name = without_self(event.own_name(channel), ty);
        let no_name = format!(
            "`{shown}` is no event name: expected parts that are not empty, joined by `:`, without whitespace, such as \
             `product:all`"
        );
        let twice = format!(
            "listener `{}` hears event `{shown}`, which has a listener in channel `{}` already, expected one",
            source_name(listener),
            escaped(&channel.value())
        );
        quote_spanned! {event.span()=>
            const _: () = ::core::assert!(::pointwork_guest::__private::is_own_name(#own_name), #no_name);
            const _: () = ::core::assert!(
                ::pointwork_guest::__private::is_first(<#ty as ::pointwork_guest::Channel>::EVENTS, #index),
                #twice
            );
        }
    });
    checks.collect()
}

/// Text that becomes part of a format string.
fn escaped(text: &str) -> String {
    text.replace('{', "{{").replace('}', "}}")
}
