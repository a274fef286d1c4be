//! Turns a core module into a component, and makes components that no SDK makes: variants of a good one, and those of other worlds.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use memchr::memmem;
use pointwork_wasi::{ADAPTER, MODULE};
use wasm_encoder::{
    ComponentImportSection, ComponentSection as _, ComponentSectionId, ComponentTypeRef, ComponentTypeSection,
    ComponentValType, InstanceSection, InstanceType, ModuleArg, PrimitiveValType, RawSection, TypeBounds,
};
use wasmparser::{Validator, WasmFeatures};
use wit_component::{ComponentEncoder, StringEncoding, dummy_module, embed_component_metadata};
use wit_parser::{LiftLowerAbi, ManglingAndAbi, Resolve, WorldId};

/// The folder of the contract.
pub fn wit_dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../wit")
}

/// The contract, and its world of that name.
///
/// # Errors
/// If the contract does not parse or has no such world.
fn contract(world: &str) -> Result<(Resolve, WorldId)> {
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

/// Makes a component of another version of the contract. Both versions have the same length, so that each name keeps its length.
pub(super) fn set_contract_version(component: &mut [u8], version: &str) {
    let package = b"pointwork:module/";
    let names: Vec<_> = memmem::find_iter(component, package).collect();
    for name in names {
        let name = &mut component[name + package.len()..];
        let is_of_interface = |byte: &u8| byte.is_ascii_lowercase() || *byte == b'-';
        let at = name.iter().take_while(|byte| is_of_interface(byte)).count();
        if name.get(at) == Some(&b'@') {
            name[at + 1..][..version.len()].copy_from_slice(version.as_bytes());
        }
    }
}

/// Adds an import of an interface that the code of the component does not use. The import has an item that the host has, where the host
/// has the interface.
pub(super) fn import_interface(component: &mut Vec<u8>, interface: &str) {
    let mut validator = Validator::new_with_features(features());
    let known = validator.validate_all(component).expect("the component is valid");
    let mut item = InstanceType::new();
    match interface.split('@').next() {
        Some("wasi:filesystem/types") => {
            item.export("descriptor", ComponentTypeRef::Type(TypeBounds::SubResource));
        }
        Some("wasi:random/random") => {
            let result = ComponentValType::Primitive(PrimitiveValType::U64);
            item.ty().function().params([("", result); 0]).result(Some(result));
            item.export("get-random-u64", ComponentTypeRef::Func(0));
        }
        _ => {
            item.ty()
                .function()
                .params([("", ComponentValType::Type(0)); 0])
                .result(None);
            item.export("probe", ComponentTypeRef::Func(0));
        }
    }
    let mut types = ComponentTypeSection::new();
    types.instance(&item);
    types.append_to_component(component);
    let mut imports = ComponentImportSection::new();
    let number = known.as_ref().component_type_count();
    imports.import(interface, ComponentTypeRef::Instance(number));
    imports.append_to_component(component);
}

/// A component of a world that the contract does not have. `items` are the imports, exports and includes of the world, and `change` is
/// made to the text of the contract before. Every function of the component traps: the host refuses the component for its world.
///
/// # Panics
/// If the text is no WIT.
pub fn of_world(items: &str, change: impl FnOnce(String) -> String) -> Vec<u8> {
    let build = || -> Result<Vec<u8>> {
        let mut resolve = Resolve::default();
        let contract = change(contract_text()?);
        let package = resolve.push_str("contract.wit", &format!("{contract}world probe {{ {items} }}\n"))?;
        let world = resolve.select_world(&[package], Some("probe"))?;
        let mut module = dummy_module(&resolve, world, ManglingAndAbi::Legacy(LiftLowerAbi::Sync));
        embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8)?;
        encode(&module)
    };
    build().unwrap_or_else(|error| panic!("the component of the world `{items}` does not build: {error:#}"))
}

/// All files of the contract, concatenated.
fn contract_text() -> Result<String> {
    let mut files: Vec<_> = std::fs::read_dir(wit_dir())?
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<_>>()?;
    files.retain(|file| file.extension().is_some_and(|extension| extension == "wit"));
    files.sort();
    let mut text = String::new();
    let mut header = None;
    for file in files {
        for line in std::fs::read_to_string(&file)?.lines() {
            if line.starts_with("package ") {
                header = Some(line.to_owned());
            } else {
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
    let section = RawSection {
        id: ComponentSectionId::CoreModule.into(),
        data: &module,
    };
    let mut laden = component.to_vec();
    section.append_to_component(&mut laden);
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
    let mut instances = InstanceSection::new();
    for _ in 0..count {
        instances.instantiate(number, [("", ModuleArg::Instance(0)); 0]);
    }
    let mut component = with_module(component, text);
    instances.append_to_component(&mut component);
    component
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
        let mut validator = Validator::new_with_features(features());
        validator.validate_all(&component[..end]).is_ok()
    };
    let cut = ends.into_iter().rev().find(|&end| end < last_export && valid(end));
    ensure!(cut.is_some(), "no prefix of the component validates");
    Ok(component[..cut.unwrap_or_default()].to_vec())
}

fn features() -> WasmFeatures {
    WasmFeatures::default() | WasmFeatures::CM_ASYNC
}
