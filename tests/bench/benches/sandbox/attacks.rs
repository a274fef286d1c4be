//! Attacks of clients and guests on other callers: whether those are answered beside them, and the growth of the server's
//! memory. `--seconds` is the length of each attack (10), `--only` names one of them.
//!
//! Each attack has a server process of its own, with hyper. It goes on for the whole time: what the server ends begins again.
//! Beside it another client sends 50 requests per second, of which each has to be answered with 200.

use std::future::pending;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Result;
use bytes::Bytes;
use futures_util::future::join_all;
use http::Request;
use http_body_util::StreamBody;
use hyper::body::Frame;
use hyper::client::conn::http2::Builder;
use hyper_util::rt::{TokioExecutor, TokioIo};
use pointwork::{App, AppOptions, Breaker, ModuleLimits, ModuleOptions};
use pointwork_bench::option;
use pointwork_suite::guest::{Channel, Controller, End, Guest, Program, Step};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

use crate::child;
use crate::client::{Connection, get};
use crate::guests::Runs;
use crate::pressure::{Kind, Pressure, Statuses};
use crate::{Verdict, number};

const OTHERS: Pressure = Pressure {
    connections: 8,
    rate: Some(50.0),
    pinned: false,
};

/// The time after which a client comes again.
const AGAIN: Duration = Duration::from_millis(100);

/// The time until an attack has its effect, before the others are counted.
const BEFORE: Duration = Duration::from_secs(2);

#[derive(Clone, Copy)]
enum Attack {
    ShutWindows,
    KeptBodies,
    Rings,
    MutualCalls,
    ClientsThatLeave,
    Loop,
    LongHeads,
}

/// The name, what it does, and the request of the others.
const ATTACKS: [(&str, Attack, &str); 7] = [
    (
        "shut windows: 100 replies of 181 KB on each of 5 HTTP/2 connections",
        Attack::ShutWindows,
        "/big/reply",
    ),
    (
        "kept bodies: 1 MB each, by a handler that keeps its contexts",
        Attack::KeptBodies,
        "POST",
    ),
    (
        "rings: 3 contexts that a listener hands to itself",
        Attack::Rings,
        "/others/quick",
    ),
    (
        "mutual calls: 240 requests through two modules, 8 deep",
        Attack::MutualCalls,
        "/others/quick",
    ),
    (
        "clients that leave: heads of 60 KB for a stuck module",
        Attack::ClientsThatLeave,
        "/others/quick",
    ),
    (
        "a loop in an asynchronous module, whose other route they ask for",
        Attack::Loop,
        "/waits/quick",
    ),
    (
        "long heads: 127 of 56 KB on each of 40 HTTP/2 connections",
        Attack::LongHeads,
        "/others/quick",
    ),
];

