//! Encodes the module of the compiler as a component.

use std::path::Path;

use pointwork_wasi::{ADAPTER, MODULE};
use rustc_demangle::demangle;
use wasm_encoder::{NameMap, NameSection, RawSection};
use wasmparser::{KnownCustom, Name, NameSectionReader, Naming, Parser, Payload};
use wit_component::ComponentEncoder;

use crate::error::{Error, OrFailed, Result};

/// Turns the file of the compiler into a component. The second result is its form.
///
/// Some targets (wasm32-wasip2) end in a component, which is taken as it is.
pub(super) fn encode(file: &Path) -> Result<(Vec<u8>, &'static str)> {
    let module = std::fs::read(file).or_failed(format_args!("cannot read `{}`", file.display()))?;
    let component = if Parser::is_component(&module) {
        module
    } else {
        componentize(&module, file)?
    };
    let inspection = pointwork::inspect(&component).or_failed("cannot read the component that was built")?;
    let form = form(&inspection.exports).ok_or_else(|| {
        Error::failed(format!("`{}` does not export the contract", file.display())).with_hint(FORGOT_MODULE)
    })?;
    Ok((component, form))
}

/// The form by the exports of the contract, of any version: the host decides which versions it accepts.
fn form(exports: &[String]) -> Option<&'static str> {
    let mut exports = exports.iter().filter_map(|export| export.split('@').next());
    exports.find_map(|name| match name.strip_prefix("pointwork:module/")? {
        "handlers" => Some("synchronous"),
        "handlers-async" => Some("asynchronous"),
        _ => None,
    })
}

const FORGOT_MODULE: &str = "list what the module serves, once per crate: pointwork_guest::module! { … }";

fn componentize(module: &[u8], file: &Path) -> Result<Vec<u8>> {
    if !has_component_type(module) {
        let message = format!("`{}` does not declare its imports and exports", file.display());
        return Err(Error::failed(message)
            .with_source("it has no `component-type` section, which the `module!` macro of `pointwork-guest` adds")
            .with_hint(FORGOT_MODULE));
    }
    encode_module(module).map_err(|source| {
        let text = format!("{source:#}");
        Error::failed(format!("cannot make a component of `{}`", file.display()))
            .with_source(source)
            .with_optional_hint(hint(&text))
    })
}

fn encode_module(module: &[u8]) -> anyhow::Result<Vec<u8>> {
    let module = with_plain_names(module)?;
    let encoder = ComponentEncoder::default().module(&module)?.adapter(MODULE, ADAPTER)?;
    encoder.validate(true).encode()
}

/// The module with the names of its functions as a backtrace shows them. Mangled, they are a quarter of a small module.
fn with_plain_names(module: &[u8]) -> anyhow::Result<Vec<u8>> {
    let mut plain = wasm_encoder::Module::new();
    for payload in Parser::new(0).parse_all(module) {
        let payload = payload?;
        if let Payload::CustomSection(section) = &payload
            && let KnownCustom::Name(names) = section.as_known()
        {
            plain.section(&function_names(names)?);
        } else if let Some((id, range)) = payload.as_section() {
            let data = &module[range];
            plain.section(&RawSection { id, data });
        }
    }
    Ok(plain.finish())
}

fn function_names(names: NameSectionReader<'_>) -> anyhow::Result<NameSection> {
    let mut functions = NameMap::new();
    for name in names {
        if let Name::Function(named) = name? {
            for function in named {
                let Naming { index, name } = function?;
                functions.append(index, &format!("{:#}", demangle(name)));
            }
        }
    }
    let mut section = NameSection::new();
    section.functions(&functions);
    Ok(section)
}

fn has_component_type(module: &[u8]) -> bool {
    Parser::new(0).parse_all(module).map_while(Result::ok).any(
        |payload| matches!(payload, Payload::CustomSection(section) if section.name().starts_with("component-type")),
    )
}

/// The hint for common failures of the encoder in a controller project.
fn hint(text: &str) -> Option<&'static str> {
    if text.contains("wbindgen") {
        Some(
            "a dependency expects a browser; look for one with a feature named `js` or `wasmbind` (getrandom, uuid, \
             chrono), and switch that feature off",
        )
    } else if text.contains("requires an import interface") {
        Some("a controller imports nothing but `pointwork:module`; look for the dependency that declares the import")
    } else if text.contains("export") {
        Some(FORGOT_MODULE)
    } else {
        None
    }
}
