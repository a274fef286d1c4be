//! Applications come and go in one program.

use std::{env, fs};

use anyhow::{Context as _, Result, ensure};
use pointwork_hosts_tests::InHost;
use pointwork_suite::client::Client;
use pointwork_suite::guest::{Controller, Guest, Program};
use pointwork_suite::subject::{AppSpec, Limits, Subject as _};
use pointwork_test_clock::real::until;
use pointwork_test_runner::Trial;

use crate::trial;

pub(crate) fn all(host: &InHost) -> Vec<Trial> {
    vec![trial(host, "many_applications_leave_nothing_behind", many)]
}

/// The names of the threads, and the descriptors of a process.
fn held(process: u32) -> Result<(Vec<String>, Vec<String>)> {
    let list = |what: &str| fs::read_dir(format!("/proc/{process}/{what}"));
    let threads = list("task")?
        .flatten()
        .map(|entry| fs::read_to_string(entry.path().join("comm")));
    let open = list("fd")?.flatten().map(|entry| fs::read_link(entry.path()));
    let open = open.map(|target| target.map(|target| target.display().to_string()));
    Ok((threads.flatten().collect(), open.flatten().collect()))
}

/// The memory of a process, in KiB.
fn memory(process: u32) -> Result<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let number = line.and_then(|line| line.split_whitespace().next());
    Ok(number.context("a line VmRSS")?.parse()?)
}

async fn many(host: InHost) -> Result<()> {
    // A program of its own: others use those that are shared.
    let host = host.alone();
    let applications = if env::var_os("POINTWORK_LONG").is_some() {
        10_000
    } else {
        200
    };
    let component = Guest::with(Controller::new("Things", "/").get("it", Program::text("it"))).build();
    let mut at_first = None;
    for number in 0..applications {
        // A small pool: each application reserves address space for its own.
        let limits = Limits {
            instances: Some(2),
            ..Limits::default()
        };
        let app = AppSpec::new().load("m", component.clone()).limits(limits);
        let control = host.start(app).await?;
        ensure!(Client::new(control.address()).get("/it").await?.text() == "it");
        control.shutdown().await;
        // The first ones make what the process keeps: the pool of threads, the caches of the allocator.
        if number == 50 {
            let process = host.program().context("a program")?;
            at_first = Some((held(process)?, memory(process)?));
        }
    }
    let process = host.program().context("a program")?;
    let (before, kept) = at_first.context("enough applications")?;
    // The last threads of the last application end after its close.
    let are_as_before =
        || held(process).is_ok_and(|after| after.0.len() <= before.0.len() + 4 && after.1.len() <= before.1.len() + 4);
    let ended = until("the threads and descriptors are as before", are_as_before).await;
    ended.with_context(|| format!("threads and descriptors: {before:?}, then {:?}", held(process)))?;
    let now = memory(process)?;
    ensure!(now < kept + 64 * 1024, "memory: {kept} KiB, then {now} KiB");
    Ok(())
}
