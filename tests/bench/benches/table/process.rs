//! A request without a server, from one thread and from two; and the cost of a call and an emit.

use std::process::id;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow, ensure};
use http::Request;
use pointwork::{App, Body, Payload};
use pointwork_bench::{allocations, app, request};
use pointwork_load::{Estimate, median, spent, turns};
use tokio::runtime::{Builder, Runtime};

use crate::Table;
use crate::floor::{Head, Wasmtime, access_log, line, messages};

const SECTION: &str = "in process";

const SUBJECTS: [(&str, &str); 8] = [
    ("native", "/native/42"),
    ("native with a call", "/native/42/call"),
    ("synchronous", "/calls/42"),
    ("synchronous with a guard", "/calls/42/guarded"),
    ("synchronous with a call", "/calls/42/call"),
    ("synchronous with an emit", "/calls/42/emit"),
    ("asynchronous", "/waits/42"),
    ("asynchronous with a call", "/waits/42/call"),
];

pub(crate) fn measure(table: &mut Table) -> Result<()> {
    let subjects: Vec<_> = SUBJECTS
        .into_iter()
        .filter(|(name, _)| table.wants(SECTION, name))
        .collect();
    let calls = table.wants("events", "");
    if subjects.is_empty() && !calls {
        return Ok(());
    }
    let runtime = Runtime::new()?;
    let app = runtime.block_on(app())?;
    if !subjects.is_empty() {
        requests(table, &runtime, &app, &subjects)?;
        floors(table)?;
    }
    if calls {
        events(table, &runtime, &app)?;
    }
    Ok(())
}

fn requests(table: &mut Table, runtime: &Runtime, app: &App, subjects: &[(&str, &str)]) -> Result<()> {
    let span = Duration::from_millis(if table.quick { 50 } else { 300 });
    let bursts = turns(2 * table.rounds, subjects.len(), |subject| {
        let path = subjects[subject].1;
        let one = drive(app, 1, path, span)?;
        Ok((one, drive(app, 2, path, span)?))
    })?;
    println!(
        "\n## {SECTION}\n\n| request | processor µs | 95 % | elapsed µs | allocations | two threads to one | 95 % |\n|---|---|---|---|---|---|---|"
    );
    for (bursts, (name, path)) in bursts.iter().zip(subjects) {
        // Other programs on the machine disturb processor time less than elapsed time.
        let micros = Estimate::of(bursts.iter().map(|(one, _)| one.micros));
        let elapsed = median(bursts.iter().map(|(one, _)| 1e6 / one.rate));
        let gain = Estimate::of(bursts.iter().map(|(one, two)| two.rate / one.rate));
        let count = runtime.block_on(counted(app, path))?;
        println!(
            "| {name} | {:.2} | {:.2}–{:.2} | {elapsed:.2} | {count:.1} | {:.2} | {:.2}–{:.2} |",
            micros.middle, micros.low, micros.high, gain.middle, gain.low, gain.high
        );
        table.note(format!("{SECTION}, {name}, µs"), micros);
        table.note(format!("{SECTION}, {name}, allocations"), Estimate::of([count]));
        table.note(format!("{SECTION}, {name}, two threads to one"), gain);
    }
    Ok(())
}

/// What parts of a request cost alone.
fn floors(table: &Table) -> Result<()> {
    const CALLS: u32 = 20_000;
    const NAMES: [&str; 4] = [
        "a request and its reply",
        "a call of a guest, with wasmtime alone",
        "a line of the access log, with tracing-subscriber alone",
        "the framing of a head, which hyper's parser does not check",
    ];
    let runtime = Builder::new_current_thread().build()?;
    let failed = |error: wasmtime::Error| anyhow!("{error:?}");
    let mut wasmtime = runtime.block_on(Wasmtime::new()).map_err(failed)?;
    let log = access_log();
    let mut head = Head::new();
    let times = turns(2 * table.rounds, NAMES.len(), |subject| {
        let began: f64 = spent(id())?.iter().sum();
        runtime.block_on(async {
            let _log = tracing::dispatcher::set_default(&log);
            for _ in 0..CALLS {
                match subject {
                    0 => messages("/native/42")?,
                    1 => wasmtime.call().await.map_err(failed)?,
                    2 => line("/native/42"),
                    _ => head.follow(),
                }
            }
            anyhow::Ok(())
        })?;
        Ok((spent(id())?.iter().sum::<f64>() - began) / f64::from(CALLS))
    })?;
    println!("\n| alone | processor µs | 95 % |\n|---|---|---|");
    for (times, name) in times.iter().zip(NAMES) {
        let Estimate { middle, low, high } = Estimate::of(times.iter().copied());
        println!("| {name} | {middle:.2} | {low:.2}–{high:.2} |");
    }
    Ok(())
}

