//! The servers that run in processes of this program.

use std::net::TcpListener;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use pointwork::{App, Context};
use pointwork_bench::servers::start_on;
use pointwork_bench::{app, bare, items, option};

/// The command that runs a server: the form is `alone`, `limited`, `items`, `routes` or `all`.
pub(crate) fn command(form: &str, adapter: &str, component: Option<&Path>) -> Result<Command> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["--server", form, "--adapter", adapter]);
    if let Some(component) = component {
        command.arg("--component").arg(component);
    }
    Ok(command)
}

/// Serves until the input ends.
pub(crate) fn run(form: &str) -> Result<()> {
    let adapter = option("--adapter").context("no adapter")?;
    let alone = match form {
        "alone" => bare::FRAMEWORKS
            .iter()
            .find(|(name, _)| *name == adapter)
            .map(|(_, serve)| *serve),
        "limited" => Some(bare::limited as bare::Serve),
        _ => None,
    };
    if let Some(serve) = alone {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        listener.set_nonblocking(true)?;
        println!("http://{}", listener.local_addr()?);
        return serve(listener);
    }
    let runtime = tokio::runtime::Runtime::new()?;
    let app = runtime.block_on(async {
        match form {
            "items" => items(option("--component").as_deref()).await,
            "routes" => routes(),
            _ => {
                ensure!(form == "all", "there is no server `{form}`");
                app().await
            }
        }
    })?;
    println!("http://{}", start_on(&app, &adapter)?);
    std::io::copy(&mut std::io::stdin(), &mut std::io::sink())?;
    Ok(())
}

/// Routes with the same number of segments and the same beginning: the worst case for a framework that tries its routes in turn.
fn routes() -> Result<App> {
    let app = App::new()?;
    for route in 1..=1_000 {
        app.get(&format!("/api/r{route:04}/:id"), |ctx: Context| async move {
            ctx.param("id").map(str::to_owned)
        })?;
    }
    Ok(app)
}
