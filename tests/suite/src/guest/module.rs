//! The core module of a synthetic guest.

use super::layout::{Data, RETURN, Span};
use super::steps::{self, Role};
use super::{Discovery, Guest, Program, declarations, imports};

const PRELUDE: &str = include_str!("prelude.wat");

/// The WebAssembly text of the module.
pub(super) fn text(guest: &Guest, version: &str) -> String {
    let mut data = Data::default();
    let mut code = String::new();
    if guest.serves() {
        let declared = declarations::controllers(guest, &mut data);
        let routes = guest.controllers.iter().flat_map(|controller| &controller.routes);
        let programs: Vec<_> = routes.map(|route| &route.program).collect();
        code.push_str(&programs_of(Role::Handler, &programs, &mut data));
        code.push_str(&declare(
            guest,
            &interface("routes", version),
            "declare-routes",
            declared,
        ));
    }
    if !guest.channels.is_empty() {
        let declared = declarations::channels(guest, &mut data);
        let listeners = guest.channels.iter().flat_map(|channel| &channel.listeners);
        let programs: Vec<_> = listeners.map(|listener| &listener.program).collect();
        code.push_str(&programs_of(Role::Listener, &programs, &mut data));
        code.push_str(&declare(
            guest,
            &interface("channels", version),
            "declare-channels",
            declared,
        ));
    }
    let heap = data.end();
    if guest.serves() {
        let handlers = if guest.asynchronous {
            "handlers-async"
        } else {
            "handlers"
        };
        code.push_str(&format!(
            r#"(func (export "{}#handle") (param $number i32) (param $ctx i32) (result i32)
(global.set $heap (i32.const {heap}))
(call $clear)
(global.set $count (i32.add (global.get $count) (i32.const 1)))
(call $run_handler (local.get $number) (local.get $ctx)))
"#,
            interface(handlers, version)
        ));
    }
    if !guest.channels.is_empty() {
        let listeners = if guest.asynchronous || guest.mixed_forms {
            "listeners-async"
        } else {
            "listeners"
        };
        code.push_str(&format!(
            r#"(func (export "{}#deliver") (param $number i32) (param $delivery i32)
(param $kind i32) (param $kind_len i32) (param $data i32) (param $data_len i32) (result i32)
(call $receive (i32.const {heap}) (local.get $kind) (local.get $kind_len) (local.get $data) (local.get $data_len))
(global.set $count (i32.add (global.get $count) (i32.const 1)))
(call $run_listener (local.get $number) (local.get $delivery)))
(func $dismiss (param $delivery i32) (if (local.get $delivery) (then (call $drop_delivery (local.get $delivery)))))
"#,
            interface(listeners, version)
        ));
    }
    let imports = imports::text(guest, version);
    let pages = heap / 65536 + 2;
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

impl Guest {
    /// Whether the guest has the exports of a controller module. A guest without controllers and channels has them too.
    fn serves(&self) -> bool {
        self.channels.is_empty() || !self.controllers.is_empty() || self.mixed_forms
    }
}

/// The full name of an interface of the contract.
fn interface(name: &str, version: &str) -> String {
    format!("pointwork:module/{name}@{version}")
}

/// A function for each program, and the function that calls the program of a number.
fn programs_of(role: Role, programs: &[&Program], data: &mut Data) -> String {
    let name = role.name();
    let mut code = String::new();
    let mut dispatch = String::new();
    for (number, program) in (0..).zip(programs) {
        code.push_str(&steps::function(role, number, program, data));
        dispatch.push_str(&format!(
            "(if (i32.eq (local.get $number) (i32.const {number})) \
             (then (return (call ${name}_{number} (local.get $handle)))))\n"
        ));
    }
    format!("{code}(func $run_{name} (param $number i32) (param $handle i32) (result i32)\n{dispatch}unreachable)\n")
}

fn declare(guest: &Guest, interface: &str, function: &str, declared: Span) -> String {
    let body = match guest.discovery {
        Discovery::Declares => format!(
            "(i32.store (i32.const {RETURN}) (i32.const {})) (i32.store (i32.const {}) (i32.const {})) (i32.const {RETURN})",
            declared.at,
            RETURN + 4,
            declared.len
        ),
        Discovery::Traps => "unreachable".to_owned(),
        Discovery::Loops => "(loop $forever (br $forever)) unreachable".to_owned(),
    };
    format!("(func (export \"{interface}#{function}\") (result i32) {body})\n")
}
