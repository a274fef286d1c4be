//! A long request body and a long reply through a handler in a module: the growth of the server's memory, and the
//! throughput. `cargo bench --manifest-path tests/bench/Cargo.toml --bench streams`; `-- --mib 64` sets another length
//! than 1 GiB.
//!
//! The server is hyper's, in a process of its own. The result is the peak of its memory over the peak before the first
//! body.

use std::convert::Infallible;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use bytes::Bytes;
use futures_util::stream;
use http::{Method, Request, Version};
use http_body_util::{BodyExt, StreamBody};
use hyper::body::Frame;
use hyper_util::rt::{TokioExecutor, TokioIo};
use pointwork::ConnectOptions;
use pointwork_bench::app;
use pointwork_bench::load::{flag, option};
use pointwork_hyper::Hyper;
use tokio::net::TcpStream;

/// The goal: the highest growth of the server's memory, in MiB.
const GOAL: f64 = 16.0;

const CHUNK: usize = 64 * 1024;

fn main() -> Result<()> {
    // `cargo test --benches` only checks that the benchmark runs.
    if flag("--test") {
        return Ok(());
    }
    let runtime = tokio::runtime::Runtime::new()?;
    if flag("--server") {
        return runtime.block_on(serve());
    }
    let mib = option("--mib").map_or(Ok(1024), |text| text.parse())?;
    let mut server = Server::start()?;
    let result = runtime.block_on(measure(&server, mib));
    server.process.kill()?;
    server.process.wait()?;
    result
}

async fn serve() -> Result<()> {
    let app = app().await?;
    let hyper = Hyper::new();
    app.connect_to(hyper.clone(), ConnectOptions::new())?;
    let listener = hyper.bind("127.0.0.1:0").await?;
    println!("{}", listener.local_addr()?);
    hyper.serve(listener).await;
    Ok(())
}

struct Server {
    process: Child,
    address: SocketAddr,
}

impl Server {
    fn start() -> Result<Self> {
        let mut process = Command::new(std::env::current_exe()?)
            .arg("--server")
            .stdout(Stdio::piped())
            .spawn()?;
        let mut line = String::new();
        BufReader::new(process.stdout.take().context("no output")?).read_line(&mut line)?;
        let address = line
            .trim()
            .parse()
            .with_context(|| format!("the server said {line:?}"))?;
        Ok(Self { process, address })
    }

    /// A field of the process's memory, in MiB.
    fn memory(&self, field: &str) -> Result<f64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process.id()))?;
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix(field))
            .context(field.to_owned())?;
        let kib: f64 = line
            .trim_start_matches(':')
            .split_whitespace()
            .next()
            .context("no figure")?
            .parse()?;
        Ok(kib / 1024.0)
    }
}

async fn measure(server: &Server, mib: usize) -> Result<()> {
    // The memory that any first request takes does not count.
    for module in ["streams", "streams-async"] {
        for version in [Version::HTTP_11, Version::HTTP_2] {
            exchange(server, version, module, "echo", 1).await?;
        }
    }
    let idle = server.memory("VmRSS")?;
    println!("{mib} MiB each; {idle:.1} MiB resident before; goal: {GOAL:.0} MiB more at the most");
    println!(
        "{:<10} {:<14} {:<7} {:>8} {:>16}",
        "", "", "", "MiB/s", "MiB more, so far"
    );
    for version in [Version::HTTP_11, Version::HTTP_2] {
        for module in ["streams", "streams-async"] {
            for what in ["count", "give", "echo"] {
                let began = Instant::now();
                exchange(server, version, module, what, mib).await?;
                let rate = mib as f64 / began.elapsed().as_secs_f64();
                let more = server.memory("VmHWM")? - idle;
                println!("{version:<10?} {module:<14} {what:<7} {rate:>8.0} {more:>16.1}");
            }
        }
    }
    let more = server.memory("VmHWM")? - idle;
    ensure!(
        more <= GOAL,
        "the server took {more:.1} MiB more, the goal is {GOAL:.0}"
    );
    Ok(())
}

/// Sends and receives the bodies of one kind and checks their lengths.
async fn exchange(server: &Server, version: Version, module: &str, what: &str, mib: usize) -> Result<()> {
    let (method, path, sent) = match what {
        "give" => (Method::GET, format!("give/{mib}"), 0),
        _ => (Method::POST, what.to_owned(), mib * 1024 * 1024),
    };
    let chunks =
        stream::iter((0..sent / CHUNK).map(|_| Ok::<_, Infallible>(Frame::data(Bytes::from_static(&[7; CHUNK])))));
    let target = match version {
        Version::HTTP_2 => format!("http://{}/{module}/{path}", server.address),
        _ => format!("/{module}/{path}"),
    };
    let mut request = Request::builder()
        .method(method)
        .uri(target)
        .body(StreamBody::new(chunks))?;
    let io = TokioIo::new(TcpStream::connect(server.address).await?);
    let response = if version == Version::HTTP_2 {
        let (mut sender, connection) = hyper::client::conn::http2::handshake(TokioExecutor::new(), io).await?;
        tokio::spawn(connection);
        sender.send_request(request).await?
    } else {
        request.headers_mut().insert("host", "bench".parse()?);
        let (mut sender, connection) = hyper::client::conn::http1::handshake(io).await?;
        tokio::spawn(connection);
        sender.send_request(request).await?
    };
    ensure!(response.status().is_success(), "{module}/{what}: {}", response.status());
    let mut body = response.into_body();
    let (mut received, mut text) = (0, Vec::new());
    while let Some(frame) = body.frame().await {
        if let Ok(data) = frame?.into_data() {
            received += data.len();
            if what == "count" {
                text.extend_from_slice(&data);
            }
        }
    }
    let length = mib * 1024 * 1024;
    let whole = match what {
        "count" => text == length.to_string().as_bytes(),
        _ => received == length,
    };
    ensure!(whole, "{module}/{what}: {received} bytes came, expected {length}");
    Ok(())
}
