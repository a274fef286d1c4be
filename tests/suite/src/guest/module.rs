//! The core module of a synthetic guest.

use super::layout::{Data, RETURN, Record, Span};
use super::{Discovery, Guest, steps};

const PRELUDE: &str = include_str!("prelude.wat");

/// The functions of `context` with their core signatures: name here, name there, parameters.
const CONTEXT: &[(&str, &str, usize)] = &[
    ("method", "[method]context.method", 2),
    ("path", "[method]context.path", 2),
    ("query", "[method]context.query", 2),
    ("param", "[method]context.param", 4),
    ("params", "[method]context.params", 2),
    ("header", "[method]context.header", 4),
    ("headers", "[method]context.headers", 2),
    ("request_id", "[method]context.request-id", 2),
    ("route", "[method]context.route", 2),
    ("extension", "[method]context.extension", 4),
    ("set_extension", "[method]context.set-extension", 5),
    ("body", "[method]context.body", 2),
    ("call", "[method]context.call", 8),
    ("emit", "[method]context.emit", 7),
    ("send", "[method]context.send", 8),
    ("throw", "[method]context.throw", 5),
    ("open_reply", "[method]context.open-reply", 5),
    ("hand_over", "hand-over", 8),
    ("write", "[method]body-writer.write", 4),
    ("finish", "[method]body-writer.finish", 2),
    ("drop_context", "[resource-drop]context", 1),
    ("drop_writer", "[resource-drop]body-writer", 1),
];

/// The text of the module.
pub(crate) fn text(guest: &Guest, version: &str) -> String {
    let interface = |name: &str| format!("pointwork:module/{name}@{version}");
    let mut data = Data::default();
    let declared = declarations(guest, &mut data);

    let mut code = String::new();
    let mut dispatch = String::new();
    for (number, route) in (0..).zip(guest.controllers.iter().flat_map(|controller| &controller.routes)) {
        code.push_str(&steps::handler(number, &route.program, &mut data));
        dispatch.push_str(&format!(
            "(if (i32.eq (local.get $number) (i32.const {number})) (then (return (call $handler_{number} (local.get $ctx)))))\n"
        ));
    }

    let imports: String = CONTEXT
        .iter()
        .map(|&(here, there, params)| import(&interface("context"), there, here, params))
        .chain([
            import(&interface("log"), "write", "log", 5),
            import(&interface("log"), "panicked", "panicked", 2),
        ])
        .chain(
            guest
                .foreign_import
                .iter()
                .map(|foreign| import(foreign, "probe", "probe", 0)),
        )
        .collect();
    let declare = match guest.discovery {
        Discovery::Declares => format!(
            "(i32.store (i32.const {RETURN}) (i32.const {})) (i32.store (i32.const {}) (i32.const {})) (i32.const {RETURN})",
            declared.at,
            RETURN + 4,
            declared.len
        ),
        Discovery::Traps => "unreachable".to_owned(),
        Discovery::Loops => "(loop $forever (br $forever)) unreachable".to_owned(),
    };
    let handlers = interface(if guest.asynchronous {
        "handlers-async"
    } else {
        "handlers"
    });
    let routes = interface("routes");
    let heap = data.end();
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
(func (export "{routes}#declare-routes") (result i32) {declare})
(func (export "{handlers}#handle") (param $number i32) (param $ctx i32) (result i32)
(global.set $heap (i32.const {heap}))
(call $clear)
(global.set $count (i32.add (global.get $count) (i32.const 1)))
{dispatch}
unreachable)
{segment}
)"#
    )
}

fn import(interface: &str, there: &str, here: &str, params: usize) -> String {
    let params = "i32 ".repeat(params);
    format!("(import \"{interface}\" \"{there}\" (func ${here} (param {params})))\n")
}

fn declarations(guest: &Guest, data: &mut Data) -> Span {
    let mut number = 0;
    let controllers: Vec<_> = guest
        .controllers
        .iter()
        .map(|controller| {
            let routes: Vec<_> = controller
                .routes
                .iter()
                .map(|route| {
                    let paths: Vec<_> = route
                        .paths
                        .iter()
                        .map(|path| Record::default().span(data.bytes(path)))
                        .collect();
                    let record = Record::default()
                        .number(number)
                        .span(data.bytes(&route.name))
                        .option(route.method.as_ref().map(|method| data.bytes(method)))
                        .span(data.list(&paths));
                    number += 1;
                    record
                })
                .collect();
            Record::default()
                .span(data.bytes(&controller.name))
                .span(data.bytes(&controller.prefix))
                .span(data.list(&routes))
        })
        .collect();
    data.list(&controllers)
}
