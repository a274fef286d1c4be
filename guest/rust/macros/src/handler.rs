//! `#[controller]` and its handlers.

use pointwork_patterns::Pattern;
use proc_macro2::TokenStream;
use syn::parse::ParseStream;
use syn::punctuated::Punctuated;
use syn::{Attribute, Ident, LitStr, Meta, Token, Type, bracketed};

use crate::block::{self, Block, BlockArguments, Function};
use crate::duplicates;
use crate::errors::{self, Errors};
use crate::expand_handler;
use crate::mapping::{self, Mapping};
use crate::path;
use crate::signature::{Signature, Terms};

/// A function with at least one attribute for a method.
pub(crate) struct Handler {
    pub(crate) signature: Signature,
    pub(crate) mappings: Vec<Mapping>,
    /// The guards in the order in which they run: those of the block, and its own.
    pub(crate) guards: Vec<Type>,
    /// The after-hooks in the order in which they run: its own, and those of the block.
    pub(crate) hooks: Vec<Type>,
}

impl Function for Handler {
    const TERMS: Terms = Terms {
        block: "controller",
        block_example: "#[controller(\"products\")] impl Products { … }",
        function: "handler",
        function_example: "#[get]",
        state: "call a channel that keeps it",
        may_have_form: false,
    };

    fn block_arguments(input: ParseStream<'_>) -> syn::Result<BlockArguments> {
        const EXPECTED: &str = "expected `#[controller]` or one prefix, `#[controller(\"products\")]`, each with or without \
                                `guard = SignedIn` and `after = NoStore` at the end";
        let mut read = BlockArguments::default();
        if input.peek(LitStr) {
            read.text = Some(input.parse()?);
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        while input.peek(Ident) && input.peek2(Token![=]) {
            let key: Ident = input.parse()?;
            input.parse::<Token![=]>()?;
            let list = match key.to_string().as_str() {
                "guard" => &mut read.guards,
                "after" => &mut read.hooks,
                other => {
                    return Err(syn::Error::new(
                        key.span(),
                        format_args!("unknown key `{other}`, {EXPECTED}"),
                    ));
                }
            };
            if !list.is_empty() {
                return Err(syn::Error::new(
                    key.span(),
                    format_args!("`{key}` is given twice, expected one list"),
                ));
            }
            *list = types(input)?;
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        let found = if read.text.is_none() {
            "no prefix"
        } else {
            "more than one argument"
        };
        errors::end(input, format_args!("found {found}, {EXPECTED}"))?;
        Ok(read)
    }

    fn check_block_argument(prefix: &LitStr, errors: &mut Errors) {
        path::join("", prefix, errors);
    }

    fn read(signature: Signature, attributes: &[Attribute], of: &BlockArguments, errors: &mut Errors) -> Self {
        // `check_block_argument` reports a prefix that is not valid.
        let prefix = of.text.as_ref().map(LitStr::value);
        let prefix = prefix
            .filter(|prefix| Pattern::parse(prefix).is_ok())
            .unwrap_or_default();
        let (mut guards, mut hooks) = (Added::default(), Added::default());
        let mut mappings = Vec::new();
        for attribute in attributes {
            let name = block::name(attribute).unwrap_or_default();
            match name.as_str() {
                "guard" => guards.read(attribute, &name, &of.guards, errors),
                "after" => hooks.read(attribute, &name, &of.hooks, errors),
                _ => mappings.extend(mapping::read(attribute, &name, &prefix, errors)),
            }
        }
        if let Some(attribute) = attributes.first().filter(|_| mappings.is_empty() && errors.is_empty()) {
            let message = format!(
                "function `{}` has no route, expected an attribute such as `#[get]` beside this one",
                signature.name()
            );
            errors.at(attribute, message);
        }
        let of_block = |added: &Added, list: &[Type]| if added.without_block { Vec::new() } else { list.to_vec() };
        let (mut all_guards, mut all_hooks) = (of_block(&guards, &of.guards), hooks.types.clone());
        all_guards.extend(guards.types);
        all_hooks.extend(of_block(&hooks, &of.hooks));
        Self {
            signature,
            mappings,
            guards: all_guards,
            hooks: all_hooks,
        }
    }

    fn is_attribute(name: &str) -> bool {
        matches!(name, "guard" | "after") || mapping::is_attribute(name)
    }

    fn check(handlers: &[Self], errors: &mut Errors) {
        duplicates::check(handlers, errors);
        check_contexts(handlers, errors);
    }

    fn expand(block: &Block, arguments: &BlockArguments, handlers: &[Self]) -> TokenStream {
        expand_handler::controller(block, arguments.text.as_ref(), handlers)
    }
}

/// An error for each `Context`, by its name, in a block of the asynchronous form.
fn check_contexts(handlers: &[Handler], errors: &mut Errors) {
    let waits = |handler: &&Handler| handler.signature.is_async || handler.signature.takes_async;
    let Some(first) = handlers.iter().find(waits) else {
        return;
    };
    for handler in handlers {
        for argument in &handler.signature.arguments {
            let Type::Path(path) = &argument.ty else { continue };
            let last = path.path.segments.last();
            if last.is_some_and(|last| last.ident == "Context" && last.arguments.is_empty()) {
                let message = format!(
                    "handler `{}` takes `Context`, whose functions block, in a controller of the asynchronous form: handler \
                     `{}` is `async` or takes `AsyncContext`; take `AsyncContext`, and await its calls",
                    handler.signature.name(),
                    first.signature.name()
                );
                errors.at(&argument.ty, message);
            }
        }
    }
}

/// The guards or after-hooks that attributes of a handler name.
#[derive(Default)]
struct Added {
    types: Vec<Type>,
    /// Whether `none` is among the names, which leaves out the guards or hooks of the block.
    without_block: bool,
}

impl Added {
    fn read(&mut self, attribute: &Attribute, name: &str, of_block: &[Type], errors: &mut Errors) {
        let expected = format!("expected `#[{name}(SignedIn)]`, a list of types, or `#[{name}(none)]`");
        let Meta::List(list) = &attribute.meta else {
            errors.at(attribute, format_args!("found no type, {expected}"));
            return;
        };
        let found = list.parse_args_with(Punctuated::<Type, Token![,]>::parse_terminated);
        let found = found.map_err(|other| syn::Error::new(other.span(), format_args!("found no type, {expected}")));
        let Some(found) = errors.keep(found) else { return };
        if found.is_empty() {
            errors.at(attribute, format_args!("found no type, {expected}"));
        }
        for ty in found {
            if !matches!(&ty, Type::Path(path) if path.path.is_ident("none")) {
                self.types.push(ty);
            } else if of_block.is_empty() {
                errors.at(
                    &ty,
                    format_args!(
                        "`#[{name}(none)]` leaves out what the block has, and `#[controller]` has no `{name} = …`; expected \
                         no attribute"
                    ),
                );
            } else {
                self.without_block = true;
            }
        }
    }
}

/// One type, or a list of types in brackets.
fn types(input: ParseStream<'_>) -> syn::Result<Vec<Type>> {
    if !input.peek(syn::token::Bracket) {
        return Ok(vec![input.parse()?]);
    }
    let content;
    bracketed!(content in input);
    let types = Punctuated::<Type, Token![,]>::parse_terminated(&content)?;
    if types.is_empty() {
        return Err(content.error("found an empty list, expected a type"));
    }
    Ok(types.into_iter().collect())
}
