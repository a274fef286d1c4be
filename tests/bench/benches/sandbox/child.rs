//! Servers in a process of their own, so that their memory can be measured.

use std::process::Command;
use std::time::Duration;

use anyhow::{Result, bail};
use pointwork::{App, AppOptions, Breaker, ConnectOptions, ModuleLimits, ModuleOptions, Worker};
use pointwork_bench::option;
use pointwork_bench::servers::start_on;
use pointwork_hyper::Hyper;
use pointwork_load::Server;
use pointwork_suite::guest::laden;

use crate::guests::{Runs, bad, good};
use crate::{number, slow};

/// Starts a server of that role, on all cores.
pub(crate) fn start(role: &str, arguments: &[&str]) -> Result<Server> {
    let mut command = Command::new(std::env::current_exe()?);
    Server::start(command.args(["--child", role]).args(arguments))
}

/// The server that runs in a process of its own.
pub(crate) fn run(role: &str) -> Result<()> {
    let runtime = tokio::runtime::Runtime::new()?;
    let app = match role {
        "sandbox" => runtime.block_on(sandbox())?,
        "slow" => runtime.block_on(slow::application())?,
        "attacks" => runtime.block_on(crate::attacks::application())?,
        "memory" => runtime.block_on(crate::memory::app())?,
        other => bail!("there is no role `{other}`"),
    };
    if let Some(adapter) = option("--adapter") {
        println!("http://{}", start_on(&app, &adapter)?);
    } else {
        let hyper = Hyper::new();
        app.connect_to(hyper.clone(), ConnectOptions::new())?;
        let listener = runtime.block_on(hyper.bind("127.0.0.1:0"))?;
        println!("http://{}", listener.local_addr()?);
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
