//! The system calls of a request, for each kind of request, counted in a process of its own: this program again, which handles
//! requests without a server, or serves them.

use std::collections::BTreeMap;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::time::Duration;
use std::{fs, thread};

use anyhow::{Context as _, Result, ensure};
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1::Builder;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use pointwork::{App, AppOptions, Body, ConnectOptions, Context};
use pointwork_hyper::Hyper;
use pointwork_test_clock::real::PATIENCE;
use tokio::net::TcpListener;
use tokio::runtime;
use tokio::task::unconstrained;

use crate::allocations::{application, modules};
use crate::ptrace::{self, Calls, Span, mark};
use crate::trials;

trials! {
    the_system_calls_of_a_request_are_as_counted,
    a_request_over_http_makes_the_system_calls_of_hyper,
}

/// With this variable the test binary is the process that is traced; its value is what the process does.
const VARIABLE: &str = "POINTWORK_TRACED";

/// The folder with the modules of that process, which starts no process itself: what builds and compiles modules starts some.
const MODULES: &str = "POINTWORK_TRACED_MODULES";

/// The kinds of requests, each with its path and its body.
const KINDS: [(&str, &str, &str); 11] = [
    ("native", "/native/42", ""),
    ("native with a call", "/native/42/call", ""),
    ("native with a body", "/native/body", "text"),
    ("synchronous", "/wasm/42", ""),
    ("synchronous with a call", "/wasm/42/call", ""),
    ("synchronous with an emit", "/wasm/42/emit", ""),
    ("synchronous with a body", "/wasm/body", "text"),
    ("asynchronous", "/async/42", ""),
    ("asynchronous with a call", "/async/42/call", ""),
    ("asynchronous with an emit", "/async/42/emit", ""),
    ("asynchronous with a body", "/async/body", "text"),
];

/// The requests of each kind that are counted, and those before them.
const REQUESTS: usize = 100;
const FIRST: usize = 10;

async fn the_system_calls_of_a_request_are_as_counted() -> Result<()> {
    are_as_counted(&trace("requests")?, &Calls::new())
}

async fn a_request_over_http_makes_the_system_calls_of_hyper() -> Result<()> {
    let spans = trace("hyper")?;
    let alone = usual(spans.iter().filter(|span| span.mark > 0).map(|span| &span.calls));
    let alone = alone.context("no request to hyper was counted")?;
    // The request for the mark and the one after it are each read, answered and waited for.
    ensure!(alone.values().sum::<usize>() == 6, "hyper alone: {alone:?}");
    let expected = alone.iter().map(|((thread, number), times)| {
        // Pointwork writes by `sendmsg`, which can leave out SIGPIPE.
        let is_write = *number == libc::SYS_writev;
        let number = if is_write { libc::SYS_sendmsg } else { *number };
        ((thread.clone(), number), *times)
    });
    are_as_counted(&trace("pointwork")?, &expected.collect())
}

/// Checks the usual request of each kind, on all threads: the first ones make instances, and one that a busy machine interrupts
/// goes on on other threads.
fn are_as_counted(spans: &[Span], expected: &Calls) -> Result<()> {
    let least: usize = expected.values().sum();
    let mut complaints = Vec::new();
    for (mark, (kind, ..)) in (1..).zip(KINDS) {
        let requests = || spans.iter().filter(|span| span.mark == mark).map(|span| &span.calls);
        let calls = usual(requests()).with_context(|| format!("{kind}: no request was counted"))?;
        if !kind.ends_with("an emit") {
            if calls != expected {
                complaints.push(format!("{kind}: {calls:?}, expected {expected:?}"));
            }
            continue;
        }
        // The first event after a millisecond without one wakes a thread of the application, which costs the emitter one system
        // call and other threads seven; a busy machine adds some. Events that follow cost none.
        let own = |calls: &Calls| calls.iter().filter(|call| call.0.0.is_empty()).map(|call| call.1).sum();
        let own: usize = usual(requests().map(own)).unwrap_or_default();
        let all: usize = requests().flat_map(BTreeMap::values).sum();
        let (most_own, most) = (least + 1, REQUESTS * (least + 16));
        if own < least || own > most_own || all > most {
            complaints.push(format!(
                "{kind}: {own} by its thread, expected {least} or {most_own}; {all} by all threads for {REQUESTS} requests, \
                 expected {most} at most"
            ));
        }
    }
    ensure!(complaints.is_empty(), "{}", complaints.join("; "));
    Ok(())
}

fn usual<T: Ord>(items: impl Iterator<Item = T>) -> Option<T> {
    let mut times = BTreeMap::<T, usize>::new();
    items.for_each(|item| *times.entry(item).or_default() += 1);
    times.into_iter().max_by_key(|(_, times)| *times).map(|(item, _)| item)
}

