//! The cost of calling and emitting an event, as ratios to one empty call of a module: `cargo bench --manifest-path
//! tests/bench/Cargo.toml --bench events`.
//!
//! The unit is a call from native code to a listener in a module that does nothing. The subjects take turns, and each
//! ratio compares subjects within one round. A handler calls or emits a hundred times, so that the request around it
//! counts for little; the time of the same request without events is subtracted.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use pointwork::{Caller, ConnectOptions, Payload};
use pointwork_bench::load::{flag, rounds};
use pointwork_bench::{Direct, app, median, request};
use pointwork_core::Router;

/// The number of calls or emits in one request.
const TIMES: f64 = 100.0;

/// The number of requests in one measurement.
const REQUESTS: u32 = 50;

#[derive(Clone, Copy)]
enum Subject {
    /// Native code calls an event.
    Native(&'static str),
    /// A handler in a module calls the event a hundred times.
    Handler(&'static str),
}

const SUBJECTS: [(&str, Subject, Option<f64>); 6] = [
    ("an empty call of a module", Subject::Native("sandboxed:empty"), None),
    (
        "native code calls a native listener",
        Subject::Native("bench:echo"),
        None,
    ),
    (
        "ctx.call to a native channel",
        Subject::Handler("/calls/42/calls"),
        Some(1.5),
    ),
    (
        "ctx.call to a channel in a module",
        Subject::Handler("/calls/42/calls-module"),
        Some(3.0),
    ),
    (
        "ctx.emit to a native channel",
        Subject::Handler("/calls/42/emits"),
        Some(1.0),
    ),
    (
        "ctx.emit to a channel in a module",
        Subject::Handler("/calls/42/emits-module"),
        Some(1.0),
    ),
];

fn main() -> Result<()> {
    // `cargo test --benches` only checks that the benchmark runs.
    if flag("--test") {
        return Ok(());
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(measure())
}

async fn measure() -> Result<()> {
    let direct = Direct::default();
    let app = app().await?;
    app.connect_to(direct.clone(), ConnectOptions::new())?;
    let router = direct.router().context("nothing was published")?;
    let caller = app.caller();
    let mut micros = [const { Vec::new() }; SUBJECTS.len()];
    let mut ratios = [const { Vec::new() }; SUBJECTS.len()];
    for _ in 0..rounds(41) {
        let round = round(&caller, &router).await?;
        for (at, time) in round.into_iter().enumerate() {
            micros[at].push(time);
            ratios[at].push(time / round[0]);
        }
        while app.bus().waiting() > 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
    println!("{:<40} {:>8} {:>8} {:>6}", "", "µs", "ratio", "goal");
    for (at, (name, _, goal)) in SUBJECTS.into_iter().enumerate() {
        let goal = goal.map_or(String::new(), |goal| format!("{goal:.1}"));
        println!(
            "{name:<40} {:>8.2} {:>8.2} {goal:>6}",
            median(&mut micros[at]),
            median(&mut ratios[at])
        );
    }
    Ok(())
}

/// The time of each subject, in microseconds.
async fn round(caller: &Caller, router: &Router) -> Result<[f64; SUBJECTS.len()]> {
    let around = requests(router, "/calls/42").await?;
    let mut times = [0.0; SUBJECTS.len()];
    for (time, (_, subject, _)) in times.iter_mut().zip(SUBJECTS) {
        *time = match subject {
            Subject::Native(event) => calls(caller, event).await?,
            Subject::Handler(path) => (requests(router, path).await? - around) / TIMES,
        };
    }
    Ok(times)
}

async fn requests(router: &Router, path: &str) -> Result<f64> {
    let began = Instant::now();
    for _ in 0..REQUESTS {
        request(router, path).await?;
    }
    Ok(began.elapsed().as_secs_f64() * 1e6 / f64::from(REQUESTS))
}

async fn calls(caller: &Caller, event: &str) -> Result<f64> {
    let text = Payload::json("42")?;
    let began = Instant::now();
    for _ in 0..REQUESTS * 10 {
        caller.call_raw(event, text.clone()).await?;
    }
    Ok(began.elapsed().as_secs_f64() * 1e6 / f64::from(REQUESTS * 10))
}
