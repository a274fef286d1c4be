//! Servers in processes of their own, and the load for them: connections that are kept, each with one request at a time, from a
//! thread that never sleeps, so that the server does not pay for waking it. The server has one processor and the load another.

#![expect(
    clippy::cast_precision_loss,
    reason = "durations of minutes, and millions of requests"
)]

mod server;
mod statistics;

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};
use std::{env, mem};

use anyhow::{Context as _, Result, ensure};

pub use server::{Burst, Server, memory, spent};
pub use statistics::{Estimate, median, turns};

/// The processor of every thread of a server.
pub const SERVER_CORE: usize = 0;

/// The processor of the load.
pub const LOAD_CORE: usize = 1;

const CONNECTIONS: usize = 32;

/// A GET request with the body of its reply.
#[derive(Clone, Debug)]
pub struct Request {
    bytes: Vec<u8>,
    body: &'static [u8],
}

impl Request {
    /// A request of that path, whose reply has this body.
    pub fn get(path: &str, body: &'static str) -> Self {
        let bytes = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n").into_bytes();
        let body = body.as_bytes();
        Self { bytes, body }
    }
}

struct Connection {
    stream: TcpStream,
    received: Vec<u8>,
}

impl Connection {
    fn open(address: SocketAddr, request: &Request) -> Result<Self> {
        let mut stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.write_all(&request.bytes)?;
        stream.set_nonblocking(true)?;
        let received = Vec::new();
        Ok(Self { stream, received })
    }

    /// Whether the reply is there; then the next request is sent.
    fn goes_on(&mut self, request: &Request, buffer: &mut [u8]) -> Result<bool> {
        let read = match self.stream.read(buffer) {
            Ok(read) => read,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
            Err(error) => return Err(error.into()),
        };
        ensure!(
            read > 0,
            "the server closed a connection after `{}`",
            String::from_utf8_lossy(&self.received)
        );
        self.received.extend_from_slice(&buffer[..read]);
        if !self.received.ends_with(request.body) && !self.received.ends_with(b"\r\n0\r\n\r\n") {
            return Ok(false);
        }
        let reply = mem::take(&mut self.received);
        ensure!(
            reply.starts_with(b"HTTP/1.1 200") && reply.windows(request.body.len()).any(|bytes| bytes == request.body),
            "the reply is `{}`",
            String::from_utf8_lossy(&reply)
        );
        self.stream.write_all(&request.bytes)?;
        Ok(true)
    }
}

/// Sends requests for that time, and checks the replies; the result is their number.
fn send(address: SocketAddr, request: &Request, time: Duration) -> Result<f64> {
    let connections = (0..CONNECTIONS).map(|_| Connection::open(address, request));
    let mut connections = connections.collect::<Result<Vec<_>>>()?;
    let (began, mut number) = (Instant::now(), 0_u64);
    let mut buffer = [0; 4096];
    while began.elapsed() < time {
        for connection in &mut connections {
            number += u64::from(connection.goes_on(request, &mut buffer)?);
        }
    }
    ensure!(number > 0, "no request was answered in {time:?}");
    Ok(number as f64)
}

/// Does something with this thread, and those that it starts, on one processor.
///
/// # Errors
/// If the machine has no such processor.
pub fn on_core<T>(core: usize, act: impl FnOnce() -> T) -> Result<T> {
    // SAFETY: zeroes are a value of it.
    let (mut before, mut wanted): (libc::cpu_set_t, libc::cpu_set_t) = unsafe { mem::zeroed() };
    // SAFETY: each set and its size belong together.
    let is_set = unsafe {
        libc::CPU_SET(core, &mut wanted);
        libc::sched_getaffinity(0, size_of_val(&before), &raw mut before) == 0
            && libc::sched_setaffinity(0, size_of_val(&wanted), &raw const wanted) == 0
    };
    ensure!(is_set, "no processor {core}: {}", std::io::Error::last_os_error());
    let done = act();
    // SAFETY: the set and its size belong together.
    unsafe { libc::sched_setaffinity(0, size_of_val(&before), &raw const before) };
    Ok(done)
}

/// The command `pointwork`, built in release.
///
/// # Errors
/// If it does not build.
pub fn pointwork() -> Result<PathBuf> {
    // `target/release/deps/BENCHMARK`
    let program = env::current_exe()?;
    let target = program.ancestors().nth(3).context("no target folder")?;
    let mut build = Command::new(env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned()));
    build.args([
        "build",
        "--release",
        "--package",
        "pointwork-cli",
        "--quiet",
        "--target-dir",
    ]);
    build.arg(target).current_dir(env!("CARGO_MANIFEST_DIR"));
    // With those of the benchmark build scripts would run again, here and in the next build.
    for (name, _) in
        env::vars().filter(|(name, _)| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_"))
    {
        build.env_remove(name);
    }
    ensure!(build.status()?.success(), "the command does not build");
    Ok(target.join("release/pointwork"))
}