/// Traces this program as the process that does so.
fn trace(what: &str) -> Result<Vec<Span>> {
    let folder = tempfile::tempdir()?;
    for (name, component) in modules() {
        fs::write(folder.path().join(name), component)?;
    }
    let mut command = Command::new(std::env::current_exe()?);
    command.env(VARIABLE, what).env(MODULES, folder.path());
    ptrace::trace(command, |input, output| {
        let mut address = String::new();
        BufReader::new(output).read_line(&mut address)?;
        let sent = address.trim().parse().map_or(Ok(()), send);
        drop(input);
        sent
    })
}

/// The application of that process.
async fn traced_application() -> Result<App> {
    let folder = PathBuf::from(std::env::var_os(MODULES).context("the folder of the modules")?);
    let module = |name| Ok((name, fs::read(folder.join(name))?));
    let modules: Vec<_> = ["wasm", "async"].into_iter().map(module).collect::<Result<_>>()?;
    application(AppOptions::new(), modules).await
}

/// Runs as that process, if this is it.
pub(crate) fn traced() -> Option<ExitCode> {
    let what = std::env::var(VARIABLE).ok()?;
    // SAFETY: it has no conditions. The signal ends a process that hangs.
    unsafe { libc::alarm(300) };
    let run = || {
        let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(async {
            match what.as_str() {
                "requests" => request().await,
                _ => serve(&what).await,
            }
        })
    };
    match run() {
        Ok(()) => Some(ExitCode::SUCCESS),
        Err(error) => panic!("{error:#}"),
    }
}

fn method(body: &str) -> &'static str {
    if body.is_empty() { "GET" } else { "POST" }
}

/// Makes the requests on this thread.
#[expect(
    clippy::disallowed_methods,
    reason = "no event reports that a thread of the host has left an instance and rests"
)]
async fn request() -> Result<()> {
    let app = traced_application().await?;
    for (number, (kind, path, body)) in (1..).zip(KINDS) {
        for count in 0..FIRST + REQUESTS {
            if count == FIRST {
                // The thread that made the instance leaves it. Requests without a pause may find the thread there each time.
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            let request = Request::builder().method(method(body)).uri(path).header("host", "test");
            let request = request.body(Body::from(body))?;
            mark(if count < FIRST { 0 } else { number });
            // Without tokio, whose budget ends otherwise.
            let reply = futures_executor::block_on(unconstrained(app.handle(request)));
            ensure!(reply.status().is_success(), "{kind}: {}", reply.status());
        }
        mark(0);
    }
    Ok(())
}

/// Serves on this thread until the input ends, with Pointwork or with hyper alone.
async fn serve(what: &str) -> Result<()> {
    let app = traced_application().await?;
    app.get("/mark/:number", |ctx: Context| async move {
        mark(ctx.param("number")?.parse().ok()?);
        Some("")
    })?;
    let hyper = Hyper::new();
    app.connect_to(hyper.clone(), ConnectOptions::new())?;
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    writeln!(io::stdout(), "{}", listener.local_addr()?)?;
    thread::spawn(|| {
        let _ = io::stdin().read_to_end(&mut Vec::new());
        std::process::exit(0);
    });
    if what == "pointwork" {
        hyper.serve(listener).await;
        return Ok(());
    }
    loop {
        let (stream, _) = listener.accept().await?;
        tokio::spawn(Builder::new().serve_connection(TokioIo::new(stream), service_fn(answer)));
    }
}

/// Answers with the body, as hyper alone.
async fn answer(request: Request<Incoming>) -> hyper::Result<Response<Full<Bytes>>> {
    let number = request.uri().path().strip_prefix("/mark/");
    if let Some(number) = number.and_then(|number| number.parse().ok()) {
        mark(number);
    }
    let body = request.into_body().collect().await?;
    Ok(Response::new(Full::new(body.to_bytes())))
}

/// Sends the requests to a server, one after the other on one connection, each behind one for a mark.
fn send(address: SocketAddr) -> Result<()> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let mut ask = |path: &str, body: &str| {
        let (method, length) = (method(body), body.len());
        let head = format!("{method} {path} HTTP/1.1\r\nhost: test\r\ncontent-length: {length}\r\n\r\n");
        stream.write_all(format!("{head}{body}").as_bytes())?;
        // The server writes a reply at once.
        let mut reply = [0; 4096];
        let length = stream.read(&mut reply)?;
        let reply = String::from_utf8_lossy(&reply[..length]);
        ensure!(reply.starts_with("HTTP/1.1 20"), "{path}: {reply}");
        Ok(())
    };
    for (number, (_, path, body)) in (1..).zip(KINDS) {
        for _ in 0..REQUESTS {
            ask(&format!("/mark/{number}"), "")?;
            ask(path, body)?;
        }
        ask("/mark/0", "")?;
    }
    Ok(())
}
