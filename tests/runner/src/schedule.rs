//! Which test runs where and when.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;
use std::{fs, thread};

use anyhow::{Context as _, Result, bail, ensure};

use crate::binaries::{Binary, Test};
use crate::lanes::{Lane, Lanes};
use crate::process::run_to_end;
use crate::report::{LaneResult, Report, TestResult, show};
use crate::trial::{TRIAL_LOG, TrialRecord};

/// The tests to run, by lane.
#[derive(Debug)]
pub struct Schedule {
    binaries: Vec<Binary>,
    /// The names of all tests of each binary.
    listed: Vec<Vec<String>>,
    by_lane: BTreeMap<Lane, Vec<Test>>,
    shared: Vec<bool>,
    /// The folder for the outputs of the tests.
    logs: PathBuf,
    cores: usize,
}

/// Tests that the threads of the runner take one by one.
#[derive(Debug)]
struct Queue<'a>(Mutex<VecDeque<&'a Test>>);

impl<'a> Queue<'a> {
    fn new(tests: Vec<&'a Test>) -> Self {
        Self(Mutex::new(tests.into()))
    }

    fn next(&self) -> Option<&'a Test> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
    }
}

impl Schedule {
    /// Lists the tests of all binaries and assigns those that `is_selected` accepts, by `<binary> <test>`, to their lanes.
    ///
    /// # Errors
    /// If a binary does not list its tests, if `lanes.toml` is stale while all tests are selected, or if no test is selected.
    pub fn new(
        binaries: Vec<Binary>,
        lanes: &Lanes,
        logs: PathBuf,
        cores: usize,
        is_selected: Option<&dyn Fn(&str) -> bool>,
    ) -> Result<Self> {
        let listed = binaries.iter().map(Binary::list).collect::<Result<Vec<_>>>()?;
        let pairs: Vec<_> = binaries
            .iter()
            .zip(&listed)
            .flat_map(|(binary, names)| names.iter().map(|name| (binary.id.as_str(), name.as_str())))
            .collect();
        if is_selected.is_none() {
            lanes.check(&pairs)?;
        }
        let mut by_lane: BTreeMap<Lane, Vec<Test>> = BTreeMap::new();
        for (number, (binary, names)) in binaries.iter().zip(&listed).enumerate() {
            for name in names {
                if is_selected.is_none_or(|is_selected| is_selected(&format!("{} {name}", binary.id))) {
                    let test = Test {
                        binary: number,
                        name: name.clone(),
                    };
                    by_lane.entry(lanes.of(&binary.id, name)).or_default().push(test);
                }
            }
        }
        ensure!(!by_lane.is_empty(), "no test is selected");
        for tests in by_lane.values_mut() {
            tests.sort_by_key(|test| !lanes.is_first(&binaries[test.binary].id, &test.name));
        }
        fs::create_dir_all(&logs).with_context(|| logs.display().to_string())?;
        let shared = binaries.iter().map(|binary| lanes.is_shared(&binary.id)).collect();
        Ok(Self {
            binaries,
            listed,
            by_lane,
            shared,
            logs,
            cores,
        })
    }

    /// The selected tests, each with its lane.
    pub fn names(&self) -> impl Iterator<Item = (Lane, String)> {
        let lanes = self.by_lane.iter();
        lanes.flat_map(|(lane, tests)| {
            tests
                .iter()
                .map(|test| (*lane, format!("{} {}", self.binaries[test.binary].id, test.name)))
        })
    }

    /// Runs all tests: the lane `build` on one core beside the lane `cpu`, then the lane `clock` alone.
    ///
    /// # Errors
    /// If a binary cannot be started or a file cannot be written. A failed test is part of the report.
    pub fn run(&self) -> Result<Report> {
        let tests = self.tests(Lane::Cpu);
        let (shared, single): (Vec<_>, Vec<_>) = tests.iter().partition(|test| self.shared[test.binary]);
        let single = Queue::new(single);
        let mut build = None;
        let cpu = LaneResult::of(Lane::Cpu, tests.len(), || {
            let mut results = thread::scope(|scope| {
                let builder = scope.spawn(|| {
                    build = Some(self.run_lane(Lane::Build)?);
                    self.run_each(&single, Lane::Cpu)
                });
                let others = (1..self.cores).map(|_| scope.spawn(|| self.run_each(&single, Lane::Cpu)));
                let workers: Vec<_> = others.chain([builder]).collect();
                let ends = workers.into_iter().map(|worker| match worker.join() {
                    Ok(results) => results,
                    Err(_) => bail!("a thread of the runner panicked"),
                });
                ends.collect::<Result<Vec<_>>>()
            })?;
            for number in 0..self.binaries.len() {
                let tests: Vec<_> = shared.iter().filter(|test| test.binary == number).copied().collect();
                if !tests.is_empty() {
                    results.push(self.run_shared(number, &tests)?);
                }
            }
            Ok(results.concat())
        })?;
        Ok(Report::new(build.into_iter().chain([cpu, self.run_lane(Lane::Clock)?])))
    }

