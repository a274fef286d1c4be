//! A request that a thread without tokio polls: every wait of the host inside a call wakes it all the same. Programs in
//! other languages drive requests this way.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use anyhow::{Result, ensure};
use http::{Request, StatusCode};
use pointwork::{
    Access, App, Body, Context, Delivery, Directory, Failure, Grants, ModuleLimits, ModuleOptions, Payload,
};
use pointwork_suite::app::usual_options;
use pointwork_suite::fixtures::{Fixture, Fixtures};
use pointwork_suite::guest::{Controller, Guest, Program};
use tokio::sync::Semaphore;

use crate::trials;

trials! {
    a_call_waits_for_an_event,
    a_call_waits_for_an_instance_until_it_is_refused,
    a_call_waits_until_its_deadline,
    wasi_reads_a_file,
}

/// Answers a request on a thread of its own, without a tokio runtime.
fn respond(app: &App, request: Request<Body>) -> thread::JoinHandle<(StatusCode, String)> {
    let app = app.clone();
    thread::spawn(move || {
        futures_executor::block_on(async move {
            let (head, body) = app.handle(request).await.into_parts();
            let body = body.bytes().await.expect("a whole reply");
            (head.status, String::from_utf8_lossy(&body).into_owned())
        })
    })
}

fn get(path: &str) -> Result<Request<Body>> {
    Ok(Request::get(path).header("host", "test").body(Body::empty())?)
}

/// Waits for the thread without blocking a thread of the test.
async fn join(answer: thread::JoinHandle<(StatusCode, String)>) -> Result<(StatusCode, String)> {
    let joined = tokio::task::spawn_blocking(move || answer.join()).await?;
    joined.map_err(|_| anyhow::anyhow!("the thread of the request panicked"))
}

/// An application with a module, in both forms, whose handler waits for the event `gate:pass` until the gate has
/// permits.
async fn gated(limits: &ModuleLimits) -> Result<(App, Arc<Semaphore>)> {
    let app = App::with_options(usual_options())?;
    let gate = Arc::new(Semaphore::new(0));
    let waiting = gate.clone();
    app.channel("gate").on_raw("pass", move |_: Delivery, _: Payload| {
        let gate = waiting.clone();
        async move {
            gate.acquire().await.expect("an open gate").forget();
            Ok::<_, Failure>(Payload::null())
        }
    })?;
    for (name, asynchronous) in [("sync", false), ("async", true)] {
        let program = Program::new().call("gate:pass").say("passed");
        let guest = Guest::with(Controller::new("Gate", name).route("pass", Some("GET"), &[""], program));
        let guest = if asynchronous { guest.asynchronous() } else { guest };
        let options = ModuleOptions::new().limits(limits.clone());
        app.module(name).bytes(guest.build()).options(options).load().await?;
    }
    Ok((app, gate))
}

async fn a_call_waits_for_an_event() -> Result<()> {
    let (app, gate) = gated(&ModuleLimits::new()).await?;
    for path in ["/sync", "/async"] {
        let answer = respond(&app, get(path)?);
        while app.requests_in_flight() == 0 {
            tokio::task::yield_now().await;
        }
        gate.add_permits(1);
        let (status, body) = join(answer).await?;
        ensure!(
            status == StatusCode::OK && body.contains("passed"),
            "{path}: {status} {body}"
        );
    }
    Ok(())
}

async fn a_call_waits_for_an_instance_until_it_is_refused() -> Result<()> {
    let limits = ModuleLimits::new()
        .instances(1)
        .in_flight(1)
        .queue_wait(Duration::from_millis(50));
    let (app, gate) = gated(&limits).await?;
    for path in ["/sync", "/async"] {
        let first = respond(&app, get(path)?);
        let in_the_gate = || {
            app.statuses()
                .iter()
                .any(|module| module.usage.instances > module.usage.idle)
        };
        while !in_the_gate() {
            tokio::task::yield_now().await;
        }
        let (status, _) = join(respond(&app, get(path)?)).await?;
        ensure!(
            status == StatusCode::SERVICE_UNAVAILABLE,
            "{path}: the second request got {status}"
        );
        gate.add_permits(1);
        let (status, _) = join(first).await?;
        ensure!(status == StatusCode::OK, "{path}: the first request got {status}");
    }
    Ok(())
}

async fn a_call_waits_until_its_deadline() -> Result<()> {
    let limits = ModuleLimits::new().deadline(Duration::from_millis(50));
    let (app, _gate) = gated(&limits).await?;
    for path in ["/sync", "/async"] {
        let (status, _) = join(respond(&app, get(path)?)).await?;
        ensure!(status == StatusCode::GATEWAY_TIMEOUT, "{path}: {status}");
    }
    Ok(())
}

async fn wasi_reads_a_file() -> Result<()> {
    let fixtures = Fixtures::new(env!("CARGO_TARGET_TMPDIR"));
    let component = fixtures.build(Fixture::RustWasi).await?;
    let folder = tempfile::tempdir()?;
    std::fs::write(folder.path().join("note"), "written")?;
    let app = App::with_options(usual_options())?;
    let grants = Grants::new()
        .clocks()
        .random()
        .output()
        .environment()
        .sockets([])
        .http([])
        .directories([Directory::new(folder.path(), "/data", Access::ReadOnly)]);
    let options = ModuleOptions::new().grants(grants);
    app.module("outside").bytes(&*component).options(options).load().await?;
    app.get("/note", |ctx: Context| async move {
        let text = ctx.call_raw("outside:read", Payload::json("/data/note")?).await?;
        Ok::<String, Failure>(text.to()?)
    })?;
    let (status, body) = join(respond(&app, get("/note")?)).await?;
    ensure!(status == StatusCode::OK && body == "written", "{status} {body}");
    Ok(())
}
