//! What a request costs, in figures beside the goals:
//!
//! ```text
//! cargo bench --manifest-path tests/bench/Cargo.toml --bench table
//! cargo bench --manifest-path tests/bench/Cargo.toml --bench table -- --quick
//! cargo bench --manifest-path tests/bench/Cargo.toml --bench table -- commands asynchronous
//! ```
//!
//! With words, only the rows that contain one of them are measured, and the rows with which they are compared; the names of the
//! sections are words too. `--quick` takes a minute or two and sees large differences only. `--rounds 15` and `--seconds 5` set
//! the number of rounds, and the length of a burst of requests over HTTP.
#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

mod durable;
mod floor;
mod goals;
mod http;
mod languages;
mod nats;
mod peers;
mod process;
mod server;
mod start;
mod streams;
mod waiting;

use std::time::Duration;
use std::{fs, thread};

use anyhow::Result;
use pointwork_bench::{flag, option, rounds};
use pointwork_load::Estimate;

/// What is measured, how long, and the figures.
struct Table {
    words: Vec<String>,
    quick: bool,
    rounds: usize,
    burst: Duration,
    figures: Vec<(String, Estimate)>,
}

impl Table {
    fn new() -> Result<Self> {
        let quick = flag("--quick");
        let seconds = option("--seconds").map_or(Ok(if quick { 0.2 } else { 3.0 }), |text| text.parse())?;
        // cargo adds `--bench`.
        let options = ["--rounds", "--seconds"].map(|name| option(name).unwrap_or_default());
        let words = std::env::args()
            .skip(1)
            .filter(|word| !word.starts_with("--") && !options.contains(word));
        Ok(Self {
            words: words.collect(),
            quick,
            rounds: rounds(if quick { 3 } else { 9 }),
            burst: Duration::from_secs_f64(seconds),
            figures: Vec::new(),
        })
    }

    /// Whether a row is measured.
    fn wants(&self, section: &str, row: &str) -> bool {
        let named = format!("{section}, {row}");
        self.words.is_empty() || self.words.iter().any(|word| named.contains(word.as_str()))
    }

    fn note(&mut self, figure: String, estimate: Estimate) {
        self.figures.push((figure, estimate));
    }
}

fn main() -> Result<()> {
    // `cargo test --benches` only checks that the benchmark runs.
    if flag("--test") {
        return Ok(());
    }
    if let Some(form) = option("--server") {
        return server::run(&form);
    }
    if let Some(what) = option("--instances") {
        return languages::print(&what);
    }
    if let Some(form) = option("--memory") {
        return waiting::print_memory(&form);
    }
    let mut table = Table::new()?;
    print_machine()?;
    http::measure(&mut table)?;
    languages::measure(&mut table)?;
    process::measure(&mut table)?;
    waiting::measure(&mut table)?;
    durable::measure(&mut table)?;
    nats::measure(&mut table)?;
    start::measure(&mut table)?;
    streams::measure(&mut table)?;
    goals::print(&table);
    Ok(())
}

/// Prints what the figures depend on.
fn print_machine() -> Result<()> {
    let processors = fs::read_to_string("/proc/cpuinfo")?;
    let model = processors
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let model = model.map_or("unknown", |(_, name)| name);
    let load = fs::read_to_string("/proc/loadavg")?;
    println!(
        "{} processors, {model}; load before: {}",
        thread::available_parallelism()?,
        load.split(' ').next().unwrap_or_default()
    );
    Ok(())
}
