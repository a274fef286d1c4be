//! The time of a call over NATS, and of a request with an emit that JetStream keeps, beside those of the bare client.

use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context as _, Result};
use async_nats::jetstream;
use futures_util::StreamExt as _;
use pointwork::{App, Context, Delivery, DurableOptions, Payload};
use pointwork_bench::request;
use pointwork_events_tests::server::Server;
use pointwork_load::Estimate;
use pointwork_nats::{Connection, NatsOptions, NatsStore};
use tokio::runtime::{Handle, Runtime};
use tokio::time::{Duration, sleep};

use crate::Table;

/// What is measured takes turns, that often for one sample.
const TURNS: u32 = 50;

pub(crate) fn measure(table: &mut Table) -> Result<()> {
    if !table.wants("nats", "") {
        return Ok(());
    }
    Runtime::new()?.block_on(calls_and_emits(table))
}

async fn connect(url: &str) -> Result<Connection> {
    let options = NatsOptions {
        servers: vec![url.to_owned()],
        prefix: "bench".to_owned(),
        ..NatsOptions::default()
    };
    Ok(Connection::open(options, Handle::current()).await?)
}

#[expect(clippy::too_many_lines, reason = "the rows of one table, measured in turn")]
async fn calls_and_emits(table: &mut Table) -> Result<()> {
    let server = Server::start();
    let url = server.url();
    // Each end has a connection of its own, in both.
    let (asks, answers) = (async_nats::connect(&url).await?, async_nats::connect(&url).await?);
    let mut questions = answers.subscribe("bare").await?;
    answers.flush().await?;
    tokio::spawn(async move {
        while let Some(question) = questions.next().await {
            if let Some(reply) = question.reply {
                let _sent = answers.publish(reply, "null".into()).await;
            }
        }
    });
    let bare = jetstream::new(asks.clone());
    let stream = jetstream::stream::Config {
        name: "bare".to_owned(),
        subjects: vec!["kept".to_owned()],
        retention: jetstream::stream::RetentionPolicy::WorkQueue,
        ..jetstream::stream::Config::default()
    };
    bare.create_stream(stream).await?;

    let (serving, calling) = (App::new()?, App::new()?);
    let value = |_: Delivery, _: Payload| async { Ok(Payload::null()) };
    serving.channel("stock").on_raw("reserve", value)?;
    let starting = serving.bus().not_ready_until("stock");
    connect(&url).await?.serve(serving.caller(), "stock", 16, starting);
    let connection = connect(&url).await?;
    calling
        .channel("stock")
        .on_raw("reserve", connection.listener("stock"))?;
    calling.make_durable("bench", DurableOptions::new(), Arc::new(NatsStore::new(connection)))?;
    calling.get("/emit", |ctx: Context| async move {
        ctx.emit_raw("bench:kept", Payload::null());
        "kept"
    })?;
    let call = async || calling.caller().call_raw("stock:reserve", Payload::null()).await;
    let began = Instant::now();
    while !serving.bus().starting().is_empty() || call().await.is_err() {
        anyhow::ensure!(began.elapsed() < Duration::from_secs(20), "the channel is not served");
        sleep(Duration::from_millis(10)).await;
    }
    let mut times = [const { Vec::new() }; 4];
    let mut ratios = [const { Vec::new() }; 2];
    for _ in 0..20 * table.rounds {
        let mut took = [0.0; 4];
        for _ in 0..TURNS {
            let began = Instant::now();
            asks.request("bare", "null".into()).await?;
            took[0] += began.elapsed().as_secs_f64();
            let began = Instant::now();
            call().await?;
            took[1] += began.elapsed().as_secs_f64();
            let began = Instant::now();
            bare.publish("kept", "null".into()).await?.await?;
            took[2] += began.elapsed().as_secs_f64();
            let began = Instant::now();
            request(&calling, "/emit").await.context("a durable emit")?;
            took[3] += began.elapsed().as_secs_f64();
        }
        ratios[0].push(took[1] / took[0]);
        ratios[1].push(took[3] / took[2]);
        for (times, took) in times.iter_mut().zip(took) {
            times.push(took * 1e6 / f64::from(TURNS));
        }
    }
    calling.close().await;
    serving.close().await;
    println!("\n## nats\n\n| over NATS on loopback, one after the other | µs | 95 % |\n|---|---|---|");
    let rows = [
        "a request of the bare client",
        "a call",
        "a publish that JetStream acknowledges",
        "a request with a durable emit",
    ];
    for (row, times) in rows.iter().zip(times) {
        let Estimate { middle, low, high, .. } = Estimate::of(times);
        println!("| {row} | {middle:.1} | {low:.1}–{high:.1} |");
    }
    let [call, emit] = ratios.map(Estimate::of);
    table.note("a call over NATS to a request of the bare client".to_owned(), call);
    table.note("a durable emit to a publish of the bare client".to_owned(), emit);
    Ok(())
}
