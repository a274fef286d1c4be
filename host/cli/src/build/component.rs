//! From what the compiler wrote to a component.

use std::fmt;
use std::path::Path;

use wasmparser::{Parser, Payload};
use wit_component::{ComponentEncoder, DecodedWasm};
use wit_parser::{Resolve, WorldItem};

use crate::error::{Error, Result};

/// What a component exports of the contract.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Contract {
    controllers: Option<Form>,
    channels: Option<Form>,
}

/// How a module's handlers run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Synchronous,
    Asynchronous,
}

impl fmt::Display for Contract {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.controllers, self.channels) {
            (Some(form), None) => write!(f, "controllers, {form}"),
            (None, Some(form)) => write!(f, "channels, {form}"),
            (Some(one), Some(other)) if one == other => write!(f, "controllers and channels, {one}"),
            (Some(controllers), Some(channels)) => write!(f, "controllers, {controllers}; channels, {channels}"),
            (None, None) => f.write_str("nothing of the contract"),
        }
    }
}

impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Synchronous => "synchronous",
            Self::Asynchronous => "asynchronous",
        })
    }
}

/// Turns the file that the compiler wrote into a component and says what it exports.
///
/// Some targets (wasm32-wasip2) end in a component already; that one is taken as it is.
pub(super) fn encode(file: &Path) -> Result<(Vec<u8>, Contract)> {
    let module = std::fs::read(file)
        .map_err(|error| Error::failed(format!("cannot read `{}`", file.display())).with_source(error))?;
    let component = if Parser::is_component(&module) {
        module
    } else {
        componentize(&module, file)?
    };
    let contract = contract(&component)
        .map_err(|error| Error::failed("cannot read the component that was just built").with_source(error))?;
    if contract == Contract::default() {
        return Err(
            Error::failed(format!("`{}` exports neither controllers nor channels", file.display()))
                .with_hint(FORGOT_MODULE),
        );
    }
    Ok((component, contract))
}

const FORGOT_MODULE: &str = "list what the module serves, once per crate: pointwork_guest::module! { … }";

fn componentize(module: &[u8], file: &Path) -> Result<Vec<u8>> {
    if !has_component_type(module) {
        return Err(
            Error::failed(format!("`{}` does not say what it imports and exports", file.display()))
                .with_source(
                    "it has no `component-type` section, which the `module!` macro of `pointwork-guest` leaves",
                )
                .with_hint(FORGOT_MODULE),
        );
    }
    encode_module(module).map_err(|source| {
        let text = format!("{source:#}");
        let error = Error::failed(format!("cannot make a component of `{}`", file.display())).with_source(source);
        match hint(&text) {
            Some(hint) => error.with_hint(hint),
            None => error,
        }
    })
}

fn encode_module(module: &[u8]) -> anyhow::Result<Vec<u8>> {
    ComponentEncoder::default().module(module)?.validate(true).encode()
}

fn has_component_type(module: &[u8]) -> bool {
    Parser::new(0).parse_all(module).map_while(Result::ok).any(
        |payload| matches!(payload, Payload::CustomSection(section) if section.name().starts_with("component-type")),
    )
}

/// What the usual failures of the encoder mean in a controller project.
fn hint(text: &str) -> Option<&'static str> {
    if text.contains("wbindgen") {
        Some(
            "a dependency expects a browser; look for one with a feature named `js` or `wasmbind` (getrandom, uuid, \
             chrono), and switch that feature off",
        )
    } else if text.contains("wasi_snapshot_preview1") {
        Some("the module uses WASI 0.1; build it with `--target wasm32-wasip2`")
    } else if text.contains("requires an import interface") {
        Some("a controller imports nothing but `pointwork:module`; look for the dependency that declares the import")
    } else if text.contains("export") {
        Some(FORGOT_MODULE)
    } else {
        None
    }
}

fn contract(component: &[u8]) -> anyhow::Result<Contract> {
    let DecodedWasm::Component(resolve, world) = wit_component::decode(component)? else {
        anyhow::bail!("it is a WIT package, not a component");
    };
    let mut found = Contract::default();
    for item in resolve.worlds[world].exports.values() {
        let WorldItem::Interface { id, .. } = item else {
            continue;
        };
        match interface_name(&resolve, *id) {
            Some("handlers") => found.controllers = Some(Form::Synchronous),
            Some("handlers-async") => found.controllers = Some(Form::Asynchronous),
            Some("listeners") => found.channels = Some(Form::Synchronous),
            Some("listeners-async") => found.channels = Some(Form::Asynchronous),
            _ => {}
        }
    }
    Ok(found)
}

/// The interface's name if it is one of the contract, of whatever version: that is for the host to judge.
fn interface_name(resolve: &Resolve, id: wit_parser::InterfaceId) -> Option<&str> {
    let interface = &resolve.interfaces[id];
    let package = &resolve.packages[interface.package?].name;
    (package.namespace == "pointwork" && package.name == "module")
        .then_some(interface.name.as_deref())
        .flatten()
}
