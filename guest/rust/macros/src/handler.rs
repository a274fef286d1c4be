//! `#[controller]` and its handlers.

use pointwork_patterns::Pattern;
use proc_macro2::TokenStream;
use syn::parse::ParseStream;
use syn::{Attribute, LitStr};

use crate::block::{self, Block, Function};
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
}

impl Function for Handler {
    const TERMS: Terms = Terms {
        block: "controller",
        block_example: "#[controller(\"products\")] impl Products { … }",
        function: "handler",
        function_example: "#[get]",
        state: "call a channel that keeps it",
    };

    fn block_argument(input: ParseStream<'_>) -> syn::Result<Option<LitStr>> {
        const EXPECTED: &str = "expected `#[controller]` or one prefix, `#[controller(\"products\")]`";
        if input.is_empty() {
            return Ok(None);
        }
        if !input.peek(LitStr) {
            return Err(input.error(format_args!("found no prefix, {EXPECTED}")));
        }
        let prefix = input.parse()?;
        errors::end(input, format_args!("found more than one argument, {EXPECTED}"))?;
        Ok(Some(prefix))
    }

    fn check_block_argument(prefix: &LitStr, errors: &mut Errors) {
        path::join("", prefix, errors);
    }

    fn read(signature: Signature, attributes: &[Attribute], prefix: Option<&LitStr>, errors: &mut Errors) -> Self {
        // `check_block_argument` reports a prefix that is not valid.
        let prefix = prefix
            .map(LitStr::value)
            .filter(|prefix| Pattern::parse(prefix).is_ok());
        let prefix = prefix.unwrap_or_default();
        let mappings = attributes.iter().filter_map(|attribute| {
            let name = block::name(attribute)?;
            mapping::read(attribute, &name, &prefix, errors)
        });
        Self {
            signature,
            mappings: mappings.collect(),
        }
    }

    fn is_attribute(name: &str) -> bool {
        mapping::is_attribute(name)
    }

    fn check(handlers: &[Self], errors: &mut Errors) {
        duplicates::check(handlers, errors);
    }

    fn expand(block: &Block, prefix: Option<&LitStr>, handlers: &[Self]) -> TokenStream {
        expand_handler::controller(block, prefix, handlers)
    }
}
