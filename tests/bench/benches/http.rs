//! The cost of a request over HTTP/1.1, on each framework alone and with its adapter: `cargo bench --manifest-path
//! tests/bench/Cargo.toml --bench http`.
//!
//! The servers run on core 0, the load generator `wrk` (Debian's package of that name) on core 1. The subjects take
//! turns, so that other load of the machine affects all of them alike. The result is the ratio of processor time within
//! a round.
//!
//! `-- --rounds 15` runs more rounds, `-- --only axum` measures one framework. `-- --serve` only serves and prints the
//! addresses, for a profiler.

use std::thread;

use anyhow::{Result, ensure};
use pointwork_bench::bare::FRAMEWORKS;
use pointwork_bench::load::{Burst, Series, burst, flag, option, rounds};
use pointwork_bench::servers::{start, start_on};
use pointwork_bench::{SUBJECTS, app};

fn main() -> Result<()> {
    // `cargo test --benches` only checks that the benchmark runs.
    if flag("--test") {
        return Ok(());
    }
    let only = option("--only");
    let wanted = |name: &str| only.as_deref().is_none_or(|only| only == name);
    ensure!(
        FRAMEWORKS.iter().any(|(name, _)| wanted(name)),
        "`--only` names no framework"
    );

    let runtime = tokio::runtime::Runtime::new()?;
    let app = runtime.block_on(app())?;
    let mut subjects = Vec::new();
    for (framework, serve) in FRAMEWORKS.into_iter().filter(|(name, _)| wanted(name)) {
        let bare = start(framework, serve)?;
        let first = subjects.len();
        subjects.push((
            framework,
            "the framework alone",
            format!("http://{bare}/native/42"),
            first,
        ));
        let ours = start_on(&app, framework)?;
        for (name, path) in SUBJECTS {
            // The asynchronous form costs the same on all adapters.
            if framework == "hyper" || path != "/waits/42" {
                subjects.push((framework, name, format!("http://{ours}{path}"), first));
            }
        }
    }
    if flag("--serve") {
        for (framework, name, url, _) in &subjects {
            println!("{framework}, {name}: {url}");
        }
        loop {
            thread::park();
        }
    }

    let mut series = vec![Series::default(); subjects.len()];
    for round in 0..=rounds(7) {
        let bursts: Vec<Burst> = subjects.iter().map(|(.., url, _)| burst(url)).collect::<Result<_>>()?;
        // The first round warms up.
        if round > 0 {
            for (place, (.., first)) in subjects.iter().enumerate() {
                series[place].add(bursts[place], bursts[*first]);
            }
        }
    }
    println!(
        "{:<10} {:<22} {:>10} {:>12} {:>14} {:>17}",
        "framework", "subject", "µs of CPU", "requests/s", "to framework", "min to max"
    );
    for ((framework, name, ..), series) in subjects.iter().zip(&series) {
        let (least, middle, most) = series.speed();
        println!(
            "{framework:<10} {name:<22} {:>10.2} {:>12.0} {middle:>14.3} {least:>8.3} {most:>8.3}",
            series.micros(),
            series.rate()
        );
    }
    Ok(())
}
