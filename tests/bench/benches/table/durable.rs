//! The time of a request with a durable emit, beside the time in which the disk appends and synchronises 16 KiB.

use std::fs::File;
use std::io::Write as _;
use std::sync::Arc;
use std::time::Instant;

use anyhow::Result;
use futures_util::future::try_join_all;
use pointwork::{App, Context, Delivery, DurableOptions, Payload};
use pointwork_bench::{request, target};
use pointwork_journal::{Journal, JournalOptions};
use pointwork_load::Estimate;
use tokio::runtime::Runtime;

use crate::Table;

/// The requests that emit at the same time.
const EMITTERS: usize = 64;

/// The bytes that are appended. It is an assumption: what SQLite writes for an event was not measured.
const BYTES: usize = 4 * 4096;

pub(crate) fn measure(table: &mut Table) -> Result<()> {
    if !table.wants("durable", "") {
        return Ok(());
    }
    Runtime::new()?.block_on(emits(table))
}

async fn emits(table: &mut Table) -> Result<()> {
    // In a temporary folder there may be no disk.
    let folder = tempfile::tempdir_in(target()?)?;
    let journal = Journal::open(JournalOptions::new().path(folder.path().join("events.sqlite")))?;
    let journal = Arc::new(journal);
    let app = App::new()?;
    app.channel("bench")
        .on_raw("kept", |_: Delivery, _: Payload| async { Ok(Payload::null()) })?;
    app.make_durable("bench", DurableOptions::new(), journal.clone())?;
    app.get("/emit", |ctx: Context| async move {
        ctx.emit_raw("bench:kept", Payload::null());
        "kept"
    })?;
    let mut bare = File::create(folder.path().join("bare"))?;
    let (mut alone, mut together, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    let (mut events, mut syncs) = (0, 0);
    for _ in 0..20 * table.rounds {
        let began = Instant::now();
        bare.write_all(&[7; BYTES])?;
        bare.sync_data()?;
        let of_disk = began.elapsed();
        let began = Instant::now();
        request(&app, "/emit").await?;
        let took = began.elapsed();
        ratios.push(took.as_secs_f64() / of_disk.as_secs_f64());
        alone.push(took.as_secs_f64() * 1e3);
        let (before, began) = (journal.syncs(), Instant::now());
        try_join_all((0..EMITTERS).map(|_| request(&app, "/emit"))).await?;
        together.push(began.elapsed().as_secs_f64() * 1e3 / EMITTERS as f64);
        events += EMITTERS;
        syncs += journal.syncs() - before;
    }
    app.close().await;
    let [ratio, alone, together] = [ratios, alone, together].map(Estimate::of);
    println!(
        "\n## durable\n\n| a request with a durable emit | ms | 95 % |\n|---|---|---|\n\
         | alone | {:.2} | {:.2}–{:.2} |\n| {EMITTERS} at once, each | {:.3} | {:.3}–{:.3} |\n\n\
         {:.1} events for each synchronisation of the disk, {EMITTERS} at once",
        alone.middle,
        alone.low,
        alone.high,
        together.middle,
        together.low,
        together.high,
        events as f64 / syncs as f64
    );
    table.note("a durable emit to a synchronisation of the disk".to_owned(), ratio);
    Ok(())
}
