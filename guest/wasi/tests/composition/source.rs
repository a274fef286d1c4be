//! Assembles the component from its source.

use std::path::{Path, PathBuf};

use cargo_metadata::MetadataCommand;
use wasmparser::{Parser, Payload};
use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::abi::{AbiVariant, WasmType};
use wit_parser::{Function, Resolve, WorldId, WorldItem};

#[path = "../sentences/mod.rs"]
mod sentences;

fn contract() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../wit")
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

/// The component of this crate.
pub(crate) fn assembled() -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let component = encoded(&folder.join("component"), |text, resolve, world| {
        with_unreachable(&sentences::with_sentences(text), resolve, world)
    });
    without_names(&component)
}

/// The component without the last two sections, which nothing needs: the names of its types and instances, which take 18 kB
/// in each composed component, and the names of the tools.
fn without_names(component: &[u8]) -> Vec<u8> {
    let (mut depth, mut end) = (0, 0);
    for payload in Parser::new(0).parse_all(component) {
        let payload = payload.expect("the component is valid");
        match payload.as_section() {
            Some((_, section)) if depth == 0 => {
                if matches!(&payload, Payload::CustomSection(custom) if custom.name() == "component-name") {
                    return component[..end].to_vec();
                }
                end = section.end;
            }
            _ => {}
        }
        match payload {
            Payload::ModuleSection { .. } | Payload::ComponentSection { .. } => depth += 1,
            Payload::End(_) => depth -= 1,
            _ => {}
        }
    }
    panic!("the encoder writes names")
}

/// The guest of the tests, a component that imports WASI.
pub(crate) fn guest() -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/composition");
    encoded(&folder.join("guest"), |text, _, _| text.to_owned())
}

/// A component as an encoder makes it of a core module, `path.wat`, and a world, `path.wit`.
fn encoded(path: &Path, prepare: impl FnOnce(&str, &Resolve, WorldId) -> String) -> Vec<u8> {
    let mut resolve = Resolve::default();
    for package in [contract(), wasi()] {
        resolve.push_dir(package).expect("the package parses");
    }
    let package = resolve
        .push_file(path.with_extension("wit"))
        .expect("the contract and WASI have what the world names");
    let world = resolve.select_world(&[package], None).expect("there is one world");
    let text = std::fs::read_to_string(path.with_extension("wat")).expect("the source is there");
    let text = prepare(&text, &resolve, world);
    let mut module = wat::parse_str(text).expect("the source is WebAssembly text");
    embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8).expect("the world fits");
    let encoder = ComponentEncoder::default().validate(true).module(&module);
    encoder.expect("a module").encode().expect("the module fits the world")
}

/// Adds the functions of the world that the module lacks.
fn with_unreachable(text: &str, resolve: &Resolve, world: WorldId) -> String {
    let mut text = text.trim_end().strip_suffix(')').expect("the module ends").to_owned();
    for (name, item) in &resolve.worlds[world].exports {
        let WorldItem::Interface { id, .. } = item else {
            continue;
        };
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
