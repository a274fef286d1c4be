//! Assembles the adapter from its source.

use std::path::{Path, PathBuf};

use wit_component::{StringEncoding, embed_component_metadata};
use wit_parser::Resolve;

#[path = "../sentences/mod.rs"]
mod sentences;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

/// The adapter with the world that it imports, as the encoder expects it.
pub(crate) fn assembled() -> Vec<u8> {
    let text = std::fs::read_to_string(folder().join("adapter.wat")).expect("the source is there");
    let mut module = wat::parse_str(sentences::with_sentences(&text)).expect("the source is WebAssembly text");
    let mut resolve = Resolve::default();
    resolve
        .push_dir(folder().join("../../../wit"))
        .expect("the contract parses");
    let world = std::fs::read_to_string(folder().join("adapter.wit")).expect("the world is there");
    let package = resolve
        .push_str("adapter.wit", &world)
        .expect("the contract has what the adapter imports");
    let world = resolve.select_world(&[package], None).expect("there is one world");
    embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8).expect("the world fits");
    module
}
