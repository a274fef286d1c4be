//! The code of whole programs, and of the steps that wait.
//!
//! In the synchronous form, a step that waits is a call that blocks. In the asynchronous form, the function returns to the
//! host, which calls it again at the next segment when the result is there: an instance has several calls in flight.

use std::collections::HashMap;

use super::ends;
use super::layout::{Data, RESULT, Record, Span};
use super::program::{Program, Step};
use super::steps::{self, JSON, Role, TEXT, if_failed, push};
use super::tasks;

/// Whether the last import failed.
const FAILED: &str = "(i32.load8_u (i32.const 64))";

/// The resource that the last import returned.
const RESOURCE: &str = "(i32.load (i32.const 68))";

/// The code of a program in the making.
struct Code<'a> {
    role: Role,
    concurrent: bool,
    /// Pieces of code that can be jumped to, in their order, each with its number.
    segments: Vec<(usize, String)>,
    /// The number of the next segment.
    next: usize,
    data: &'a mut Data,
}

/// A function for each program, and the function that calls the program of a number.
pub(super) fn functions(role: Role, programs: &[&Program], concurrent: bool, data: &mut Data) -> String {
    let name = role.name();
    let mut code = String::new();
    let mut dispatch = String::new();
    for (number, program) in (0..).zip(programs) {
        code.push_str(&function(role, number, program, concurrent, data));
        dispatch.push_str(&format!(
            "(if (i32.eq (local.get $number) (i32.const {number})) \
             (then (return (call ${name}_{number} (local.get $handle)))))\n"
        ));
    }
    format!("{code}(func $run_{name} (param $number i32) (param $handle i32) (result i32)\n{dispatch}unreachable)\n")
}

/// The function of a handler or listener. It has the local `$ctx`, which is 0 in a listener until it takes the context.
fn function(role: Role, number: u32, program: &Program, concurrent: bool, data: &mut Data) -> String {
    let mut code = Code {
        role,
        concurrent,
        segments: vec![(0, String::new())],
        next: 1,
        data,
    };
    for step in &program.steps {
        code.step(step);
    }
    let end = ends::code(role, program, code.data);
    code.push(&end);
    if concurrent {
        code.push(&format!("drop {}", tasks::end(role)));
    }
    code.function(number)
}

