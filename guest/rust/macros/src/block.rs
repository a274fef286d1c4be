//! What controllers and channels have in common: an impl block whose functions the host calls.

use quote::ToTokens as _;
use syn::{FnArg, GenericParam, ImplItemFn, ItemImpl, PatType, Safety, Type};

use crate::errors::Errors;

/// The words for one of them.
pub(crate) struct Words {
    /// The block.
    block: &'static str,
    /// Its attribute.
    attribute: &'static str,
    /// One of its functions.
    function: &'static str,
    /// What to do instead of keeping a state in it.
    state: &'static str,
}

pub(crate) const CONTROLLER: Words = Words {
    block: "controller",
    attribute: "#[controller]",
    function: "handler",
    state: "call a channel that does",
};

pub(crate) const CHANNEL: Words = Words {
    block: "channel",
    attribute: "#[channel]",
    function: "listener",
    state: "keep it outside, in a file, a database or the host application",
};

/// Notes what is wrong with the block itself.
pub(crate) fn check(block: &ItemImpl, words: &Words, errors: &mut Errors) {
    if let Some((path, _)) = &block.trait_ {
        errors.at(
            path,
            format_args!(
                "`{}` on the impl of a trait, expected an inherent impl block: what a type has from a trait is no {}",
                words.attribute, words.function
            ),
        );
    }
    if let Some(parameter) = block.generics.params.first() {
        errors.at(
            parameter,
            format_args!(
                "a generic {}, expected one type: the host has to know what it loads",
                words.block
            ),
        );
    }
    if !matches!(*block.self_ty, Type::Path(_)) {
        errors.at(&block.self_ty, "expected a struct or an enum of this crate");
    }
}

/// The name of the block's type in the source.
pub(crate) fn name(ty: &Type) -> String {
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

/// Notes what is wrong with the signature of a function that the host shall call.
pub(crate) fn check_signature(function: &ImplItemFn, words: &Words, errors: &mut Errors) {
    let sig = &function.sig;
    let (name, noun) = (&sig.ident, words.function);
    if let Some(receiver) = sig.receiver() {
        errors.at(
            receiver,
            format_args!(
                "{noun} `{name}` takes `self`, expected none: instances of a module come and go, so a {} holds no state; {}",
                words.block, words.state
            ),
        );
    }
    for parameter in &sig.generics.params {
        if !matches!(parameter, GenericParam::Lifetime(_)) {
            errors.at(
                parameter,
                format_args!("{noun} `{name}` is generic, expected types that the host can call"),
            );
        }
    }
    for input in &sig.inputs {
        if let FnArg::Typed(PatType { ty, .. }) = input
            && matches!(**ty, Type::ImplTrait(_))
        {
            errors.at(
                ty,
                format_args!("{noun} `{name}` takes an `impl` type, expected a type that the host can call"),
            );
        }
    }
    if let Safety::Unsafe(token) = &sig.safety {
        errors.at(
            token,
            format_args!("{noun} `{name}` is `unsafe`, expected a safe function"),
        );
    }
    for attribute in function
        .attrs
        .iter()
        .filter(|attribute| attribute.path().is_ident("cfg"))
    {
        errors.at(
            attribute,
            format_args!(
                "{noun} `{name}` has a `#[cfg]`, expected none: put it on a {} of its own",
                words.block
            ),
        );
    }
}
