//! A server in a process of its own.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::SocketAddr;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};

use crate::{Connection, LOAD_CORE, Request, on_core, send};

/// A server that runs until this value is dropped.
#[derive(Debug)]
pub struct Server {
    process: Child,
    input: ChildStdin,
    lines: Receiver<String>,
    /// The address on which it listens.
    pub address: SocketAddr,
}

/// The requests of a few seconds, and what they cost.
#[derive(Clone, Copy, Debug)]
pub struct Burst {
    /// The number of requests.
    pub requests: f64,
    /// The seconds that they took.
    pub seconds: f64,
    /// The processor time of a request in the server's own code, in µs, over all threads of its process.
    pub user: f64,
    /// The processor time of a request in the kernel, in µs.
    pub system: f64,
}

impl Burst {
    /// The processor time of a request, in µs.
    pub fn micros(&self) -> f64 {
        self.user + self.system
    }

    /// Requests per second.
    pub fn rate(&self) -> f64 {
        self.requests / self.seconds
    }
}

impl Server {
    /// Starts a program that prints its address behind `http://` on its standard output, perhaps after other lines.
    ///
    /// # Errors
    /// If it ends before.
    pub fn start(command: &mut Command) -> Result<Self> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn().with_context(|| format!("{command:?} does not start"))?;
        let input = process.stdin.take().context("no input")?;
        let output = process.stdout.take().context("no output")?;
        let mut output = BufReader::new(output).lines().map_while(Result::ok);
        let address = output.by_ref().find_map(|line| {
            let address = line.split_once("http://")?.1;
            let end = address.find(|letter: char| !letter.is_ascii_digit() && !".:".contains(letter));
            address[..end.unwrap_or(address.len())].parse().ok()
        });
        let address = address.with_context(|| format!("{command:?} does not listen"))?;
        let (sender, lines) = mpsc::channel();
        // A server whose output nobody reads blocks once the pipe is full.
        thread::spawn(move || output.for_each(|line| drop(sender.send(line))));
        Ok(Self {
            process,
            input,
            lines,
            address,
        })
    }

    /// The same, with all threads of the program on one processor.
    ///
    /// # Errors
    /// If it ends before it listens.
    pub fn start_on(core: usize, command: &mut Command) -> Result<Self> {
        on_core(core, || Self::start(command))?
    }

    /// Sends it a line.
    ///
    /// # Errors
    /// If it does not read.
    pub fn tell(&mut self, line: &str) -> Result<()> {
        Ok(writeln!(self.input, "{line}")?)
    }

    /// The next line that it prints, if it prints one in that time.
    pub fn says(&self, within: Duration) -> Option<String> {
        self.lines.recv_timeout(within).ok()
    }

    /// A field of its memory, in MiB: `VmRSS`, or the peak `VmHWM`.
    ///
    /// # Errors
    /// If it has ended.
    pub fn memory(&self, field: &str) -> Result<f64> {
        memory(&self.process.id().to_string(), field)
    }

    /// Sends a request, and checks the reply.
    ///
    /// # Errors
    /// If the reply is another one.
    pub fn ask(&self, request: &Request) -> Result<()> {
        let mut connection = Connection::open(self.address, request)?;
        while !connection.goes_on(request, &mut [0; 4096])? {}
        Ok(())
    }

    /// Sends requests for that time, from the processor of the load.
    ///
    /// # Errors
    /// If a reply is another one.
    pub fn burst(&self, request: &Request, time: Duration) -> Result<Burst> {
        let (before, began) = (spent(self.process.id())?, Instant::now());
        let requests = on_core(LOAD_CORE, || send(self.address, request, time))??;
        let (after, seconds) = (spent(self.process.id())?, began.elapsed().as_secs_f64());
        Ok(Burst {
            requests,
            seconds,
            user: (after[0] - before[0]) / requests,
            system: (after[1] - before[1]) / requests,
        })
    }
}

/// The processor time that a process has used, in its own code and in the kernel, in µs, over all its threads.
///
/// # Errors
/// If there is no such process.
pub fn spent(process: u32) -> Result<[f64; 2]> {
    let process = libc::pid_t::try_from(process)?;
    let mut id = 0;
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the id and the time are places for the results.
    let is_read =
        unsafe { libc::clock_getcpuclockid(process, &raw mut id) == 0 && libc::clock_gettime(id, &raw mut time) == 0 };
    ensure!(is_read, "the process ended");
    let sum = time.tv_sec as f64 * 1e6 + time.tv_nsec as f64 / 1e3;
    // The clock is exact; the kernel splits its time by ticks.
    let stat = fs::read_to_string(format!("/proc/{process}/stat"))?;
    let (_, fields) = stat.rsplit_once(')').context("no fields")?;
    let ticks = fields.split_whitespace().skip(11).take(2).map(str::parse::<f64>);
    let ticks = ticks.collect::<Result<Vec<_>, _>>()?;
    let user = sum * ticks[0] / (ticks[0] + ticks[1]).max(1.0);
    Ok([user, sum - user])
}

/// A field of the memory of a process, in MiB; `self` is this one.
///
/// # Errors
/// If there is no such process.
pub fn memory(process: &str, field: &str) -> Result<f64> {
    let status = fs::read_to_string(format!("/proc/{process}/status"))?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
    let kib = line
        .and_then(|line| line.split_whitespace().next())
        .context("no such field")?;
    Ok(kib.parse::<f64>()? / 1024.0)
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
