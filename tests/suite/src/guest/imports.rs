//! The functions of the contract that a synthetic guest imports.

use super::{Guest, tasks};

/// The interface, the function's name, its name in the core module, and the number of parameters of the core function.
type Function<'a> = (&'a str, &'a str, &'a str, usize);

const CONTEXT: &[Function<'static>] = &[
    ("context", "method", "[method]context.method", 2),
    ("context", "path", "[method]context.path", 2),
    ("context", "scheme", "[method]context.scheme", 2),
    ("context", "authority", "[method]context.authority", 2),
    ("context", "http_version", "[method]context.http-version", 2),
    ("context", "remote_address", "[method]context.remote-address", 2),
    ("context", "received_at", "[method]context.received-at", 2),
    ("context", "deadline", "[method]context.deadline", 2),
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
    ("context", "emit", "[method]context.emit", 8),
    ("context", "send", "[method]context.send", 8),
    ("context", "throw", "[method]context.throw", 10),
    ("context", "open_reply", "[method]context.open-reply", 5),
    ("context", "hand_over", "hand-over", 9),
    ("context", "drop_context", "[resource-drop]context", 1),
    ("context", "drop_reader", "[resource-drop]body-reader", 1),
    ("context", "drop_writer", "[resource-drop]body-writer", 1),
    ("log", "log", "write", 7),
    ("log", "print", "print", 3),
    ("log", "panicked", "panicked", 7),
    ("environment", "now", "now", 1),
    ("environment", "monotonic", "monotonic", 1),
    ("environment", "variables", "variables", 1),
];

/// The functions of `context-sync` and `context-async`. A plain import of an async function blocks as a synchronous one does,
/// and has the same core function. Another one does not block, and gets more than four parameters through memory.
const WAITING: &[(&str, &str, usize)] = &[
    ("body", "body", 2),
    ("body_text", "text", 2),
    ("call", "call", 9),
    ("read", "read", 3),
    ("write", "write", 4),
    ("finish", "finish", 2),
];
const CALL_ON: (&str, &str, usize) = ("call_on", "call", 9);

const DELIVERY: &[Function<'static>] = &[
    ("events", "event", "[method]delivery.event", 2),
    ("events", "event_id", "[method]delivery.id", 2),
    ("events", "origin", "[method]delivery.request-id", 2),
    ("events", "take_context", "[method]delivery.take-context", 2),
    ("events", "deadline_on", "[method]delivery.deadline", 2),
    ("events", "emit_on", "[method]delivery.emit", 8),
    ("events", "drop_delivery", "[resource-drop]delivery", 1),
];

/// The functions that return a number.
const NUMBERS: &[Function<'static>] = &[
    ("context", "cancelled", "[method]context.cancelled", 1),
    ("environment", "random", "random", 0),
];
const DELIVERY_NUMBERS: &[Function<'static>] = &[
    ("events", "cancelled_on", "[method]delivery.cancelled", 1),
    ("events", "attempt", "[method]delivery.attempt", 1),
];

/// The imports of a module, as WebAssembly text.
pub(super) fn text(guest: &Guest, version: &str) -> String {
    let (context, events) = if guest.asynchronous != guest.waits_in_the_other_form {
        ("context-async", "events-async")
    } else {
        ("context-sync", "events-sync")
    };
    let mut functions = CONTEXT.to_vec();
    if context == "context-async" {
        functions.push((context, "closed", "closed", 1));
    }
    let mut waiting: Vec<_> = WAITING.iter().map(|&function| (context, function)).collect();
    let mut numbers = NUMBERS.to_vec();
    if !guest.channels.is_empty() {
        functions.extend(DELIVERY);
        waiting.push((events, CALL_ON));
        numbers.extend(DELIVERY_NUMBERS);
    }
    let contract = |function: Function<'_>, result: &str| {
        let (interface, here, there, params) = function;
        let interface = format!("pointwork:module/{interface}@{version}");
        import(
            &interface,
            there,
            here,
            &format!("(param {}) {result}", "i32 ".repeat(params)),
        )
    };
    let functions = functions.into_iter().map(|function| contract(function, ""));
    let numbers = numbers.into_iter().map(|function| contract(function, "(result i32)"));
    let waiting = waiting.into_iter().map(|(interface, (here, there, params))| {
        if !guest.is_concurrent() {
            return contract((interface, here, there, params), "");
        }
        let params = if params > 5 { 2 } else { params };
        contract(
            (interface, here, &format!("[async-lower]{there}"), params),
            "(result i32)",
        )
    });
    let foreign = guest.foreign_import.iter().map(|foreign| {
        let item = ForeignItem::find(foreign);
        import(foreign, item.core_name, "foreign", item.signature)
    });
    let later = guest.later_import.iter().map(|function| {
        let interface = format!("pointwork:module/log@{version}");
        import(&interface, function, "later", "")
    });
    let tasks = guest.is_concurrent().then(|| tasks::imports(version));
    functions
        .chain(numbers)
        .chain(waiting)
        .chain(foreign)
        .chain(later)
        .chain(tasks)
        .collect()
}

pub(super) fn import(interface: &str, there: &str, here: &str, signature: &str) -> String {
    format!("(import \"{interface}\" \"{there}\" (func ${here} {signature}))\n")
}

/// The imports of a guest from an interface outside the contract.
pub(super) struct ForeignItem {
    pub(super) wit: &'static str,
    core_name: &'static str,
    signature: &'static str,
}

impl ForeignItem {
    /// An item that the host has, where it has the interface.
    pub(super) fn find(interface: &str) -> Self {
        let (wit, core_name, signature) = match interface.split('@').next() {
            Some("wasi:filesystem/types") => ("resource descriptor;", "[resource-drop]descriptor", "(param i32)"),
            Some("wasi:random/random") => ("get-random-u64: func() -> u64;", "get-random-u64", "(result i64)"),
            _ => ("probe: func();", "probe", ""),
        };
        Self {
            wit,
            core_name,
            signature,
        }
    }
}
