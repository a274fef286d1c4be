//! The application of the benchmarks: one handler in native code and in each form of module; the same handler on each
//! framework alone; and the load.

pub mod bare;
pub mod load;
pub mod servers;

use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use http::{Request, Response, StatusCode};
use pointwork::{App, AppOptions, Body, Context, Delivery, Failure, Payload, Staged, Transport};
use pointwork_core::routing::Pattern;
use pointwork_core::{Reporter, Router};
use pointwork_wasi::{ADAPTER, MODULE};
use wit_component::ComponentEncoder;

/// The allocator of the command `pointwork`, for every benchmark.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Each subject with its path: `GET` answers the last segment as text.
pub const SUBJECTS: [(&str, &str); 3] = [
    ("native handler", "/native/42"),
    ("wasm, synchronous", "/calls/42"),
    ("wasm, asynchronous", "/waits/42"),
];

/// The number of requests that wait at a time, in the benchmarks of waiting.
pub const IN_FLIGHT: usize = 1_000;

/// The time that the channel `bench:wait` waits.
pub const WAIT: Duration = Duration::from_millis(10);

/// The application with the native handler and the modules.
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
    let app = App::with_options(options)?;
    app.get("/native/empty", |_: Context| async { StatusCode::NO_CONTENT })?;
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
        app.module(guest).bytes(component(guest)?).load().await?;
    }
    Ok(app)
}

/// Builds one of the guests in `tests/bench/guests`.
///
/// # Errors
/// If cargo, or the target `wasm32-wasip1`, is missing or fails.
pub fn component(guest: &str) -> Result<Vec<u8>> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let target = here.join("target/guests");
    let built = Command::new(env!("CARGO"))
        .args(["build", "--release", "--target", "wasm32-wasip1", "--target-dir"])
        .arg(&target)
        .current_dir(here.join("guests").join(guest))
        .status()
        .context("cargo does not start")?;
    ensure!(
        built.success(),
        "the guest `{guest}` does not build; is the target there? rustup target add wasm32-wasip1"
    );
    let module = std::fs::read(target.join(format!("wasm32-wasip1/release/bench_{guest}.wasm")))?;
    let encoder = ComponentEncoder::default().validate(true).module(&module)?;
    encoder.adapter(MODULE, ADAPTER)?.encode()
}

/// An adapter without a server: requests go directly to its router.
#[derive(Clone, Default)]
pub struct Direct(Arc<Mutex<Option<Arc<Router>>>>);

impl Direct {
    /// The current router.
    pub fn router(&self) -> Option<Arc<Router>> {
        self.0.lock().ok()?.clone()
    }
}

impl Transport for Direct {
    fn name(&self) -> &'static str {
        "direct"
    }

    fn attach(&self, _: Reporter, _: Pattern) -> Result<(), pointwork_core::Error> {
        Ok(())
    }

    fn close(&self) {}

    fn stage(&self, router: Arc<Router>) -> Result<Staged, pointwork_core::Error> {
        let place = self.0.clone();
        Ok(Staged::new(move || {
            if let Ok(mut place) = place.lock() {
                *place = Some(router);
            }
        }))
    }
}

/// Answers a request without a server.
///
/// # Errors
/// If the reply is an error.
pub async fn request(router: &Router, path: &str) -> Result<Response<Body>> {
    let request = Request::get(path).header("host", "bench").body(Body::empty())?;
    let reply = router.respond(None, request).await;
    ensure!(
        reply.status().is_success(),
        "{path} was answered with {}",
        reply.status()
    );
    Ok(reply)
}

/// The median of the measurements.
pub fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
