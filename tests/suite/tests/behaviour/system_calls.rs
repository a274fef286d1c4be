//! The system calls of a request, for each kind of request. A thread of the test counts them with ptrace(2) in a process of its
//! own: this program again, which handles requests without a server, or serves them. The process marks where the next request
//! begins by a system call that nothing else makes.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::c_void;
use std::fs::read_to_string;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitCode, Stdio};
use std::ptr::{null_mut, without_provenance_mut};
use std::thread;

use anyhow::{Context as _, Result, ensure};
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1::Builder;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use libc::{c_uint, pid_t};
use pointwork::{AppOptions, Body, ConnectOptions, Context};
use pointwork_hyper::Hyper;
use pointwork_wire_tests::PATIENCE;
use tokio::net::TcpListener;
use tokio::runtime;
use tokio::task::unconstrained;

use crate::allocations::application;
use crate::trials;

trials! {
    the_system_calls_of_a_request_are_as_counted,
    a_request_over_http_makes_the_system_calls_of_hyper,
}

/// With this variable the test binary is the process that is traced; its value is what the process does.
const VARIABLE: &str = "POINTWORK_TRACED";

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

/// The requests of each kind.
const REQUESTS: usize = 100;

/// How often a thread with that name makes the system call with that number. The thread of the marks has no name here.
type Calls = BTreeMap<(String, i64), usize>;

/// What a process calls after a mark, up to the next.
#[derive(Default)]
struct Span {
    mark: u64,
    thread: pid_t,
    calls: Calls,
}

async fn the_system_calls_of_a_request_are_as_counted() -> Result<()> {
    are_as_counted(&trace("requests")?, &Calls::new())
}

async fn a_request_over_http_makes_the_system_calls_of_hyper() -> Result<()> {
    let hyper = trace("hyper")?;
    let alone = usual(hyper.iter().filter(|span| span.mark > 0).map(|span| &span.calls));
    let alone = alone.context("no request to hyper was counted")?;
    // The request for the mark and the one after it are each read, answered and waited for.
    ensure!(alone.values().sum::<usize>() == 6, "hyper alone calls {alone:?}");
    are_as_counted(&trace("pointwork")?, alone)
}

