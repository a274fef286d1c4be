//! The time from the start of a process to its first reply, with a module whose compiled code is in the cache; and the time of a
//! swap beside a thread that sends requests.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Instant;

use anyhow::Result;
use pointwork::App;
use pointwork_bench::{Item, component, request};
use pointwork_load::{Estimate, Request, Server, turns};
use pointwork_suite::guest::{Controller, Guest, Program};
use tokio::runtime::{Builder, Runtime};

use crate::{Table, server};

pub(crate) fn measure(table: &mut Table) -> Result<()> {
    if table.wants("start", "") {
        starts(table)?;
    }
    if table.wants("swap", "") {
        swaps(table)?;
    }
    Ok(())
}

fn starts(table: &mut Table) -> Result<()> {
    let (synchronous, asynchronous) = (component("items")?, component("items-async")?);
    let subjects = [
        ("native", None),
        ("synchronous", Some(&*synchronous)),
        ("asynchronous", Some(&*asynchronous)),
    ];
    let request = Request::get("/items/7", Item::JSON);
    let times = turns(2 * table.rounds, subjects.len(), |subject| {
        let mut command = server::command("items", "hyper", subjects[subject].1)?;
        let began = Instant::now();
        Server::start(&mut command)?.ask(&request)?;
        Ok(began.elapsed().as_secs_f64() * 1e3)
    })?;
    println!("\n## start\n\n| with a warm cache | ms | to native | 95 % |\n|---|---|---|---|");
    for ((name, _), own) in subjects.iter().zip(&times) {
        let ratio = Estimate::of(own.iter().zip(&times[0]).map(|(own, native)| own / native));
        let took = Estimate::of(own.iter().copied()).middle;
        println!(
            "| {name} | {took:.1} | {:.2} | {:.2}–{:.2} |",
            ratio.middle, ratio.low, ratio.high
        );
        table.note(format!("start with a warm cache, {name} to native"), ratio);
    }
    Ok(())
}

fn swaps(table: &mut Table) -> Result<()> {
    let runtime = Runtime::new()?;
    let app = App::new()?;
    let version = |number: usize| {
        let shop = Controller::new("Shop", "/").get("item", Program::text(&format!("version {number}")));
        Guest::with(shop).build()
    };
    runtime.block_on(app.module("shop").bytes(version(0)).load())?;
    let is_over = AtomicBool::new(false);
    let times = thread::scope(|scope| {
        let load = scope.spawn(|| {
            let runtime = Builder::new_current_thread().enable_all().build()?;
            while !is_over.load(Ordering::Relaxed) {
                runtime.block_on(request(&app, "/item"))?;
            }
            anyhow::Ok(())
        });
        let times = (1..=5 * table.rounds).map(|number| {
            let component = version(number);
            let began = Instant::now();
            runtime.block_on(app.module("shop").bytes(component).swap())?;
            anyhow::Ok(began.elapsed().as_secs_f64() * 1e3)
        });
        let times = times.collect::<Result<Vec<_>>>();
        is_over.store(true, Ordering::Relaxed);
        load.join().expect("it does not panic")?;
        times
    })?;
    let swap = Estimate::of(times);
    println!(
        "\n## swap\n\nbeside a thread that sends requests: {:.1} ms ({:.1}–{:.1})",
        swap.middle, swap.low, swap.high
    );
    table.note("a swap, ms".to_owned(), swap);
    Ok(())
}