impl Code<'_> {
    fn step(&mut self, step: &Step) {
        match step {
            Step::Each(steps) => {
                self.push("(global.set $all (global.get $text_len))");
                for (index, step) in steps.iter().enumerate() {
                    if index > 0 {
                        self.push("(global.set $text_len (global.get $all))");
                    }
                    self.step(step);
                }
            }
            Step::Body => self.body("body"),
            Step::BodyText => self.body("body_text"),
            Step::Call(event) => self.call(event.as_bytes(), JSON),
            Step::CallBytes(event) => self.call(event, JSON),
            Step::CallAs(event, content_type) => self.call(event.as_bytes(), content_type),
            Step::Stream(status, chunks) => self.stream(*status, chunks),
            Step::StreamText(status) => {
                let end = self.label();
                self.open_reply(*status, end);
                self.wait("write", &format!("(global.get $writer) {TEXT}"));
                self.here(end);
                self.push("(call $clear)");
            }
            Step::Finish => {
                let end = self.label();
                self.push(&format!("(if (i32.eqz (global.get $writer)) (then {}))", jump(end)));
                self.wait("finish", "(global.get $writer)");
                self.push("(call $drop_writer (global.get $writer)) (global.set $writer (i32.const 0))");
                self.here(end);
            }
            Step::Echo => self.echo(),
            step => {
                let code = steps::code(self.role, step, self.data);
                self.push(&code);
            }
        }
    }

    fn body(&mut self, import: &str) {
        self.wait(import, "(local.get $ctx)");
        let say = "(call $say (i32.load (i32.const 68)) (i32.load (i32.const 72)))";
        let code = if_failed(self.data, false, say);
        self.push(&code);
    }

    fn call(&mut self, event: &[u8], content_type: &str) {
        let import = match self.role {
            Role::Handler => "call",
            Role::Listener => "call_on",
        };
        let event = push(self.data.bytes(event));
        let payload = steps::payload(content_type, self.data);
        let mut params = format!("{} {event} {payload}", self.role.door());
        if self.concurrent {
            // They are too many for the stack.
            self.push(&format!("(call $store_params (local.get $task) {params})"));
            params = tasks::params();
        }
        self.wait(import, &params);
        let code = if_failed(self.data, true, "(call $say_payload)");
        self.push(&code);
    }

    /// Opens a reply. If that fails, the program goes on at `end`.
    fn open_reply(&mut self, status: u16, end: usize) {
        self.push(&format!(
            "(call $open_reply (local.get $ctx) (i32.const {status}) (i32.const 0) (i32.const 0) (i32.const {RESULT}))"
        ));
        self.leave_if_failed(end);
        self.push(&format!("(global.set $writer {RESOURCE})"));
    }

    /// If the last import failed, makes that the text, and goes on at `end`.
    fn leave_if_failed(&mut self, end: usize) {
        let failed = if_failed(self.data, false, "");
        self.push(&format!("{failed} (if {FAILED} (then {}))", jump(end)));
    }

    fn stream(&mut self, status: u16, chunks: &[String]) {
        // Chunks that are equal have one place in memory.
        let mut known = HashMap::new();
        let mut place = |chunk| Record::default().span(*known.entry(chunk).or_insert_with(|| self.data.bytes(chunk)));
        let chunks: Vec<_> = chunks.iter().map(&mut place).collect();
        let Span { at, len } = self.data.list(&chunks);
        let (next, end) = (self.label(), self.label());
        self.open_reply(status, end);
        self.push(&format!("(global.set $at (i32.const {at}))"));
        self.here(next);
        let last = at + 8 * len;
        self.push(&format!(
            "(if (i32.ge_u (global.get $at) (i32.const {last})) (then {}))",
            jump(end)
        ));
        let chunk = "(i32.load (global.get $at)) (i32.load offset=4 (global.get $at))";
        self.wait("write", &format!("(global.get $writer) {chunk}"));
        self.push("(global.set $at (i32.add (global.get $at) (i32.const 8)))");
        self.push(&jump(next));
        self.here(end);
    }

    /// Only one chunk is in memory at a time: the heap is reset after each, if no other call uses it.
    fn echo(&mut self) {
        let (next, finish) = (self.label(), self.label());
        let (drop_writer, drop_reader, end) = (self.label(), self.label(), self.label());
        self.push(&format!("(call $open_body (local.get $ctx) (i32.const {RESULT}))"));
        self.leave_if_failed(end);
        self.push(&format!("(global.set $reader {RESOURCE})"));
        self.open_reply(200, drop_reader);
        self.push("(global.set $mark (global.get $heap))");
        self.here(next);
        self.push("(if (i32.lt_u (global.get $tasks) (i32.const 2)) (then (global.set $heap (global.get $mark))))");
        self.wait("read", "(global.get $reader) (i32.const 65536)");
        self.leave_if_failed(drop_writer);
        self.push(&format!(
            "(if (i32.eqz (i32.load8_u (i32.const 68))) (then {}))",
            jump(finish)
        ));
        self.wait(
            "write",
            "(global.get $writer) (i32.load (i32.const 72)) (i32.load (i32.const 76))",
        );
        self.leave_if_failed(drop_writer);
        self.push(&jump(next));
        self.here(finish);
        self.wait("finish", "(global.get $writer)");
        self.leave_if_failed(drop_writer);
        self.here(drop_writer);
        self.push("(call $drop_writer (global.get $writer)) (global.set $writer (i32.const 0))");
        self.here(drop_reader);
        self.push("(call $drop_reader (global.get $reader))");
        self.here(end);
    }

    /// Calls an import that waits. Its result is at [`RESULT`] afterwards.
    fn wait(&mut self, import: &str, params: &str) {
        if !self.concurrent {
            self.push(&format!("(call ${import} {params} (i32.const {RESULT}))"));
            return;
        }
        let next = self.label();
        self.push(&tasks::wait(import, params, next));
        self.here(next);
        self.push(&tasks::result());
    }

    fn push(&mut self, code: &str) {
        let (_, segment) = self.segments.last_mut().expect("there is a first segment");
        segment.push_str(code);
        segment.push('\n');
    }

    /// The number of a segment that [`here`](Self::here) begins, sooner or later.
    fn label(&mut self) -> usize {
        self.next += 1;
        self.next - 1
    }

    fn here(&mut self, label: usize) {
        self.segments.push((label, String::new()));
    }

    fn function(self, number: u32) -> String {
        let head = match (self.concurrent, self.role) {
            (true, _) => tasks::head(),
            (false, Role::Handler) => "(param $ctx i32) (result i32) (local $segment i32)".to_owned(),
            (false, Role::Listener) => {
                "(param $delivery i32) (result i32) (local $ctx i32) (local $segment i32)".to_owned()
            }
        };
        let mut code = format!("(func ${}_{number} {head}\nloop $again\n", self.role.name());
        for (label, _) in self.segments.iter().rev() {
            code.push_str(&format!("block $segment_{label}\n"));
        }
        let labels: Vec<_> = (0..self.next).map(|label| format!("$segment_{label}")).collect();
        code.push_str(&format!("(br_table {} (local.get $segment))\n", labels.join(" ")));
        for (_, segment) in &self.segments {
            code.push_str(&format!("end\n{segment}"));
        }
        code.push_str("return end unreachable)\n");
        code
    }
}

/// Goes on at a segment.
fn jump(label: usize) -> String {
    format!("(local.set $segment (i32.const {label})) (br $again)")
}