/// Checks the usual request of each kind, on all threads: the first ones make instances, and one that a busy machine interrupts
/// goes on on other threads.
fn are_as_counted(spans: &[Span], expected: &Calls) -> Result<()> {
    let mut complaints = Vec::new();
    for (mark, (kind, ..)) in (1..).zip(KINDS) {
        let requests = || spans.iter().filter(|span| span.mark == mark).map(|span| &span.calls);
        let calls = usual(requests()).with_context(|| format!("{kind}: no request was counted"))?;
        let is_as_counted = if kind.ends_with("an emit") {
            // The first event after a millisecond without one wakes a thread of the application, which costs the caller one
            // system call and other threads seven; up to twice as many if the machine is busy. Later ones cost none.
            let own = |calls: &Calls| calls.iter().filter(|call| call.0.0.is_empty()).map(|call| call.1).sum();
            let usual: usize = usual(requests().map(own)).unwrap_or_default();
            let all: usize = requests().flat_map(BTreeMap::values).sum();
            let least: usize = expected.values().sum();
            (least..=least + 1).contains(&usual) && all <= REQUESTS * (least + 16)
        } else {
            calls == expected
        };
        if !is_as_counted {
            complaints.push(format!("{kind}: {calls:?}, expected {expected:?}"));
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

/// Runs as the process that is traced, if this is one.
pub(crate) fn traced() -> Option<ExitCode> {
    let what = std::env::var(VARIABLE).ok()?;
    // SAFETY: it has no conditions. The signal ends a process that hangs.
    unsafe { libc::alarm(300) };
    let done = runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map(|runtime| {
            runtime.block_on(async move {
                match what.as_str() {
                    "requests" => request().await,
                    _ => serve(&what).await,
                }
            })
        });
    match done {
        Ok(Ok(())) => Some(ExitCode::SUCCESS),
        failed => panic!("{failed:?}"),
    }
}

fn mark(number: usize) {
    // SAFETY: it has no conditions. It changes nothing.
    unsafe { libc::getpgid(pid_t::try_from(number).unwrap_or_default()) };
}

fn method(body: &str) -> &'static str {
    if body.is_empty() { "GET" } else { "POST" }
}

/// Makes the requests on this thread.
async fn request() -> Result<()> {
    let app = application(AppOptions::new()).await?;
    for (number, (kind, path, body)) in (1..).zip(KINDS) {
        for _ in 0..REQUESTS {
            let request = Request::builder().method(method(body)).uri(path).header("host", "test");
            let request = request.body(Body::from(body))?;
            mark(number);
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
    let app = application(AppOptions::new()).await?;
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

/// Runs the process to its end, and returns what it calls after each mark.
fn trace(what: &'static str) -> Result<Vec<Span>> {
    // A thread of its own: only the thread that starts a process follows it, and the end of that thread ends the process.
    let tracing = thread::spawn(move || {
        let mut command = Command::new(std::env::current_exe()?);
        command.env(VARIABLE, what).stdin(Stdio::piped()).stdout(Stdio::piped());
        // SAFETY: between fork and exec this makes one system call, and allocates nothing.
        unsafe { command.pre_exec(|| ptrace(libc::PTRACE_TRACEME, 0, 0, null_mut())) };
        let started = command
            .spawn()
            .with_context(|| format!("the process `{what}` is not traced: {FORBIDDEN}"));
        let mut process = started?;
        let input = process.stdin.take();
        let output = process.stdout.take().context("no output")?;
        let sending = thread::spawn(move || {
            let mut address = String::new();
            BufReader::new(output).read_line(&mut address)?;
            let sent = address.trim().parse().map_or(Ok(()), send);
            drop(input);
            sent
        });
        let spans = follow(pid_t::try_from(process.id())?)?;
        sending.join().expect("it does not panic")?;
        Ok(spans)
    });
    tracing.join().expect("it does not panic")
}

const FORBIDDEN: &str = "this test needs ptrace(2) of Linux 5.3 or later, which a container may have to be allowed";

/// Follows the process, which this thread has started, to its end.
fn follow(process: pid_t) -> Result<Vec<Span>> {
    let (mut spans, mut known) = (vec![Span::default()], BTreeSet::new());
    loop {
        let mut status = 0;
        // SAFETY: the status lives until the call returns.
        let thread = unsafe { libc::waitpid(-1, &raw mut status, libc::__WALL | libc::__WNOTHREAD) };
        ensure!(thread > 0, "waitpid: {}", io::Error::last_os_error());
        if !libc::WIFSTOPPED(status) {
            if thread == process {
                ensure!(status == 0, "the traced process ended with the status {status:#x}");
                return Ok(spans);
            }
            continue;
        }
        let is_new = known.insert(thread);
        if is_new && thread == process {
            let options = libc::PTRACE_O_TRACESYSGOOD | libc::PTRACE_O_TRACECLONE | libc::PTRACE_O_EXITKILL;
            ptrace(
                libc::PTRACE_SETOPTIONS,
                thread,
                0,
                without_provenance_mut(options as usize),
            )
            .context(FORBIDDEN)?;
        }
        let signal = match libc::WSTOPSIG(status) {
            stop if stop == libc::SIGTRAP | 0x80 => {
                note(&mut spans, thread)?;
                0
            }
            // It tells of the new program, or of a new thread.
            libc::SIGTRAP => 0,
            libc::SIGSTOP if is_new => 0,
            signal => usize::try_from(signal)?,
        };
        // It fails if the process ends meanwhile.
        let _ = ptrace(libc::PTRACE_SYSCALL, thread, 0, without_provenance_mut(signal));
    }
}

/// Notes the system call that a thread enters.
fn note(spans: &mut Vec<Span>, thread: pid_t) -> Result<()> {
    // SAFETY: it consists of integers, for which zeros are valid.
    let mut call: libc::ptrace_syscall_info = unsafe { std::mem::zeroed() };
    let told = ptrace(
        libc::PTRACE_GET_SYSCALL_INFO,
        thread,
        size_of_val(&call),
        (&raw mut call).cast(),
    );
    match told {
        Err(error) if error.raw_os_error() != Some(libc::ESRCH) => return Err(error).context(FORBIDDEN),
        Ok(()) if call.op == libc::PTRACE_SYSCALL_INFO_ENTRY => {}
        _ => return Ok(()),
    }
    // SAFETY: the kernel writes this part at an entry.
    let entry = unsafe { call.u.entry };
    let span = spans.last_mut().context("no span")?;
    let number = match i64::try_from(entry.nr)? {
        libc::SYS_getpgid => {
            let (mark, calls) = (entry.args[0], Calls::new());
            spans.push(Span { mark, thread, calls });
            return Ok(());
        }
        // Pointwork writes by it as hyper does by `writev`, but without SIGPIPE.
        libc::SYS_sendmsg => libc::SYS_writev,
        number => number,
    };
    if span.mark > 0 {
        let mut name = String::new();
        if thread != span.thread {
            name = read_to_string(format!("/proc/{thread}/comm"))?.trim().to_owned();
        }
        // The clock that interrupts guests ticks beside the requests.
        if name != "pointwork-epoch" {
            *span.calls.entry((name, number)).or_default() += 1;
        }
    }
    Ok(())
}

fn ptrace(request: c_uint, thread: pid_t, address: usize, data: *mut c_void) -> io::Result<()> {
    // SAFETY: the one request that writes to this process gets a value that lives, and its size.
    let done = unsafe { libc::ptrace(request, thread, without_provenance_mut::<c_void>(address), data) };
    if done < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    }
}
