//! Requests per second over HTTP/1.1 on one core, each subject against the native handler on the same adapter:
//! `cargo bench --manifest-path tests/bench/Cargo.toml --bench http`.
//!
//! The server has core 0 to itself, the load generator `wrk` (Debian's package of that name) core 1. The subjects take
//! turns, round after round, so that the machine's mood falls on all alike; what counts is the ratio within a round.
//!
//! With `-- --serve` it only serves, and tells where, for a profiler.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::process::Command;
use std::sync::mpsc;
use std::thread;

use anyhow::{Context as _, Result, bail};
use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use pointwork::ConnectOptions;
use pointwork_bench::{SUBJECTS, app, median};
use pointwork_hyper::Hyper;
use tokio::net::TcpListener;

const ROUNDS: usize = 7;
const CONNECTIONS: &str = "32";
const SECONDS: &str = "2s";

fn main() -> Result<()> {
    // `cargo test --benches` only wants to know that it runs.
    if std::env::args().any(|argument| argument == "--test") {
        return Ok(());
    }
    let (addresses, ready) = mpsc::channel();
    thread::spawn(move || addresses.send(serve_on_one_core()));
    let addresses = ready.recv()?;
    let (ours, bare) = addresses?;

    let mut urls = vec![("bare hyper", format!("http://{bare}/native/42"))];
    urls.extend(SUBJECTS.map(|(name, path)| (name, format!("http://{ours}{path}"))));
    if std::env::args().any(|argument| argument == "--serve") {
        urls.iter().for_each(|(name, url)| println!("{name}: {url}"));
        loop {
            thread::park();
        }
    }
    let mut rates = vec![Vec::new(); urls.len()];
    for round in 0..=ROUNDS {
        for (subject, (_, url)) in urls.iter().enumerate() {
            let rate = measure(url)?;
            // The first round warms up.
            if round > 0 {
                rates[subject].push(rate);
            }
        }
    }

    println!(
        "{:<20} {:>12} {:>10} {:>17}",
        "subject", "requests/s", "to native", "min to max"
    );
    let native = rates[1].clone();
    for ((name, _), rates) in urls.iter().zip(&mut rates) {
        let mut ratios: Vec<f64> = rates.iter().zip(&native).map(|(rate, native)| rate / native).collect();
        let (ratio, rate) = (median(&mut ratios), median(rates));
        println!(
            "{name:<20} {rate:>12.0} {ratio:>10.3} {:>8.3} {:>8.3}",
            ratios[0],
            ratios[ratios.len() - 1]
        );
    }
    Ok(())
}

/// Serves the application and a bare hyper from one thread on core 0, and goes on until the process ends.
fn serve_on_one_core() -> Result<(SocketAddr, SocketAddr)> {
    let (addresses, ready) = mpsc::channel();
    thread::spawn(move || {
        let served = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .context("a runtime")
            .and_then(|runtime| {
                runtime.block_on(async {
                    // The application's own threads stay off the server's core.
                    let app = app().await?;
                    pin(0);
                    let hyper = Hyper::new();
                    app.connect_to(hyper.clone(), ConnectOptions::new())?;
                    let listener = hyper.bind("127.0.0.1:0").await?;
                    let ours = listener.local_addr()?;
                    let bare = TcpListener::bind("127.0.0.1:0").await?;
                    let _ = addresses.send(Ok((ours, bare.local_addr()?)));
                    tokio::spawn(serve_bare(bare));
                    hyper.serve(listener).await;
                    anyhow::Ok(())
                })
            });
        if let Err(error) = served {
            let _ = addresses.send(Err(error));
        }
    });
    ready.recv()?
}

fn pin(core: usize) {
    core_affinity::set_for_current(core_affinity::CoreId { id: core });
}

/// The same answer with nothing in between.
async fn serve_bare(listener: TcpListener) {
    while let Ok((stream, _)) = listener.accept().await {
        let _ = stream.set_nodelay(true);
        let answer = service_fn(|request: Request<Incoming>| async move {
            let id = request.uri().path().rsplit('/').next().unwrap_or_default().to_owned();
            let mut response = Response::new(Full::new(Bytes::from(id)));
            response
                .headers_mut()
                .insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
            Ok::<_, Infallible>(response)
        });
        tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), answer));
    }
}

/// Requests per second over one short burst.
fn measure(url: &str) -> Result<f64> {
    let output = Command::new("taskset")
        .args(["-c", "1", "wrk", "-t1", "-c", CONNECTIONS, "-d", SECONDS, url])
        .output()
        .context("wrk does not start; on Debian: apt-get install wrk")?;
    let text = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() || text.contains("Non-2xx") || text.contains("Socket errors") {
        bail!(
            "wrk met errors at {url}:\n{text}{}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
    let line = text.lines().find_map(|line| line.strip_prefix("Requests/sec:"));
    Ok(line.context("wrk told no rate")?.trim().parse()?)
}
