//! Assembles the adapter from its source.

use std::path::{Path, PathBuf};

use wit_component::{StringEncoding, embed_component_metadata};
use wit_parser::Resolve;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

/// The adapter with the world that it imports, as the encoder expects it.
pub(crate) fn assembled() -> Vec<u8> {
    let text = std::fs::read_to_string(folder().join("adapter.wat")).expect("the source is there");
    let mut module = wat::parse_str(with_sentences(&text)).expect("the source is WebAssembly text");
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

/// Turns each `(@panic "…")` into stores of the sentence at address 0, eight bytes at a time, and a call of `$panic`.
fn with_sentences(text: &str) -> String {
    let mut parts = text.split("(@panic \"");
    let mut result = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (sentence, rest) = part.split_once("\")").expect("the sentence ends");
        for (at, bytes) in sentence.as_bytes().chunks(8).enumerate() {
            let mut padded = [0; 8];
            padded[..bytes.len()].copy_from_slice(bytes);
            let (offset, number) = (8 * at, u64::from_le_bytes(padded));
            result.push_str(&format!(
                "(i64.store offset={offset} (i32.const 0) (i64.const {number:#x}))\n"
            ));
        }
        result.push_str(&format!(
            "(call $panic (i32.const {})) unreachable{rest}",
            sentence.len()
        ));
    }
    result
}
