//! The code of each step.

use std::collections::HashMap;

use super::ends;
use super::layout::{Data, RESULT, Record, Span};
use super::program::{Program, Step};

/// The role of a program: a handler has a context, a listener a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Handler,
    Listener,
}

impl Role {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Handler => "handler",
            Self::Listener => "listener",
        }
    }

    /// The local variable through which the program calls and emits.
    fn door(self) -> &'static str {
        match self {
            Self::Handler => "(local.get $ctx)",
            Self::Listener => "(local.get $delivery)",
        }
    }

    /// The delivery, for a step that needs one.
    fn delivery(self, step: &Step) -> &'static str {
        assert!(
            self == Self::Listener,
            "a handler has no delivery for the step {step:?}"
        );
        self.door()
    }
}

/// Pushes the address and the length of a text.
pub(super) fn push(span: Span) -> String {
    format!("(i32.const {}) (i32.const {})", span.at, span.len)
}

/// Pushes the current text of the program.
const TEXT: &str = "(global.get $text) (global.get $text_len)";

const JSON: &str = "application/json";

/// The code of a whole handler or listener. Both have the local `$ctx`, which is 0 in a listener until it takes the
/// context.
pub(super) fn function(role: Role, number: u32, program: &Program, data: &mut Data) -> String {
    let head = match role {
        Role::Handler => "(param $ctx i32) (result i32)",
        Role::Listener => "(param $delivery i32) (result i32) (local $ctx i32)",
    };
    let steps: Vec<_> = program.steps.iter().map(|step| code(role, step, data)).collect();
    format!(
        "(func ${}_{number} {head}\n{}\n{})\n",
        role.name(),
        steps.join("\n"),
        ends::code(role, program, data)
    )
}

/// The code of steps outside of a handler and a listener, which has neither context nor delivery.
pub(super) fn outside(steps: &[Step], data: &mut Data) -> String {
    let codes: Vec<_> = steps.iter().map(|step| code(Role::Handler, step, data)).collect();
    codes.join("\n")
}

