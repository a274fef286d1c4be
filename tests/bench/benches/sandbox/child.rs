//! Servers in a process of their own, so that their memory, processor time or start can be measured.

use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::process::{Child as Process, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use pointwork::{App, AppOptions, Breaker, CacheDirectory, ConnectOptions, ModuleLimits, ModuleOptions, Worker};
use pointwork_bench::load::option;
use pointwork_bench::servers::start_on;
use pointwork_hyper::Hyper;
use pointwork_suite::guest::laden;

use crate::guests::{Runs, bad, good};
use crate::{number, slow};

/// A server that runs until this value is dropped.
pub struct Child {
    process: Process,
    input: ChildStdin,
    lines: Receiver<String>,
    pub address: SocketAddr,
}

impl Child {
    /// Starts a server of that role and waits until it listens.
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
                // The parent process may have closed its end.
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

    /// Sends a command. The server answers with a line when it has carried it out.
    pub fn tell(&mut self, line: &str) -> Result<()> {
        Ok(writeln!(self.input, "{line}")?)
    }

    /// The next line that the server prints, if it prints one before the deadline.
    pub fn says(&self, within: Duration) -> Option<String> {
        self.lines.recv_timeout(within).ok()
    }

    /// The server's resident memory, in MiB.
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
        // The server may have ended by itself.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The server that runs in the process of a [`Child`].
pub fn run(role: &str) -> Result<()> {
    let runtime = tokio::runtime::Runtime::new()?;
    let app = match role {
        "sandbox" => runtime.block_on(sandbox())?,
        "start" => runtime.block_on(started())?,
        "slow" => runtime.block_on(slow::application())?,
        "attacks" => runtime.block_on(crate::attacks::application())?,
        "memory" => runtime.block_on(crate::memory::app())?,
        other => bail!("there is no role `{other}`"),
    };
    if let Some(adapter) = option("--adapter") {
        println!("{}", start_on(&app, &adapter)?);
    } else {
        let hyper = Hyper::new();
        app.connect_to(hyper.clone(), ConnectOptions::new())?;
        let listener = runtime.block_on(hyper.bind("127.0.0.1:0"))?;
        println!("{}", listener.local_addr()?);
        runtime.spawn(async move { hyper.serve(listener).await });
    }
    // Ends with the parent process, even if that is killed.
    for line in std::io::stdin().lines() {
        let line = line?;
        if line == "names" {
            let refused = runtime.block_on(app.module("names").bytes(crate::memory::names()).load());
            println!("{}", if refused.is_err() { "refused" } else { "loaded" });
        }
        if line == "heavy" {
            let heavy = laden(&Runs::Synchronous.build(good("heavy")), functions()?, FUNCTION);
            match runtime.block_on(app.module("heavy").bytes(heavy).swap()) {
                Ok(_) => println!("swapped in"),
                Err(error) => println!("refused: {error}"),
            }
        }
    }
    Ok(())
}

/// The length of a function of the heavy component, in instructions.
const FUNCTION: usize = 4_000;

/// The number of functions of the heavy component.
fn functions() -> Result<usize> {
    Ok(usize::try_from(number("--functions", 1_000)?)?)
}

/// Good and bad modules, each in every form, and one module that a heavy component replaces later.
async fn sandbox() -> Result<App> {
    let mut options = AppOptions::new();
    options.max_instances = 4_000;
    options.compile.worker = Some(Worker::new(std::env::current_exe()?).argument("--compile-worker"));
    let app = App::with_options(options)?;
    let limits = ModuleLimits::new()
        .memory(4 * 1024 * 1024)
        .deadline(Duration::from_secs(1));
    // Every request has to run: the circuit breaker would save the server the work.
    let breaker = Breaker::new().crashes(0);
    for (at, runs) in Runs::ALL.into_iter().enumerate() {
        let (name, prefix) = (format!("good-{at}"), format!("good/{at}"));
        app.module(&name).bytes(runs.build(good(&prefix))).load().await?;
        let (name, prefix) = (format!("bad-{at}"), format!("bad/{at}"));
        let options = ModuleOptions::new().limits(limits.clone()).breaker(breaker.clone());
        app.module(&name)
            .bytes(runs.build(bad(&prefix)))
            .options(options)
            .load()
            .await?;
    }
    app.module("heavy")
        .bytes(Runs::Synchronous.build(good("heavy")))
        .load()
        .await?;
    Ok(app)
}

/// One module or one native handler, with the same reply.
async fn started() -> Result<App> {
    let mut options = AppOptions::new();
    options.max_instances = u32::try_from(number("--instances", options.max_instances.into())?)?;
    if let Some(cache) = option("--cache") {
        options.cache = Some(CacheDirectory::open(cache)?);
    }
    let app = App::with_options(options)?;
    match option("--component") {
        Some(file) => drop(app.module("first").file(file).load().await?),
        None => drop(app.get("/plain/:id", |ctx: pointwork::Context| async move {
            ctx.param("id").map(str::to_owned)
        })?),
    }
    Ok(app)
}
