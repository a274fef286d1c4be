//! The code of each step and each end.

use super::layout::{Data, RESULT, RETURN, Record, Span};
use super::program::{End, Program, ReplyBody, Step};

/// Pushes the address and the length of a text.
fn push(span: Span) -> String {
    format!("(i32.const {}) (i32.const {})", span.at, span.len)
}

/// Pushes the text that the program has so far.
const TEXT: &str = "(global.get $text) (global.get $text_len)";

/// The code of a whole handler.
pub(crate) fn handler(number: u32, program: &Program, data: &mut Data) -> String {
    let steps: Vec<_> = program.steps.iter().map(|step| code(step, data)).collect();
    format!(
        "(func $handler_{number} (param $ctx i32) (result i32)\n{}\n{})\n",
        steps.join("\n"),
        end(program, data)
    )
}

fn code(step: &Step, data: &mut Data) -> String {
    let string = |import: &str| format!("(call ${import} (local.get $ctx) (i32.const {RESULT})) (call $say_string)");
    match step {
        Step::Say(text) => format!("(call $say {})", push(data.bytes(text))),
        Step::Method => string("method"),
        Step::Path => string("path"),
        Step::RequestId => string("request_id"),
        Step::Route => string("route"),
        Step::Query => format!(
            "(call $query (local.get $ctx) (i32.const {RESULT})) {}",
            say_option(data)
        ),
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
        Step::Body => {
            let read = format!("(call $body (local.get $ctx) (i32.const {RESULT}))");
            format!(
                "{read} {}",
                if_failed(
                    data,
                    false,
                    "(call $say (i32.load (i32.const 68)) (i32.load (i32.const 72)))"
                )
            )
        }
        Step::Count => "(call $say_number (global.get $count))".to_owned(),
        Step::Call(event) => {
            let call = format!(
                "(call $call (local.get $ctx) {} {} (i32.const {RESULT}))",
                push(data.bytes(event)),
                payload(data)
            );
            let take = "(call $clear) (call $say (i32.load (i32.const 76)) (i32.load (i32.const 80)))";
            format!("{call} {}", if_failed(data, true, take))
        }
        Step::Emit(event) => {
            format!(
                "(call $emit (local.get $ctx) {} {}) (call $clear)",
                push(data.bytes(event)),
                payload(data)
            )
        }
        Step::HandOver(event) => {
            let give = format!(
                "(call $hand_over {} (local.get $ctx) {} (i32.const {RESULT})) (local.set $ctx (i32.const 0))",
                push(data.bytes(event)),
                payload(data)
            );
            format!("{give} {}", if_failed(data, false, "(call $clear)"))
        }
        Step::Send(status) => {
            // A reply, flattened: status, headers, the case of the body and its text.
            let send = format!(
                "(call $send (local.get $ctx) (i32.const {status}) (i32.const 0) (i32.const 0) (i32.const 1) {TEXT} \
                 (i32.const {RESULT}))"
            );
            format!("{send} {}", sent(data))
        }
        Step::ThrowNow(status) => {
            let throw = format!("(call $throw (local.get $ctx) (i32.const {status}) {TEXT} (i32.const {RESULT}))");
            format!("{throw} {}", sent(data))
        }
        Step::Stream(status, pieces) => stream(*status, pieces, data),
        Step::Finish => format!(
            "(if (global.get $writer) (then (call $finish (global.get $writer) (i32.const {RESULT})) \
             (call $drop_writer (global.get $writer)) (global.set $writer (i32.const 0))))"
        ),
        Step::Log => format!(
            "(call $log (i32.const 2) {} {TEXT}) (call $clear)",
            push(data.bytes("synthetic"))
        ),
        Step::Panicked => format!("(call $panicked {TEXT}) (call $clear)"),
    }
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
    let (equals, line_end) = (data.bytes("=").at, data.bytes("\n").at);
    format!(
        "(call ${import} (local.get $ctx) (i32.const {RESULT})) (call $say_pairs (i32.const {equals}) (i32.const {line_end}))"
    )
}

/// A payload, flattened. No text is the JSON text `null`.
fn payload(data: &mut Data) -> String {
    let (json, null) = (push(data.bytes("application/json")), data.bytes("null"));
    format!(
        "{json} (select (global.get $text) (i32.const {}) (global.get $text_len)) \
         (select (global.get $text_len) (i32.const 4) (global.get $text_len))",
        null.at
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

fn stream(status: u16, pieces: &[String], data: &mut Data) -> String {
    let open = format!(
        "(call $open_reply (local.get $ctx) (i32.const {status}) (i32.const 0) (i32.const 0) (i32.const {RESULT}))"
    );
    let write = |piece: &String| {
        format!(
            "(call $write (global.get $writer) {} (i32.const {RESULT}))",
            push(data.bytes(piece))
        )
    };
    let writes: Vec<_> = pieces.iter().map(write).collect();
    let write = format!("(global.set $writer (i32.load (i32.const 68))) {}", writes.join(" "));
    format!("{open} {}", if_failed(data, false, &write))
}

fn end(program: &Program, data: &mut Data) -> String {
    let done = format!("(call $let_go (local.get $ctx)) (i32.const {RETURN})");
    let case = |case: u8| format!("(i32.store8 (i32.const {RETURN}) (i32.const {case}))");
    let word = |offset: u32, value: &str| format!("(i32.store (i32.const {}) {value})", RETURN + offset);
    match program.end {
        End::Reply(body) => {
            let headers: Vec<_> = program
                .headers
                .iter()
                .map(|(name, value)| Record::default().span(data.bytes(name)).span(data.bytes(value)))
                .collect();
            let headers = data.list(&headers);
            let body = match body {
                ReplyBody::Empty => 0,
                ReplyBody::Text => 1,
                ReplyBody::Json => 2,
                ReplyBody::Bytes => 3,
            };
            [
                case(0),
                word(4, &format!("(i32.const {})", program.status)),
                word(8, &format!("(i32.const {})", headers.at)),
                word(12, &format!("(i32.const {})", headers.len)),
                word(16, &format!("(i32.const {body})")),
                word(20, "(global.get $text)"),
                word(24, "(global.get $text_len)"),
                done,
            ]
            .join(" ")
        }
        End::Throw(status) => [
            case(1),
            word(4, &format!("(i32.const {status})")),
            word(8, "(global.get $text)"),
            word(12, "(global.get $text_len)"),
            done,
        ]
        .join(" "),
        End::Deferred => format!("{} {done}", case(2)),
        End::Keep => format!("{} (i32.const {RETURN})", case(2)),
        End::Trap => "unreachable".to_owned(),
        End::Loop => "(loop $forever (br $forever)) unreachable".to_owned(),
        // Touches what it grows, so that the pages are really there.
        End::Hog => "(loop $more (drop (call $alloc (i32.const 65528))) \
                     (i32.store8 (i32.sub (global.get $heap) (i32.const 1)) (i32.const 1)) (br $more)) unreachable"
            .to_owned(),
    }
}
