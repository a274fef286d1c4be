//! The cost of swaps, refusals, traps, endless loops, aborted and slow requests for all other requests. Each figure is one
//! command:
//!
//! ```text
//! cargo bench --manifest-path tests/bench/Cargo.toml --bench sandbox -- swaps --adapter axum
//! cargo bench --manifest-path tests/bench/Cargo.toml --bench sandbox -- refusals
//! cargo bench --manifest-path tests/bench/Cargo.toml --bench sandbox -- traps
//! cargo bench --manifest-path tests/bench/Cargo.toml --bench sandbox -- loops
//! cargo bench --manifest-path tests/bench/Cargo.toml --bench sandbox -- aborts
//! cargo bench --manifest-path tests/bench/Cargo.toml --bench sandbox -- memory
//! cargo bench --manifest-path tests/bench/Cargo.toml --bench sandbox -- slow --clients 2000
//! cargo bench --manifest-path tests/bench/Cargo.toml --bench sandbox -- attacks
//! ```
//!
//! The modules are the suite's synthetic guests. All counts and ratios come from one run; a count that must be 0 and is
//! not ends the command with an error. `--count` sets the number of swaps, aborts and so on, `--seed` the random
//! choices; the seed is printed.
#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

mod aborts;
mod attacks;
mod child;
mod client;
mod guests;
mod loops;
mod memory;
mod pressure;
mod refusals;
mod slow;
mod slow_clients;
mod swaps;
mod traps;

use anyhow::{Result, bail};
use pointwork_bench::{flag, option};

type Figure = fn() -> Result<()>;

fn main() -> Result<()> {
    // `cargo test --benches` only checks that the benchmark runs.
    if flag("--test") {
        return Ok(());
    }
    if flag("--compile-worker") {
        return Ok(pointwork::compile_worker()?);
    }
    if let Some(role) = option("--child") {
        return child::run(&role);
    }
    let figures: [(&str, Figure); 8] = [
        ("swaps", swaps::run),
        ("refusals", refusals::run),
        ("traps", traps::run),
        ("loops", loops::run),
        ("aborts", aborts::run),
        ("memory", memory::run),
        ("slow", slow::run),
        ("attacks", attacks::run),
    ];
    match figures.iter().find(|(name, _)| flag(name)) {
        Some((_, figure)) => figure(),
        None => bail!("expected one of: {}", figures.map(|(name, _)| name).join(", ")),
    }
}

/// The number after an option on the command line, or the default.
fn number(name: &str, otherwise: u64) -> Result<u64> {
    Ok(option(name).map_or(Ok(otherwise), |text| text.parse())?)
}

/// The random number generator, seeded from the command line or at random. The seed is printed, so that a run can be
/// repeated.
fn random() -> Result<fastrand::Rng> {
    let seed = number("--seed", fastrand::u64(..))?;
    println!("--seed {seed}");
    Ok(fastrand::Rng::with_seed(seed))
}

/// Collects the failed checks.
#[derive(Default)]
struct Verdict(Vec<String>);

impl Verdict {
    /// Checks a count that has to be 0.
    fn zero(&mut self, what: &str, count: u64) {
        self.holds(count == 0, || format!("{count} {what}, expected none"));
    }

    fn holds(&mut self, holds: bool, complaint: impl FnOnce() -> String) {
        if !holds {
            self.0.push(complaint());
        }
    }

    fn end(self) -> Result<()> {
        if self.0.is_empty() {
            return Ok(());
        }
        bail!("{}", self.0.join("; "))
    }
}
