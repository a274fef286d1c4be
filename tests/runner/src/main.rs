//! `run-tests`: runs the test binaries that cargo built. `tests/run` calls it.

use std::fs::{self, File};
use std::io::BufReader;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process::ExitCode;
use std::thread::available_parallelism;

use anyhow::{Context as _, Result};
use clap::Parser;
use pointwork_test_runner::{Lanes, Schedule, pattern_matches, read_binaries};

/// Runs the tests of all binaries in lanes.
#[derive(Debug, Parser)]
struct Arguments {
    /// The messages of `cargo test --no-run --message-format=json`.
    #[arg(long)]
    messages: PathBuf,
    /// The file that assigns tests to lanes.
    #[arg(long)]
    lanes: PathBuf,
    /// The folders with the libraries that test binaries link, separated by colons.
    #[arg(long)]
    libraries: PathBuf,
    /// The folder for the outputs of failed tests, for `durations.txt`, and for `failures.txt`.
    #[arg(long)]
    output: PathBuf,
    /// Selects tests by `<binary> <test>`; a `*` matches any text. Without it all tests run.
    #[arg(long)]
    only: Vec<String>,
    /// Prints the tests with their lanes and ends.
    #[arg(long)]
    list: bool,
}

#[expect(clippy::print_stdout, reason = "it is a command, whose result is its output")]
fn main() -> Result<ExitCode> {
    let arguments = Arguments::parse();
    let messages = File::open(&arguments.messages).with_context(|| arguments.messages.display().to_string())?;
    let binaries = read_binaries(BufReader::new(messages), &arguments.libraries)?;
    let lanes = Lanes::read(&arguments.lanes)?;
    let cores = available_parallelism().map_or(1, NonZeroUsize::get);
    let is_selected = |name: &str| arguments.only.iter().any(|pattern| pattern_matches(pattern, name));
    let is_selected = (!arguments.only.is_empty()).then_some(&is_selected as &dyn Fn(&str) -> bool);
    let schedule = Schedule::new(binaries, &lanes, arguments.output.clone(), cores, is_selected)?;
    if arguments.list {
        for (lane, name) in schedule.names() {
            println!("{lane} {name}");
        }
        return Ok(ExitCode::SUCCESS);
    }
    let report = schedule.run()?;
    fs::write(arguments.output.join("durations.txt"), report.durations())?;
    fs::write(arguments.output.join("failures.txt"), report.failures())?;
    print!("{}", report.summary());
    Ok(if report.has_failures() {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    })
}
