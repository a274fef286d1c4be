//! A thousand requests that each wait 10 ms in a channel: how many are answered, and what memory one takes while it waits:
//! `cargo bench --manifest-path tests/bench/Cargo.toml --bench waiting`.
//!
//! `-- --only synchronous` measures those whose name holds that, for a profiler. And how long a handler takes that waits for two calls at once.
//!
//! The same handler in native code, in a module of the synchronous form, where each request waits in an instance of its
//! own, and in one of the asynchronous form. The subjects take turns; the ratios are those within a round.

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

/// How long each subject is measured in a round.
const SPAN: Duration = Duration::from_secs(1);

fn main() -> Result<()> {
    // `cargo test --benches` only wants to know that it runs.
    if flag("--test") {
        return Ok(());
    }
    let runtime = tokio::runtime::Runtime::new()?;
    // On a worker, as a server would run it.
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

/// How much longer a request takes whose handler waits for two calls at once than one that waits for one.
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

/// Requests answered per second, with as many waiting at any time, each in a task of its own as a server would have it.
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

/// By how much the process grows while so many requests wait that it never had before, in KiB for each.
async fn waiting_memory(router: &Router, path: &str) -> Result<f64> {
    let before = resident()?;
    let mut waiting: FuturesUnordered<_> = (0..IN_FLIGHT).map(|_| request(router, path)).collect();
    while let Some(reply) = waiting.next().await {
        reply?;
    }
    // Instances stay for the next requests, so what they took is still there.
    Ok((resident()? - before) / f64::from(u32::try_from(IN_FLIGHT)?))
}

/// The most memory that the process ever had, in KiB.
fn resident() -> Result<f64> {
    let status = std::fs::read_to_string("/proc/self/status").context("this benchmark needs Linux's /proc")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let peak = line
        .and_then(|line| line.split_whitespace().next())
        .context("no VmHWM")?;
    Ok(peak.parse()?)
}
