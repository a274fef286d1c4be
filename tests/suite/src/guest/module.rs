//! The core module of a synthetic guest.

use super::declarations::Manifest;
use super::layout::Data;
use super::steps::{self, Role};
use super::{Discovery, Guest, code, declarations, imports, tasks};

const PRELUDE: &str = include_str!("prelude.wat");

/// The WebAssembly text of the module.
pub(super) fn text(guest: &Guest, version: &str) -> String {
    let mut data = Data::default();
    let declared = declarations::manifest(guest, &mut data);
    let mut code = describe(guest, version, &declared, &mut data);
    if !guest.started.is_empty() {
        let steps = steps::outside(&guest.started, &mut data);
        // A start function of the module would run before its imports can be called.
        code.push_str(&format!(
            "(func (export \"_initialize\") (local $ctx i32) {steps} (call $clear))\n"
        ));
    }
    let routes = guest.controllers.iter().flat_map(|controller| &controller.routes);
    let programs: Vec<_> = routes
        .map(|route| &route.program)
        .filter(|_| !guest.without_code)
        .collect();
    code.push_str(&code::functions(
        Role::Handler,
        &programs,
        guest.is_concurrent(),
        &mut data,
    ));
    let listeners = guest.channels.iter().flat_map(|channel| &channel.listeners);
    let programs = listeners.map(|listener| &listener.program);
    let programs: Vec<_> = programs.filter(|_| !guest.without_code).collect();
    code.push_str(&code::functions(
        Role::Listener,
        &programs,
        guest.is_concurrent(),
        &mut data,
    ));
    let heap = data.end();
    if guest.is_concurrent() {
        code.push_str(&tasks::exports(version, heap));
    }
    for form in blocking_forms(guest) {
        code.push_str(&format!(
            r#"(func (export "{}#handle") (param $number i32) (param $ctx i32) (result i32)
(global.set $heap (i32.const {heap}))
(call $clear)
(global.set $count (i32.add (global.get $count) (i32.const 1)))
(call $run_handler (local.get $number) (local.get $ctx)))
(func (export "{}#deliver") (param $number i32) (param $delivery i32)
(param $case i32) (param $a i32) (param $a_len i32) (param $b i32) (param $b_len i32) (result i32)
(call $receive (i32.const {heap}) (local.get $case) (local.get $a) (local.get $a_len) (local.get $b) (local.get $b_len))
(global.set $count (i32.add (global.get $count) (i32.const 1)))
(call $run_listener (local.get $number) (local.get $delivery)))
"#,
            interface(&format!("handlers{form}"), version),
            interface(&format!("listeners{form}"), version)
        ));
    }
    if !guest.channels.is_empty() {
        code.push_str(
            "(func $dismiss (param $delivery i32) \
             (if (local.get $delivery) (then (call $drop_delivery (local.get $delivery)))))\n",
        );
    }
    let imports = imports::text(guest, version);
    let pages = heap.max(declarations::flood_end(guest)) / 65536 + 2;
    let segment = data.segment();
    format!(
        r#"(module
{imports}
(memory (export "memory") {pages})
(global $heap (mut i32) (i32.const {heap}))
{PRELUDE}
(func $let_go (param $ctx i32) (if (local.get $ctx) (then (call $drop_context (local.get $ctx)))))
{code}
{segment}
)"#
    )
}

/// The suffixes of the interfaces that the guest exports as functions that block.
fn blocking_forms(guest: &Guest) -> &'static [&'static str] {
    match (guest.mixed_forms, guest.asynchronous) {
        (true, _) => &["", "-async"],
        (false, false) => &[""],
        (false, true) if guest.is_concurrent() => &[],
        (false, true) => &["-async"],
    }
}

/// The full name of an interface of the contract.
fn interface(name: &str, version: &str) -> String {
    format!("pointwork:module/{name}@{version}")
}

fn describe(guest: &Guest, version: &str, declared: &Manifest, data: &mut Data) -> String {
    let at = declared.at;
    let body = match guest.discovery {
        Discovery::Declares => format!("(i32.const {at})"),
        Discovery::Traps => "unreachable".to_owned(),
        Discovery::Loops => "(loop $forever (br $forever)) unreachable".to_owned(),
        Discovery::Differs => {
            let last = declared.path.at + declared.path.len - 1;
            format!(
                "(i32.store8 (i32.const {last}) (i32.add (i32.const 1) (i32.load8_u (i32.const {last})))) (i32.const {at})"
            )
        }
    };
    let steps = steps::outside(&guest.described, data);
    format!(
        "(func (export \"{}#describe\") (result i32) (local $ctx i32) {steps} (call $clear) {body})\n",
        interface("manifest", version)
    )
}
