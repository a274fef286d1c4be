//! The same controller in each language: `GET /items/7/call` reads a parameter, calls an event and answers JSON. The modules are served
//! by the adapter of hyper; beside them NestJS and FastAPI. And what an instance of each costs, and what is left of exceptions.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{env, fs};

use anyhow::{Context as _, Result, ensure};
use futures_util::stream::{self, FuturesUnordered, StreamExt as _};
use pointwork::{App, AppOptions, CacheDirectory, Delivery, Isolation, ModuleLimits, ModuleOptions, Payload};
use pointwork_bench::{IN_FLIGHT, WAIT, component, option, reply, request, target};
use pointwork_load::{Estimate, memory, pointwork};
use tokio::sync::Barrier;

use crate::http::{Subject, section};
use crate::server::command;
use crate::{Table, peers};

const PATH: &str = "/items/7/call";
const NEST: &str = "NestJS on Fastify, with an event";
const FASTAPI: &str = "FastAPI on uvicorn, with an event";

/// A module of the comparison.
struct Language {
    name: &'static str,
    /// What `pointwork new --lang` calls it, the file with the module, and the file of the project that it replaces; `None` for Rust.
    project: Option<[&'static str; 3]>,
    /// Whether each of 1,000 waiting requests gets what it needs: an instance of Python takes too much for that.
    waits: bool,
    references: &'static [&'static str],
}

const RUST: &str = "Rust, with a call";
const LANGUAGES: [Language; 4] = [
    Language {
        name: RUST,
        project: None,
        waits: true,
        references: &[NEST, FASTAPI],
    },
    Language {
        name: "TypeScript, with a call",
        project: Some(["ts", "items.ts", "src/module.ts"]),
        waits: true,
        references: &[RUST, NEST],
    },
    Language {
        name: "Python, with a call",
        project: Some(["python", "items.py", "src/app.py"]),
        waits: false,
        references: &[RUST, FASTAPI],
    },
    Language {
        name: "Python, asynchronous, with a call",
        project: Some(["python", "items_async.py", "src/app.py"]),
        waits: true,
        references: &[RUST, FASTAPI],
    },
];

impl Language {
    /// The component. A project is made and built if its source has changed.
    fn component(&self) -> Result<PathBuf> {
        let Some([language, source, place]) = self.project else {
            return component("items");
        };
        let source = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("guests/languages")
            .join(source);
        let folder = target()?.join("languages");
        fs::create_dir_all(&folder)?;
        let name = source
            .file_stem()
            .context("a name")?
            .to_string_lossy()
            .replace('_', "-");
        let name = format!("{name}-{language}");
        let (project, component) = (folder.join(&name), folder.join(format!("{name}.wasm")));
        let is_built = fs::read(project.join(place)).ok() == Some(fs::read(&source)?);
        if is_built && component.is_file() {
            return Ok(component);
        }
        let program = pointwork()?;
        if !project.is_dir() {
            let mut new = Command::new(&program);
            run(new.args(["new", &name, "--lang", language]).current_dir(&folder))?;
        }
        fs::copy(source, project.join(place))?;
        let mut build = Command::new(program);
        run(build.args(["build", "--out"]).arg(&folder).current_dir(&project))?;
        Ok(component)
    }
}

fn run(command: &mut Command) -> Result<()> {
    let output = command
        .output()
        .with_context(|| format!("{command:?} does not start"))?;
    ensure!(
        output.status.success(),
        "{command:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(())
}

pub(crate) fn measure(table: &mut Table) -> Result<()> {
    let peer = |name, command: fn() -> Result<Command>| Subject::new(name, PATH, &[], command);
    let mut subjects = vec![peer(NEST, peers::nest), peer(FASTAPI, peers::fastapi)];
    for language in &LANGUAGES {
        let references: Vec<_> = language.references.iter().map(|name| (*name).to_owned()).collect();
        subjects.push(Subject::new(language.name, PATH, &references, || {
            command("items", "hyper", Some(&language.component()?))
        }));
    }
    section(table, "languages", subjects)?;
    if table.wants("languages", "instances") {
        instances()?;
    }
    if table.wants("languages", "exceptions") {
        exceptions(if table.quick { 10_000 } else { 1_000_000 })?;
    }
    Ok(())
}

/// A figure of a process of its own.
fn figure_of(component: &Path, what: &str) -> Result<f64> {
    let mut program = Command::new(env::current_exe()?);
    let output = program
        .args(["--instances", what, "--component"])
        .arg(component)
        .output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8(output.stdout)?.trim().parse()?)
}

