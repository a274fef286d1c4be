//! Shared by the benchmarks of the bindings: the same requests from Rust, programs that measure in turn with it, servers of
//! other processes with their load.

#![allow(clippy::print_stdout, reason = "they print their figures")]
#![allow(dead_code, reason = "each benchmark uses its part")]
#![expect(
    clippy::cast_precision_loss,
    reason = "durations of minutes, and thousands of requests"
)]

pub(crate) mod rust;

use std::io::{BufRead as _, BufReader, Lines, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use pointwork_load::{Burst, Request, SERVER_CORE, Server, median, on_core, pointwork, turns};
use pointwork_suite::guest::{Controller, Guest, Program as Handler};

/// The rounds of a benchmark: in each, all subjects take their turn.
pub(crate) const ROUNDS: usize = 15;

/// The requests of a subject in a round, of those that are answered on the calling thread.
pub(crate) const REQUESTS: usize = 5_000;

/// The requests of a subject in a round, of those that another thread answers.
pub(crate) const LATER: usize = 2_000;

/// The requests in flight whose memory is measured.
pub(crate) const IN_FLIGHT: usize = 1_000;

/// The settings that give each request in flight its instance.
pub(crate) const SETTINGS: &str = r#"{"limits": {"instances": 1000, "max-instances": 1100}}"#;

/// The component whose requests are measured: a plain route, and routes with a callback.
pub(crate) fn component() -> Vec<u8> {
    let controller = Controller::new("Shop", "")
        .get("/plain", Handler::text("plain"))
        .get("/ask", Handler::text("1").call("db:ask"))
        .get("/later", Handler::text("1").call("db:later"))
        .get("/keep", Handler::text("1").call("db:keep"));
    Guest::with(controller).build()
}

/// `pointwork serve` with a component, built in release, with the log as quiet as that of a program that takes no lines.
pub(crate) fn command(folder: &Path, component: &Path) -> Command {
    let mut serve = Command::new(pointwork().expect("it builds"));
    serve
        .args(["serve", "--listen", "127.0.0.1:0", "--log-level", "warn"])
        .arg(component);
    serve.env("XDG_CACHE_HOME", folder.join("cache"));
    serve
}

/// The time of a clock, in µs.
pub(crate) fn clock(clock: libc::clockid_t) -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the time is a place for the result.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    time.tv_sec as f64 * 1e6 + time.tv_nsec as f64 / 1e3
}

/// A program that measures itself: for each line that it reads, it prints one with figures.
struct Program {
    child: Child,
    turn: ChildStdin,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Program {
    fn start(command: &mut Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("{command:?} does not start: {error}"));
        let turn = child.stdin.take().expect("a pipe");
        let lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        Self { child, turn, lines }
    }

    /// Its figures for `round` or `memory`.
    fn figures(&mut self, of: &str) -> Vec<f64> {
        writeln!(self.turn, "{of}").expect("it waits for its turn");
        let line = self.lines.next().expect("a line").expect("text");
        let figures = line.split(' ').map(|figure| figure.parse().expect("a number"));
        figures.collect()
    }

    fn end(mut self) {
        drop(self.turn);
        assert!(self.child.wait().expect("it is ours").success());
    }
}

/// The medians of the columns.
fn medians(rounds: &[Vec<f64>]) -> Vec<f64> {
    let columns = 0..rounds[0].len();
    columns
        .map(|column| median(rounds.iter().map(|round| round[column])))
        .collect()
}

/// Requests in process from another language and from Rust, in turn. `names` are those of the columns that the program prints
/// behind the common ones: plain and with a callback, in µs of the calling thread; with an answer from another thread, in µs
/// of the processor, in µs, and in switches of threads.
pub(crate) fn in_process(language: &str, program: &mut Command, names: &[&str]) {
    // On one processor: what a wake-up on another one costs depends on the machine, and on chance.
    on_core(SERVER_CORE, || both_in_process(language, program, names)).expect("it is pinned");
}

fn both_in_process(language: &str, program: &mut Command, names: &[&str]) {
    let mut program = Program::start(program);
    let rust = rust::Host::start();
    let (mut theirs, mut ours) = (Vec::new(), Vec::new());
    // The first round warms up.
    program.figures("round");
    rust.round();
    for _ in 0..ROUNDS {
        theirs.push(program.figures("round"));
        ours.push(rust.round());
    }
    let memory = [program.figures("memory")[0], rust.memory()];
    program.end();
    let (theirs, ours) = (medians(&theirs), medians(&ours));
    println!("\n| request in process | Rust | {language} | {language} over Rust |\n|---|---|---|---|");
    let common = [
        "plain, µs of the thread",
        "with a callback that answers at once, µs of the thread",
        "answered from another thread, µs of the processor",
        "answered from another thread, µs",
        "answered from another thread, switches of threads",
    ];
    for ((name, theirs), ours) in common.iter().zip(&theirs).zip(&ours) {
        println!("| {name} | {ours:.2} | {theirs:.2} | {:.2} |", theirs - ours);
    }
    for (name, theirs) in names.iter().zip(&theirs[common.len()..]) {
        println!("| {name} | | {theirs:.2} | |");
    }
    let [theirs, ours] = memory;
    println!(
        "| memory of each of {IN_FLIGHT} requests in flight, KiB | {ours:.1} | {theirs:.1} | {:.1} |",
        theirs - ours
    );
}

/// Has all servers answer in turn, and prints a table: each with its ratio to the one at the given place.
pub(crate) fn in_turn(servers: Vec<(&str, Command, usize)>) {
    let servers: Vec<_> = servers
        .into_iter()
        .map(|(name, mut command, reference)| {
            (
                name,
                Server::start_on(SERVER_CORE, &mut command).expect("it listens"),
                reference,
            )
        })
        .collect();
    let request = Request::get("/plain", "plain");
    let bursts = turns(9, servers.len(), |server| {
        servers[server].1.burst(&request, Duration::from_secs(1))
    });
    let bursts = bursts.expect("every server answers");
    println!(
        "\n| server | requests/s | µs of the processor | compared with | requests/s | processor |\n|---|---|---|---|---|---|"
    );
    for ((name, _, reference), own) in servers.iter().zip(&bursts) {
        let ratio = |figure: fn(&Burst) -> f64| {
            median(
                own.iter()
                    .zip(&bursts[*reference])
                    .map(|(own, other)| figure(own) / figure(other)),
            )
        };
        let of = |figure: fn(&Burst) -> f64| median(own.iter().map(figure));
        println!(
            "| {name} | {:.0} | {:.2} | {} | {:.2} | {:.2} |",
            of(Burst::rate),
            of(Burst::micros),
            servers[*reference].0,
            ratio(Burst::rate),
            ratio(Burst::micros)
        );
    }
}
