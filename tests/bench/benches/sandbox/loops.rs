//! Endless loops beside good traffic on two cores: the remaining throughput of the good traffic, and its p99. Then the
//! same while a component is swapped in that takes long to compile, and the same with stack overflows.
//!
//! Eight clients request a loop, and again as soon as the host has ended it at its deadline of one second; so eight
//! loops run at any time. 32 clients send good requests, each when the one before is answered. Server and load are two
//! processes, and neither is pinned to a core. Rounds with loops and without take turns; each ratio compares them
//! within a round. `--functions` sets the size of the component that is compiled.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Result;
use pointwork_bench::rounds;
use pointwork_load::median;

use crate::Verdict;
use pointwork_load::Server;

use crate::child;
use crate::guests::Runs;
use crate::pressure::{AtWork, Kind, OneOf, Pressure, Statuses, Tally};

/// The goals for the good requests, relative to a run without loops: the lowest throughput, the highest p99.
const THROUGHPUT: f64 = 0.8;
const P99: f64 = 10.0;

const GOOD: Pressure = Pressure {
    connections: 32,
    rate: None,
    pinned: false,
};

const LOOPS: Pressure = Pressure {
    connections: 8,
    rate: None,
    pinned: false,
};

/// The length of each measurement.
const SPAN: Duration = Duration::from_secs(2);

/// The bad traffic: the route of the bad module, and the statuses that count as right. The good traffic uses all of
/// both cores, so a request that overflows the stack may reach its deadline before it runs.
const BESIDE: [(&str, &[u16]); 2] = [("loop", &[504]), ("overflow", &[500, 504])];

fn good(server: &Server, at: usize, span: Duration) -> Result<Tally> {
    let kinds = vec![Kind::get(0, &format!("/good/{at}/42"))];
    GOOD.run(server.address, kinds, Arc::new(Statuses(&[200])), span)
}

/// Starts the bad traffic and gives it time to reach its full rate.
fn beside(server: &Server, at: usize, route: &str, statuses: &'static [u16]) -> AtWork {
    let kinds = vec![Kind::get(0, &format!("/bad/{at}/{route}"))];
    let load = LOOPS.begin(server.address, kinds, Arc::new(OneOf(statuses)));
    std::thread::sleep(Duration::from_millis(300));
    load
}

/// The measurements of the good traffic in the rounds of one subject.
#[derive(Default)]
struct Series {
    rates: Vec<f64>,
    p99: Vec<f64>,
    errors: u64,
    beside: usize,
}

impl Series {
    fn add(&mut self, without: &Tally, with: &Tally) {
        self.rates.push(with.rate(&[0]) / without.rate(&[0]));
        self.p99
            .push(with.percentile(&[0], 99.0) / without.percentile(&[0], 99.0));
        self.errors += with.failed() + without.failed();
    }

    fn print(&mut self, runs: Runs, what: &str, goals: bool, verdict: &mut Verdict) {
        let goals = if goals {
            format!("at least {THROUGHPUT}, at most {P99}")
        } else {
            String::new()
        };
        println!(
            "{runs:<14} {what:<26} {:>11.2} {:>8.2} {:>7} {:>13}  {goals}",
            median(self.rates.iter().copied()),
            median(self.p99.iter().copied()),
            self.errors,
            self.beside
        );
        verdict.zero(&format!("good requests failed beside {what}"), self.errors);
    }
}

pub(crate) fn run() -> Result<()> {
    let mut server = child::start("sandbox", &[])?;
    let mut verdict = Verdict::default();
    println!(
        "{:<14} {:<26} {:>11} {:>8} {:>7} {:>13}  goals",
        "modules", "beside", "throughput", "p99", "errors", "ended beside"
    );
    for (at, runs) in Runs::ALL.into_iter().enumerate() {
        for (which, (route, statuses)) in BESIDE.into_iter().enumerate() {
            let mut series = Series::default();
            for _ in 0..rounds(3) {
                let without = good(&server, at, SPAN)?;
                let load = beside(&server, at, route, statuses);
                let with = good(&server, at, SPAN)?;
                let ended = load.end()?;
                series.add(&without, &with);
                series.beside += ended.answered();
                verdict.zero(&format!("`{route}` ended otherwise than it should"), ended.failed());
            }
            let what = format!("8 clients of `{route}`");
            series.print(runs, &what, which == 0, &mut verdict);
        }
    }
    compiling(&mut server, &mut verdict)?;
    verdict.end()
}

/// Measures loops while a component is compiled.
fn compiling(server: &mut Server, verdict: &mut Verdict) -> Result<()> {
    let at = 0;
    let mut series = Series::default();
    let without = good(server, at, SPAN)?;
    let load = beside(server, at, "loop", &[504]);
    let began = Instant::now();
    server.tell("heavy")?;
    // Measures as long as the component is compiled; a measurement that is shorter does not count.
    let mut swapped = None;
    while swapped.is_none() && series.rates.len() < 30 {
        let with = good(server, at, SPAN)?;
        swapped = server.says(Duration::ZERO);
        if swapped.is_none() || series.rates.is_empty() {
            series.add(&without, &with);
        }
    }
    series.beside = load.end()?.answered();
    let swapped = swapped.or_else(|| server.says(Duration::from_secs(240)));
    let seconds = began.elapsed().as_secs_f64();
    series.print(Runs::ALL[at], "the same, and a compiler", true, verdict);
    let swapped = swapped.unwrap_or_else(|| "not done after 240 s".to_owned());
    println!("what was compiled meanwhile: {swapped} after {seconds:.1} s");
    verdict.holds(swapped == "swapped in", || format!("the heavy component was {swapped}"));
    Ok(())
}
