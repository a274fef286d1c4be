//! The load: as many requests as the server answers, or a fixed rate.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow};
use pointwork_load::{LOAD_CORE, on_core};

use crate::client::{Connection, Reply};

/// A request that is sent repeatedly.
#[derive(Clone)]
pub(crate) struct Kind {
    /// The index under which the figures are collected.
    pub(crate) label: usize,
    pub(crate) bytes: Vec<u8>,
}

impl Kind {
    pub(crate) fn get(label: usize, path: &str) -> Self {
        Self {
            label,
            bytes: crate::client::get(path),
        }
    }
}

/// Checks the replies.
pub(crate) trait Judge: Send + Sync + 'static {
    /// The state that is recorded before a request is sent.
    fn before(&self) -> u32 {
        0
    }

    /// Checks a reply; the error is the reason.
    fn judge(&self, label: usize, before: u32, reply: &Reply) -> Result<(), String>;
}

/// Each kind of request has its expected status.
pub(crate) struct Statuses(pub &'static [u16]);

impl Judge for Statuses {
    fn judge(&self, label: usize, _: u32, reply: &Reply) -> Result<(), String> {
        if self.0[label] == reply.status {
            return Ok(());
        }
        Err(format!("{} instead of {}", reply.status, self.0[label]))
    }
}

/// All requests have one of these statuses.
pub(crate) struct OneOf(pub &'static [u16]);

impl Judge for OneOf {
    fn judge(&self, _: usize, _: u32, reply: &Reply) -> Result<(), String> {
        if self.0.contains(&reply.status) {
            return Ok(());
        }
        Err(format!("{} instead of one of {:?}", reply.status, self.0))
    }
}

/// The shape of the load.
#[derive(Clone, Copy)]
pub(crate) struct Pressure {
    pub(crate) connections: usize,
    /// Requests per second over all connections; `None` sends each request when the one before is answered.
    pub(crate) rate: Option<f64>,
    /// Whether the load is pinned to a core of its own; the servers have the other one.
    pub(crate) pinned: bool,
}

/// The results of a load.
#[derive(Clone, Default)]
pub(crate) struct Tally {
    /// The latency of each right reply in milliseconds, by label. A request that was sent late counts from the time
    /// when it was due.
    pub(crate) latencies: Vec<Vec<f32>>,
    /// The number of failed requests, by label.
    pub(crate) failures: Vec<u64>,
    /// The first failure.
    pub(crate) first: Option<String>,
    pub(crate) seconds: f64,
}

impl Tally {
    fn new(labels: usize) -> Self {
        Self {
            latencies: vec![Vec::new(); labels],
            failures: vec![0; labels],
            ..Self::default()
        }
    }

    fn add(&mut self, other: Self) {
        for (all, more) in self.latencies.iter_mut().zip(other.latencies) {
            all.extend(more);
        }
        for (all, more) in self.failures.iter_mut().zip(other.failures) {
            *all += more;
        }
        self.first = self.first.take().or(other.first);
        self.seconds = self.seconds.max(other.seconds);
    }

    pub(crate) fn answered(&self) -> usize {
        self.latencies.iter().map(Vec::len).sum()
    }

    pub(crate) fn failed(&self) -> u64 {
        self.failures.iter().sum()
    }

    /// Right replies per second, of some labels.
    pub(crate) fn rate(&self, labels: &[usize]) -> f64 {
        let answered: usize = labels.iter().map(|&label| self.latencies[label].len()).sum();
        answered as f64 / self.seconds
    }

    /// A percentile of the latencies of some labels, in milliseconds.
    pub(crate) fn percentile(&self, labels: &[usize], percent: f64) -> f64 {
        let mut all: Vec<f32> = labels
            .iter()
            .flat_map(|&label| self.latencies[label].iter().copied())
            .collect();
        if all.is_empty() {
            return f64::NAN;
        }
        all.sort_by(f32::total_cmp);
        f64::from(all[((all.len() - 1) as f64 * percent / 100.0) as usize])
    }
}

/// A running load, on a thread of its own.
pub(crate) struct AtWork {
    over: Arc<AtomicBool>,
    thread: JoinHandle<Result<Tally>>,
}

impl AtWork {
    /// Ends the load after the requests in flight are answered.
    pub(crate) fn end(self) -> Result<Tally> {
        self.over.store(true, Ordering::SeqCst);
        self.thread.join().map_err(|_| anyhow!("the load panicked"))?
    }
}

impl Pressure {
    /// Starts a load that sends the kinds in turn, on each connection.
    pub(crate) fn begin(self, address: SocketAddr, kinds: Vec<Kind>, judge: Arc<dyn Judge>) -> AtWork {
        let over = Arc::new(AtomicBool::new(false));
        let is_over = over.clone();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .context("a runtime")?;
            let drive = || runtime.block_on(self.drive(address, kinds, judge, is_over));
            if self.pinned {
                on_core(LOAD_CORE, drive)?
            } else {
                drive()
            }
        });
        AtWork { over, thread }
    }

    /// Sends until the load is over.
    pub(crate) fn run(
        self,
        address: SocketAddr,
        kinds: Vec<Kind>,
        judge: Arc<dyn Judge>,
        span: Duration,
    ) -> Result<Tally> {
        let at_work = self.begin(address, kinds, judge);
        std::thread::sleep(span);
        at_work.end()
    }

    async fn drive(
        self,
        address: SocketAddr,
        kinds: Vec<Kind>,
        judge: Arc<dyn Judge>,
        over: Arc<AtomicBool>,
    ) -> Result<Tally> {
        let labels = kinds.iter().map(|kind| kind.label + 1).max().unwrap_or_default();
        let began = Instant::now();
        let sends = (0..self.connections).map(|number| {
            let sender = Sender {
                address,
                kinds: kinds.clone(),
                judge: judge.clone(),
                over: over.clone(),
                began,
                number,
                interval: self
                    .rate
                    .map(|rate| Duration::from_secs_f64(self.connections as f64 / rate)),
                offset: self
                    .rate
                    .map_or(Duration::ZERO, |rate| Duration::from_secs_f64(number as f64 / rate)),
            };
            tokio::spawn(sender.send(Tally::new(labels)))
        });
        let mut tally = Tally::new(labels);
        for sender in sends.collect::<Vec<_>>() {
            tally.add(sender.await?);
        }
        Ok(tally)
    }
}

