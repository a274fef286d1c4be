//! Tests of the suite's own guests: they are components of the contract, and the malformed ones have the intended
//! fault.

use anyhow::{Context as _, Result, ensure};
use pointwork_suite::fixtures::{Fixture, Fixtures};
use pointwork_suite::guest::{
    Controller, Guest, Program, core_module, foreign_component, of_world, truncated_component,
};
use pointwork_test_runner::panic_message;
use wit_component::DecodedWasm;

use crate::trials;

trials! {
    a_synthetic_guest_is_a_module,
    the_asynchronous_form_has_interfaces_of_its_own,
    a_component_may_be_of_a_world_of_its_own,
    an_end_of_the_other_role_is_a_mistake_of_the_test,
    a_guest_may_be_of_another_contract_version,
    a_guest_may_import_what_it_must_not,
    a_truncated_component_validates_and_lacks_exports,
    the_malformed_ones_are_malformed_as_meant,
    the_hand_written_guest_is_a_module,
    the_rust_guests_are_modules,
    the_javascript_guest_is_a_module,
}

/// The imports and exports of a component, sorted.
fn interfaces(component: &[u8]) -> (Vec<String>, Vec<String>) {
    let DecodedWasm::Component(resolve, world) = wit_component::decode(component).expect("a component") else {
        panic!("a WIT package instead of a component");
    };
    let names = |items: Vec<_>| {
        let mut names: Vec<_> = items.into_iter().map(|key| resolve.name_world_key(key)).collect();
        names.sort();
        names
    };
    let world = &resolve.worlds[world];
    (
        names(world.imports.keys().collect()),
        names(world.exports.keys().collect()),
    )
}

const IMPORTS: [&str; 7] = [
    "pointwork:module/context-sync@0.2.0",
    "pointwork:module/context@0.2.0",
    "pointwork:module/environment@0.2.0",
    "pointwork:module/events-sync@0.2.0",
    "pointwork:module/events@0.2.0",
    "pointwork:module/log@0.2.0",
    "pointwork:module/types@0.2.0",
];
const EXPORTS: [&str; 3] = [
    "pointwork:module/handlers@0.2.0",
    "pointwork:module/listeners@0.2.0",
    "pointwork:module/manifest@0.2.0",
];

/// The interfaces that a module of the asynchronous form imports.
const IMPORTS_ASYNC: [&str; 7] = [
    "context",
    "context-async",
    "environment",
    "events",
    "events-async",
    "log",
    "types",
];

const EXPORTS_ASYNC: [&str; 3] = ["handlers-async", "listeners-async", "manifest"];

/// The full names of interfaces of the contract, sorted.
fn of_the_contract(names: &[&str]) -> Vec<String> {
    let full = names.iter().map(|name| format!("pointwork:module/{name}@0.2.0"));
    let mut full: Vec<_> = full.collect();
    full.sort();
    full
}

fn greeting() -> Guest {
    Guest::with(Controller::new("Things", "/").get("it", Program::text("a")))
}

async fn a_synthetic_guest_is_a_module() -> Result<()> {
    let of_the_form = (IMPORTS.map(String::from).to_vec(), EXPORTS.map(String::from).to_vec());
    assert_eq!(interfaces(&greeting().build()), of_the_form);
    Ok(())
}

async fn the_asynchronous_form_has_interfaces_of_its_own() -> Result<()> {
    let (imports, exports) = interfaces(&greeting().asynchronous().build());
    assert_eq!(imports, of_the_contract(&IMPORTS_ASYNC));
    assert_eq!(exports, of_the_contract(&EXPORTS_ASYNC));
    Ok(())
}

async fn a_component_may_be_of_a_world_of_its_own() -> Result<()> {
    let (imports, exports) = interfaces(&of_world(
        "include module; include module-async; import colours: interface { red: func(); }",
        |contract| contract,
    ));
    assert!(imports.contains(&"colours".to_owned()), "{imports:?}");
    let both = ["handlers", "handlers-async", "listeners", "listeners-async", "manifest"];
    assert_eq!(exports, of_the_contract(&both));
    Ok(())
}

async fn an_end_of_the_other_role_is_a_mistake_of_the_test() -> Result<()> {
    let things = Controller::new("Things", "/").get("it", Program::new().fails("conflict", 409));
    let built = std::panic::catch_unwind(|| Guest::with(things).build());
    let panic = built.err().context("it is built")?;
    ensure!(
        panic_message(&*panic).contains("a handler cannot end with Fail"),
        "{}",
        panic_message(&*panic)
    );
    Ok(())
}

async fn a_guest_may_be_of_another_contract_version() -> Result<()> {
    let (imports, exports) = interfaces(&greeting().contract_version("9.0.0").build());
    let other = |names: &[&str]| {
        names
            .iter()
            .map(|name| name.replace("0.2.0", "9.0.0"))
            .collect::<Vec<_>>()
    };
    assert_eq!((imports, exports), (other(&IMPORTS), other(&EXPORTS)));
    Ok(())
}

async fn a_guest_may_import_what_it_must_not() -> Result<()> {
    let (imports, _) = interfaces(&greeting().importing("wasi:filesystem/types@0.2.6").build());
    assert!(
        imports.contains(&"wasi:filesystem/types@0.2.6".to_owned()),
        "{imports:?}"
    );
    Ok(())
}

async fn a_truncated_component_validates_and_lacks_exports() -> Result<()> {
    let whole = greeting().build();
    let cut = truncated_component(&whole).unwrap();
    assert!(cut.len() < whole.len());
    let (_, exports) = interfaces(&cut);
    assert!(exports.len() < EXPORTS.len(), "{exports:?}");
    Ok(())
}

async fn the_malformed_ones_are_malformed_as_meant() -> Result<()> {
    assert!(wasmparser::Parser::is_core_wasm(&core_module()));
    assert_eq!(interfaces(&foreign_component()).1, ["run"]);
    Ok(())
}

async fn fixture(fixture: Fixture) -> Vec<u8> {
    Fixtures::new(env!("CARGO_TARGET_TMPDIR"))
        .build(fixture)
        .await
        .expect("the fixture builds")
        .to_vec()
}

async fn the_hand_written_guest_is_a_module() -> Result<()> {
    let (imports, exports) = interfaces(&fixture(Fixture::Wat).await);
    assert!(
        imports.iter().all(|import| IMPORTS.contains(&import.as_str())),
        "{imports:?}"
    );
    assert_eq!(exports, EXPORTS);
    Ok(())
}

async fn the_rust_guests_are_modules() -> Result<()> {
    let (_, exports) = interfaces(&fixture(Fixture::RustChannels).await);
    assert_eq!(exports, EXPORTS);
    let (_, exports) = interfaces(&fixture(Fixture::RustChannelsAsync).await);
    assert_eq!(exports, of_the_contract(&EXPORTS_ASYNC));
    Ok(())
}

async fn the_javascript_guest_is_a_module() -> Result<()> {
    let (imports, exports) = interfaces(&fixture(Fixture::Js).await);
    assert_eq!(imports, IMPORTS, "no WASI import is left");
    assert!(
        EXPORTS.iter().all(|export| exports.contains(&(*export).to_owned())),
        "{exports:?}"
    );
    Ok(())
}
