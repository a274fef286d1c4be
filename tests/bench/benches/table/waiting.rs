//! A thousand requests that each wait 10 ms in a channel: the throughput, and the memory of a waiting request. The handler is
//! native code, a synchronous module, where each request waits in an instance of its own, or an asynchronous module.

use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use futures_util::stream::{FuturesUnordered, StreamExt as _};
use pointwork::{App, AppOptions, Context, Delivery, Payload};
use pointwork_bench::{IN_FLIGHT, WAIT, app, component, request};
use pointwork_load::{Estimate, memory, turns};
use pointwork_suite::guest::{Controller, Guest, Program};
use tokio::runtime::Runtime;

use crate::Table;

const SUBJECTS: [(&str, &str); 3] = [
    ("native", "/native/wait"),
    ("synchronous", "/calls/wait"),
    ("asynchronous", "/waits/wait"),
];

pub(crate) fn measure(table: &mut Table) -> Result<()> {
    if !table.wants("waiting", "") {
        return Ok(());
    }
    let runtime = Runtime::new()?;
    let app = runtime.block_on(app())?;
    let span = Duration::from_millis(if table.quick { 200 } else { 1_000 });
    let rates = turns(table.rounds, SUBJECTS.len(), |subject| {
        let (app, path) = (app.clone(), SUBJECTS[subject].1);
        // On a worker thread, as in a server.
        runtime.block_on(async { tokio::spawn(rate(app, path, span)).await? })
    })?;
    println!(
        "\n## waiting\n\n| {IN_FLIGHT} requests | requests/s | to native | 95 % | KiB of each |\n|---|---|---|---|---|"
    );
    for (rates_of, (name, _)) in rates.iter().zip(SUBJECTS) {
        let ratio = Estimate::of(rates_of.iter().zip(&rates[0]).map(|(own, native)| own / native));
        let each = memory_of_each(name)?;
        println!(
            "| {name} | {:.0} | {:.2} | {:.2}–{:.2} | {each:.1} |",
            Estimate::of(rates_of.iter().copied()).middle,
            ratio.middle,
            ratio.low,
            ratio.high
        );
        table.note(format!("1,000 waiting, {name} to native"), ratio);
        table.note(
            format!("memory of a waiting request, {name}, KiB"),
            Estimate::of([each]),
        );
    }
    Ok(())
}

/// Answered requests per second with a constant number of waiting requests, each in a task of its own as in a server.
async fn rate(app: App, path: &'static str, span: Duration) -> Result<f64> {
    let began = Instant::now();
    let clients = (0..IN_FLIGHT).map(|_| {
        let app = app.clone();
        tokio::spawn(async move {
            let mut answered = 0_u32;
            while began.elapsed() < span {
                request(&app, path).await?;
                answered += 1;
            }
            Ok::<_, anyhow::Error>(answered)
        })
    });
    let mut answered = 0;
    for client in clients.collect::<Vec<_>>() {
        answered += client.await??;
    }
    Ok(f64::from(answered) / began.elapsed().as_secs_f64())
}

/// The growth of a new process while that many requests wait for the first time, in KiB for each.
fn memory_of_each(form: &str) -> Result<f64> {
    let output = Command::new(std::env::current_exe()?)
        .args(["--memory", form])
        .output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8(output.stdout)?.trim().parse()?)
}

/// The work of that process. The synchronous guest is small: the pages of an instance are those of its guest. The asynchronous one
/// has many calls in an instance.
pub(crate) fn print_memory(form: &str) -> Result<()> {
    let runtime = Runtime::new()?;
    let kib = runtime.block_on(async {
        let mut options = AppOptions::new();
        (options.limits.instances, options.max_instances) = (IN_FLIGHT, 1_100);
        let app = App::with_options(options)?;
        app.channel("bench").on_raw("wait", |_: Delivery, _: Payload| async {
            tokio::time::sleep(WAIT).await;
            Ok(Payload::null())
        })?;
        app.get("/native/wait", async |ctx: Context| {
            ctx.call_raw("bench:wait", Payload::null()).await.map(|_| "1")
        })?;
        let guest = Guest::with(Controller::new("Shop", "calls").get("wait", Program::text("1").call("bench:wait")));
        app.module("calls").bytes(guest.build()).load().await?;
        app.module("waits").file(component("waits")?).load().await?;
        let subject = SUBJECTS.iter().find(|(name, _)| *name == form);
        let (_, path) = subject.with_context(|| format!("there is no form `{form}`"))?;
        request(&app, path).await?;
        let before = memory("self", "VmHWM")?;
        let mut waiting: FuturesUnordered<_> = (0..IN_FLIGHT).map(|_| request(&app, path)).collect();
        while let Some(reply) = waiting.next().await {
            reply?;
        }
        // Idle instances are kept for the next requests, so their memory still counts.
        Ok::<_, anyhow::Error>((memory("self", "VmHWM")? - before) * 1024.0 / IN_FLIGHT as f64)
    })?;
    println!("{kib}");
    Ok(())
}
