//! The growth of the server's memory for each way in which a guest can make the host keep something.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use pointwork::{App, AppOptions, Breaker, Delivery, Failure, ModuleLimits, ModuleOptions, Payload};
use pointwork_suite::guest::{Controller, End, Guest, Program, Step};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;

use crate::Verdict;
use crate::child;
use crate::client::{Connection, get};

const MIB: usize = 1024 * 1024;

/// The growth that is allowed, in MiB: the limit `host-memory` of 64 MiB, the memory of an instance that fills it, and what
/// the allocators keep.
const ALLOWED: f64 = 200.0;

/// The server's module: a route for each way, and `/ok`.
pub(crate) async fn app() -> Result<App> {
    let app = App::with_options(AppOptions::new())?;
    // Hears no event while the memory is measured.
    app.channel("app").on_raw("slow", |_: Delivery, _: Payload| async {
        tokio::time::sleep(Duration::from_secs(3600)).await;
        Ok::<_, Failure>(Payload::null())
    })?;
    let long = |bytes: usize| {
        let program = Program::new().say(&"x".repeat(1024));
        program.step(Step::Double((bytes / 1024).ilog2()))
    };
    let each = |count: usize, step: &dyn Fn(usize) -> Step| Step::Each((0..count).map(step).collect());
    let extensions = each(100, &|number| Step::SetExtension(number.to_string()));
    let events = each(400, &|_| Step::Emit("app:slow".to_owned()));
    let things = Controller::new("Things", "/")
        .get("ok", Program::text("ok"))
        .get("extensions", long(4 * MIB).step(extensions))
        .get("events", long(MIB).step(events))
        .get("replies", long(8 * MIB))
        .get("handles", Program::text("kept").step(Step::Send(200)).ends(End::Keep));
    let limits = ModuleLimits::new().cpu(Duration::from_secs(60));
    let options = ModuleOptions::new().limits(limits).breaker(Breaker::new().crashes(0));
    app.module("hoards")
        .bytes(Guest::with(things).build())
        .options(options)
        .load()
        .await?;
    Ok(app)
}

/// A component of 2,000 invalid routes of a controller with a name of 200,000 bytes.
pub(crate) fn names() -> Vec<u8> {
    let things = Controller::new(&"n".repeat(200_000), "/");
    let routes = (0..2_000).fold(things, |things, number| {
        things.route(&format!("r{number}"), Some("NO METHOD"), &[], Program::new())
    });
    Guest::with(routes).build()
}

/// One way, and its requests.
#[derive(Clone, Copy)]
enum Way {
    /// Requests one after the other.
    Requests {
        path: &'static str,
        count: usize,
        header: usize,
    },
    /// Clients that do not read their replies.
    Unread { path: &'static str, count: usize },
    /// A module that is refused.
    Names,
}

const WAYS: [(&str, Way); 5] = [
    (
        "100 request extensions of 4 MiB",
        Way::Requests {
            path: "/extensions",
            count: 1,
            header: 0,
        },
    ),
    (
        "400 events of 1 MiB in a queue",
        Way::Requests {
            path: "/events",
            count: 1,
            header: 0,
        },
    ),
    (
        "60 replies of 8 MiB, not read",
        Way::Unread {
            path: "/replies",
            count: 60,
        },
    ),
    (
        "20,000 lost contexts with 16 KiB of headers",
        Way::Requests {
            path: "/handles",
            count: 20_000,
            header: 16_384,
        },
    ),
    ("2,000 errors about a name of 200 kB", Way::Names),
];

pub(crate) fn run() -> Result<()> {
    let runtime = tokio::runtime::Runtime::new()?;
    let mut verdict = Verdict::default();
    println!("way                                           growth of the server's memory at most");
    for (name, way) in WAYS {
        let mut child = child::start("memory", &[])?;
        let address = child.address;
        runtime.block_on(ok(address)).context("before")?;
        let before = child.memory("VmRSS")?;
        let done = Arc::new(AtomicBool::new(false));
        let attack = match way {
            Way::Names => {
                child.tell("names")?;
                None
            }
            other => Some(runtime.spawn(attack(address, other, done.clone()))),
        };
        let mut most = before;
        loop {
            most = most.max(child.memory("VmRSS")?);
            if let Way::Names = way
                && let Some(answer) = child.says(Duration::from_millis(5))
            {
                verdict.holds(answer == "refused", || format!("{name}: {answer}"));
                break;
            }
            if done.load(Ordering::SeqCst) {
                break;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        let growth = most.max(child.memory("VmRSS")?) - before;
        println!("{name:<45} {growth:>6.0} MiB");
        verdict.holds(growth <= ALLOWED, || {
            format!("{name}: {growth:.0} MiB, at most {ALLOWED} are allowed")
        });
        let answers = runtime.block_on(ok(address));
        verdict.holds(answers.is_ok(), || {
            format!("{name}: another route does not answer: {answers:?}")
        });
        if let Some(attack) = attack {
            drop(runtime.block_on(attack)??);
        }
    }
    verdict.end()
}

/// Another route answers.
async fn ok(address: SocketAddr) -> Result<()> {
    let mut connection = Connection::open(address).await?;
    let reply = connection.ask(&get("/ok")).await?;
    if reply.status != 200 {
        bail!("{} instead of 200", reply.status);
    }
    Ok(())
}

/// Returns the connections that are still open.
async fn attack(address: SocketAddr, way: Way, done: Arc<AtomicBool>) -> Result<Vec<TcpStream>> {
    let open = match way {
        Way::Requests { path, count, header } => {
            let header = format!("x-long: {}", "h".repeat(header));
            let request = format!("GET {path} HTTP/1.1\r\nhost: bench\r\n{header}\r\n\r\n").into_bytes();
            let mut connection = Connection::open(address).await?;
            for _ in 0..count {
                connection.ask(&request).await?;
            }
            Ok(Vec::new())
        }
        Way::Unread { path, count } => unread(address, path, count).await,
        Way::Names => Ok(Vec::new()),
    };
    done.store(true, Ordering::SeqCst);
    open
}

async fn unread(address: SocketAddr, path: &str, count: usize) -> Result<Vec<TcpStream>> {
    let mut open = Vec::new();
    for _ in 0..count {
        let mut stream = TcpStream::connect(address).await?;
        stream.write_all(&get(path)).await?;
        open.push(stream);
    }
    // Each of them has begun to come by then.
    for stream in &open {
        stream.readable().await?;
    }
    Ok(open)
}