fn code(role: Role, step: &Step, data: &mut Data) -> String {
    let string = |import: &str| format!("(call ${import} (local.get $ctx) (i32.const {RESULT})) (call $say_string)");
    match step {
        Step::Say(text) => format!("(call $say {})", push(data.bytes(text))),
        Step::Double(times) => format!("(call $say {TEXT}) ").repeat(*times as usize),
        Step::Each(steps) => {
            let again = "(global.set $text_len (global.get $all))";
            let codes: Vec<_> = steps.iter().map(|step| code(role, step, data)).collect();
            format!("(global.set $all (global.get $text_len)) {}", codes.join(again))
        }
        Step::Method => string("method"),
        Step::Path => string("path"),
        Step::RequestId if role == Role::Listener => format!(
            "(call $origin (local.get $delivery) (i32.const {RESULT})) {}",
            say_option(data)
        ),
        Step::RequestId => string("request_id"),
        Step::Route => string("route"),
        Step::Scheme => string("scheme"),
        Step::HttpVersion => string("http_version"),
        Step::Authority => optional("authority", data),
        Step::RemoteAddress => optional("remote_address", data),
        Step::ReceivedAt => format!(
            "(call $received_at (local.get $ctx) (i32.const {RESULT})) \
             (call $say_number (i32.wrap_i64 (i64.load (i32.const {RESULT}))))"
        ),
        Step::Deadline => deadline(role, data),
        Step::Cancelled => {
            let cancelled = match role {
                Role::Handler => "cancelled",
                Role::Listener => "cancelled_on",
            };
            let say = push(data.bytes("cancelled"));
            format!("(if (call ${cancelled} {}) (then (call $say {say})))", role.door())
        }
        Step::Query => optional("query", data),
        Step::Param(name) => named("param", name, data),
        Step::Header(name) => named("header", name, data),
        Step::Extension(key) => named("extension", key, data),
        Step::Params => pairs("params", data),
        Step::Headers => pairs("headers", data),
        Step::SetExtension(key) => {
            format!(
                "(call $set_extension (local.get $ctx) {} {TEXT}) (call $clear)",
                push(data.bytes(key))
            )
        }
        Step::Body => body("body", data),
        Step::BodyText => body("body_text", data),
        Step::Count => "(call $say_number (global.get $count))".to_owned(),
        Step::Call(event) => call(role, event.as_bytes(), JSON, data),
        Step::CallBytes(event) => call(role, event, JSON, data),
        Step::CallAs(event, content_type) => call(role, event.as_bytes(), content_type, data),
        Step::Emit(event) => {
            let emit = match role {
                Role::Handler => "emit",
                Role::Listener => "emit_on",
            };
            format!(
                "(call ${emit} {} {} {}) (call $clear)",
                role.door(),
                push(data.bytes(event)),
                payload(JSON, data)
            )
        }
        Step::HandOver(event) => {
            let give = format!(
                "(call $hand_over {} (local.get $ctx) {} (i32.const {RESULT})) (local.set $ctx (i32.const 0))",
                push(data.bytes(event)),
                payload(JSON, data)
            );
            format!("{give} {}", if_failed(data, false, "(call $clear)"))
        }
        Step::Send(status) => send(*status, &[], data),
        Step::SendWith(status, headers) => send(*status, headers, data),
        Step::ThrowNow(status) => {
            // An error, flattened: status, headers, message, details.
            let error = format!(
                "(i32.const {status}) (i32.const 0) (i32.const 0) {TEXT} (i32.const 0) (i32.const 0) (i32.const 0)"
            );
            let throw = format!("(call $throw (local.get $ctx) {error} (i32.const {RESULT}))");
            format!("{throw} {}", sent(data))
        }
        Step::Stream(status, chunks) => {
            // Chunks that are equal have one place in memory.
            let mut known = HashMap::new();
            let mut place = |chunk| known.entry(chunk).or_insert_with(|| push(data.bytes(chunk))).clone();
            let chunks: Vec<String> = chunks.iter().map(&mut place).collect();
            stream(*status, &chunks, data)
        }
        Step::UseFirstDelivery => {
            "(if (i32.eqz (global.get $first)) (then (global.set $first (local.get $delivery)))) \
             (local.set $delivery (global.get $first))"
                .to_owned()
        }
        Step::StreamText(status) => format!("{} (call $clear)", stream(*status, &[TEXT.to_owned()], data)),
        Step::Finish => format!(
            "(if (global.get $writer) (then (call $finish (global.get $writer) (i32.const {RESULT})) \
             (call $drop_writer (global.get $writer)) (global.set $writer (i32.const 0))))"
        ),
        Step::Echo => echo(data),
        Step::TakeContext => {
            let none = format!("(call $clear) (call $say {})", push(data.bytes("(none)")));
            format!(
                "(call $take_context {} (i32.const {RESULT})) (if (i32.load8_u (i32.const {RESULT})) \
                 (then (local.set $ctx (i32.load (i32.const 68)))) (else {none}))",
                role.delivery(step)
            )
        }
        Step::EventName => format!(
            "(call $event {} (i32.const {RESULT})) (call $say_string)",
            role.delivery(step)
        ),
        Step::PayloadType => {
            let json = push(data.bytes(JSON));
            format!(
                "(if (global.get $kind_len) (then (call $say (global.get $kind) (global.get $kind_len))) \
                 (else (call $say {json})))"
            )
        }
        Step::EventId => format!(
            "(call $event_id {} (i32.const {RESULT})) (call $say_string)",
            role.delivery(step)
        ),
        Step::Attempt => format!("(call $say_number (call $attempt {}))", role.delivery(step)),
        Step::Now | Step::Monotonic => format!(
            "(call ${} (i32.const {RESULT})) (call $say_number (i32.wrap_i64 (i64.load (i32.const {RESULT})))) \
             (call $say {}) (call $say_number (i32.load (i32.const {})))",
            if matches!(step, Step::Now) { "now" } else { "monotonic" },
            push(data.bytes(" ")),
            RESULT + 8
        ),
        Step::Random => "(call $say_number (call $random))".to_owned(),
        Step::Variables => format!("(call $variables (i32.const {RESULT})) {}", say_pairs(data)),
        Step::Print => print(false),
        Step::PrintError => print(true),
        Step::Log => log("synthetic", &[], data),
        Step::LogFrom(target) => log(target, &[], data),
        Step::LogWith(fields) => log("synthetic", fields, data),
        Step::Panicked => panicked("(i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0)"),
        Step::PanickedAt(exception, frames) => {
            let exception = push(data.bytes(exception));
            let mut records = Vec::new();
            for (function, file, line) in frames {
                let record = Record::default().span(data.bytes(function)).span(data.bytes(file));
                records.push(record.number(*line));
            }
            panicked(&format!("(i32.const 1) {exception} {}", push(data.list(&records))))
        }
    }
}

/// Reports a crash with the text as its message; `rest` are the exception and the frames, flattened.
fn panicked(rest: &str) -> String {
    format!("(call $panicked {TEXT} {rest}) (call $clear)")
}

fn print(to_error: bool) -> String {
    format!("(call $print (i32.const {}) {TEXT}) (call $clear)", u8::from(to_error))
}

fn log(target: &str, fields: &[(String, String)], data: &mut Data) -> String {
    let target = push(data.bytes(target));
    let fields = push(data.properties(fields));
    format!("(call $log (i32.const 2) {target} {TEXT} {fields}) (call $clear)")
}

fn body(import: &str, data: &mut Data) -> String {
    let say = "(call $say (i32.load (i32.const 68)) (i32.load (i32.const 72)))";
    format!(
        "(call ${import} (local.get $ctx) (i32.const {RESULT})) {}",
        if_failed(data, false, say)
    )
}

fn optional(import: &str, data: &mut Data) -> String {
    format!(
        "(call ${import} (local.get $ctx) (i32.const {RESULT})) {}",
        say_option(data)
    )
}

