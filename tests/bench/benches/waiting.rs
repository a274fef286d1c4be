//! A thousand requests that each wait 10 ms in a channel: the throughput, and the memory of a waiting request. Also the
//! time of a handler that waits for two calls at once. `cargo bench --manifest-path tests/bench/Cargo.toml --bench
//! waiting`.
//!
//! `-- --only synchronous` measures the subjects whose name contains the word, for a profiler.
//!
//! The subjects are the same handler in native code, in a synchronous module, where each request waits in an instance
//! of its own, and in an asynchronous module. They take turns; each ratio compares subjects within a round.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use futures_util::stream::{FuturesUnordered, StreamExt};
use pointwork::ConnectOptions;
use pointwork_bench::load::{flag, option, rounds};
use pointwork_bench::{Direct, IN_FLIGHT, app, median, request};
use pointwork_core::Router;

const SUBJECTS: [(&str, &str); 3] = [
    ("native handler", "/native/wait"),
    ("wasm, synchronous", "/calls/wait"),
    ("wasm, asynchronous", "/waits/wait"),
];

/// The time for which each subject is measured in a round.
const SPAN: Duration = Duration::from_secs(1);

fn main() -> Result<()> {
    // `cargo test --benches` only checks that the benchmark runs.
    if flag("--test") {
        return Ok(());
    }
    let runtime = tokio::runtime::Runtime::new()?;
    // Runs on a worker thread, as in a server.
    runtime.block_on(async { tokio::spawn(measure()).await? })
}

async fn measure() -> Result<()> {
    let direct = Direct::default();
    let app = app().await?;
    app.connect_to(direct.clone(), ConnectOptions::new())?;
    let router = direct.router().context("nothing was published")?;
    let mut memory = Vec::new();
    for (_, path) in SUBJECTS {
        memory.push(waiting_memory(&router, path).await?);
    }
    let only = option("--only");
    let mut rates = [const { Vec::new() }; SUBJECTS.len()];
    let mut ratios = [const { Vec::new() }; SUBJECTS.len()];
    for _ in 0..rounds(7) {
        let mut first = None;
        for (at, (name, path)) in SUBJECTS.into_iter().enumerate() {
            if only.as_deref().is_some_and(|only| !name.contains(only)) {
                continue;
            }
            let rate = rate(&router, path).await?;
            rates[at].push(rate);
            ratios[at].push(rate / *first.get_or_insert(rate));
        }
    }
    println!(
        "{:<20} {:>10} {:>10} {:>22}",
        "", "requests/s", "to native", "KiB a waiting request"
    );
    for (at, (name, _)) in SUBJECTS.into_iter().enumerate() {
        if rates[at].is_empty() {
            continue;
        }
        println!(
            "{name:<20} {:>10.0} {:>10.2} {:>22.1}",
            median(&mut rates[at]),
            median(&mut ratios[at]),
            memory[at]
        );
    }
    println!(
        "two calls at once from one handler take {:.2} times as long as one",
        twice(&router).await?
    );
    Ok(())
}

/// The time of a handler that waits for two calls at once, relative to a handler that waits for one.
async fn twice(router: &Router) -> Result<f64> {
    let mut ratios = Vec::new();
    for _ in 0..20 {
        let began = Instant::now();
        request(router, "/waits/wait").await?;
        let one = began.elapsed();
        let began = Instant::now();
        request(router, "/waits/wait-twice").await?;
        ratios.push(began.elapsed().as_secs_f64() / one.as_secs_f64());
    }
    Ok(median(&mut ratios))
}

/// Answered requests per second with a constant number of waiting requests, each in a task of its own as in a server.
async fn rate(router: &Arc<Router>, path: &'static str) -> Result<f64> {
    let began = Instant::now();
    let clients = (0..IN_FLIGHT).map(|_| {
        let router = router.clone();
        tokio::spawn(async move {
            let mut answered = 0_u32;
            while began.elapsed() < SPAN {
                request(&router, path).await?;
                answered += 1;
            }
            Ok::<_, anyhow::Error>(answered)
        })
    });
    let mut answered = 0;
    for client in clients.collect::<Vec<_>>() {
        answered += client.await??;
    }
    Ok(f64::from(answered) / began.elapsed().as_secs_f64())
}

/// The growth of the process while that many requests wait for the first time, in KiB for each request.
async fn waiting_memory(router: &Router, path: &str) -> Result<f64> {
    let before = resident()?;
    let mut waiting: FuturesUnordered<_> = (0..IN_FLIGHT).map(|_| request(router, path)).collect();
    while let Some(reply) = waiting.next().await {
        reply?;
    }
    // Idle instances are kept for the next requests, so their memory still counts.
    Ok((resident()? - before) / f64::from(u32::try_from(IN_FLIGHT)?))
}

/// The peak memory of the process, in KiB.
fn resident() -> Result<f64> {
    let status = std::fs::read_to_string("/proc/self/status").context("this benchmark needs Linux's /proc")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let peak = line
        .and_then(|line| line.split_whitespace().next())
        .context("no VmHWM")?;
    Ok(peak.parse()?)
}