    fn tests(&self, lane: Lane) -> &[Test] {
        self.by_lane.get(&lane).map_or(&[], Vec::as_slice)
    }

    /// Runs the tests of a lane one after the other.
    fn run_lane(&self, lane: Lane) -> Result<LaneResult> {
        let tests = self.tests(lane);
        let run = || self.run_each(&Queue::new(tests.iter().collect()), lane);
        LaneResult::of(lane, tests.len(), run)
    }

    /// Runs tests of the queue, each in a process of its own, until the queue is empty.
    fn run_each(&self, queue: &Queue<'_>, lane: Lane) -> Result<Vec<TestResult>> {
        let mut results = Vec::new();
        while let Some(test) = queue.next() {
            let result = self.run_one(test, lane)?;
            show(&result);
            results.push(result);
        }
        Ok(results)
    }

    #[expect(clippy::disallowed_methods, reason = "the report has the duration of each test")]
    fn run_one(&self, test: &Test, lane: Lane) -> Result<TestResult> {
        let binary = &self.binaries[test.binary];
        let log = self
            .logs
            .join(format!("{}.log", file_name(&format!("{} {}", binary.id, test.name))));
        let mut command = binary.command();
        command.args(["--exact", &test.name, "--nocapture"]);
        let started = Instant::now();
        let end = run_to_end(command, &log, || 0)?;
        let seconds = started.elapsed().as_secs_f64();
        let failure = (!end.is_success()).then(|| format!("{}\n{}", end.describe(), last_lines(&log)));
        if failure.is_none() {
            fs::remove_file(&log)?;
        }
        Ok(TestResult::new(binary, test, lane, seconds, failure))
    }

    /// Runs `tests` of one binary in one process, with one thread per core.
    fn run_shared(&self, number: usize, tests: &[&Test]) -> Result<Vec<TestResult>> {
        let binary = &self.binaries[number];
        let log = self.logs.join(format!("{}.log", file_name(&binary.id)));
        let trials = tempfile::NamedTempFile::new_in(&self.logs)?;
        let mut command = binary.command();
        command.env(TRIAL_LOG, trials.path()).arg("--exact");
        command.args(["--test-threads", &self.cores.to_string()]);
        for name in &self.listed[number] {
            if !tests.iter().any(|test| test.name == *name) {
                command.args(["--skip", name]);
            }
        }
        let progress = || trials.path().metadata().map_or(0, |metadata| metadata.len());
        let end = run_to_end(command, &log, progress)?;
        let text = fs::read_to_string(trials.path())?;
        let mut ended = BTreeMap::new();
        let mut running = BTreeSet::new();
        for line in text.lines() {
            let record: TrialRecord =
                serde_json::from_str(line).with_context(|| format!("`{line}` is not a line of the trial log"))?;
            match record {
                TrialRecord::Started { name } => _ = running.insert(name),
                TrialRecord::Ended { name, seconds, failure } => {
                    running.remove(&name);
                    ended.insert(name, (seconds, failure));
                }
            }
        }
        let results = tests.iter().map(|test| {
            let (seconds, failure) = ended.remove(&test.name).unwrap_or_else(|| {
                let state = if running.contains(&test.name) {
                    "it was running"
                } else {
                    "it had not begun"
                };
                let failure = format!("no result, {state}: {}\n{}", end.describe(), last_lines(&log));
                (0.0, Some(failure))
            });
            TestResult::new(binary, test, Lane::Cpu, seconds, failure)
        });
        let results: Vec<_> = results.collect();
        for result in &results {
            show(result);
        }
        let has_failed = results.iter().any(TestResult::has_failed);
        if !end.is_success() && !has_failed {
            bail!(
                "`{}` fails although all its tests passed: {}\n{}",
                binary.id,
                end.describe(),
                last_lines(&log)
            );
        }
        Ok(results)
    }
}

/// A name as a file name.
fn file_name(name: &str) -> String {
    let kept = |c: char| {
        if c.is_ascii_alphanumeric() || "-_.".contains(c) {
            c
        } else {
            '-'
        }
    };
    let name: String = name.chars().map(kept).collect();
    name.chars().take(200).collect()
}

/// The end of an output, which has the reason of a failure.
fn last_lines(log: &std::path::Path) -> String {
    const MOST_LINES: usize = 120;
    let text = fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<_> = text.lines().collect();
    lines[lines.len().saturating_sub(MOST_LINES)..].join("\n")
}
