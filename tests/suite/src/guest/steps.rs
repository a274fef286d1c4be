//! The code of each step that does not wait.

use super::layout::{Data, RESULT, Record, Span};
use super::program::Step;

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
    pub(super) fn door(self) -> &'static str {
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
pub(super) const TEXT: &str = "(global.get $text) (global.get $text_len)";

pub(super) const JSON: &str = "application/json";

/// The code of steps outside of a handler and a listener, which has neither context nor delivery. They do not wait.
pub(super) fn outside(steps: &[Step], data: &mut Data) -> String {
    let codes: Vec<_> = steps.iter().map(|step| code(Role::Handler, step, data)).collect();
    codes.join("\n")
}

#[expect(clippy::too_many_lines, reason = "one arm for each step")]
pub(super) fn code(role: Role, step: &Step, data: &mut Data) -> String {
    let string = |import: &str| format!("(call ${import} (local.get $ctx) (i32.const {RESULT})) (call $say_string)");
    match step {
        Step::Say(text) => format!("(call $say {})", push(data.bytes(text))),
        Step::Double(times) => format!("(call $say {TEXT}) ").repeat(*times as usize),
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
        Step::Count => "(call $say_number (global.get $count))".to_owned(),
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
        Step::UseFirstDelivery => {
            "(if (i32.eqz (global.get $first)) (then (global.set $first (local.get $delivery)))) \
             (local.set $delivery (global.get $first))"
                .to_owned()
        }
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
        Step::Each(_)
        | Step::Body
        | Step::BodyText
        | Step::Call(_)
        | Step::CallBytes(_)
        | Step::CallAs(..)
        | Step::Stream(..)
        | Step::StreamText(_)
        | Step::Finish
        | Step::Echo => panic!("the step {step:?} may wait, which is for handlers and listeners"),
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
pub(super) fn payload(content_type: &str, data: &mut Data) -> String {
    if content_type != JSON {
        return format!("(i32.const 1) {} {TEXT}", push(data.bytes(content_type)));
    }
    format!(
        "(i32.const 0) (select (global.get $text) (i32.const {}) (global.get $text_len)) \
         (select (global.get $text_len) (i32.const 4) (global.get $text_len)) (i32.const 0) (i32.const 0)",
        data.bytes("null").at
    )
}

pub(super) fn if_failed(data: &mut Data, with_message: bool, otherwise: &str) -> String {
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
