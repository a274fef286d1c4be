//! The goals.

use crate::Table;

enum Goal {
    AtLeast(f64),
    AtMost(f64),
}

use Goal::{AtLeast, AtMost};

/// Each figure with its value in 0.2 or, in parentheses, in 0.1.
const GOALS: &[(&str, &str, Goal)] = &[
    ("native to hyper alone", "0.72", AtLeast(0.92)),
    ("synchronous to hyper alone", "0.49", AtLeast(0.80)),
    ("asynchronous to hyper alone", "0.31", AtLeast(0.65)),
    ("axum, native to axum alone", "0.73–0.92", AtLeast(0.92)),
    ("actix, native to actix alone", "0.73–0.92", AtLeast(0.92)),
    ("salvo, native to salvo alone", "0.73–0.92", AtLeast(0.92)),
    ("trillium, native to trillium alone", "0.73–0.92", AtLeast(0.92)),
    ("axum, route 1,000 to axum, route 1", "", AtLeast(0.95)),
    ("actix, route 1,000 to actix, route 1", "", AtLeast(0.95)),
    ("salvo, route 1,000 to salvo, route 1", "", AtLeast(0.95)),
    ("trillium, route 1,000 to trillium, route 1", "", AtLeast(0.95)),
    ("hyper, route 1,000 to hyper, route 1", "", AtLeast(0.95)),
    ("`pointwork serve` to hyper alone", "0.52", AtLeast(0.75)),
    ("`pointwork serve`, asynchronous to hyper alone", "0.41", AtLeast(0.62)),
    ("`pointwork serve`: user µs over hyper alone", "7.3", AtMost(3.0)),
    (
        "`pointwork serve`, asynchronous: user µs over hyper alone",
        "10.4",
        AtMost(5.0),
    ),
    ("`pointwork serve` to `pointwork serve`, log off", "1", AtLeast(0.98)),
    (
        "`pointwork serve`, access log to `pointwork serve`, log off",
        "",
        AtLeast(0.92),
    ),
    ("`pointwork serve` to `wasmtime serve`, WASI 0.2", "11", AtLeast(16.0)),
    ("`pointwork serve` to `wasmtime serve`, WASI 0.3", "3.0", AtLeast(4.3)),
    (
        "TypeScript, with a call: user µs over Rust, with a call",
        "",
        AtMost(10.0),
    ),
    ("Python, with a call: user µs over Rust, with a call", "", AtMost(18.0)),
    (
        "TypeScript, with a call to NestJS on Fastify, with an event",
        "",
        AtLeast(1.33),
    ),
    (
        "Python, with a call to FastAPI on uvicorn, with an event",
        "",
        AtLeast(2.5),
    ),
    ("in process, native, µs", "1.15", AtMost(0.6)),
    ("in process, synchronous, µs", "3.06", AtMost(1.8)),
    ("in process, synchronous with a call, µs", "4.54", AtMost(2.8)),
    ("in process, synchronous with an emit, µs", "4.61", AtMost(2.5)),
    ("in process, asynchronous, µs", "41", AtMost(6.0)),
    ("in process, native, allocations", "7", AtMost(5.0)),
    ("in process, synchronous, allocations", "13", AtMost(8.0)),
    ("in process, asynchronous, allocations", "", AtMost(24.0)),
    ("in process, native, two threads to one", "", AtLeast(1.8)),
    ("in process, synchronous, two threads to one", "", AtLeast(1.8)),
    ("in process, asynchronous, two threads to one", "", AtLeast(1.8)),
    (
        "a call of a native channel to an empty call of a module",
        "",
        AtMost(1.5),
    ),
    (
        "a call of a channel in a module to an empty call of a module",
        "",
        AtMost(3.0),
    ),
    (
        "an emit to a native channel to an empty call of a module",
        "",
        AtMost(1.0),
    ),
    (
        "an emit to a channel in a module to an empty call of a module",
        "",
        AtMost(1.0),
    ),
    ("a durable emit to a synchronisation of the disk", "", AtMost(1.5)),
    ("a call over NATS to a request of the bare client", "", AtMost(2.0)),
    ("a durable emit to a publish of the bare client", "", AtMost(1.3)),
    ("1,000 waiting, synchronous to native", "(0.74)", AtLeast(0.85)),
    ("1,000 waiting, asynchronous to native", "(0.67)", AtLeast(0.85)),
    // A request's own and its instance's pages; the goal is without these.
    ("memory of a waiting request, synchronous, KiB", "44.5", AtMost(16.0)),
    ("memory of a waiting request, asynchronous, KiB", "", AtMost(16.0)),
    ("start with a warm cache, synchronous to native", "(2.3)", AtMost(1.5)),
    ("a swap, ms", "(51–80)", AtMost(20.0)),
    ("growth of memory beside long bodies, MiB", "", AtMost(16.0)),
];

/// Prints the figures beside the goals.
pub(crate) fn print(table: &Table) {
    println!("\n| figure | 0.2 | goal | now | 95 % | |\n|---|---|---|---|---|---|");
    for (figure, before, goal) in GOALS {
        let measured = table.figures.iter().find(|(name, _)| name == figure);
        let Some((_, now)) = measured else {
            if table.words.is_empty() {
                println!("| {figure} | {before} | {} | | | not measured |", text(goal));
            }
            continue;
        };
        let verdict = if reaches(goal, now.middle) { "" } else { "**missed**" };
        println!(
            "| {figure} | {before} | {} | {:.2} | {:.2}–{:.2} | {verdict} |",
            text(goal),
            now.middle,
            now.low,
            now.high
        );
    }
}

fn text(goal: &Goal) -> String {
    match goal {
        AtLeast(figure) => format!("≥ {figure}"),
        AtMost(figure) => format!("≤ {figure}"),
    }
}

fn reaches(goal: &Goal, figure: f64) -> bool {
    match goal {
        AtLeast(goal) => figure >= *goal,
        AtMost(goal) => figure <= *goal,
    }
}
