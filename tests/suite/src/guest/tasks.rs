//! The calls that an instance of the asynchronous form has in flight. Each has a task, a record on the heap with all that the
//! call needs when it goes on.

use std::fmt::Write as _;

use super::imports::import;
use super::layout::{RESULT, RETURN};
use super::steps::Role;

/// The globals that belong to the call that runs.
const OF_A_CALL: [&str; 9] = [
    "text", "text_len", "kind", "kind_len", "reader", "writer", "mark", "all", "at",
];

/// Fields of a task. The first 64 bytes are for the result of an import, the next ones for its parameters.
const PARAMS: u32 = 64;
const CONTEXT: u32 = 96;
const DELIVERY: u32 = 100;
const SEGMENT: u32 = 104;
const NUMBER: u32 = 108;
const SET: u32 = 112;
const GLOBALS: u32 = 116;
const SIZE: u32 = GLOBALS + 4 * OF_A_CALL.len() as u32;

/// The task that runs.
const TASK: &str = "(local.get $task)";

/// The parameters and locals of the function of a handler or listener, and the code that sets them.
pub(super) fn head() -> String {
    let field = |name: &str, offset: u32| format!("(local.set ${name} (i32.load offset={offset} {TASK}))");
    format!(
        "(param $task i32) (result i32) (local $ctx i32) (local $delivery i32) (local $segment i32) (local $status i32)\n\
         {} {} {}",
        field("ctx", CONTEXT),
        field("delivery", DELIVERY),
        field("segment", SEGMENT)
    )
}

/// The address of the parameters that `$store_params` stored.
pub(super) fn params() -> String {
    format!("(i32.add {TASK} (i32.const {PARAMS}))")
}

/// Calls an import that waits. Unless it has returned, the task goes on at the segment `next` later.
pub(super) fn wait(import: &str, params: &str, next: usize) -> String {
    format!(
        "(local.set $status (call ${import} {params} {TASK}))\n\
         (if (i32.ne (i32.and (local.get $status) (i32.const 15)) (i32.const 2)) (then (return (call $suspend {TASK} \
         (local.get $ctx) (local.get $delivery) (i32.const {next}) (i32.shr_u (local.get $status) (i32.const 4))))))"
    )
}

/// Copies the result of an import that waited to the place of results.
pub(super) fn result() -> String {
    format!("(memory.copy (i32.const {}) {TASK} (i32.const 64))", RESULT)
}

/// Gives the result at [`RETURN`] to the host, and ends the task.
pub(super) fn end(role: Role) -> String {
    let word = |word: usize| format!("(i32.load (i32.const {}))", RETURN as usize + 4 * word);
    let words: Vec<_> = (1..words(role)).map(word).collect();
    format!(
        "(call $return_{} (i32.load8_u (i32.const {})) {}) (call $end_task {TASK})",
        role.name(),
        RETURN,
        words.join(" ")
    )
}

/// The length of a result in words.
fn words(role: Role) -> usize {
    match role {
        Role::Handler => 9,
        Role::Listener => 11,
    }
}