/// The application of the server process.
pub(crate) async fn application() -> Result<App> {
    let app = App::with_options(AppOptions::new())?;
    // Every request has to run, and a loop has to go on.
    let mut limits = ModuleLimits::new().cpu(Duration::from_secs(600));
    limits.deadline = Some(Duration::from_secs(3));
    let options = || {
        ModuleOptions::new()
            .limits(limits.clone())
            .breaker(Breaker::new().crashes(0))
    };
    let big = Program::new().say(&"x".repeat(181)).step(Step::Double(10));
    let turn = Program::new()
        .step(Step::TakeContext)
        .step(Step::HandOver("ring:turn".to_owned()));
    let begin = Program::new().step(Step::HandOver("ring:turn".to_owned()));
    let modules = [
        (
            "others",
            Controller::new("Others", "others")
                .get("quick", Program::text("quick"))
                .post("whole", Program::new().step(Step::Body).say("done"))
                .takes("whole"),
            None,
        ),
        ("big", Controller::new("Big", "big").get("reply", big), None),
        (
            "hoards",
            Controller::new("Hoards", "hoards")
                .post("keep", Program::text("kept").step(Step::Send(200)).ends(End::Keep))
                .takes("whole"),
            None,
        ),
        (
            "ring",
            Controller::new("Ring", "ring").get("begin", begin.ends(End::Deferred)),
            Some(Channel::new("ring").on("turn", turn.ends(End::Deferred))),
        ),
        (
            "left",
            Controller::new("Left", "left").get("begin", Program::new().call("right:1")),
            Some(links("left", "right", 2)),
        ),
        (
            "right",
            Controller::new("Right", "right"),
            Some(links("right", "left", 1)),
        ),
    ];
    for (name, controller, channel) in modules {
        let guest = channel.into_iter().fold(Guest::with(controller), Guest::channel);
        app.module(name).bytes(guest.build()).options(options()).load().await?;
    }
    let waits = Controller::new("Waits", "waits")
        .get("quick", Program::text("quick"))
        .get("loop", Program::new().ends(End::Loop));
    let waits = Runs::Asynchronous.build(Guest::with(waits));
    app.module("waits").bytes(waits).options(options()).load().await?;
    // One instance, so that a loop leaves none.
    limits.instances = 1;
    limits.deadline = Some(Duration::from_secs(60));
    let stuck = Controller::new("Stuck", "stuck").get("loop", Program::new().ends(End::Loop));
    let stuck = Runs::Asynchronous.build(Guest::with(stuck));
    let options = ModuleOptions::new().limits(limits).breaker(Breaker::new().crashes(0));
    app.module("stuck").bytes(stuck).options(options).load().await?;
    app.channel("app")
        .on_raw("wait", |_: pointwork::Delivery, _: pointwork::Payload| async {
            sleep(Duration::from_secs(1)).await;
            Ok::<_, pointwork::Failure>(pointwork::Payload::null())
        })?;
    Ok(app)
}

/// The listeners of one of two modules that call each other, link by link.
fn links(own: &str, other: &str, first: u32) -> Channel {
    (first..8).step_by(2).fold(Channel::new(own), |channel, link| {
        let next = if link == 7 {
            "app:wait".to_owned()
        } else {
            format!("{other}:{}", link + 1)
        };
        channel.on(&link.to_string(), Program::new().call(&next))
    })
}

pub(crate) fn run() -> Result<()> {
    let span = Duration::from_secs(number("--seconds", 10)?);
    let only = option("--only").unwrap_or_default();
    let mut verdict = Verdict::default();
    println!(
        "{:<70} {:>7} {:>10} {:>10} {:>8} {:>8}",
        "attack", "others", "of 200", "p99 in ms", "MiB", "growth"
    );
    for (name, attack, others) in ATTACKS {
        if !name.starts_with(&only) {
            continue;
        }
        let server = child::start("attacks", &[])?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()?;
        let before = server.memory("VmRSS")?;
        runtime.spawn(attack.go_on(server.address));
        std::thread::sleep(BEFORE);
        let kind = match others {
            "POST" => Kind {
                label: 0,
                bytes: post("/others/whole", 1000),
            },
            path => Kind::get(0, path),
        };
        let load = OTHERS.begin(server.address, vec![kind], Arc::new(Statuses(&[200])));
        let (end, mut most) = (Instant::now() + span, before);
        while Instant::now() < end {
            std::thread::sleep(Duration::from_millis(50));
            most = most.max(server.memory("VmRSS")?);
        }
        let with = load.end()?;
        runtime.shutdown_background();
        let (answered, failed) = (with.answered(), with.failed());
        let all = answered + usize::try_from(failed)?;
        println!(
            "{name:<70} {all:>7} {:>8.1} % {:>10.1} {before:>8.0} {:>8.0}",
            100.0 * answered as f64 / all as f64,
            with.percentile(&[0], 99.0),
            most - before,
        );
        verdict.holds(failed == 0, || {
            format!("{name}: {failed} of {all} others failed, the first: {:?}", with.first)
        });
    }
    verdict.end()
}

fn post(path: &str, length: usize) -> Vec<u8> {
    let body = "x".repeat(length);
    format!("POST {path} HTTP/1.1\r\nhost: bench\r\ncontent-type: text/plain\r\ncontent-length: {length}\r\n\r\n{body}")
        .into_bytes()
}

