//! Swaps between two versions with different routes, at half of the server's saturation: the number of failed requests,
//! and the number of answers that mix versions or come from a wrong one.
//!
//! `--adapter` names one adapter, or `all`; one takes half a minute. `--form asynchronous` uses the asynchronous form
//! of module; `--count` is 1,000.
//!
//! Each version has a number, which every answer contains. A request that begins when `done` swaps have returned and
//! ends when `begun` swaps have begun may be answered by any version between these two numbers, and by no other. A 404
//! is right only if one of these versions lacks the route.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use pointwork::{App, AppOptions, Delivery, Payload};
use pointwork_bench::option;
use pointwork_bench::servers::start_on;
use pointwork_suite::adapters::ADAPTERS;
use pointwork_suite::guest::{Controller, End, Guest, Program, Step};
use tokio::runtime::Runtime;

use crate::client::Reply;
use crate::guests::Runs;
use crate::pressure::{Judge, Kind, Pressure};
use crate::{Verdict, number};

const CONNECTIONS: usize = 32;

/// The requests: a path, and its share of ten requests.
const PATHS: [(&str, usize); 5] = [("/kept", 5), ("/even", 2), ("/odd", 1), ("/stream", 1), ("/wait", 1)];

const EVEN: usize = 1;
const ODD: usize = 2;

/// The format of a version's number in its bytes and in its answers. The length is constant, so that one number can
/// replace another.
fn word(number: u32) -> String {
    format!("v{number:06}")
}

/// The number that a word contains.
fn number_in(word: &[u8]) -> Option<u32> {
    std::str::from_utf8(word).ok()?.strip_prefix('v')?.parse().ok()
}

/// The two components from which all versions are made: for even and for odd numbers.
fn templates(runs: Runs) -> [Vec<u8>; 2] {
    let word = word(0);
    ["even", "odd"].map(|own| {
        let many = Program::text(&[word.as_str(); 8].join(" ")).header("x-version", &word);
        let stream = Program::new()
            .step(Step::Stream(200, vec![format!("{word} "); 4]))
            .step(Step::Finish)
            .ends(End::Deferred);
        // The text contains the result of the call.
        let wait = Program::new().call("bench:wait").say(" ").say(&word);
        let things = Controller::new("Things", "/")
            .get("kept", many)
            .get(own, Program::text(&word))
            .get("stream", stream)
            .get("wait", wait);
        runs.build(Guest::with(things))
    })
}

/// The component of a version.
fn version(templates: &[Vec<u8>; 2], number: u32) -> Vec<u8> {
    let mut component = templates[number as usize % 2].clone();
    let (from, to) = (word(0).into_bytes(), word(number).into_bytes());
    let mut at = 0;
    while at + from.len() <= component.len() {
        if component[at..].starts_with(&from) {
            component[at..at + to.len()].copy_from_slice(&to);
            at += to.len();
        } else {
            at += 1;
        }
    }
    component
}

/// The progress of the swaps.
#[derive(Default)]
struct Progress {
    begun: AtomicU32,
    done: AtomicU32,
    /// Answers that mix two versions, or come from a version that could not answer.
    mixed: AtomicU32,
    /// Answers that rightly report a route as not found.
    absent: AtomicU32,
}

impl Judge for Progress {
    fn before(&self) -> u32 {
        self.done.load(Ordering::SeqCst)
    }

    fn judge(&self, label: usize, from: u32, reply: &Reply) -> Result<(), String> {
        let to = self.begun.load(Ordering::SeqCst);
        let path = PATHS[label].0;
        let has_it = |version: u32| match label {
            EVEN => version.is_multiple_of(2),
            ODD => !version.is_multiple_of(2),
            _ => true,
        };
        match reply.status {
            200 => {}
            404 if (from..=to).any(|version| !has_it(version)) => {
                self.absent.fetch_add(1, Ordering::Relaxed);
                return Ok(());
            }
            status => return Err(format!("{path} was answered with {status}, versions {from} to {to}")),
        }
        let words = reply
            .body
            .split(|byte| *byte == b' ')
            .filter(|word| word.starts_with(b"v"));
        let version = (!reply.version.is_empty()).then_some(reply.version.as_slice());
        let mut told = words.chain(version).map(number_in);
        let first = told.next().flatten();
        let right = first.is_some_and(|version| (from..=to).contains(&version) && has_it(version));
        if !right || told.any(|other| other != first) {
            self.mixed.fetch_add(1, Ordering::Relaxed);
            let body = String::from_utf8_lossy(&reply.body);
            return Err(format!("{path} was answered with `{body}`, versions {from} to {to}"));
        }
        Ok(())
    }
}

