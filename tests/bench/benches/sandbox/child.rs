//! Servers in a process of their own, where their memory, their processors or their start is what is measured.

use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::process::{Child as Process, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use pointwork::{App, AppOptions, Breaker, CacheDirectory, ConnectOptions, ModuleLimits, ModuleOptions, Worker};
use pointwork_bench::load::option;
use pointwork_hyper::Hyper;
use pointwork_suite::guest::laden;

use crate::guests::{Runs, bad, good};
use crate::number;

/// A server that runs until this is dropped.
pub struct Child {
    process: Process,
    input: ChildStdin,
    lines: Receiver<String>,
    pub address: SocketAddr,
}

impl Child {
    /// Starts a server of that role, and waits until it listens.
    pub fn start(role: &str, arguments: &[&str]) -> Result<Self> {
        let mut process = Command::new(std::env::current_exe()?)
            .args(["--child", role])
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let input = process.stdin.take().context("no way in")?;
        let output = process.stdout.take().context("no way out")?;
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                // Whoever started it may be done with it.
                let _ = sender.send(line);
            }
        });
        let line: String = lines.recv().context("the server ended before it listened")?;
        let address = line.parse().with_context(|| format!("the server said {line:?}"))?;
        Ok(Self {
            process,
            input,
            lines,
            address,
        })
    }

    /// Tells it to do something. It answers with a line when that is done.
    pub fn tell(&mut self, line: &str) -> Result<()> {
        Ok(writeln!(self.input, "{line}")?)
    }

    /// The next line that it says, if it says one by then.
    pub fn says(&self, within: Duration) -> Option<String> {
        self.lines.recv_timeout(within).ok()
    }

    /// Its resident memory, in MiB.
    pub fn resident(&self) -> Result<f64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process.id()))
            .context("this benchmark needs Linux's /proc")?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kib = line
            .and_then(|line| line.split_whitespace().next())
            .context("no VmRSS")?;
        Ok(kib.parse::<f64>()? / 1024.0)
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// What runs in the process of a [`Child`].
pub fn run(role: &str) -> Result<()> {
    let runtime = tokio::runtime::Runtime::new()?;
    let app = match role {
        "sandbox" => runtime.block_on(sandbox())?,
        "start" => runtime.block_on(started())?,
        other => bail!("there is no role `{other}`"),
    };
    let hyper = Hyper::new();
    app.connect_to(hyper.clone(), ConnectOptions::new())?;
    let listener = runtime.block_on(hyper.bind("127.0.0.1:0"))?;
    println!("{}", listener.local_addr()?);
    let serving = runtime.spawn(async move { hyper.serve(listener).await });
    // Ends with the process that started this one, whatever becomes of that.
    for line in std::io::stdin().lines() {
        if line? == "heavy" {
            let heavy = laden(&Runs::Synchronous.build(good("heavy")), functions()?, FUNCTION);
            match runtime.block_on(app.swap("heavy", heavy)) {
                Ok(_) => println!("swapped in"),
                Err(error) => println!("refused: {error}"),
            }
        }
    }
    serving.abort();
    Ok(())
}

/// How long a function of the heavy component is, in instructions.
const FUNCTION: usize = 4_000;

/// How many functions the heavy component has.
fn functions() -> Result<usize> {
    Ok(usize::try_from(number("--functions", 1_000)?)?)
}

/// Good and bad modules, each in every way to run, and one that is light so far.
async fn sandbox() -> Result<App> {
    let mut options = AppOptions::default();
    options.max_instances = 4_000;
    options.compile.worker = Some(Worker::new(std::env::current_exe()?).argument("--compile-worker"));
    let app = App::with_options(options)?;
    let mut limits = ModuleLimits::default();
    limits.memory = 4 * 1024 * 1024;
    limits.deadline = Some(Duration::from_secs(1));
    // Every request is to be served: what holds a module back would spare it the work.
    let mut breaker = Breaker::default();
    breaker.crashes = 0;
    for (at, runs) in Runs::ALL.into_iter().enumerate() {
        let (name, prefix) = (format!("good-{at}"), format!("good/{at}"));
        app.load(&name, runs.build(good(&prefix))).await?;
        let (name, prefix) = (format!("bad-{at}"), format!("bad/{at}"));
        let options = ModuleOptions::new().limits(limits.clone()).breaker(breaker.clone());
        app.load_with(&name, runs.build(bad(&prefix)), options).await?;
    }
    app.load("heavy", Runs::Synchronous.build(good("heavy"))).await?;
    Ok(app)
}

/// One module or one native handler, which answers the same.
async fn started() -> Result<App> {
    let mut options = AppOptions::default();
    options.max_instances = u32::try_from(number("--instances", options.max_instances.into())?)?;
    if let Some(cache) = option("--cache") {
        options.cache = Some(CacheDirectory::open(cache)?);
    }
    let app = App::with_options(options)?;
    match option("--component") {
        Some(file) => drop(app.load_file("first", file).await?),
        None => drop(app.get("/plain/:id", |ctx: pointwork::Context| async move {
            ctx.param("id").map(str::to_owned)
        })?),
    }
    Ok(app)
}
