//! The servers of the benchmarks: one request in native code and in each form of module, on each framework with its adapter and
//! alone. And the application for requests without a server.

pub mod bare;
pub mod servers;

use std::alloc::{GlobalAlloc, Layout};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use http::{Request, Response};
use pointwork::{App, AppOptions, Body, CacheDirectory, Context, Delivery, Failure, Json, Payload};
use pointwork_wasi::{ADAPTER, MODULE};
use serde::Serialize;
use wit_component::ComponentEncoder;

/// The allocator of the command `pointwork`, for every benchmark. It counts on demand.
struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

static COUNTS: AtomicBool = AtomicBool::new(false);
static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

// SAFETY: every call goes unchanged to mimalloc.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller upholds the contract.
        unsafe { mimalloc::MiMalloc.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller upholds the contract.
        unsafe { mimalloc::MiMalloc.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: the caller upholds the contract.
        unsafe { mimalloc::MiMalloc.realloc(pointer, layout, size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller upholds the contract.
        unsafe { mimalloc::MiMalloc.dealloc(pointer, layout) }
    }
}

fn count() {
    if COUNTS.load(Relaxed) {
        ALLOCATIONS.fetch_add(1, Relaxed);
    }
}

/// The allocations of all threads meanwhile.
pub async fn allocations(act: impl Future<Output = Result<()>>) -> Result<u64> {
    ALLOCATIONS.store(0, Relaxed);
    COUNTS.store(true, Relaxed);
    let done = act.await;
    COUNTS.store(false, Relaxed);
    done.map(|()| ALLOCATIONS.load(Relaxed))
}

/// The reply of every server to `GET /items/7`.
#[derive(Serialize)]
pub struct Item {
    /// The number of the item.
    pub id: u32,
    /// Its name.
    pub name: &'static str,
}

impl Item {
    /// The item 7 as JSON.
    pub const JSON: &'static str = r#"{"id":7,"name":"Assam"}"#;

    /// The item with the number `id`.
    pub fn of(id: u32) -> Self {
        Self { id, name: "Assam" }
    }
}

/// The number of requests that wait at a time, in the benchmarks of waiting.
pub const IN_FLIGHT: usize = 1_000;

/// The time that the channel `bench:wait` waits.
pub const WAIT: Duration = Duration::from_millis(10);

/// The application for requests without a server, with the native handlers and the modules.
///
/// # Errors
/// If a guest does not build or load.
pub async fn app() -> Result<App> {
    let mut options = AppOptions::new();
    // A benchmark emits faster than a listener can run.
    options.bus.queue = 1 << 20;
    options.router.body_limit = 4 << 30;
    options.router.deadline = Some(Duration::from_secs(600));
    // Each waiting request of the synchronous form has an instance.
    options.limits.instances = IN_FLIGHT;
    options.max_instances = 4 * u32::try_from(IN_FLIGHT)?;
    options.cache = Some(CacheDirectory::open(target()?.join("cache"))?);
    let app = App::with_options(options)?;
    app.get("/native/wait", |ctx: Context| async move {
        ctx.call_raw("bench:wait", Payload::null()).await.map(|_| "waited")
    })?;
    app.get("/native/:id", |ctx: Context| async move {
        ctx.param("id").map(str::to_owned)
    })?;
    app.get("/native/:id/call", |ctx: Context| async move {
        let payload = Payload::json(ctx.param("id").unwrap_or_default())?;
        Ok::<String, Failure>(ctx.call_raw("bench:echo", payload).await?.to()?)
    })?;
    app.channel("bench")
        .on_raw("echo", |_: Delivery, payload: Payload| async move { Ok(payload) })?
        .on_raw("wait", |_: Delivery, _: Payload| async move {
            tokio::time::sleep(WAIT).await;
            Ok(Payload::null())
        })?
        .on_raw("heard", |_: Delivery, _: Payload| async move { Ok(Payload::null()) })?;
    for guest in ["calls", "waits", "listens", "streams"] {
        app.module(guest).file(component(guest)?).load().await?;
    }
    Ok(app)
}

/// The application that answers `GET /items/7`: by the component, or natively.
///
/// # Errors
/// If the component does not load.
pub async fn items(component: Option<&str>) -> Result<App> {
    let mut options = AppOptions::new();
    options.cache = Some(CacheDirectory::open(target()?.join("cache"))?);
    let app = App::with_options(options)?;
    app.channel("bench")
        .on_raw("name", |_: Delivery, _: Payload| async { Ok(Payload::json("Assam")?) })?
        .on_raw("shown", |_: Delivery, _: Payload| async { Ok(Payload::null()) })?;
    if let Some(component) = component {
        app.module("items").file(component).load().await?;
        return Ok(app);
    }
    app.get("/items/:id", |ctx: Context| async move {
        let id = ctx.param("id")?.parse().ok()?;
        Some(Json(Item::of(id)))
    })?;
    app.get("/items/:id/call", |ctx: Context| async move {
        let id = ctx
            .param("id")
            .and_then(|id| id.parse::<u32>().ok())
            .unwrap_or_default();
        let name: String = ctx.call_raw("bench:name", Payload::json(&id)?).await?.to()?;
        Ok::<_, Failure>(Json(serde_json::json!({"id": id, "name": name})))
    })?;
    Ok(app)
}

/// The folder for what the benchmarks make.
///
/// # Errors
/// If it cannot be made.
pub fn target() -> Result<PathBuf> {
    let target = Path::new(env!("CARGO_MANIFEST_DIR")).join("target");
    std::fs::create_dir_all(&target)?;
    Ok(target)
}

/// Builds one of the guests in `tests/bench/guests`; the result is the file of the component.
///
/// # Errors
/// If cargo, or a target of WebAssembly, is missing or fails.
pub fn component(guest: &str) -> Result<PathBuf> {
    let target = target()?.join("guests");
    let (triple, profile) = match guest {
        "p2" | "p3" => ("wasm32-wasip2", "template"),
        "items" | "items-async" => ("wasm32-wasip1", "template"),
        _ => ("wasm32-wasip1", "release"),
    };
    let built = Command::new(env!("CARGO"))
        .args(["build", "--quiet", "--locked", "--profile", profile, "--target", triple])
        .args(["--package", &format!("bench-{guest}"), "--target-dir"])
        .arg(&target)
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("guests"))
        .status()
        .context("cargo does not start")?;
    ensure!(
        built.success(),
        "the guest `{guest}` does not build; is the target there? rustup target add {triple}"
    );
    let name = format!("bench_{}.wasm", guest.replace('-', "_"));
    let module = target.join(triple).join(profile).join(name);
    if triple == "wasm32-wasip2" {
        return Ok(module);
    }
    let encoder = ComponentEncoder::default()
        .validate(true)
        .module(&std::fs::read(module)?)?;
    let file = target.join(format!("{guest}.wasm"));
    std::fs::write(&file, encoder.adapter(MODULE, ADAPTER)?.encode()?)?;
    Ok(file)
}

/// Answers a request without a server.
///
/// # Errors
/// If the reply is an error.
pub async fn request(app: &App, path: &str) -> Result<Response<Body>> {
    let reply = reply(app, path).await?;
    ensure!(
        reply.status().is_success(),
        "{path} was answered with {}",
        reply.status()
    );
    Ok(reply)
}

/// As [`request`], for a reply of any status.
///
/// # Errors
/// If the path is none.
pub async fn reply(app: &App, path: &str) -> Result<Response<Body>> {
    let request = Request::get(path).header("host", "bench").body(Body::empty())?;
    Ok(app.handle(request).await)
}

/// The value after an option on the command line.
pub fn option(name: &str) -> Option<String> {
    let mut arguments = std::env::args().skip_while(|argument| argument != name);
    arguments.next()?;
    arguments.next()
}

/// The number after `--rounds` on the command line, or the default.
pub fn rounds(otherwise: usize) -> usize {
    option("--rounds")
        .and_then(|text| text.parse().ok())
        .unwrap_or(otherwise)
}

/// Whether the command line contains a word.
pub fn flag(name: &str) -> bool {
    std::env::args().any(|argument| argument == name)
}