struct Burst {
    /// Requests per second.
    rate: f64,
    /// The processor time of a request, in µs, over all threads.
    micros: f64,
}

/// Sends requests from that many threads.
fn drive(app: &App, threads: usize, path: &str, span: Duration) -> Result<Burst> {
    let requests = || {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(async {
            let (began, mut number) = (Instant::now(), 0_u32);
            while began.elapsed() < span {
                for _ in 0..10 {
                    request(app, path).await?;
                }
                number += 10;
            }
            let number = f64::from(number);
            anyhow::Ok((number / began.elapsed().as_secs_f64(), number))
        })
    };
    let before: f64 = spent(id())?.iter().sum();
    let sent = thread::scope(|scope| {
        let drivers: Vec<_> = (0..threads).map(|_| scope.spawn(requests)).collect();
        let sent = drivers
            .into_iter()
            .map(|driver| driver.join().expect("it does not panic"));
        sent.collect::<Result<Vec<_>>>()
    })?;
    while app.bus().waiting() > 0 {
        thread::sleep(Duration::from_millis(1));
    }
    let after: f64 = spent(id())?.iter().sum();
    let (rates, numbers): (Vec<_>, Vec<_>) = sent.into_iter().unzip();
    let number: f64 = numbers.iter().sum();
    Ok(Burst {
        rate: rates.iter().sum(),
        micros: (after - before) / number,
    })
}

/// The allocations of a request, on all threads; making the request and dropping the reply do not count.
async fn counted(app: &App, path: &str) -> Result<f64> {
    const REQUESTS: u32 = 200;
    let request = || Request::get(path).header("host", "bench").body(Body::empty());
    let requests = (0..REQUESTS).map(|_| request()).collect::<Result<Vec<_>, _>>()?;
    let mut replies = Vec::with_capacity(requests.len());
    let counted = allocations(async {
        for request in requests {
            replies.push(app.handle(request).await);
        }
        Ok(())
    });
    let counted = counted.await?;
    ensure!(replies.iter().all(|reply| reply.status().is_success()), "{path} failed");
    Ok(counted as f64 / f64::from(REQUESTS))
}

/// The subject that is the unit.
const EMPTY: &str = "an empty call of a module";

/// The handlers that call or emit a hundred times, so that the request around it counts for little.
const EVENTS: [(&str, &str); 4] = [
    ("a call of a native channel", "/calls/42/calls"),
    ("a call of a channel in a module", "/calls/42/calls-module"),
    ("an emit to a native channel", "/calls/42/emits"),
    ("an emit to a channel in a module", "/calls/42/emits-module"),
];

fn events(table: &mut Table, runtime: &Runtime, app: &App) -> Result<()> {
    const REQUESTS: u32 = 50;
    let requests = async |path: &str| {
        let began = Instant::now();
        for _ in 0..REQUESTS {
            request(app, path).await?;
        }
        Ok::<_, anyhow::Error>(began.elapsed().as_secs_f64() * 1e6 / f64::from(REQUESTS))
    };
    let caller = app.caller();
    let text = Payload::json("42")?;
    let measured = async |subject: usize| {
        let Some((_, path)) = EVENTS.get(subject) else {
            let began = Instant::now();
            for _ in 0..10 * REQUESTS {
                caller.call_raw("sandboxed:empty", text.clone()).await?;
            }
            return Ok(began.elapsed().as_secs_f64() * 1e6 / f64::from(10 * REQUESTS));
        };
        let around = requests("/calls/42").await?;
        let time = (requests(path).await? - around) / 100.0;
        while app.bus().waiting() > 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        Ok(time)
    };
    let times = turns(4 * table.rounds, EVENTS.len() + 1, |subject| {
        runtime.block_on(measured(subject))
    })?;
    println!("\n## events\n\n| | µs | to {EMPTY} | 95 % |\n|---|---|---|---|");
    let empty = &times[EVENTS.len()];
    println!("| {EMPTY} | {:.2} | | |", Estimate::of(empty.iter().copied()).middle);
    for ((name, _), times) in EVENTS.iter().zip(&times) {
        let micros = Estimate::of(times.iter().copied()).middle;
        let ratio = Estimate::of(times.iter().zip(empty).map(|(time, empty)| time / empty));
        println!(
            "| {name} | {micros:.2} | {:.2} | {:.2}–{:.2} |",
            ratio.middle, ratio.low, ratio.high
        );
        table.note(format!("{name} to {EMPTY}"), ratio);
    }
    Ok(())
}
