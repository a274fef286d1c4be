//! One request in five traps, or runs out of memory: the effect on the other routes. Also the growth of the server's
//! memory over `--count` traps (50,000).
//!
//! Half of the other requests go to another module, half to another route of the module that crashes. The load is half
//! of the rate that saturates the server with the bad requests, which cost more. The rounds take turns with rounds of
//! the same load in which those requests are harmless; each ratio compares the two within a round. The server is a
//! process of its own, on both cores, and so is the load.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::Result;
use pointwork_bench::rounds;
use pointwork_load::median;

use pointwork_load::Server;

use crate::child;
use crate::client::Reply;
use crate::guests::Runs;
use crate::pressure::{Judge, Kind, Pressure, Statuses};
use crate::{Verdict, number};

/// The goals: the p99 of the good requests, relative to rounds without bad ones; the growth after the first fifth of
/// the traps.
const GOAL: f64 = 1.5;
const GROWTH: f64 = 0.05;

const NEIGHBOUR: usize = 0;
const SAME_MODULE: usize = 1;
const FIFTH: usize = 2;

const PRESSURE: Pressure = Pressure {
    connections: 32,
    rate: None,
    pinned: false,
};

/// Four requests to the other module, four to the same module, two to the given route.
fn mix(at: usize, fifth: &str) -> Vec<Kind> {
    let good = [
        Kind::get(NEIGHBOUR, &format!("/good/{at}/42")),
        Kind::get(SAME_MODULE, &format!("/bad/{at}/harmless")),
    ];
    let fifth = Kind::get(FIFTH, &format!("/bad/{at}/{fifth}"));
    let half = [&good[0], &good[1], &good[0], &good[1], &fifth];
    half.into_iter().cycle().take(10).cloned().collect()
}

pub(crate) fn run() -> Result<()> {
    let mut verdict = Verdict::default();
    disturbance(&mut verdict)?;
    growth(&mut verdict)?;
    verdict.end()
}

fn disturbance(verdict: &mut Verdict) -> Result<()> {
    let server = child::start("sandbox", &[])?;
    println!(
        "{:<14} {:<8} {:>10} {:>8} {:>7} {:>12} {:>18} {:>12} {:>6}",
        "modules", "a fifth", "requests/s", "paced at", "errors", "p99 in ms", "beside harmless", "the ratio", "goal"
    );
    for (at, runs) in Runs::ALL.into_iter().enumerate() {
        for fifth in ["trap", "hog"] {
            let mut round = Rounds::new(&server, at, fifth)?;
            for _ in 0..rounds(9) {
                round.measure(&server)?;
            }
            round.print(runs, verdict);
        }
    }
    Ok(())
}

/// Rounds with one kind of bad request.
struct Rounds {
    at: usize,
    fifth: &'static str,
    saturation: f64,
    /// The p99 of the good requests, beside bad and beside harmless requests.
    bad: Vec<f64>,
    harmless: Vec<f64>,
    errors: u64,
    first: Option<String>,
}

impl Rounds {
    fn new(server: &Server, at: usize, fifth: &'static str) -> Result<Self> {
        let judge = Arc::new(Statuses(&[200, 200, 500]));
        let free = PRESSURE.run(server.address, mix(at, fifth), judge, Duration::from_secs(2))?;
        Ok(Self {
            at,
            fifth,
            saturation: free.answered() as f64 / free.seconds,
            bad: Vec::new(),
            harmless: Vec::new(),
            errors: free.failed(),
            first: free.first,
        })
    }

    fn measure(&mut self, server: &Server) -> Result<()> {
        let paced = Pressure {
            rate: Some(self.saturation / 2.0),
            ..PRESSURE
        };
        let subjects: [(&str, &'static [u16]); 2] = [("harmless", &[200, 200, 200]), (self.fifth, &[200, 200, 500])];
        for (fifth, statuses) in subjects {
            let judge = Arc::new(Statuses(statuses));
            let tally = paced.run(server.address, mix(self.at, fifth), judge, Duration::from_secs(1))?;
            let time = tally.percentile(&[NEIGHBOUR, SAME_MODULE], 99.0);
            let times = if fifth == self.fifth {
                &mut self.bad
            } else {
                &mut self.harmless
            };
            times.push(time);
            self.errors += tally.failed();
            self.first = self.first.take().or(tally.first);
        }
        Ok(())
    }

    fn print(self, runs: Runs, verdict: &mut Verdict) {
        let ratios = self
            .bad
            .iter()
            .zip(&self.harmless)
            .map(|(bad, harmless)| bad / harmless);
        println!(
            "{runs:<14} {:<8} {:>10.0} {:>8.0} {:>7} {:>12.2} {:>18.2} {:>12.2} {GOAL:>6}",
            self.fifth,
            self.saturation,
            self.saturation / 2.0,
            self.errors,
            median(self.bad.iter().copied()),
            median(self.harmless.iter().copied()),
            median(ratios)
        );
        if let Some(first) = self.first {
            println!("{:<14} {first}", "");
        }
        verdict.zero(
            &format!("requests had another end than theirs beside `{}`", self.fifth),
            self.errors,
        );
    }
}

/// Counts crashes.
#[derive(Default)]
struct Crashes(AtomicU64);

impl Judge for Crashes {
    fn judge(&self, _: usize, _: u32, reply: &Reply) -> Result<(), String> {
        self.0.fetch_add(1, Ordering::Relaxed);
        if reply.status == 500 {
            return Ok(());
        }
        Err(format!("a trap was answered with {}", reply.status))
    }
}

fn growth(verdict: &mut Verdict) -> Result<()> {
    let count = number("--count", 50_000)?;
    println!(
        "\n{:<14} {:>8} {:>22} {:>22} {:>8}",
        "modules",
        "traps",
        format!("MiB after {}", count / 5),
        format!("MiB after {count}"),
        "growth"
    );
    for (at, runs) in Runs::ALL.into_iter().enumerate() {
        let server = child::start("sandbox", &[])?;
        let crashes = Arc::<Crashes>::default();
        let load = PRESSURE.begin(
            server.address,
            vec![Kind::get(0, &format!("/bad/{at}/trap"))],
            crashes.clone(),
        );
        let reached = |goal: u64| {
            while crashes.0.load(Ordering::Relaxed) < goal {
                std::thread::sleep(Duration::from_millis(5));
            }
            server.memory("VmRSS")
        };
        let early = reached(count / 5)?;
        let late = reached(count)?;
        let tally = load.end()?;
        println!(
            "{runs:<14} {:>8} {early:>22.1} {late:>22.1} {:>8.3}",
            tally.answered(),
            late / early - 1.0
        );
        verdict.zero("traps were answered with something else than 500", tally.failed());
        verdict.holds(late <= early * (1.0 + GROWTH), || {
            format!("the server grew from {early:.1} to {late:.1} MiB ({runs})")
        });
    }
    Ok(())
}
