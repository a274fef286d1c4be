//! The load, and the cost of it for the servers.

use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use cpu_time::ProcessTime;

use crate::median;
use crate::servers::LOAD_CORE;

const CONNECTIONS: &str = "32";
const SECONDS: &str = "1s";

/// The measurement of one short burst of requests.
#[derive(Clone, Copy, Debug)]
pub struct Burst {
    /// Requests per second, with the server on one core and the load on another.
    pub rate: f64,
    /// Processor time of this process for one request, in microseconds, over all its threads. The load runs in another
    /// process and does not count, so other programs on the machine disturb this figure less than the rate.
    pub micros: f64,
}

/// Sends requests to a server of this process with `wrk`.
///
/// # Errors
/// If `wrk` is missing, or a request fails.
pub fn burst(url: &str) -> Result<Burst> {
    let began = ProcessTime::now();
    let output = Command::new("taskset")
        .args([
            "-c",
            &LOAD_CORE.to_string(),
            "wrk",
            "-t1",
            "-c",
            CONNECTIONS,
            "-d",
            SECONDS,
            url,
        ])
        .output()
        .context("wrk does not start; on Debian: apt-get install wrk")?;
    let spent: Duration = began.elapsed();
    let text = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() || text.contains("Non-2xx") || text.contains("Socket errors") {
        bail!(
            "wrk met errors at {url}:\n{text}{}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
    let told = |before: &str, after: &str| -> Option<f64> {
        let line = text
            .lines()
            .find(|line| line.contains(before) && line.contains(after))?;
        line.replace(before, "").split_whitespace().next()?.parse().ok()
    };
    let rate = told("Requests/sec:", "").context("wrk told no rate")?;
    let requests = told("", "requests in").context("wrk told no number of requests")?;
    ensure!(requests > 0.0, "no request got through at {url}");
    Ok(Burst {
        rate,
        micros: spent.as_secs_f64() * 1e6 / requests,
    })
}

/// The bursts of a subject, each with the burst of its reference in the same round.
#[derive(Clone, Debug, Default)]
pub struct Series {
    bursts: Vec<(Burst, Burst)>,
}

impl Series {
    /// Adds a burst and its reference of the same round.
    pub fn add(&mut self, burst: Burst, counterpart: Burst) {
        self.bursts.push((burst, counterpart));
    }

    /// The median processor time for a request, in microseconds.
    pub fn micros(&self) -> f64 {
        median(&mut self.bursts.iter().map(|(burst, _)| burst.micros).collect::<Vec<_>>())
    }

    /// The median rate.
    pub fn rate(&self) -> f64 {
        median(&mut self.bursts.iter().map(|(burst, _)| burst.rate).collect::<Vec<_>>())
    }

    /// The number of requests that the subject serves in the time in which its reference serves one: least, median and
    /// most of all rounds.
    pub fn speed(&self) -> (f64, f64, f64) {
        let ratios = self
            .bursts
            .iter()
            .map(|(burst, counterpart)| counterpart.micros / burst.micros);
        let mut ratios: Vec<f64> = ratios.collect();
        let middle = median(&mut ratios);
        (ratios[0], middle, ratios[ratios.len() - 1])
    }
}

/// The number after `--rounds` on the command line, or the default.
pub fn rounds(otherwise: usize) -> usize {
    option("--rounds")
        .and_then(|text| text.parse().ok())
        .unwrap_or(otherwise)
}

/// The value after an option on the command line.
pub fn option(name: &str) -> Option<String> {
    let mut arguments = std::env::args().skip_while(|argument| argument != name);
    arguments.next()?;
    arguments.next()
}

/// Whether the command line contains a word.
pub fn flag(name: &str) -> bool {
    std::env::args().any(|argument| argument == name)
}