impl Attack {
    /// Goes on until its runtime ends.
    async fn go_on(self, address: SocketAddr) {
        match self {
            Self::ShutWindows => {
                let request = || Request::get(format!("http://{address}/big/reply"));
                drop(join_all((0..5).map(|_| multiplex(address, 100, request))).await);
            }
            Self::LongHeads => {
                // Their bodies do not come.
                let long = "h".repeat(56 * 1024);
                let request = || Request::post(format!("http://{address}/others/whole")).header("x-long", &long);
                drop(join_all((0..40).map(|_| multiplex(address, 127, request))).await);
            }
            Self::KeptBodies => again(4, || ask(address, post("/hoards/keep", 1_000_000))).await,
            Self::Rings => {
                drop(join_all((0..3).map(|_| leave(address, get("/ring/begin")))).await);
                pending().await
            }
            Self::MutualCalls => again(240, || ask(address, get("/left/begin"))).await,
            Self::Loop => again(1, || ask(address, get("/waits/loop"))).await,
            Self::ClientsThatLeave => {
                let head = format!(
                    "GET /stuck/loop HTTP/1.1\r\nhost: bench\r\nx-long: {}\r\n\r\n",
                    "h".repeat(60_000)
                );
                again(16, || leave(address, head.clone().into_bytes())).await;
            }
        }
    }
}

/// This number of clients, each of which comes again.
async fn again<F: Future<Output = Result<()>>>(clients: usize, client: impl Fn() -> F) {
    let client = async || loop {
        if client().await.is_err() {
            sleep(AGAIN).await;
        }
    };
    join_all((0..clients).map(|_| client())).await;
}

async fn ask(address: SocketAddr, request: Vec<u8>) -> Result<()> {
    let mut connection = Connection::open(address).await?;
    loop {
        if connection.ask(&request).await?.status != 200 {
            sleep(AGAIN).await;
        }
    }
}

/// Sends a request, and leaves without its reply.
async fn leave(address: SocketAddr, request: Vec<u8>) -> Result<()> {
    let mut stream = TcpStream::connect(address).await?;
    stream.write_all(&request).await?;
    sleep(Duration::from_millis(20)).await;
    Ok(())
}

/// Requests on one HTTP/2 connection whose windows are shut, and whose bodies do not come; an ended one begins again.
async fn multiplex(address: SocketAddr, streams: usize, request: impl Fn() -> http::request::Builder) {
    let connect = async || {
        let stream = TcpStream::connect(address).await?;
        let (sender, connection) = Builder::new(TokioExecutor::new())
            .initial_stream_window_size(0)
            .handshake(TokioIo::new(stream))
            .await?;
        tokio::spawn(connection);
        let stream = async || -> Result<()> {
            let mut sender = sender.clone();
            loop {
                sender.ready().await?;
                let request = request();
                let request = if request.method_ref() == Some(&http::Method::POST) {
                    request.body(body(false))?
                } else {
                    request.body(body(true))?
                };
                if let Ok(mut reply) = sender.send_request(request).await {
                    // Until the server resets it.
                    while let Some(Ok(_)) = http_body_util::BodyExt::frame(reply.body_mut()).await {}
                }
                sleep(AGAIN).await;
            }
        };
        join_all((0..streams).map(|_| timeout(Duration::from_secs(3600), stream()))).await;
        anyhow::Ok(())
    };
    loop {
        // The server may refuse it, or close it.
        let _ = connect().await;
        sleep(AGAIN).await;
    }
}

type Waiting = StreamBody<futures_util::stream::BoxStream<'static, Result<Frame<Bytes>, std::convert::Infallible>>>;

fn body(ends: bool) -> Waiting {
    use futures_util::StreamExt as _;
    StreamBody::new(if ends {
        futures_util::stream::empty().boxed()
    } else {
        futures_util::stream::pending().boxed()
    })
}