/// One connection of a load.
struct Sender {
    address: SocketAddr,
    kinds: Vec<Kind>,
    judge: Arc<dyn Judge>,
    over: Arc<AtomicBool>,
    began: Instant,
    number: usize,
    interval: Option<Duration>,
    offset: Duration,
}

impl Sender {
    async fn send(self, mut tally: Tally) -> Tally {
        let mut connection = None;
        let mut sent = 0_u32;
        while !self.over.load(Ordering::SeqCst) {
            let from = self.due(sent).await;
            // Each connection starts at another kind, so that the kinds are mixed at any moment.
            let kind = &self.kinds[(self.number + sent as usize) % self.kinds.len()];
            sent += 1;
            if let Err(error) = self.exchange(&mut connection, kind).await {
                tally.failures[kind.label] += 1;
                tally.first.get_or_insert(error);
            } else {
                tally.latencies[kind.label].push(from.elapsed().as_secs_f32() * 1e3);
            }
        }
        tally.seconds = self.began.elapsed().as_secs_f64();
        tally
    }

    /// Waits until the next request is due, and returns the time from which its latency counts.
    async fn due(&self, sent: u32) -> Instant {
        let now = Instant::now();
        let Some(interval) = self.interval else { return now };
        let due = self.began + self.offset + interval * sent;
        if due > now {
            tokio::time::sleep_until(due.into()).await;
            return Instant::now();
        }
        due
    }

    async fn exchange(&self, connection: &mut Option<Connection>, kind: &Kind) -> Result<(), String> {
        let told = |error: anyhow::Error| format!("{error:#}");
        if connection.is_none() {
            *connection = Some(Connection::open(self.address).await.map_err(told)?);
        }
        let Some(open) = connection else { return Ok(()) };
        let before = self.judge.before();
        match open.ask(&kind.bytes).await {
            Ok(reply) => self.judge.judge(kind.label, before, reply),
            Err(error) => {
                *connection = None;
                Err(told(error))
            }
        }
    }
}