fn interfaces(version: &str) -> [(Role, String, &'static str); 2] {
    let name = |interface: &str| format!("pointwork:module/{interface}@{version}");
    [
        (Role::Handler, name("handlers-async"), "handle"),
        (Role::Listener, name("listeners-async"), "deliver"),
    ]
}

/// The functions that tasks need, and the exports by which the host calls handlers and listeners. `heap` is where the heap
/// begins.
pub(super) fn exports(version: &str, heap: u32) -> String {
    let globals = |line: &dyn Fn(&str, u32) -> String| -> String {
        let offsets = (0..).map(|number| GLOBALS + 4 * number);
        OF_A_CALL.iter().zip(offsets).map(|(name, at)| line(name, at)).collect()
    };
    let save = globals(&|name, at| format!("(i32.store offset={at} {TASK} (global.get ${name}))\n"));
    let load = globals(&|name, at| format!("(global.set ${name} (i32.load offset={at} {TASK}))\n"));
    let param = |number: u32| {
        format!(
            "(i32.store offset={} {TASK} (local.get {}))\n",
            PARAMS + 4 * number,
            number + 1
        )
    };
    let params: String = (0..8).map(param).collect();
    let [(_, handlers, _), (_, listeners, _)] = interfaces(version);
    let mut text = format!(
        r#"(func $store_params (param $task i32) (param {eight}) {params})
(func $begin_task (param $number i32) (param $ctx i32) (param $delivery i32) (result i32)
(local $task i32)
(local.set $task (call $alloc (i32.const {SIZE})))
(memory.fill {TASK} (i32.const 0) (i32.const {SIZE}))
(i32.store offset={NUMBER} {TASK} (local.get $number))
(i32.store offset={CONTEXT} {TASK} (local.get $ctx))
(i32.store offset={DELIVERY} {TASK} (local.get $delivery))
(global.set $writer (i32.const 0))
(global.set $count (i32.add (global.get $count) (i32.const 1)))
(global.set $tasks (i32.add (global.get $tasks) (i32.const 1)))
(call $context_set {TASK})
{TASK})
(func $wait (param $task i32) (result i32)
(i32.or (i32.shl (i32.load offset={SET} {TASK}) (i32.const 4)) (i32.const 2)))
(func $suspend (param $task i32) (param $ctx i32) (param $delivery i32) (param $segment i32) (param $subtask i32)
(result i32)
(i32.store offset={CONTEXT} {TASK} (local.get $ctx))
(i32.store offset={DELIVERY} {TASK} (local.get $delivery))
(i32.store offset={SEGMENT} {TASK} (local.get $segment))
{save}
(if (i32.eqz (i32.load offset={SET} {TASK})) (then (i32.store offset={SET} {TASK} (call $set_new))))
(call $join (local.get $subtask) (i32.load offset={SET} {TASK}))
(call $wait {TASK}))
(func $resume (param $task i32) (param $subtask i32)
(call $subtask_drop (local.get $subtask))
{load})
(func $end_task (param $task i32) (result i32)
(if (i32.load offset={SET} {TASK}) (then (call $set_drop (i32.load offset={SET} {TASK}))))
(global.set $tasks (i32.sub (global.get $tasks) (i32.const 1)))
(i32.const 0))
(func (export "[async-lift]{handlers}#handle") (param $number i32) (param $ctx i32) (result i32)
(if (i32.eqz (global.get $tasks)) (then (global.set $heap (i32.const {heap}))))
(call $clear)
(call $run_handler (local.get $number) (call $begin_task (local.get $number) (local.get $ctx) (i32.const 0))))
(func (export "[async-lift]{listeners}#deliver") (param $number i32) (param $delivery i32)
(param $case i32) (param $a i32) (param $a_len i32) (param $b i32) (param $b_len i32) (result i32)
(local $base i32)
(local.set $base (i32.const {heap}))
(if (global.get $tasks) (then (local.set $base (call $alloc (i32.add (local.get $a_len) (local.get $b_len))))))
(call $receive (local.get $base) (local.get $case) (local.get $a) (local.get $a_len) (local.get $b) (local.get $b_len))
(call $run_listener (local.get $number) (call $begin_task (local.get $number) (i32.const 0) (local.get $delivery))))
"#,
        eight = "i32 ".repeat(8)
    );
    for (role, interface, name) in interfaces(version) {
        let role = role.name();
        // The only event is of a subtask, 1; its state is 2 when it has returned.
        let _ = write!(
            text,
            r#"(func (export "[callback][async-lift]{interface}#{name}") (param $event i32) (param $subtask i32)
(param $state i32) (result i32) (local $task i32)
(if (i32.ne (local.get $event) (i32.const 1)) (then unreachable))
(local.set $task (call $context_get))
(if (i32.ne (local.get $state) (i32.const 2)) (then (return (call $wait {TASK}))))
(call $resume {TASK} (local.get $subtask))
(call $run_{role} (i32.load offset={NUMBER} {TASK}) {TASK}))
"#
        );
    }
    text
}

/// The imports of [`exports`].
pub(super) fn imports(version: &str) -> String {
    let root = [
        ("[context-set-0]", "context_set", "(param i32)"),
        ("[context-get-0]", "context_get", "(result i32)"),
        ("[waitable-set-new]", "set_new", "(result i32)"),
        ("[waitable-set-drop]", "set_drop", "(param i32)"),
        ("[waitable-join]", "join", "(param i32 i32)"),
        ("[subtask-drop]", "subtask_drop", "(param i32)"),
    ];
    let root = root.map(|(there, here, signature)| import("$root", there, here, signature));
    let returns = interfaces(version).map(|(role, interface, name)| {
        let here = format!("return_{}", role.name());
        let signature = format!("(param {})", "i32 ".repeat(words(role)));
        import(
            &format!("[export]{interface}"),
            &format!("[task-return]{name}"),
            &here,
            &signature,
        )
    });
    root.into_iter().chain(returns).collect()
}
