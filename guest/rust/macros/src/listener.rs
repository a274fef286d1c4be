//! `#[channel]` and its listeners.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens as _, quote, quote_spanned};
use syn::parse::ParseStream;
use syn::spanned::Spanned as _;
use syn::{Attribute, LitStr, Meta, TypePath};

use crate::block::{Block, BlockArguments, Function};
use crate::errors::{self, Errors};
use crate::expand_listener;
use crate::signature::{Signature, Terms};

/// A function with at least one `#[on]`.
pub(crate) struct Listener {
    pub(crate) signature: Signature,
    pub(crate) events: Vec<Event>,
}

impl Function for Listener {
    const TERMS: Terms = Terms {
        block: "channel",
        block_example: "#[channel(\"db\")] impl Db { … }",
        function: "listener",
        function_example: "#[on(\"product:all\")]",
        state: "keep it in a file, a database or the host application",
        may_have_form: false,
    };

    fn block_arguments(input: ParseStream<'_>) -> syn::Result<BlockArguments> {
        const EXPECTED: &str = "expected the name of the channel, `#[channel(\"db\")]`";
        if !input.peek(LitStr) {
            return Err(syn::Error::new(input.span(), format_args!("found no name, {EXPECTED}")));
        }
        let name = input.parse()?;
        errors::end(input, format_args!("found more than one argument, {EXPECTED}"))?;
        Ok(BlockArguments {
            text: Some(name),
            ..BlockArguments::default()
        })
    }

    /// The host checks the name as well, since not every module is written with this macro.
    fn check_block_argument(name: &LitStr, errors: &mut Errors) {
        let text = name.value();
        let is_invalid = |char: char| char == ':' || char.is_whitespace() || char.is_control();
        let problem = match text.chars().find(|&char| is_invalid(char)) {
            None if text.is_empty() => "it is empty".to_owned(),
            None => return,
            Some(':') => "found `:`, which separates the channel from the event".to_owned(),
            Some(found) => format!("found {found:?}"),
        };
        let message = format!("`{text}` is not a valid channel name: {problem}; expected a word such as `db`");
        errors.at(name, message);
    }

    fn read(signature: Signature, attributes: &[Attribute], of: &BlockArguments, errors: &mut Errors) -> Self {
        let mut events = Vec::new();
        for attribute in attributes {
            if let Some(event) = errors.keep(event(attribute)) {
                check_prefix(&event, of.text.as_ref(), errors);
                events.push(event);
            }
        }
        Self { signature, events }
    }

    fn is_attribute(name: &str) -> bool {
        name == "on"
    }

    /// Event types have a name only for the compiler: constants compare them.
    fn check(_: &[Self], _: &mut Errors) {}

    fn expand(block: &Block, arguments: &BlockArguments, listeners: &[Self]) -> TokenStream {
        let unnamed = LitStr::new("", Span::call_site());
        expand_listener::channel(block, arguments.text.as_ref().unwrap_or(&unnamed), listeners)
    }
}

/// The event of one `#[on]`.
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

    /// The event as written.
    pub(crate) fn shown(&self) -> String {
        match self {
            Self::Name(name) => name.value(),
            Self::Type(path) => path.to_token_stream().to_string().replace(' ', ""),
        }
    }

    /// The event's name within the channel, as an expression of type `&'static str`.
    pub(crate) fn own_name(&self, channel: &LitStr) -> TokenStream {
        match self {
            Self::Name(name) => quote!(#name),
            Self::Type(path) => quote_spanned! {path.span()=>
                ::pointwork_guest::__private::own_name(#channel, <#path as ::pointwork_guest::Event>::NAME)
            },
        }
    }
}

fn event(attribute: &Attribute) -> syn::Result<Event> {
    const EXPECTED: &str =
        "expected the event's name within the channel, `#[on(\"product:all\")]`, or its type, `#[on(ProductById)]`";
    let no_event = |span| syn::Error::new(span, format_args!("found no event, {EXPECTED}"));
    let Meta::List(list) = &attribute.meta else {
        return Err(no_event(attribute.span()));
    };
    list.parse_args_with(|input: ParseStream<'_>| {
        let event = if input.peek(LitStr) {
            Event::Name(input.parse()?)
        } else {
            Event::Type(input.parse().map_err(|error: syn::Error| no_event(error.span()))?)
        };
        let message = "found more than one argument";
        errors::end(
            input,
            format_args!("{message}, {EXPECTED}; write one `#[on]` for each event"),
        )?;
        Ok(event)
    })
}

/// A name that begins with the channel's is valid, but almost certainly a mistake.
fn check_prefix(event: &Event, channel: Option<&LitStr>, errors: &mut Errors) {
    let (Event::Name(name), Some(channel)) = (event, channel) else {
        return;
    };
    let (text, channel) = (name.value(), channel.value());
    if let Some(own) = text.strip_prefix(&channel).and_then(|rest| rest.strip_prefix(':')) {
        let message = format!("`{text}` begins with the channel's name, expected the event's name within it: `{own}`");
        errors.at(name, message);
    }
}