/// Whether exceptions of handlers leave memory behind. A panic in Rust is a crash, so that Rust has none.
fn exceptions(count: usize) -> Result<()> {
    println!("\n| {count} exceptions | more memory than after a tenth of them, MiB |\n|---|---|");
    for language in LANGUAGES.iter().filter(|language| language.project.is_some()) {
        let growth = figure_of(&language.component()?, &count.to_string())?;
        println!("| {} | {growth:.1} |", language.name);
    }
    Ok(())
}

/// What an instance costs, each in a process of its own.
fn instances() -> Result<()> {
    println!(
        "\n| instances | component, MB | first answer of a new one, ms | MiB of one | {IN_FLIGHT} waiting requests, MiB |\n\
         |---|---|---|---|---|"
    );
    for language in &LANGUAGES {
        let path = language.component()?;
        let of = |what: &str| figure_of(&path, what);
        let waiting = if language.waits {
            format!("{:.0}", of("waiting")?)
        } else {
            String::new()
        };
        println!(
            "| {} | {:.2} | {:.2} | {:.2} | {waiting} |",
            language.name,
            fs::metadata(&path)?.len() as f64 / 1e6,
            of("new")?,
            of("one")?
        );
    }
    Ok(())
}

/// The time in which the instances of all requests are made.
const LONG: Duration = Duration::from_mins(2);

/// The work of one of those processes.
pub(crate) fn print(what: &str) -> Result<()> {
    let figure = tokio::runtime::Runtime::new()?.block_on(figure(what))?;
    println!("{figure}");
    Ok(())
}

async fn figure(what: &str) -> Result<f64> {
    let mut options = AppOptions::new();
    options.cache = Some(CacheDirectory::open(target()?.join("cache"))?);
    // An instance of a language takes several places of the pool.
    options.max_instances = 6_000;
    options.router.deadline = Some(LONG);
    options.bus.deadline = LONG;
    let app = App::with_options(options)?;
    let count = if what == "one" { 8 } else { IN_FLIGHT };
    // All of them wait at the same time, whatever a new instance takes.
    let all = Arc::new(Barrier::new(count));
    app.channel("bench")
        .on_raw("name", |_: Delivery, _: Payload| async { Ok(Payload::json("Assam")?) })?
        .on_raw("wait", move |_: Delivery, _: Payload| {
            let all = all.clone();
            async move {
                all.wait().await;
                tokio::time::sleep(10 * WAIT).await;
                Ok(Payload::null())
            }
        })?;
    // A handler has three quarters of them.
    let limits = ModuleLimits::new().instances(2 * IN_FLIGHT);
    let limits = limits.queue_wait(LONG).deadline(LONG);
    let mut module = ModuleOptions::new().limits(limits);
    if what == "new" {
        module.isolation = Some(Isolation::Fresh);
    }
    let component = option("--component").context("no component")?;
    app.module("items").file(component).options(module).load().await?;
    let now = || memory("self", "VmRSS");
    if let Ok(exceptions) = what.parse::<usize>() {
        raise(&app, exceptions / 10).await?;
        let before = now()?;
        raise(&app, exceptions - exceptions / 10).await?;
        return Ok(now()? - before);
    }
    let before = now()?;
    if what == "new" {
        let mut times = Vec::new();
        for _ in 0..30 {
            let began = Instant::now();
            request(&app, PATH).await?;
            times.push(began.elapsed().as_secs_f64() * 1e3);
        }
        return Ok(Estimate::of(times).middle);
    }
    let mut waiting: FuturesUnordered<_> = (0..count).map(|_| request(&app, "/items/wait")).collect();
    let mut most = before;
    loop {
        let wait = tokio::time::timeout(WAIT, waiting.next());
        most = most.max(now()?);
        match wait.await {
            Ok(Some(reply)) => drop(reply?),
            Ok(None) => break,
            Err(_) => {}
        }
    }
    // Instances that are idle are kept. Eight requests have as many instances, or one for each processor if many share one.
    let instances = if what == "one" {
        app.statuses()[0].usage.instances.max(1)
    } else {
        1
    };
    Ok((most - before) / instances as f64)
}

/// Requests whose handler raises an exception, a few at a time.
async fn raise(app: &App, count: usize) -> Result<()> {
    let asked = stream::iter(0..count).map(|_| reply(app, "/items/raise"));
    let mut replies = asked.buffer_unordered(16);
    while let Some(reply) = replies.next().await {
        let reply = reply?;
        ensure!(
            reply.status() == 500,
            "an exception was answered with {}",
            reply.status()
        );
    }
    Ok(())
}
