//! Assembles the component from its source.

use std::path::{Path, PathBuf};

use cargo_metadata::MetadataCommand;
use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::abi::{AbiVariant, WasmType};
use wit_parser::{Function, Resolve, WorldId, WorldItem};

#[path = "../sentences.rs"]
mod sentences;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

/// The WIT of WASI 0.2 in the crate by which the host has WASI.
fn wasi() -> PathBuf {
    let mut command = MetadataCommand::new();
    command.current_dir(env!("CARGO_MANIFEST_DIR"));
    let metadata = command.exec().expect("`cargo metadata` runs");
    let mut packages = metadata.packages.iter();
    let package = packages.find(|package| package.name.as_str() == "wasmtime-wasi");
    let manifest = &package.expect("the host depends on it").manifest_path;
    manifest.with_file_name("src").join("p2/wit").into()
}

/// The component, as an encoder makes it of the core module and the world.
pub(crate) fn assembled() -> Vec<u8> {
    let mut resolve = Resolve::default();
    for package in [folder().join("../../../wit"), wasi()] {
        resolve.push_dir(package).expect("the package parses");
    }
    let world = std::fs::read_to_string(folder().join("component.wit")).expect("the world is there");
    let package = resolve
        .push_str("component.wit", &world)
        .expect("the contract and WASI have what the component imports and exports");
    let world = resolve.select_world(&[package], None).expect("there is one world");

    let text = std::fs::read_to_string(folder().join("component.wat")).expect("the source is there");
    let text = with_unreachable(&sentences::with_sentences(&text), &resolve, world);
    let mut module = wat::parse_str(text).expect("the source is WebAssembly text");
    embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8).expect("the world fits");
    let encoder = ComponentEncoder::default().validate(true).module(&module);
    encoder.expect("a module").encode().expect("the module fits the world")
}

/// Adds the functions of the world that the module lacks.
fn with_unreachable(text: &str, resolve: &Resolve, world: WorldId) -> String {
    let mut text = text.trim_end().strip_suffix(')').expect("the module ends").to_owned();
    for (name, item) in &resolve.worlds[world].exports {
        let WorldItem::Interface { id, .. } = item else { continue };
        for function in resolve.interfaces[*id].functions.values() {
            let export = format!("{}#{}", resolve.name_world_key(name), function.name);
            if !text.contains(&format!("\"{export}\"")) {
                text.push_str(&unreachable(&export, resolve, function));
            }
        }
    }
    text + ")"
}

fn unreachable(export: &str, resolve: &Resolve, function: &Function) -> String {
    let signature = resolve.wasm_signature(AbiVariant::GuestExport, function);
    let list = |types: &[WasmType]| -> String {
        let names = types.iter().map(|ty| match ty {
            WasmType::I64 | WasmType::PointerOrI64 => " i64",
            WasmType::F32 => " f32",
            WasmType::F64 => " f64",
            WasmType::I32 | WasmType::Pointer | WasmType::Length => " i32",
        });
        names.collect()
    };
    let (parameters, results) = (list(&signature.params), list(&signature.results));
    format!("(func (export \"{export}\") (param{parameters}) (result{results}) unreachable)\n")
}
