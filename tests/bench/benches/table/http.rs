//! A request over HTTP/1.1, `GET /items/7`: 32 kept connections. Each server is a process, all of whose threads are on one core; the
//! load is on the other. The subjects take turns, in random order, and each ratio compares bursts of one round: it is the number
//! of requests that a subject serves in the processor time in which its reference serves one.

use std::path::Path;
use std::process::{Command, Stdio};
use std::slice::from_ref;

use anyhow::{Context as _, Result};
use pointwork_bench::bare::FRAMEWORKS;
use pointwork_bench::{Item, component};
use pointwork_load::{Burst, Estimate, Request, SERVER_CORE, Server, median, pointwork, turns};

use crate::server::command;
use crate::{Table, peers};

/// A server, and the request for it.
pub(crate) struct Subject<'a> {
    name: String,
    /// Made when it is wanted: some are built or installed first.
    command: Box<dyn FnOnce() -> Result<Command> + 'a>,
    request: Request,
    /// The subjects with which it is compared.
    references: Vec<String>,
}

impl<'a> Subject<'a> {
    pub(crate) fn new(
        name: impl Into<String>,
        path: &str,
        references: &[String],
        command: impl FnOnce() -> Result<Command> + 'a,
    ) -> Self {
        Self {
            name: name.into(),
            command: Box::new(command),
            request: Request::get(path, Item::JSON),
            references: references.to_vec(),
        }
    }
}

pub(crate) fn measure(table: &mut Table) -> Result<()> {
    let items = [component("items")?, component("items-async")?];
    let [synchronous, asynchronous] = [items[0].as_path(), items[1].as_path()];
    section(table, "forms", forms(synchronous, asynchronous))?;
    section(table, "frameworks", frameworks(synchronous))?;
    section(table, "routes", routes())?;
    section(table, "commands", commands(synchronous, asynchronous))
}

fn alone() -> Subject<'static> {
    Subject::new("hyper alone", PATH, &[], || command("alone", "hyper", None))
}

const PATH: &str = "/items/7";

fn forms<'a>(synchronous: &'a Path, asynchronous: &'a Path) -> Vec<Subject<'a>> {
    let first = alone();
    let references = from_ref(&first.name);
    let limited = Subject::new("hyper alone, with its limits", PATH, references, || {
        command("limited", "hyper", None)
    });
    let references = [first.name.clone(), limited.name.clone()];
    let subject =
        |name, path, component| Subject::new(name, path, &references, move || command("items", "hyper", component));
    let (call, emit) = ("/items/7/call", "/items/7/emit");
    let ours = [
        subject("native", PATH, None),
        subject("native with a call", call, None),
        subject("synchronous", PATH, Some(synchronous)),
        subject("synchronous with a call", call, Some(synchronous)),
        subject("synchronous with an emit", emit, Some(synchronous)),
        subject("asynchronous", PATH, Some(asynchronous)),
        subject("asynchronous with a call", call, Some(asynchronous)),
    ];
    [first, limited].into_iter().chain(ours).collect()
}

fn frameworks(synchronous: &Path) -> Vec<Subject<'_>> {
    let others = FRAMEWORKS.into_iter().filter(|(name, _)| *name != "hyper");
    let subjects = others.flat_map(|(name, _)| {
        let alone = Subject::new(format!("{name} alone"), PATH, &[], move || command("alone", name, None));
        let adapter = |form: &str, component| {
            let references = from_ref(&alone.name);
            Subject::new(format!("{name}, {form}"), PATH, references, move || {
                command("items", name, component)
            })
        };
        let (native, module) = (adapter("native", None), adapter("synchronous", Some(synchronous)));
        [alone, native, module]
    });
    subjects.collect()
}

fn routes() -> Vec<Subject<'static>> {
    let subjects = FRAMEWORKS.into_iter().flat_map(|(name, _)| {
        let route = |number: &str, path: &str, references: &[String]| Subject {
            request: Request::get(path, "42"),
            ..Subject::new(format!("{name}, route {number}"), path, references, move || {
                command("routes", name, None)
            })
        };
        let first = route("1", "/api/r0001/42", &[]);
        let last = route("1,000", "/api/r1000/42", from_ref(&first.name));
        [first, last]
    });
    subjects.collect()
}

