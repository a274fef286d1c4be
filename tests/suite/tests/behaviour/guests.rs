//! Tests of the suite's own guests: they are components of the contract, and the malformed ones have the intended
//! fault.

use std::collections::BTreeSet;

use anyhow::{Context as _, Result, ensure};
use pointwork_suite::fixtures::{Fixture, Fixtures};
use pointwork_suite::guest::{
    Channel, Controller, End, Guest, Program, ReplyBody, Step, contract, core_module, foreign_component,
    truncated_component,
};
use pointwork_test_runner::panic_message;
use wit_component::DecodedWasm;
use wit_parser::{Resolve, WorldId, WorldItem, WorldKey};

use crate::trials;

trials! {
    a_synthetic_guest_is_a_module,
    the_asynchronous_form_has_interfaces_of_its_own,
    a_guest_imports_every_function_of_its_world,
    a_guest_may_mix_two_forms,
    a_channel_may_be_malformed,
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

/// Every step that handlers and listeners have in common.
fn common_steps() -> Program {
    Program::new()
        .say("text")
        .param("p")
        .header_of_request("h")
        .step(Step::Method)
        .step(Step::Path)
        .step(Step::Query)
        .step(Step::Scheme)
        .step(Step::Authority)
        .step(Step::HttpVersion)
        .step(Step::RemoteAddress)
        .step(Step::ReceivedAt)
        .step(Step::Deadline)
        .step(Step::Cancelled)
        .step(Step::Params)
        .step(Step::Headers)
        .step(Step::RequestId)
        .step(Step::Route)
        .step(Step::Extension("e".to_owned()))
        .step(Step::SetExtension("e".to_owned()))
        .step(Step::Body)
        .step(Step::BodyText)
        .step(Step::Count)
        .call("a:b")
        .step(Step::CallBytes(vec![0xff]))
        .step(Step::CallAs("a:b".to_owned(), "text/csv"))
        .emit("a:b")
        .step(Step::Send(200))
        .step(Step::SendWith(200, vec![("x-one".to_owned(), b"1".to_vec())]))
        .step(Step::ThrowNow(400))
        .step(Step::Stream(200, vec!["one".to_owned()]))
        .step(Step::Finish)
        .step(Step::Echo)
        .step(Step::Now)
        .step(Step::Random)
        .step(Step::Variables)
        .step(Step::Print)
        .step(Step::PrintError)
        .step(Step::Log)
        .step(Step::LogWith(vec![("a".to_owned(), "1".to_owned())]))
        .step(Step::Panicked)
        .step(Step::PanickedAt("Error", vec![("f", "f.rs", 7)]))
        .step(Step::HandOver("a:b".to_owned()))
}

/// A guest without channels that runs every step of a handler.
fn everything() -> Guest {
    let steps = common_steps().header("x-one", "1");
    let ends = [
        End::Reply(ReplyBody::Empty),
        End::Reply(ReplyBody::Json),
        End::Throw(404),
        End::Deferred,
        End::Keep,
        End::Trap,
        End::Loop,
        End::Hog,
    ];
    let things = ends.iter().fold(Controller::new("Things", "things"), |things, end| {
        things.route(
            &format!("{end:?}"),
            None,
            &[&format!("{end:?}"), "*rest"],
            steps.clone().ends(*end),
        )
    });
    Guest::with(things)
}

/// A channel that runs every step of a listener.
fn channel() -> Channel {
    let steps = common_steps()
        .step(Step::EventName)
        .step(Step::EventId)
        .step(Step::Attempt)
        .step(Step::PayloadType)
        .take_context();
    let ends = [
        End::Reply(ReplyBody::Text),
        End::Result("text/csv"),
        End::Fail("conflict", 409),
        End::Deferred,
        End::Keep,
        End::Trap,
        End::Loop,
        End::Hog,
    ];
    ends.iter().fold(Channel::new("db"), |channel, end| {
        channel.on(&format!("{end:?}"), steps.clone().ends(*end))
    })
}

async fn a_synthetic_guest_is_a_module() -> Result<()> {
    let mut of_the_form = (IMPORTS.map(String::from).to_vec(), EXPORTS.map(String::from).to_vec());
    assert_eq!(interfaces(&everything().channel(channel()).build()), of_the_form);
    // Without a listener there is nothing that calls from one.
    of_the_form.0.retain(|import| !import.contains("events-sync"));
    assert_eq!(interfaces(&everything().build()), of_the_form);
    Ok(())
}

async fn the_asynchronous_form_has_interfaces_of_its_own() -> Result<()> {
    let (imports, exports) = interfaces(&everything().channel(channel()).asynchronous().build());
    assert_eq!(imports, of_the_contract(&IMPORTS_ASYNC));
    assert_eq!(exports, of_the_contract(&EXPORTS_ASYNC));
    Ok(())
}

/// The imported functions of a world, with their interfaces.
fn functions(resolve: &Resolve, world: WorldId) -> BTreeSet<String> {
    let imports = &resolve.worlds[world].imports;
    let of_interface = |(key, item): (&WorldKey, &WorldItem)| {
        let WorldItem::Interface { id, .. } = item else {
            panic!("a bare import")
        };
        let interface = resolve.name_world_key(key);
        let names = resolve.interfaces[*id].functions.keys();
        names.map(|name| format!("{interface} {name}")).collect::<Vec<_>>()
    };
    imports.iter().flat_map(of_interface).collect()
}

async fn a_guest_imports_every_function_of_its_world() -> Result<()> {
    let guest = everything().channel(channel());
    for (guest, world) in [(guest.clone(), "module"), (guest.asynchronous(), "module-async")] {
        let DecodedWasm::Component(resolve, id) = wit_component::decode(&guest.build())? else {
            panic!("a WIT package instead of a component");
        };
        let (contract, of_contract) = contract(world)?;
        assert_eq!(functions(&resolve, id), functions(&contract, of_contract), "{world}");
    }
    Ok(())
}

async fn a_guest_may_mix_two_forms() -> Result<()> {
    let (_, exports) = interfaces(&everything().channel(channel()).mixed_forms().build());
    let both = ["handlers", "handlers-async", "listeners", "listeners-async", "manifest"];
    assert_eq!(exports, of_the_contract(&both));
    Ok(())
}

async fn a_channel_may_be_malformed() -> Result<()> {
    for (name, event) in [("", "one"), ("a:b", "one"), ("db", "")] {
        let twice = Channel::new(name).on(event, Program::new()).on(event, Program::new());
        let guest = Guest::new().channel(twice).importing("wasi:filesystem/types@0.2.6");
        let (imports, _) = interfaces(&guest.build());
        assert!(
            imports.contains(&"wasi:filesystem/types@0.2.6".to_owned()),
            "{imports:?}"
        );
    }
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
    let (_, exports) = interfaces(&everything().contract_version("9.0.0").build());
    assert_eq!(exports, EXPORTS.map(|export| export.replace("0.2.0", "9.0.0")));
    Ok(())
}

async fn a_guest_may_import_what_it_must_not() -> Result<()> {
    let (imports, _) = interfaces(&everything().importing("wasi:filesystem/types@0.2.6").build());
    assert!(
        imports.contains(&"wasi:filesystem/types@0.2.6".to_owned()),
        "{imports:?}"
    );
    Ok(())
}

async fn a_truncated_component_validates_and_lacks_exports() -> Result<()> {
    let whole = everything().build();
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
