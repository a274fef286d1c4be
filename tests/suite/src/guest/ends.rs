//! The code of each end.

use super::layout::{Data, RETURN, Span};
use super::program::{End, Program, ReplyBody};
use super::steps::{Role, push};

/// The return value of the handler or listener, and the resources that it drops before.
pub(super) fn code(role: Role, program: &Program, data: &mut Data) -> String {
    match (program.end, role) {
        (End::Trap, _) => "unreachable".to_owned(),
        (End::Loop, _) => "(loop $forever (br $forever)) unreachable".to_owned(),
        // Writes to the memory that it grows, so that the pages are really allocated.
        (End::Hog, _) => "(loop $more (drop (call $alloc (i32.const 65528))) \
                          (i32.store8 (i32.sub (global.get $heap) (i32.const 1)) (i32.const 1)) (br $more)) unreachable"
            .to_owned(),
        (End::TableHog, _) => "(loop $more (br_if $more (i32.ne (i32.const -1) \
                               (table.grow $things (ref.null func) (i32.const 1000))))) unreachable"
            .to_owned(),
        (End::Overflow, _) => "(call $overflow)".to_owned(),
        (end, Role::Handler) => handler(end, program, data),
        (end, Role::Listener) => listener(end, program, data),
    }
}

fn case(case: u8) -> String {
    format!("(i32.store8 (i32.const {RETURN}) (i32.const {case}))")
}

fn word(offset: u32, value: &str) -> String {
    format!("(i32.store (i32.const {}) {value})", RETURN + offset)
}

/// Stores the text as two words.
fn text(offset: u32) -> String {
    format!(
        "{} {}",
        word(offset, "(global.get $text)"),
        word(offset + 4, "(global.get $text_len)")
    )
}

fn span(offset: u32, span: Span) -> String {
    let at = word(offset, &format!("(i32.const {})", span.at));
    format!("{at} {}", word(offset + 4, &format!("(i32.const {})", span.len)))
}

/// The fields of an error from its status on: status, headers, message, details.
fn error(offset: u32, status: u16, program: &Program, data: &mut Data) -> String {
    let status = word(offset, &format!("(i32.const {status})"));
    let headers = span(offset + 4, data.pairs(&program.headers));
    let message = text(offset + 12);
    let details = match &program.details {
        None => word(offset + 20, "(i32.const 0)"),
        Some(details) => format!(
            "{} {}",
            word(offset + 20, "(i32.const 1)"),
            span(offset + 24, data.bytes(details))
        ),
    };
    [status, headers, message, details].join(" ")
}

/// The fields of an `outcome`.
fn handler(end: End, program: &Program, data: &mut Data) -> String {
    let done = format!("(call $let_go (local.get $ctx)) (i32.const {RETURN})");
    match end {
        End::Reply(body) => {
            let headers = data.pairs(&program.headers);
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
                text(20),
                done,
            ]
            .join(" ")
        }
        End::Throw(status) => [case(1), error(4, status, program, data), done].join(" "),
        End::Deferred => format!("{} {done}", case(2)),
        End::Keep => format!("{} (i32.const {RETURN})", case(2)),
        other => panic!("a handler cannot end with {other:?}"),
    }
}

/// The fields of a `result<payload, failure>`.
fn listener(end: End, program: &Program, data: &mut Data) -> String {
    let done = format!("(call $let_go (local.get $ctx)) (call $dismiss (local.get $delivery)) (i32.const {RETURN})");
    // An empty text becomes the JSON text `null`.
    let null = push(data.bytes("null"));
    let or_null = format!("(if (i32.eqz (global.get $text_len)) (then (call $say {null})))");
    let json = [case(0), word(4, "(i32.const 0)"), text(8)].join(" ");
    match end {
        End::Reply(_) => [or_null, json, done].join(" "),
        End::Result(content_type) => {
            let kind = span(8, data.bytes(content_type));
            [case(0), word(4, "(i32.const 1)"), kind, text(16), done].join(" ")
        }
        End::Fail(code, status) => {
            let code = span(4, data.bytes(code));
            [case(1), code, error(12, status, program, data), done].join(" ")
        }
        End::Deferred => ["(call $clear)".to_owned(), or_null, json, done].join(" "),
        End::Keep => [
            "(call $clear)".to_owned(),
            or_null,
            json,
            format!("(i32.const {RETURN})"),
        ]
        .join(" "),
        other => panic!("a listener cannot end with {other:?}"),
    }
}
