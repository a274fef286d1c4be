//! Turns a core module into a component, and makes malformed variants of a good one.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use pointwork_wasi::{ADAPTER, MODULE};
use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::{Resolve, WorldId};

use super::imports::ForeignItem;
use super::{Guest, module};

/// The folder of the contract.
pub fn wit_dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../wit")
}

/// The contract, and its world of that name.
///
/// # Errors
/// If the contract does not parse or has no such world.
pub fn contract(world: &str) -> Result<(Resolve, WorldId)> {
    let mut resolve = Resolve::default();
    let (package, _) = resolve.push_dir(wit_dir())?;
    let world = resolve.select_world(&[package], Some(world))?;
    Ok((resolve, world))
}

/// Turns a core module written for a world of the contract into a component.
///
/// # Errors
/// If the module does not fit the world.
pub fn componentize(mut module: Vec<u8>, world: &str) -> Result<Vec<u8>> {
    let (resolve, world) = contract(world)?;
    embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8)?;
    encode(&module)
}

/// Turns a core module that contains its world into a component, as `pointwork build` does: WASI 0.1 becomes the contract.
///
/// # Errors
/// If the module does not fit that world.
pub fn finish(module: &[u8]) -> Result<Vec<u8>> {
    let encoder = ComponentEncoder::default().validate(true).module(module)?;
    encoder.adapter(MODULE, ADAPTER)?.encode()
}

fn encode(module: &[u8]) -> Result<Vec<u8>> {
    ComponentEncoder::default().validate(true).module(module)?.encode()
}

pub(super) fn build(guest: &Guest) -> Result<Vec<u8>> {
    let own = own_version()?;
    let version = guest.contract_version.as_deref().unwrap_or(&own);
    let worlds = worlds(guest);
    let mut module = wat::parse_str(module::text(guest, version))?;
    let is_plain = guest.contract_version.is_none()
        && guest.foreign_import.is_none()
        && guest.later_import.is_none()
        && !guest.waits_in_the_other_form;
    if let ([world], true) = (worlds.as_slice(), is_plain) {
        return componentize(module, world);
    }
    let mut resolve = Resolve::default();
    let mut text = contract_text()?.replace(&own, version);
    if let Some(function) = &guest.later_import {
        text = text.replace("interface log {", &format!("interface log {{ {function}: func();"));
    }
    let chosen = "probe";
    text.push_str(&format!("world {chosen} {{ "));
    for world in worlds {
        text.push_str(&format!("include {world}; "));
    }
    if guest.waits_in_the_other_form {
        let other = if guest.asynchronous { "sync" } else { "async" };
        text.push_str(&format!("import context-{other}; import events-{other}; "));
    }
    if let Some(foreign) = &guest.foreign_import {
        resolve.push_str("foreign.wit", &foreign_package(foreign)?)?;
        text.push_str(&format!("import {foreign}; "));
    }
    text.push_str("}\n");
    let package = resolve.push_str("contract.wit", &text)?;
    let world = resolve.select_world(&[package], Some(chosen))?;
    embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8)?;
    encode(&module)
}

/// The worlds of the contract that the guest targets: one, unless it mixes the two forms.
fn worlds(guest: &Guest) -> Vec<&'static str> {
    match (guest.mixed_forms, guest.asynchronous) {
        (true, _) => vec!["module", "module-async"],
        (false, false) => vec!["module"],
        (false, true) => vec!["module-async"],
    }
}

/// The version of the contract in this repository.
fn own_version() -> Result<String> {
    let mut resolve = Resolve::default();
    let (package, _) = resolve.push_dir(wit_dir())?;
    let version = resolve.packages[package]
        .name
        .version
        .as_ref()
        .context("the contract has no version")?;
    Ok(version.to_string())
}

/// All files of the contract, concatenated.
fn contract_text() -> Result<String> {
    let mut files: Vec<_> = std::fs::read_dir(wit_dir())?
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<_>>()?;
    files.retain(|file| file.extension().is_some_and(|extension| extension == "wit"));
    files.sort();
    let mut header = None;
    let mut text = String::new();
    for file in files {
        for line in std::fs::read_to_string(&file)?.lines() {
            if line.starts_with("package ") {
                header = Some(line.to_owned());
            } else if !line.trim_start().starts_with("///") {
                text.push_str(line);
                text.push('\n');
            }
        }
    }
    Ok(format!(
        "{}\n{text}",
        header.context("no file of the contract has a package line")?
    ))
}

/// A package with the interface that `foreign` names, and one function in it.
fn foreign_package(foreign: &str) -> Result<String> {
    let (package, rest) = foreign
        .split_once('/')
        .context("expected `namespace:package/interface@version`")?;
    let (interface, version) = rest
        .split_once('@')
        .context("expected `namespace:package/interface@version`")?;
    Ok(format!(
        "package {package}@{version};\ninterface {interface} {{ {} }}\n",
        ForeignItem::find(foreign).wit
    ))
}

