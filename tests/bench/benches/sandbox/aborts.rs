//! Clients that abort at random points: the resources that their requests still hold afterwards. `--count` is the
//! number of clients (100,000), `--seed` repeats a run, `--adapter` names another adapter than hyper.
//!
//! The clients abort within the head, within the body that they send, before the reply, and within the reply; half of
//! them with a reset, half with an orderly close. Both forms of module take part.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use pointwork::{App, AppOptions, Delivery, Payload, Usage};
use pointwork_bench::option;
use pointwork_bench::servers::start_on;
use pointwork_suite::guest::{Controller, End, Guest, Program, Step};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::timeout;

use crate::client::{Connection, get};
use crate::guests::Runs;
use crate::{Verdict, number, random};

/// The number of clients at a time.
const CLIENTS: u64 = 64;

/// The declared length of an uploaded body.
const BODY: usize = 64 * 1024;

const POINTS: [&str; 4] = [
    "within the head",
    "within the upload",
    "before the reply",
    "within the reply",
];

/// The time in which the resources have to be released.
const PATIENCE: Duration = Duration::from_secs(30);

fn guest(prefix: &str) -> Guest {
    let stream = Program::new()
        .step(Step::Stream(200, vec!["x".repeat(16 * 1024); 16]))
        .step(Step::Finish)
        .ends(End::Deferred);
    let things = Controller::new("Things", prefix)
        .get("wait", Program::new().call("bench:wait"))
        .get("stream", stream)
        .post("echo", Program::new().step(Step::Echo).ends(End::Deferred));
    Guest::with(things)
}

pub(crate) fn run() -> Result<()> {
    let mut random = random()?;
    let count = number("--count", 100_000)?;
    let adapter = option("--adapter").unwrap_or_else(|| "hyper".to_owned());
    let runtime = tokio::runtime::Runtime::new()?;
    let mut options = AppOptions::new();
    options.limits.idle = Duration::from_secs(1);
    let app = App::with_options(options)?;
    app.channel("bench").on_raw("wait", |_: Delivery, _: Payload| async {
        tokio::time::sleep(Duration::from_millis(10)).await;
        Ok(Payload::null())
    })?;
    for (name, runs) in [("synchronous", Runs::Synchronous), ("asynchronous", Runs::Asynchronous)] {
        runtime.block_on(app.module(name).bytes(runs.build(guest(name))).load())?;
    }
    let address = start_on(&app, &adapter)?;

    let done = Arc::new([const { AtomicU64::new(0) }; POINTS.len()]);
    let clients: Vec<_> = (0..CLIENTS)
        .map(|client| {
            let share = count / CLIENTS + u64::from(client < count % CLIENTS);
            let aborts = Aborts {
                address,
                random: random.fork(),
                done: done.clone(),
            };
            runtime.spawn(aborts.run(share))
        })
        .collect();
    for client in clients {
        runtime.block_on(client)??;
    }
    for (point, done) in POINTS.iter().zip(done.iter()) {
        println!("{:>7} broke off {point}", done.load(Ordering::Relaxed));
    }

    let deadline = Instant::now() + PATIENCE;
    while left(&app).iter().any(|(_, left)| *left > 0) && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(20));
    }
    let mut verdict = Verdict::default();
    println!("{:<30} {:>6}", "left afterwards", "count");
    for (what, left) in left(&app) {
        println!("{what:<30} {left:>6}");
        verdict.zero(&format!("{what} left"), left);
    }
    for status in app.statuses() {
        let Usage {
            calls,
            crashes,
            refused,
            ..
        } = status.usage;
        println!(
            "{}: {calls} calls, {crashes} crashed, {refused} refused",
            status.info.name
        );
    }
    for module in ["synchronous", "asynchronous"] {
        let status = runtime.block_on(async {
            let mut connection = Connection::open(address).await?;
            Ok::<_, anyhow::Error>(connection.ask(&get(&format!("/{module}/wait"))).await?.status)
        })?;
        ensure!(status == 200, "afterwards the module `{module}` answered with {status}");
    }
    verdict.end()
}

/// The resources that the application still holds for requests.
fn left(app: &App) -> Vec<(&'static str, u64)> {
    let usages: Vec<Usage> = app.statuses().into_iter().map(|status| status.usage).collect();
    let sum = |field: fn(&Usage) -> usize| usages.iter().map(|usage| field(usage) as u64).sum();
    vec![
        ("calls in flight", sum(|usage| usage.in_flight)),
        ("calls that wait", sum(|usage| usage.waiting)),
        ("instances", sum(|usage| usage.instances)),
        ("handles held by instances", sum(|usage| usage.held)),
        ("requests in flight", app.requests_in_flight() as u64),
    ]
}

/// A client that aborts again and again.
struct Aborts {
    address: SocketAddr,
    random: fastrand::Rng,
    done: Arc<[AtomicU64; POINTS.len()]>,
}

impl Aborts {
    async fn run(mut self, count: u64) -> Result<()> {
        for _ in 0..count {
            let stream = self.connect().await?;
            let point = self.random.usize(..POINTS.len());
            // A server that closes first is not an error here.
            let _ = timeout(Duration::from_secs(1), self.break_off(stream, point)).await;
            self.done[point].fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    }

    /// The client addresses take turns: a closed connection keeps its port for a minute.
    async fn connect(&mut self) -> Result<TcpStream> {
        let socket = TcpSocket::new_v4()?;
        let own = Ipv4Addr::new(127, 0, 0, self.random.u8(2..=250));
        socket.bind(SocketAddr::from((IpAddr::V4(own), 0)))?;
        if self.random.bool() {
            // Closing resets the connection.
            socket.set_zero_linger()?;
        }
        socket.connect(self.address).await.context("connecting")
    }

    async fn break_off(&mut self, mut stream: TcpStream, point: usize) -> std::io::Result<()> {
        let module = ["synchronous", "asynchronous"][self.random.usize(..2)];
        let head = match point {
            1 => format!("POST /{module}/echo HTTP/1.1\r\nhost: bench\r\ncontent-length: {BODY}\r\n\r\n").into_bytes(),
            3 => get(&format!("/{module}/stream")),
            _ => get(&format!("/{module}/wait")),
        };
        match point {
            0 => stream.write_all(&head[..self.random.usize(1..head.len())]).await,
            1 => {
                stream.write_all(&head).await?;
                stream.write_all(&vec![7; self.random.usize(..BODY)]).await
            }
            2 => {
                stream.write_all(&head).await?;
                // The handler waits for 10 ms.
                tokio::time::sleep(Duration::from_millis(self.random.u64(..12))).await;
                Ok(())
            }
            _ => {
                stream.write_all(&head).await?;
                let mut read = vec![0; self.random.usize(1..BODY)];
                stream.read_exact(&mut read).await.map(drop)
            }
        }
    }
}
