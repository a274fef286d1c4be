//! The code of each end.

use super::layout::{Data, RETURN};
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
        (end, Role::Listener) => listener(end, data),
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

/// The flat fields of an `outcome`.
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
        End::Throw(status) => [case(1), word(4, &format!("(i32.const {status})")), text(8), done].join(" "),
        End::Deferred => format!("{} {done}", case(2)),
        End::Keep => format!("{} (i32.const {RETURN})", case(2)),
        other => panic!("a handler cannot end with {other:?}"),
    }
}

/// The flat fields of a `result<payload, failure>`.
fn listener(end: End, data: &mut Data) -> String {
    let done = format!("(call $let_go (local.get $ctx)) (call $dismiss (local.get $delivery)) (i32.const {RETURN})");
    // An empty text becomes the JSON text `null`.
    let or_null = |data: &mut Data| {
        let null = push(data.bytes("null"));
        format!("(if (i32.eqz (global.get $text_len)) (then (call $say {null})))")
    };
    let value = |content_type: &str, data: &mut Data| {
        let kind = data.bytes(content_type);
        let (at, len) = (format!("(i32.const {})", kind.at), format!("(i32.const {})", kind.len));
        [case(0), word(4, &at), word(8, &len), text(12)].join(" ")
    };
    let json = "application/json";
    match end {
        End::Reply(_) => [or_null(data), value(json, data), done].join(" "),
        End::Result(content_type) => [value(content_type, data), done].join(" "),
        End::Fail(code, status) => {
            let code = data.bytes(code);
            [
                case(1),
                word(4, &format!("(i32.const {})", code.at)),
                word(8, &format!("(i32.const {})", code.len)),
                word(12, &format!("(i32.const {status})")),
                text(16),
                done,
            ]
            .join(" ")
        }
        End::Deferred => ["(call $clear)".to_owned(), or_null(data), value(json, data), done].join(" "),
        End::Keep => {
            let keep = format!("(i32.const {RETURN})");
            ["(call $clear)".to_owned(), or_null(data), value(json, data), keep].join(" ")
        }
        other => panic!("a listener cannot end with {other:?}"),
    }
}
