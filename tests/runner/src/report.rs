//! The output of the runner: the duration of each lane, the slowest tests of each lane, and for each failure the command that repeats it.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use anyhow::Result;

use crate::binaries::{Binary, Test};
use crate::lanes::Lane;

const SLOWEST: usize = 10;

/// A test that takes this many seconds is printed when it ends.
const SHOWN_FROM: f64 = 10.0;

/// The result of one test.
#[derive(Clone, Debug)]
pub struct TestResult {
    name: String,
    lane: Lane,
    seconds: f64,
    /// The output of the failed test.
    failure: Option<String>,
    /// The command that runs this test alone.
    repeat: String,
}

impl TestResult {
    pub(crate) fn new(binary: &Binary, test: &Test, lane: Lane, seconds: f64, failure: Option<String>) -> Self {
        let seeds = failure.as_deref().map(seeds).unwrap_or_default();
        Self {
            name: format!("{} {}", binary.id, test.name),
            lane,
            seconds,
            failure,
            repeat: format!("{seeds}cargo test {} -- --exact '{}'", binary.selection, test.name),
        }
    }

    pub(crate) fn has_failed(&self) -> bool {
        self.failure.is_some()
    }
}

/// The assignments of seeds that an output contains, such as `POINTWORK_FUZZ_SEED=7 `.
fn seeds(output: &str) -> String {
    let mut found = Vec::new();
    for word in output.split_whitespace() {
        let word = word.trim_end_matches([';', ',', '.', ':']);
        let is_seed = word.split_once('=').is_some_and(|(name, value)| {
            name.ends_with("_SEED") && !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit())
        });
        if is_seed && !found.contains(&word) {
            found.push(word);
        }
    }
    found.iter().map(|seed| format!("{seed} ")).collect()
}

/// The results of the tests of a lane.
#[derive(Debug)]
pub(crate) struct LaneResult {
    lane: Lane,
    duration: Duration,
    results: Vec<TestResult>,
}

impl LaneResult {
    /// Runs `tests` tests of a lane.
    #[allow(
        clippy::print_stdout,
        reason = "the runner reports to a person or to the log of a server"
    )]
    #[expect(clippy::disallowed_methods, reason = "the report has the duration of each lane")]
    pub(crate) fn of(lane: Lane, tests: usize, run: impl FnOnce() -> Result<Vec<TestResult>>) -> Result<Self> {
        if tests > 0 {
            println!("lane {lane}: {tests} tests");
        }
        let started = Instant::now();
        let results = run()?;
        let duration = started.elapsed();
        Ok(Self {
            lane,
            duration,
            results,
        })
    }
}

/// Prints a test that took long, and a failure at once, because a run takes minutes.
#[allow(
    clippy::print_stdout,
    reason = "the runner reports to a person or to the log of a server"
)]
pub(crate) fn show(result: &TestResult) {
    let (name, seconds) = (&result.name, result.seconds);
    match &result.failure {
        Some(failure) => println!("FAILED {name} ({seconds:.1} s)\n{failure}\n"),
        None if seconds >= SHOWN_FROM => println!("  {seconds:7.1} s  {name}"),
        None => {}
    }
}

/// The results of a run.
#[derive(Debug)]
pub struct Report {
    lanes: Vec<LaneResult>,
}

impl Report {
    /// Leaves out a lane without tests.
    pub(crate) fn new(lanes: impl IntoIterator<Item = LaneResult>) -> Self {
        let lanes = lanes.into_iter().filter(|lane| !lane.results.is_empty()).collect();
        Self { lanes }
    }

    fn results(&self) -> impl Iterator<Item = &TestResult> {
        self.lanes.iter().flat_map(|lane| &lane.results)
    }

    /// Whether a test has failed.
    pub fn has_failures(&self) -> bool {
        self.results().any(TestResult::has_failed)
    }

    /// The tables, and as the last line `N passed, N failed`.
    pub fn summary(&self) -> String {
        let mut text = String::new();
        for LaneResult {
            lane,
            duration,
            results,
        } in &self.lanes
        {
            let failed = results.iter().filter(|result| result.has_failed()).count();
            let tests = results.len();
            let seconds = duration.as_secs_f64();
            let _ = writeln!(
                text,
                "lane {lane}: {tests} tests, {failed} failed, {seconds:.1} s; the slowest:"
            );
            let mut slowest: Vec<_> = results.iter().collect();
            slowest.sort_by(|one, other| other.seconds.total_cmp(&one.seconds));
            for result in slowest.iter().take(SLOWEST) {
                let _ = writeln!(text, "  {:7.2} s  {}", result.seconds, result.name);
            }
        }
        text.push_str(&self.failures());
        let failed = self.results().filter(|result| result.has_failed()).count();
        let passed = self.results().count() - failed;
        let _ = writeln!(text, "{passed} passed, {failed} failed");
        text
    }

    /// Each failure with its lane and the command that repeats it.
    pub fn failures(&self) -> String {
        let mut text = String::new();
        for result in self.results().filter(|result| result.has_failed()) {
            let _ = writeln!(
                text,
                "failed in lane {}: {}\n  {}",
                result.lane, result.name, result.repeat
            );
        }
        text
    }

    /// The duration of every test in seconds, the slowest first, one per line.
    pub fn durations(&self) -> String {
        let mut results: Vec<_> = self.results().collect();
        results.sort_by(|one, other| other.seconds.total_cmp(&one.seconds));
        let lines = results
            .iter()
            .map(|result| format!("{:.3}\t{}\t{}\n", result.seconds, result.lane, result.name));
        lines.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::seeds;

    #[test]
    fn seeds_are_found_in_an_output() {
        assert_eq!(
            seeds("seen with POINTWORK_FUZZ_SEED=12; the table"),
            "POINTWORK_FUZZ_SEED=12 "
        );
        assert_eq!(seeds("no seed: SEED_NAME=x"), "");
    }
}