/// A core module: valid WebAssembly, but not a component.
pub fn core_module() -> Vec<u8> {
    wat::parse_str("(module (memory (export \"memory\") 1))").expect("the module is valid")
}

/// The same component with more code to compile: a core module with that many functions, each of about `length`
/// instructions, which are never called.
pub fn laden(component: &[u8], functions: usize, length: usize) -> Vec<u8> {
    let mut text = "(module".to_owned();
    for function in 0..functions {
        // The values depend on each other in changing ways, so that neither an optimiser nor a cache shortens the work.
        text.push_str("(func (param i32 i32) (result i32)");
        for at in 0..length / 4 {
            let (operation, constant) = (["add", "mul", "xor", "sub"][at % 4], function * 31 + at * 7 + 1);
            let (to, from) = (at % 2, (at + 1) % 2);
            text.push_str(&format!(
                "(local.set {to} (i32.{operation} (local.get {from}) (i32.const {constant})))"
            ));
            if at % 8 == 7 {
                text.push_str("(if (local.get 0) (then (local.set 1 (i32.rotl (local.get 1) (local.get 0)))))");
            }
        }
        text.push_str("local.get 0)");
    }
    text.push(')');
    with_module(component, &text)
}

/// The same component with another core module, as text, in it.
pub fn with_module(component: &[u8], text: &str) -> Vec<u8> {
    let module = wat::parse_str(text).unwrap_or_else(|error| panic!("the module does not build: {error}"));
    let mut laden = component.to_vec();
    // Section 1 of a component is a core module.
    laden.push(1);
    laden.extend(leb128(u32::try_from(module.len()).expect("a short module")));
    laden.extend_from_slice(&module);
    laden
}

/// The same component with another core module, as text, in it, and so many instances of that.
pub fn with_instances(component: &[u8], text: &str, count: u32) -> Vec<u8> {
    // Components within it have numbers of their own.
    let (mut number, mut depth) = (0, 0usize);
    for payload in wasmparser::Parser::new(0).parse_all(component).flatten() {
        match payload {
            wasmparser::Payload::ModuleSection { .. } => {
                number += u32::from(depth == 0);
                depth += 1;
            }
            wasmparser::Payload::ComponentSection { .. } => depth += 1,
            wasmparser::Payload::End(_) => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    let mut section = leb128(count);
    for _ in 0..count {
        // Instantiate that module, without arguments.
        section.push(0);
        section.extend(leb128(number));
        section.push(0);
    }
    let mut component = with_module(component, text);
    // Section 2 has core instances.
    component.push(2);
    component.extend(leb128(u32::try_from(section.len()).expect("a short section")));
    component.extend(section);
    component
}

fn leb128(mut number: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    while number >= 0x80 {
        bytes.push((number & 0x7f) as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
    bytes
}

/// A component of another world, which does not use the contract.
pub fn foreign_component() -> Vec<u8> {
    let build = || -> Result<Vec<u8>> {
        let mut resolve = Resolve::default();
        let package = resolve.push_str(
            "other.wit",
            "package other:thing;\nworld thing { export run: func(); }\n",
        )?;
        let world = resolve.select_world(&[package], Some("thing"))?;
        let mut module = wat::parse_str("(module (func (export \"run\")))")?;
        embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8)?;
        encode(&module)
    };
    build().unwrap_or_else(|error| panic!("the foreign component does not build: {error:#}"))
}

/// The longest prefix of a component that still validates and lacks an export, as an interrupted download may leave it.
///
/// # Errors
/// If no prefix validates.
pub fn truncated_component(component: &[u8]) -> Result<Vec<u8>> {
    let mut validator_features = wasmparser::WasmFeatures::default();
    validator_features.insert(wasmparser::WasmFeatures::CM_ASYNC);
    let mut ends = Vec::new();
    let mut last_export = 0;
    let mut depth = 0usize;
    for payload in wasmparser::Parser::new(0).parse_all(component) {
        let payload = payload?;
        match &payload {
            wasmparser::Payload::ModuleSection { .. } | wasmparser::Payload::ComponentSection { .. } => depth += 1,
            wasmparser::Payload::End(_) => depth = depth.saturating_sub(1),
            _ => {}
        }
        // The cut has to be at the end of a section of the outermost component.
        if let (0, Some((_, range))) = (depth, payload.as_section()) {
            ends.push(range.end);
            if matches!(payload, wasmparser::Payload::ComponentExportSection(_)) {
                last_export = range.start;
            }
        }
    }
    let valid = |end: usize| {
        let mut validator = wasmparser::Validator::new_with_features(validator_features);
        validator.validate_all(&component[..end]).is_ok()
    };
    let cut = ends.into_iter().rev().find(|&end| end < last_export && valid(end));
    ensure!(cut.is_some(), "no prefix of the component validates");
    Ok(component[..cut.unwrap_or_default()].to_vec())
}
