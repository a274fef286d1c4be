//! The functions of the contract that a synthetic guest imports.

use super::Guest;

/// The interface, the function's name, its name in the core module, and the number of parameters of the core function.
type Function = (&'static str, &'static str, &'static str, usize);

const CONTEXT: &[Function] = &[
    ("context", "method", "[method]context.method", 2),
    ("context", "path", "[method]context.path", 2),
    ("context", "query", "[method]context.query", 2),
    ("context", "param", "[method]context.param", 4),
    ("context", "params", "[method]context.params", 2),
    ("context", "header", "[method]context.header", 4),
    ("context", "headers", "[method]context.headers", 2),
    ("context", "request_id", "[method]context.request-id", 2),
    ("context", "route", "[method]context.route", 2),
    ("context", "extension", "[method]context.extension", 4),
    ("context", "set_extension", "[method]context.set-extension", 5),
    ("context", "open_body", "[method]context.open-body", 2),
    ("context", "emit", "[method]context.emit", 7),
    ("context", "send", "[method]context.send", 8),
    ("context", "throw", "[method]context.throw", 5),
    ("context", "open_reply", "[method]context.open-reply", 5),
    ("context", "hand_over", "hand-over", 8),
    ("context", "finish", "[method]body-writer.finish", 2),
    ("context", "drop_context", "[resource-drop]context", 1),
    ("context", "drop_reader", "[resource-drop]body-reader", 1),
    ("context", "drop_writer", "[resource-drop]body-writer", 1),
    ("log", "log", "write", 5),
    ("log", "panicked", "panicked", 2),
];

/// The waiting functions of the synchronous form.
const WAITING: &[Function] = &[
    ("context", "body", "[method]context.body", 2),
    ("context", "call", "[method]context.call", 8),
    ("context", "read", "[method]body-reader.read", 3),
    ("context", "write", "[method]body-writer.write", 4),
];

/// The waiting functions of the asynchronous form. A plain import of an async function blocks as a synchronous one
/// does.
const WAITING_ASYNC: &[Function] = &[
    ("context-async", "body", "body", 2),
    ("context-async", "call", "call", 8),
    ("context-async", "read", "read", 3),
    ("context-async", "write", "write", 4),
];

const DELIVERY: &[Function] = &[
    ("events", "event", "[method]delivery.event", 2),
    ("events", "origin", "[method]delivery.request-id", 2),
    ("events", "take_context", "[method]delivery.take-context", 2),
    ("events", "emit_on", "[method]delivery.emit", 7),
    ("events", "drop_delivery", "[resource-drop]delivery", 1),
];

const CALL_ON: Function = ("events", "call_on", "[method]delivery.call", 8);
const CALL_ON_ASYNC: Function = ("events-async", "call_on", "call", 8);

/// The imports of a module, as WebAssembly text.
pub(super) fn text(guest: &Guest, version: &str) -> String {
    let waiting = if guest.asynchronous { WAITING_ASYNC } else { WAITING };
    let mut functions = [CONTEXT, waiting].concat();
    if !guest.channels.is_empty() {
        functions.extend(DELIVERY);
        functions.push(if guest.asynchronous { CALL_ON_ASYNC } else { CALL_ON });
    }
    let contract = functions.into_iter().map(|(interface, here, there, params)| {
        let interface = format!("pointwork:module/{interface}@{version}");
        import(&interface, there, here, params)
    });
    let foreign = guest
        .foreign_import
        .iter()
        .map(|foreign| import(foreign, "probe", "probe", 0));
    contract.chain(foreign).collect()
}

fn import(interface: &str, there: &str, here: &str, params: usize) -> String {
    let params = "i32 ".repeat(params);
    format!("(import \"{interface}\" \"{there}\" (func ${here} (param {params})))\n")
}
