//! The code of a channel.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::spanned::Spanned as _;
use syn::{LitStr, Type, TypePath};

use crate::block::Block;
use crate::expand::{Names, call, check_constraints, check_kinds, dispatch, first_with, form, number, without_self};
use crate::listener::{Event, Listener};
use crate::signature::Signature;

pub(crate) fn channel(block: &Block, name: &LitStr, listeners: &[Listener]) -> TokenStream {
    let Block {
        ty,
        generics,
        metadata,
        place,
        events_used,
    } = block;
    let (parameters, _, bounds) = generics.split_for_impl();
    let count = number(listeners.len());
    let events = listeners
        .iter()
        .enumerate()
        .flat_map(|(index, listener)| events(number(index), listener, name, ty));
    let (is_async, form) = form(listeners.iter().map(|listener| &listener.signature));
    let names = Names {
        argument: quote!(::pointwork_guest::__private::ListenerArgument),
        source: quote!(::core::option::Option::Some(delivery)),
        lent: None,
        last: None,
        fail: quote!(return ::core::result::Result::Err(error)),
    };
    let unknown = quote!(::core::result::Result::Err(
        ::pointwork_guest::__private::unknown_listener()
    ));
    let dispatch = dispatch(
        &quote!(listener),
        listeners.iter().map(|listener| body(listener, name, &form, &names)),
        &unknown,
    );
    let result = quote!(::core::result::Result<::pointwork_guest::Payload, ::pointwork_guest::Failure>);
    let signatures = listeners.iter().map(|listener| &listener.signature);
    let (deliver, deliver_async, blocking) = if is_async {
        (unknown, dispatch, quote!(::core::option::Option::None))
    } else {
        let to_blocking = quote! {
            <Self as ::pointwork_guest::Channel>::deliver(listener, delivery.into_blocking(), payload)
        };
        let blocking = first_with(ty, signatures, &form, &names, &["Delivery", "Context"]);
        (dispatch, to_blocking, blocking)
    };
    let kinds = ["Delivery", "Context", "Payload"];
    let checks = listeners.iter().map(|Listener { signature, .. }| {
        let kinds = check_kinds(ty, "listener", signature, &form, &names, &kinds);
        let function = format!("listener `{}`", signature.name());
        let constraints = signature.arguments.iter();
        let constraints =
            constraints.map(|argument| check_constraints(ty, argument, "IS_UNCHECKED_PAYLOAD", &function));
        quote!(#kinds #(#constraints)*)
    });
    let event_checks = event_checks(ty, name, listeners);
    quote! {
        #[automatically_derived]
        impl #parameters ::pointwork_guest::Channel for #ty #bounds {
            const NAME: &'static str = #name;
            const LISTENERS: u32 = #count;
            const EVENTS: &'static [::pointwork_guest::Listener] = &[#(#events),*];
            const METADATA: ::pointwork_guest::Metadata = #metadata;
            const EVENTS_USED: &'static [::core::option::Option<&'static str>] = #events_used;
            const PLACE: &'static str = #place;
            const BLOCKING: ::core::option::Option<&'static str> = #blocking;
            type Form = #form;

            #[allow(unused_variables, reason = "a channel has one of the two forms")]
            fn deliver(
                listener: u32,
                delivery: ::pointwork_guest::Delivery,
                payload: ::pointwork_guest::Payload,
            ) -> #result {
                #deliver
            }

            async fn deliver_async(
                listener: u32,
                delivery: ::pointwork_guest::AsyncDelivery,
                payload: ::pointwork_guest::Payload,
            ) -> #result {
                #deliver_async
            }
        }

        #(#checks)*
        #event_checks
    }
}

fn events(index: u32, listener: &Listener, channel: &LitStr, ty: &Type) -> impl Iterator<Item = TokenStream> {
    let name = listener.signature.name();
    let metadata = &listener.signature.metadata;
    listener.events.iter().map(move |event| {
        let event = without_self(event.own_name(channel), ty);
        quote! {
            ::pointwork_guest::Listener { listener: #index, name: #name, event: #event, metadata: #metadata }
        }
    })
}

fn body(listener: &Listener, channel: &LitStr, form: &TokenStream, names: &Names) -> TokenStream {
    let Listener { signature, events } = listener;
    let call = call(signature, form, names, |argument| {
        names.item(
            &argument.ty,
            form,
            "read",
            Some(quote!(&delivery, &mut payload, #channel)),
        )
    });
    let checks = events.iter().filter_map(|event| match event {
        Event::Type(path) => Some(check_types(path, signature)),
        Event::Name(_) => None,
    });
    let result = if signature.returns_result {
        quote!(answer_result)
    } else {
        quote!(answer)
    };
    let result = quote_spanned!(signature.output=> ::pointwork_guest::__private::#result(value));
    quote! {
        #[allow(unused_mut, unused_variables, reason = "a listener need not take the payload")]
        let mut payload = ::core::option::Option::Some(payload);
        #call
        #(#checks)*
        #result
    }
}

/// Compiles only if payload and result have the types of the event map.
fn check_types(event: &TypePath, signature: &Signature) -> TokenStream {
    let payloads = signature.arguments.iter().map(|argument| {
        let ty = &argument.ty;
        quote_spanned!(ty.span()=> ::pointwork_guest::__private::check_payload::<#event, #ty, _>();)
    });
    let output = if signature.returns_result {
        quote_spanned!(signature.output=> ::pointwork_guest::__private::check_result::<#event, _, _, _>(&value);)
    } else {
        quote_spanned!(signature.output=> ::pointwork_guest::__private::check_output::<#event, _, _>(&value);)
    };
    quote!(#(#payloads)* #output)
}

/// Constants that fail to compile if an event has an invalid name or two listeners.
fn event_checks(ty: &Type, channel: &LitStr, listeners: &[Listener]) -> TokenStream {
    let all = listeners
        .iter()
        .flat_map(|listener| listener.events.iter().map(move |event| (listener, event)));
    let checks = all.enumerate().map(|(index, (listener, event))| {
        let shown = escaped(&event.shown());
        let own_name = without_self(event.own_name(channel), ty);
        let invalid = format!(
            "`{shown}` is not a valid event name: expected words joined by `:`, without whitespace, such as \
             `product:all`"
        );
        let twice = format!(
            "listener `{}` listens to `{shown}`, which already has a listener in channel `{}`, expected one listener",
            listener.signature.name(),
            escaped(&channel.value())
        );
        quote_spanned! {event.span()=>
            const _: () = ::core::assert!(::pointwork_guest::__private::is_own_name(#own_name), #invalid);
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
