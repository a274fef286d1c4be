//! Slow clients of one module: whether its other routes answer beside them, and the growth of the server's memory.
//! `--clients` is the number of clients (2,000), `--seconds` the length of each attack (15), `--adapter` names another
//! adapter than hyper, `--form asynchronous` the other form of module.
//!
//! Each client sends one byte of its body in 5 s, or reads one byte of its reply in 5 s, and comes again when the server
//! has ended its request. On HTTP/2, which actix-web and trillium do not speak here, each connection has 128 such bodies.
//! Beside them another client sends 100 requests per second to a route without a body. Each attack has a server process
//! of its own, on one core.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use pointwork::{App, AppOptions};
use pointwork_bench::option;
use pointwork_suite::guest::{Controller, End, Guest, Program, Step};

use pointwork_load::Server;

use crate::child;
use crate::client::Reply;
use crate::guests::Runs;
use crate::pressure::{Judge, Kind, Pressure};
use crate::slow_clients::{Attack, BODIES, start};
use crate::{Verdict, number};

const QUICK: Pressure = Pressure {
    connections: 16,
    rate: Some(100.0),
    pinned: false,
};

/// The length of the measurement before each attack.
const BEFORE: Duration = Duration::from_secs(2);

/// The time in which all clients of an attack have to be there.
const PATIENCE: Duration = Duration::from_secs(20);

fn form() -> Result<Runs> {
    Ok(match option("--form").as_deref() {
        None | Some("synchronous") => Runs::Synchronous,
        Some("asynchronous") => Runs::Asynchronous,
        Some(other) => bail!("there is no form `{other}`; expected `synchronous` or `asynchronous`"),
    })
}

/// The application of the server process.
pub(crate) async fn application() -> Result<App> {
    let app = App::with_options(AppOptions::new())?;
    // More than the buffers of a connection hold.
    let download = Program::new()
        .step(Step::Stream(200, vec!["x".repeat(64 * 1024); 64]))
        .step(Step::Finish);
    let things = Controller::new("Slow", "slow")
        .get("quick", Program::text("quick"))
        .takes("none")
        .post("whole", Program::new().step(Step::Body).say("done"))
        .takes("whole")
        .post("stream", Program::new().step(Step::Body).say("done"))
        .takes("stream")
        .get("download", download.ends(End::Deferred))
        .takes("none");
    app.module("slow")
        .bytes(form()?.build(Guest::with(things)))
        .load()
        .await?;
    Ok(app)
}

pub(crate) fn run() -> Result<()> {
    let adapter = option("--adapter").unwrap_or_else(|| "hyper".to_owned());
    let form = form()?.to_string();
    let clients = usize::try_from(number("--clients", 2_000)?)?;
    let span = Duration::from_secs(number("--seconds", 15)?);
    let mut attacks = vec![
        (Attack::Whole, clients),
        (Attack::Stream, clients),
        (Attack::Download, clients),
    ];
    if !["actix", "trillium"].contains(&adapter.as_str()) {
        attacks.extend([1, 10].map(|connections| (Attack::Http2(connections), connections * BODIES)));
    }
    files(clients + 200)?;
    println!(
        "{:<32} {:>7} {:>6} {:>7} {:>10} {:>10} {:>10} {:>7} {:>7} {:>7}",
        format!("{adapter}, {form}"),
        "clients",
        "open",
        "quick",
        "success",
        "p99 in ms",
        "without",
        "MiB",
        "most",
        "growth"
    );
    let mut verdict = Verdict::default();
    for (attack, clients) in attacks {
        let server = child::start("slow", &["--adapter", &adapter, "--form", &form])?;
        measure(&server, attack, clients, span, &mut verdict)?;
    }
    verdict.end()
}

fn measure(server: &Server, attack: Attack, clients: usize, span: Duration, verdict: &mut Verdict) -> Result<()> {
    let kinds = || vec![Kind::get(0, "/slow/quick")];
    let statuses = Arc::<Statuses>::default();
    let without = QUICK.run(server.address, kinds(), statuses.clone(), BEFORE)?;
    ensure!(without.failed() == 0, "before the attack: {:?}", without.first);
    let before = server.memory("VmRSS")?;
    let mut most = before;

    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()?;
    let progress = start(attack, clients, server.address, &runtime);
    let deadline = Instant::now() + PATIENCE;
    while progress.begun() < clients {
        ensure!(
            Instant::now() < deadline,
            "only {} of {clients} {attack} began; ends: {}",
            progress.begun(),
            progress.ends()
        );
        std::thread::sleep(Duration::from_millis(20));
    }
    statuses.counts().clear();
    let load = QUICK.begin(server.address, kinds(), statuses.clone());
    let end = Instant::now() + span;
    while Instant::now() < end {
        std::thread::sleep(Duration::from_millis(100));
        most = most.max(server.memory("VmRSS")?);
    }
    let open = progress.open();
    let with = load.end()?;
    runtime.shutdown_background();

    let answered = with.answered();
    let all = answered + usize::try_from(with.failed())?;
    println!(
        "{attack:<32} {clients:>7} {open:>6} {all:>7} {:>8.2} % {:>10.2} {:>10.2} {before:>7.1} {most:>7.1} {:>7.1}",
        100.0 * answered as f64 / all as f64,
        with.percentile(&[0], 99.0),
        without.percentile(&[0], 99.0),
        most - before
    );
    println!(
        "{:<32} quick: {}; ends of the slow requests: {}",
        "",
        statuses.told(),
        progress.ends()
    );
    verdict.zero(
        &format!("quick requests failed beside {clients} {attack}"),
        with.failed(),
    );
    verdict.holds(answered > 0, || "no quick request was answered".to_owned());
    Ok(())
}

/// Counts the statuses; only 200 is right.
#[derive(Default)]
struct Statuses(Mutex<BTreeMap<u16, u64>>);

impl Statuses {
    fn counts(&self) -> MutexGuard<'_, BTreeMap<u16, u64>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn told(&self) -> String {
        let counts = self.counts();
        let counts: Vec<_> = counts
            .iter()
            .map(|(status, count)| format!("{count} × {status}"))
            .collect();
        counts.join(", ")
    }
}

impl Judge for Statuses {
    fn judge(&self, _: usize, _: u32, reply: &Reply) -> Result<(), String> {
        *self.counts().entry(reply.status).or_default() += 1;
        if reply.status == 200 {
            return Ok(());
        }
        Err(format!("{} instead of 200", reply.status))
    }
}

/// Checks that this process may have as many files open; the server process inherits the limit.
fn files(needed: usize) -> Result<()> {
    let limits = std::fs::read_to_string("/proc/self/limits").context("this benchmark needs Linux's /proc")?;
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"));
    let soft = line
        .and_then(|line| line.split_whitespace().next())
        .context("no limit of open files")?;
    // `unlimited` is no number.
    if let Ok(soft) = soft.parse::<usize>() {
        ensure!(
            soft >= needed,
            "only {soft} files may be open: run `ulimit -n {needed}` before"
        );
    }
    Ok(())
}