fn deadline(role: Role, data: &mut Data) -> String {
    let deadline = match role {
        Role::Handler => "deadline",
        Role::Listener => "deadline_on",
    };
    format!(
        "(call ${deadline} {} (i32.const {RESULT})) (if (i32.load8_u (i32.const {RESULT})) \
         (then (call $say_number (i32.wrap_i64 (i64.load (i32.const 72))))) (else (call $say {})))",
        role.door(),
        push(data.bytes("(none)"))
    )
}

fn call(role: Role, event: &[u8], content_type: &str, data: &mut Data) -> String {
    let call = match role {
        Role::Handler => "call",
        Role::Listener => "call_on",
    };
    let call = format!(
        "(call ${call} {} {} {} (i32.const {RESULT}))",
        role.door(),
        push(data.bytes(event)),
        payload(content_type, data)
    );
    format!("{call} {}", if_failed(data, true, "(call $say_payload)"))
}

fn send(status: u16, headers: &[(String, Vec<u8>)], data: &mut Data) -> String {
    let headers = push(data.pairs(headers));
    // A reply, flattened: status, headers, the case of the body and its text.
    let send = format!(
        "(call $send (local.get $ctx) (i32.const {status}) {headers} (i32.const 1) {TEXT} (i32.const {RESULT}))"
    );
    format!("{send} {}", sent(data))
}

fn say_option(data: &mut Data) -> String {
    format!("(call $say_option {})", push(data.bytes("(none)")))
}

fn named(import: &str, name: &str, data: &mut Data) -> String {
    let name = push(data.bytes(name));
    format!(
        "(call ${import} (local.get $ctx) {name} (i32.const {RESULT})) {}",
        say_option(data)
    )
}

fn pairs(import: &str, data: &mut Data) -> String {
    format!(
        "(call ${import} (local.get $ctx) (i32.const {RESULT})) {}",
        say_pairs(data)
    )
}

fn say_pairs(data: &mut Data) -> String {
    let (equals, line_end) = (data.bytes("=").at, data.bytes("\n").at);
    format!("(call $say_pairs (i32.const {equals}) (i32.const {line_end}))")
}

/// A payload, flattened: JSON as a text, where an empty one becomes `null`; everything else as bytes with its type.
fn payload(content_type: &str, data: &mut Data) -> String {
    if content_type != JSON {
        return format!("(i32.const 1) {} {TEXT}", push(data.bytes(content_type)));
    }
    format!(
        "(i32.const 0) (select (global.get $text) (i32.const {}) (global.get $text_len)) \
         (select (global.get $text_len) (i32.const 4) (global.get $text_len)) (i32.const 0) (i32.const 0)",
        data.bytes("null").at
    )
}

fn if_failed(data: &mut Data, with_message: bool, otherwise: &str) -> String {
    let (failed, colon) = (push(data.bytes("failed ")), data.bytes(": ").at);
    let message = i32::from(with_message);
    format!(
        "(if (i32.load8_u (i32.const {RESULT})) \
         (then (call $say_failure {failed} (i32.const {colon}) (i32.const {message}))) (else {otherwise}))"
    )
}

fn sent(data: &mut Data) -> String {
    let sent = format!("(call $clear) (call $say {})", push(data.bytes("sent")));
    if_failed(data, false, &sent)
}

fn stream(status: u16, chunks: &[String], data: &mut Data) -> String {
    let open = format!(
        "(call $open_reply (local.get $ctx) (i32.const {status}) (i32.const 0) (i32.const 0) (i32.const {RESULT}))"
    );
    let write = |chunk: &String| format!("(call $write (global.get $writer) {chunk} (i32.const {RESULT}))");
    let writes: Vec<_> = chunks.iter().map(write).collect();
    let write = format!("(global.set $writer (i32.load (i32.const 68))) {}", writes.join(" "));
    format!("{open} {}", if_failed(data, false, &write))
}

/// Only one chunk is in memory at a time: the heap is reset after each.
fn echo(data: &mut Data) -> String {
    let result = format!("(i32.const {RESULT})");
    let failed = if_failed(data, false, "");
    format!(
        "(call $open_body (local.get $ctx) {result}) {failed} \
         (if (i32.eqz (i32.load8_u {result})) (then (global.set $reader (i32.load (i32.const 68))) \
         (call $open_reply (local.get $ctx) (i32.const 200) (i32.const 0) (i32.const 0) {result}) {failed} \
         (if (i32.eqz (i32.load8_u {result})) (then (global.set $writer (i32.load (i32.const 68))) \
         (global.set $mark (global.get $heap)) \
         (block $done (loop $next (global.set $heap (global.get $mark)) \
         (call $read (global.get $reader) (i32.const 65536) {result}) {failed} \
         (br_if $done (i32.load8_u {result})) \
         (if (i32.eqz (i32.load8_u (i32.const 68))) (then \
         (call $finish (global.get $writer) {result}) {failed} (br $done))) \
         (call $write (global.get $writer) (i32.load (i32.const 72)) (i32.load (i32.const 76)) {result}) {failed} \
         (br_if $next (i32.eqz (i32.load8_u {result}))))) \
         (call $drop_writer (global.get $writer)) (global.set $writer (i32.const 0)))) \
         (call $drop_reader (global.get $reader))))"
    )
}
