//! Composes the component with a guest.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use pointwork_wasi::{ErrorKind, compose};
use wasm_compose::graph;
use wasmparser::Validator;
use wasmtime::Engine;
use wasmtime::component::{Component, Val};

use crate::stand_in::Guest;
use crate::{CANNOT_EXIT, CANNOT_SLEEP, source};

/// The guest with another release of WASI, whose number has as many digits.
fn guest(release: &str) -> Vec<u8> {
    static GUEST: LazyLock<Vec<u8>> = LazyLock::new(source::guest);
    replaced(&GUEST, "@0.2.12", release)
}

fn replaced(bytes: &[u8], old: &str, new: &str) -> Vec<u8> {
    assert_eq!(old.len(), new.len());
    let mut result = bytes.to_owned();
    for (at, part) in bytes.windows(old.len()).enumerate() {
        if part == old.as_bytes() {
            result[at..at + new.len()].copy_from_slice(new.as_bytes());
        }
    }
    result
}

fn imports(component: &[u8]) -> BTreeSet<String> {
    let component = graph::Component::from_bytes(&mut Validator::new(), "component", component);
    let component = component.expect("a component");
    component.imports().map(|(_, name, _)| name.to_owned()).collect()
}

#[test]
fn a_composed_guest_imports_the_contract_alone() {
    // An earlier release of WASI 0.2, this one, and a later one.
    for version in ["@0.2.10", "@0.2.12", "@0.2.99"] {
        let guest = guest(version);
        assert!(imports(&guest).contains(&format!("wasi:io/streams{version}")));
        let composed = compose(&guest, |_| false).expect("it composes");
        let imports = imports(&composed);
        let foreign: Vec<_> = imports
            .iter()
            .filter(|name| !name.starts_with("pointwork:module/"))
            .collect();
        assert!(foreign.is_empty(), "{foreign:?}");
    }
}

#[test]
fn a_composed_guest_has_the_answers_of_the_contract() {
    let composed = compose(&guest("@0.2.12"), |_| false).expect("it composes");
    let engine = Engine::default();
    let component = Component::new(&engine, &composed).expect("it compiles");
    let new = || Guest::new(&engine, &component);
    let mut guest = new();
    guest.host().clocks[0] = (1_700_000_000, 0);
    guest.host().variables = vec![("MODE", "test")];
    let mut call = |name| guest.call(None, name, &[]).expect("no trap");
    assert_eq!(call("seconds"), Some(Val::U64(1_700_000_000)));
    // The guest itself takes the first four bytes.
    assert_eq!(call("random"), Some(Val::U64(0x0c0b_0a09_0807_0605)));
    let pair = ["MODE", "test"].map(|text| Val::String(text.to_owned()));
    assert_eq!(call("variables"), Some(Val::List(vec![Val::Tuple(pair.into())])));
    assert_eq!(call("directories"), Some(Val::U32(0)));
    assert_eq!(call("print"), None);
    assert_eq!(guest.host().printed, [(false, "hello\n".to_owned())]);

    for (name, sentence) in [("sleep", CANNOT_SLEEP), ("end", CANNOT_EXIT)] {
        let mut guest = new();
        guest.call(None, name, &[]).expect_err("a trap");
        assert_eq!(guest.host().crash.as_deref(), Some(sentence));
    }
}

#[test]
fn what_is_granted_or_unknown_stays_an_import_with_what_shares_its_resources() {
    let foreign_of = |guest: &[u8], granted: &str| {
        let composed = compose(guest, |import| import.starts_with(granted)).expect("it composes");
        let imports = imports(&composed).into_iter();
        let foreign = imports.filter_map(|name| name.strip_suffix("@0.2.12").map(str::to_owned));
        foreign.collect::<Vec<_>>()
    };
    let guest = guest("@0.2.12");
    let foreign = |granted: &str| foreign_of(&guest, granted);
    assert_eq!(foreign("wasi:random/"), ["wasi:random/random"]);
    assert_eq!(foreign("wasi:cli/environment@"), ["wasi:cli/environment"]);
    // A timer is a `pollable`. The guest does not wait for streams, so that these share nothing with it.
    let timers = ["wasi:clocks/monotonic-clock", "wasi:clocks/wall-clock", "wasi:io/poll"];
    assert_eq!(foreign("wasi:clocks/"), timers);
    let streams = ["wasi:cli/stdout", "wasi:io/error", "wasi:io/streams"];
    assert_eq!(foreign("wasi:cli/stdout@"), streams);
    assert_eq!(
        foreign("wasi:filesystem/"),
        ["wasi:filesystem/preopens", "wasi:filesystem/types"]
    );
    // So does an interface that nobody knows.
    let unknown = replaced(&guest, "wasi:io/poll", "wasi:io/pool");
    let timers = ["wasi:clocks/monotonic-clock", "wasi:io/pool"];
    assert_eq!(foreign_of(&unknown, "none"), timers);
}

#[test]
fn a_component_without_wasi_stays_as_it_is() {
    let composed = compose(&guest("@0.2.12"), |_| false).expect("it composes");
    assert!(compose(&composed, |_| false).expect("it composes") == composed);
}

#[test]
fn what_cannot_be_composed_is_named() {
    for bytes in [&b""[..], b"\0asm\x01\0\0\0", b"hello", &guest("@0.2.12")[..100]] {
        let error = compose(bytes, |_| false).expect_err("no component");
        assert_eq!(error.kind(), ErrorKind::NotAComponent, "{error}");
        assert_eq!(error.to_string(), "the bytes are no valid component");
    }
    let newer = replaced(&guest("@0.2.99"), "get-random-u64", "get-random-u65");
    let error = compose(&newer, |_| false).expect_err("no such function");
    assert_eq!(error.kind(), ErrorKind::Interface);
    let message = "the component imports a function or a type of \
                   `wasi:random/random@0.2.99` that this release of Pointwork does not have";
    assert_eq!(error.to_string(), message);
}
