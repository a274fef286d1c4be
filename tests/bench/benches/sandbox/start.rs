//! The time from the start of the process to the first reply: a server with a module whose compiled code is in the
//! cache, against the same server with a native handler. For comparison: a server whose engine has room for few
//! instances, and one without the cache.
//!
//! `--count` is the number of starts of each, 21 by default. The subjects take turns.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use pointwork_bench::{component, median};

use crate::child::Child;
use crate::client::{Connection, get};
use crate::number;

/// The goal for a warm cache, relative to the native server.
const GOAL: f64 = 1.5;

pub fn run() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("calls.wasm");
    let bytes = component("calls")?;
    println!("one module, written with the Rust SDK, of {} KiB", bytes.len() / 1024);
    std::fs::write(&file, bytes)?;
    let file = file.to_str().context("the folder's name is no text")?;
    let cache = folder.path().join("cache");
    let cache = cache.to_str().context("the folder's name is no text")?;
    let warm = ["--component", file, "--cache", cache];
    let small = ["--component", file, "--cache", cache, "--instances", "64"];
    let subjects: [(&str, &[&str]); 4] = [
        ("native handler", &[]),
        ("module, warm cache", &warm),
        ("the same, 64 instances", &small),
        ("module, no cache", &["--component", file]),
    ];
    let runtime = tokio::runtime::Runtime::new()?;
    let mut times = [const { Vec::new() }; 4];
    let mut ratios = [const { Vec::new() }; 4];
    for round in 0..=number("--count", 21)? {
        let mut native = None;
        for (at, (_, arguments)) in subjects.into_iter().enumerate() {
            let began = Instant::now();
            let server = Child::start("start", arguments)?;
            let status = runtime.block_on(async {
                let mut connection = Connection::open(server.address).await?;
                Ok::<_, anyhow::Error>(connection.ask(&get("/calls/42")).await?.status)
            })?;
            let took: Duration = began.elapsed();
            ensure!(status == 200, "the first reply was {status}");
            let took = took.as_secs_f64() * 1e3;
            // The first round fills the caches of the host and of the operating system.
            if round > 0 {
                times[at].push(took);
                ratios[at].push(took / *native.get_or_insert(took));
            }
        }
    }
    println!("{:<24} {:>10} {:>10} {:>8}", "", "ms, median", "to native", "goal");
    for (at, (name, _)) in subjects.into_iter().enumerate() {
        let goal = if at == 1 { format!("{GOAL}") } else { String::new() };
        println!(
            "{name:<24} {:>10.1} {:>10.2} {goal:>8}",
            median(&mut times[at]),
            median(&mut ratios[at])
        );
    }
    Ok(())
}