/// Whole commands, as users start them.
fn commands<'a>(synchronous: &'a Path, asynchronous: &'a Path) -> Vec<Subject<'a>> {
    let serve = |component: &'a Path, options: &'static [&str]| {
        move || {
            let mut command = Command::new(pointwork()?);
            command
                .args(["serve", "--listen", "127.0.0.1:0"])
                .args(options)
                .arg(component);
            // The access log is written, and nobody reads it.
            command.stderr(Stdio::null());
            Ok(command)
        }
    };
    let others = ["hyper alone", LOG_OFF, P2, P3, NEST, FASTAPI].map(str::to_owned);
    let peer = |name, command: fn() -> Result<Command>| Subject::new(name, PATH, &others[..1], command);
    vec![
        alone(),
        Subject::new("`pointwork serve`", PATH, &others, serve(synchronous, &[])),
        Subject::new(LOG_OFF, PATH, &others[..1], serve(synchronous, &["--log-level", "off"])),
        Subject::new(
            "`pointwork serve`, access log",
            PATH,
            &others[..2],
            serve(synchronous, &["--access-log"]),
        ),
        Subject::new(
            "`pointwork serve`, asynchronous",
            PATH,
            &others[..1],
            serve(asynchronous, &[]),
        ),
        peer(P2, || peers::wasmtime("p2")),
        peer(P3, || peers::wasmtime("p3")),
        peer(NEST, peers::nest),
        peer(FASTAPI, peers::fastapi),
    ]
}

const LOG_OFF: &str = "`pointwork serve`, log off";
const P2: &str = "`wasmtime serve`, WASI 0.2";
const P3: &str = "`wasmtime serve`, WASI 0.3";
const NEST: &str = "NestJS on Fastify";
const FASTAPI: &str = "FastAPI on uvicorn";

/// Measures the wanted subjects and those with which they are compared.
pub(crate) fn section(table: &mut Table, title: &str, subjects: Vec<Subject<'_>>) -> Result<()> {
    let is_wanted = |name: &String| table.wants(title, name);
    let wanted: Vec<String> = subjects
        .iter()
        .filter(|subject| is_wanted(&subject.name))
        .flat_map(|subject| subject.references.iter().chain([&subject.name]).cloned())
        .collect();
    if wanted.is_empty() {
        return Ok(());
    }
    let mut servers = Vec::new();
    let mut missing = Vec::new();
    for subject in subjects.into_iter().filter(|subject| wanted.contains(&subject.name)) {
        let started = (subject.command)().and_then(|mut command| Server::start_on(SERVER_CORE, &mut command));
        match started {
            Ok(server) => servers.push((subject.name, server, subject.request, subject.references)),
            Err(error) => missing.push((subject.name, error)),
        }
    }
    let bursts = turns(table.rounds, servers.len(), |subject| {
        let (name, server, request, _) = &servers[subject];
        server.burst(request, table.burst).with_context(|| name.clone())
    })?;
    println!(
        "
## {title}

| server | user µs | system µs | sum | requests/s | MiB | to the reference | 95 % | reference |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    for ((name, server, _, references), own) in servers.iter().zip(&bursts) {
        let of = |figure: fn(&Burst) -> f64| median(own.iter().map(figure));
        print!(
            "| {name} | {:.1} | {:.1} | {:.1} | {:.0} | {:.0} |",
            of(|burst| burst.user),
            of(|burst| burst.system),
            of(Burst::micros),
            of(Burst::rate),
            server.memory("VmRSS")?
        );
        let mut is_first = true;
        for reference in references {
            let Some(at) = servers.iter().position(|(name, ..)| name == reference) else {
                continue;
            };
            let pairs = || own.iter().zip(&bursts[at]);
            let ratio = Estimate::of(pairs().map(|(own, other)| other.micros() / own.micros()));
            let more = Estimate::of(pairs().map(|(own, other)| own.user - other.user));
            let row = if is_first { "" } else { "| | | | | | |" };
            println!(
                "{row} {:.3} | {:.3}–{:.3} | {reference} |",
                ratio.middle, ratio.low, ratio.high
            );
            is_first = false;
            table.note(format!("{name} to {reference}"), ratio);
            table.note(format!("{name}: user µs over {reference}"), more);
        }
        if is_first {
            println!(" | | |");
        }
    }
    for (name, error) in missing {
        println!("| {name} | not measured: {error:#} |");
    }
    Ok(())
}