fn kinds() -> Vec<Kind> {
    let each = PATHS.into_iter().enumerate();
    each.flat_map(|(label, (path, share))| vec![Kind::get(label, path); share])
        .collect()
}

pub(crate) fn run() -> Result<()> {
    let runs = match option("--form").as_deref() {
        None | Some("synchronous") => Runs::Synchronous,
        Some("asynchronous") => Runs::Asynchronous,
        Some(other) => bail!("there is no form `{other}`; expected `synchronous` or `asynchronous`"),
    };
    let wanted = option("--adapter").unwrap_or_else(|| "hyper".to_owned());
    let names = ADAPTERS.map(|on| on.name);
    let adapters: Vec<_> = names
        .iter()
        .filter(|adapter| wanted == "all" || wanted == **adapter)
        .collect();
    ensure!(
        !adapters.is_empty(),
        "there is no adapter `{wanted}`; there are {names:?} and `all`"
    );
    let count = u32::try_from(number("--count", 1_000)?)?;
    println!(
        "{:<10} {:>6} {:>10} {:>9} {:>9} {:>7} {:>6} {:>8} {:>9} {:>9}",
        "adapter", "swaps", "requests/s", "paced at", "answered", "failed", "mixed", "404s", "draining", "ms/swap"
    );
    let mut verdict = Verdict::default();
    for adapter in adapters {
        measure(adapter, runs, count, &mut verdict).with_context(|| (*adapter).to_owned())?;
    }
    verdict.end()
}

fn application(runtime: &Runtime, adapter: &str, first: Vec<u8>) -> Result<(App, SocketAddr)> {
    let app = App::with_options(AppOptions::new())?;
    app.channel("bench").on_raw("wait", |_: Delivery, _: Payload| async {
        tokio::time::sleep(Duration::from_millis(10)).await;
        Ok(Payload::null())
    })?;
    runtime.block_on(app.module("shop").bytes(first).load())?;
    let address = start_on(&app, adapter)?;
    Ok((app, address))
}

fn measure(adapter: &str, runs: Runs, count: u32, verdict: &mut Verdict) -> Result<()> {
    let templates = templates(runs);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()?;
    let (app, address) = application(&runtime, adapter, version(&templates, 0))?;
    let progress = Arc::<Progress>::default();
    let mut pressure = Pressure {
        connections: CONNECTIONS,
        rate: None,
        pinned: true,
    };
    let saturated = pressure.run(address, kinds(), progress.clone(), Duration::from_secs(2))?;
    let saturation = saturated.answered() as f64 / saturated.seconds;
    pressure.rate = Some(saturation / 2.0);
    let load = pressure.begin(address, kinds(), progress.clone());
    let began = Instant::now();
    let mut most = 0;
    for number in 1..=count {
        let component = version(&templates, number);
        progress.begun.store(number, Ordering::SeqCst);
        runtime
            .block_on(app.module("shop").bytes(component).swap())
            .with_context(|| format!("swap {number}"))?;
        progress.done.store(number, Ordering::SeqCst);
        let draining = app.statuses().first().map_or(0, |status| status.draining.len());
        most = most.max(draining);
    }
    let each = began.elapsed().as_secs_f64() * 1e3 / f64::from(count);
    let tally = load.end()?;
    let mixed = u64::from(progress.mixed.load(Ordering::Relaxed));
    let failed = tally.failed() - mixed;
    println!(
        "{adapter:<10} {count:>6} {saturation:>10.0} {:>9.0} {:>9} {failed:>7} {mixed:>6} {:>8} {most:>9} {each:>9.1}",
        tally.answered() as f64 / tally.seconds,
        tally.answered(),
        progress.absent.load(Ordering::Relaxed),
    );
    if let Some(first) = tally.first.or(saturated.first) {
        println!("{:<10} {first}", "");
    }
    verdict.zero(
        &format!("requests failed on {adapter}"),
        failed + saturated.failures.iter().sum::<u64>(),
    );
    verdict.zero(&format!("answers on {adapter} were of no one version"), mixed);
    Ok(())
}
