//! An application without any adapter: it answers requests in process, and it is closed.

use std::fs;
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use http::{Request, Response, StatusCode, header};
use http_body_util::Limited;
use pointwork::{
    App, Body, ChangeKind, Context, ErrorKind, FailureCode, ModuleState, Origin, Payload, StateDirectory, Trial,
};
use pointwork_suite::app::usual_options;
use pointwork_suite::guest::{Channel, Controller, End, Guest, Program, ReplyBody};
use pointwork_suite::logs::Logs;
use pointwork_test_clock::{TestClock, real};
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tower::ServiceExt as _;

use crate::trials;

trials! {
    requests_are_answered_as_on_an_adapter,
    it_counts_as_no_adapter,
    a_listener_sends_a_request_to_the_module_that_called_it,
    calls_in_flight_end_before_a_close_does,
    calls_that_do_not_end_are_cut,
    a_closed_application_refuses_everything,
    a_restart_restores_a_module_whose_event_names_were_allowed,
    a_restart_neither_ends_nor_resets_a_trial,
    a_drop_without_a_close_tells_what_is_lost,
    a_limit_for_bodies_around_it_keeps_its_status,
}

/// The time between two comparisons of a version on trial.
const TICK: Duration = Duration::from_millis(500);

fn get(path: &str) -> Result<Request<Body>> {
    Ok(Request::get(path).header("host", "test").body(Body::empty())?)
}

async fn text(reply: Response<Body>) -> Result<String> {
    Ok(String::from_utf8(reply.into_body().bytes().await?.to_vec())?)
}

/// A module with a route that answers, one that calls `gate:pass`, and one that loops.
fn guest(asynchronous: bool) -> Vec<u8> {
    let form = if asynchronous { "async" } else { "sync" };
    let things = Controller::new("Things", form)
        .get("text", Program::text("text"))
        .get("gate", Program::new().call("gate:pass").say("passed"))
        .get("loop", Program::new().ends(End::Loop));
    let guest = Guest::with(things);
    if asynchronous { guest.asynchronous() } else { guest }.build()
}

async fn requests_are_answered_as_on_an_adapter() -> Result<()> {
    let app = App::with_options(usual_options())?;
    let reply = app.handle(get("/sync/text")?).await;
    ensure!(reply.status() == StatusCode::NOT_FOUND, "before any route: {reply:?}");
    app.module("shop").bytes(guest(false)).load().await?;
    app.post("/echo", |context: Context| async move { context.bytes().await })?;
    ensure!(text(app.handle(get("/sync/text")?).await).await? == "text");
    let post = Request::post("/echo").header("host", "test");
    let reply = app.clone().oneshot(post.body("a string".to_owned())?).await?;
    ensure!(
        text(reply).await? == "a string",
        "the tower service, with another kind of body"
    );
    let reply = app
        .handle(Request::put("/echo").header("host", "test").body(Body::empty())?)
        .await;
    ensure!(reply.status() == StatusCode::METHOD_NOT_ALLOWED, "{reply:?}");
    ensure!(reply.headers().contains_key(header::ALLOW), "{reply:?}");
    let reply = app.handle(Request::get("/echo").body(Body::empty())?).await;
    ensure!(reply.status() == StatusCode::BAD_REQUEST, "without a host: {reply:?}");
    Ok(())
}

async fn it_counts_as_no_adapter() -> Result<()> {
    let app = App::with_options(usual_options())?;
    app.module("shop").bytes(guest(false)).load().await?;
    app.set_global_prefix("api")?;
    ensure!(text(app.handle(get("/api/sync/text")?).await).await? == "text");
    ensure!(app.routes().iter().all(|route| route.origin == Origin::Decorator));
    ensure!(app.routes().iter().all(|route| route.unavailable_on.is_empty()));
    Ok(())
}

async fn a_listener_sends_a_request_to_the_module_that_called_it() -> Result<()> {
    for asynchronous in [false, true] {
        let app = App::with_options(usual_options())?;
        let within = app.clone();
        app.channel("gate").on_raw("pass", move |_, _| {
            let app = within.clone();
            let path = if asynchronous { "/async/text" } else { "/sync/text" };
            async move {
                let reply = app.handle(get(path).expect("a request")).await;
                let reply = text(reply).await.expect("a reply");
                Ok(Payload::json(&reply).expect("JSON"))
            }
        })?;
        app.module("shop").bytes(guest(asynchronous)).load().await?;
        let path = if asynchronous { "/async/gate" } else { "/sync/gate" };
        for _ in 0..100 {
            let reply = real::within("the reply", app.handle(get(path)?));
            let reply = text(reply.await.context("the request waits for itself")?).await?;
            ensure!(reply == "\"text\"passed", "asynchronous {asynchronous}: {reply}");
        }
    }
    Ok(())
}

#[derive(Default)]
struct Gate {
    reached: Notify,
    opened: Notify,
}

impl Gate {
    async fn pass(self: Arc<Self>) {
        self.reached.notify_one();
        self.opened.notified().await;
    }
}

/// An application with the module in both forms, a native handler, and a gate that they wait for.
async fn gated(drain: Duration) -> Result<(App, Arc<Gate>)> {
    let app = App::with_options(usual_options().max_instances(100).drain(drain))?;
    let gate = Arc::<Gate>::default();
    let (native, called) = (gate.clone(), gate.clone());
    app.get("/native/gate", move |_: Context| {
        let gate = native.clone();
        async move {
            gate.pass().await;
            "passed"
        }
    })?;
    app.channel("gate").on_raw("pass", move |_, _| {
        let gate = called.clone();
        async move {
            gate.pass().await;
            Ok(Payload::null())
        }
    })?;
    app.module("sync").bytes(guest(false)).load().await?;
    app.module("async").bytes(guest(true)).load().await?;
    Ok((app, gate))
}

const GATES: [&str; 3] = ["/native/gate", "/sync/gate", "/async/gate"];

/// Sends a request, and returns once it is in flight.
async fn begin(app: &App, path: &str) -> Result<JoinHandle<Response<Body>>> {
    let mut reply = Box::pin(app.handle(get(path)?));
    match futures_util::poll!(&mut reply) {
        Poll::Ready(reply) => bail!("{path} is answered at once: {reply:?}"),
        Poll::Pending => Ok(tokio::spawn(reply)),
    }
}

/// Sends a request, and returns once it has reached the gate.
async fn begin_gated(app: &App, gate: &Gate, path: &str) -> Result<JoinHandle<Response<Body>>> {
    let mut reply = begin(app, path).await?;
    tokio::select! {
        reply = &mut reply => bail!("{path} is answered in front of the gate: {reply:?}"),
        () = gate.reached.notified() => Ok(reply),
    }
}

async fn calls_in_flight_end_before_a_close_does() -> Result<()> {
    let (app, gate) = gated(Duration::from_secs(60)).await?;
    for path in GATES {
        let reply = begin_gated(&app, &gate, path).await?;
        if path != GATES[2] {
            gate.opened.notify_one();
            ensure!(text(reply.await?).await?.contains("passed"), "{path}");
            continue;
        }
        let closing = tokio::spawn({
            let app = app.clone();
            async move { app.close().await }
        });
        while app.handle(get("/sync/text")?).await.status() != StatusCode::SERVICE_UNAVAILABLE {
            tokio::task::yield_now().await;
        }
        ensure!(!closing.is_finished(), "a request is in flight");
        gate.opened.notify_one();
        ensure!(text(reply.await?).await?.contains("passed"), "{path}");
        closing.await?;
    }
    ensure!(app.requests_in_flight() == 0);
    Ok(())
}

async fn calls_that_do_not_end_are_cut() -> Result<()> {
    let (app, gate) = gated(Duration::from_millis(50)).await?;
    let mut replies = Vec::new();
    // The gates come first: a call of an instance that loops may come too late for its event.
    for path in GATES {
        replies.push((path, begin_gated(&app, &gate, path).await?));
    }
    for path in ["/sync/loop", "/async/loop"] {
        replies.push((path, begin(&app, path).await?));
    }
    app.close().await;
    for (path, reply) in replies {
        let reply = reply.await?;
        ensure!(reply.status() == StatusCode::SERVICE_UNAVAILABLE, "{path}: {reply:?}");
    }
    Ok(())
}

async fn a_closed_application_refuses_everything() -> Result<()> {
    let (app, _gate) = gated(Duration::from_secs(60)).await?;
    let routes = app.routes();
    // The first is cancelled, and comes to its end all the same.
    let _ = futures_util::poll!(pin!(app.close()));
    tokio::join!(app.close(), app.close());
    let reply = app.handle(get("/sync/text")?).await;
    ensure!(reply.status() == StatusCode::SERVICE_UNAVAILABLE, "{reply:?}");
    ensure!(reply.headers().contains_key(header::RETRY_AFTER), "{reply:?}");
    let refused = [
        app.module("new").bytes(guest(false)).load().await.err(),
        app.module("sync").bytes(guest(true)).swap().await.err(),
        app.module("new").restore().await.err(),
        app.remove("sync").await.err(),
        app.roll_back("sync").await.err(),
        app.get("/new", |_: Context| async {}).err(),
        app.set_global_prefix("new").err(),
        app.channel("new")
            .on_raw("new", |_, _| async { Ok(Payload::null()) })
            .err(),
    ];
    for (at, error) in refused.into_iter().enumerate() {
        let kind = error.map(|error| error.kind());
        ensure!(kind == Some(ErrorKind::Closed), "operation {at}: {kind:?}");
    }
    let failure = app.caller().call_raw("gate:pass", Payload::null()).await.err();
    ensure!(
        failure
            .as_ref()
            .is_some_and(|failure| *failure.code() == FailureCode::GONE),
        "{failure:?}"
    );
    ensure!(
        app.routes() == routes && app.modules().len() == 2,
        "what was registered stays listed"
    );
    Ok(())
}

async fn a_restart_restores_a_module_whose_event_names_were_allowed() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let start = || App::with_options(usual_options().state(StateDirectory::open(folder.path())?));
    let listening = |channel: &str, event: &str| {
        let channel = Channel::new(channel).on(event, Program::new());
        Guest::new().channel(channel).build()
    };
    let db = listening("db", "product:viewed");
    let (before, after) = (listening("product", "bought"), listening("product", "viewed"));
    let app = start()?;
    app.module("taker").bytes(before.clone()).restore().await?;
    app.module("db").bytes(db.clone()).restore().await?;
    ensure!(
        app.module("taker").bytes(after.clone()).swap().await.is_err(),
        "it is not allowed"
    );
    let allowed = app
        .module("taker")
        .bytes(after.clone())
        .channels(vec!["product".to_owned()]);
    allowed.swap().await?;
    app.close().await;
    // The configuration does not allow it, and the versions are those that were recorded.
    let app = start()?;
    app.module("taker").bytes(before.clone()).restore().await?;
    let restored = app.module("db").bytes(db).restore().await?;
    ensure!(restored.is_some() && app.restore_failures().is_empty(), "{restored:?}");
    let served = app.module("taker").bytes(after).swap().await?;
    ensure!(served.kind == ChangeKind::Unchanged, "{served:?}");
    app.close().await;
    Ok(())
}

/// An ordinary end of the application, and one after which the directory has what was recorded before.
async fn a_restart_neither_ends_nor_resets_a_trial() -> Result<()> {
    let length = Duration::from_secs(60);
    let version = |end: End| {
        let things = Controller::new("Things", "/").get("kept", Program::text("a").ends(end));
        Guest::with(things).build()
    };
    let good = End::Reply(ReplyBody::Text);
    for is_closed in [true, false] {
        let (folder, copy, time) = (tempfile::tempdir()?, tempfile::tempdir()?, TestClock::new());
        let start = async |folder: &Path| -> Result<App> {
            let options = usual_options().clock(time.clock()).state(StateDirectory::open(folder)?);
            let app = App::with_options(options)?;
            let module = app.module("shop").bytes(version(good)).trial(Trial::new().time(length));
            module.restore().await?;
            Ok(app)
        };
        let state = |app: &App| app.statuses().pop().map(|status| status.state);
        let call = async |app: &App, times: usize| -> Result<()> {
            for _ in 0..times {
                app.handle(get("/kept")?).await;
            }
            time.advance(TICK).await;
            Ok(())
        };
        let before = start(folder.path()).await?;
        call(&before, 100).await?;
        // One call in twenty more than in the version before is allowed.
        before.module("shop").bytes(version(End::Raise)).swap().await?;
        call(&before, 10).await?;
        time.advance(length / 2).await;
        let folder = if is_closed {
            before.close().await;
            folder.path()
        } else {
            copy_directory(folder.path(), copy.path())?;
            copy.path()
        };
        let app = start(folder).await?;
        ensure!(state(&app) == Some(ModuleState::OnTrial), "closed: {is_closed}");
        time.advance(length / 4).await;
        call(&app, 9).await?;
        ensure!(
            state(&app) == Some(ModuleState::OnTrial),
            "closed: {is_closed}: 19 calls"
        );
        call(&app, 1).await?;
        let is_taken_back = async || app.handle(get("/kept").expect("a request")).await.status() == StatusCode::OK;
        real::until_async("the version is taken back", is_taken_back).await?;
        app.close().await;
        // The version that serves has no trial, and the other one has its time behind it.
        let app = start(folder).await?;
        ensure!(state(&app) == Some(ModuleState::Serving), "closed: {is_closed}");
        app.module("shop").bytes(version(End::Trap)).swap().await?;
        time.advance(length / 2).await;
        app.close().await;
        let app = start(folder).await?;
        time.advance(length * 3 / 4).await;
        ensure!(
            state(&app) == Some(ModuleState::Serving),
            "closed: {is_closed}: the trial ends"
        );
        app.close().await;
        before.close().await;
    }
    Ok(())
}

fn copy_directory(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let copied = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_directory(&entry.path(), &copied)?;
        } else {
            fs::copy(entry.path(), copied)?;
        }
    }
    Ok(())
}

/// As at the end of a `main` that does not close the application.
async fn a_drop_without_a_close_tells_what_is_lost() -> Result<()> {
    let logs = Logs::begin();
    let told = || -> Vec<_> {
        let lines = logs.here().into_iter().map(|line| line.text);
        lines.filter(|text| text.contains("App::close")).collect()
    };
    let (app, _gate) = gated(Duration::from_millis(50)).await?;
    let emit = |app: &App| {
        for _ in 0..5 {
            app.caller().emit_raw("gate:pass", Payload::null());
        }
    };
    emit(&app);
    let _reply = begin(&app, GATES[0]).await?;
    drop(app.clone());
    ensure!(told().is_empty(), "a clone is left: {:?}", told());
    drop(app);
    let lines = told();
    ensure!(lines.len() == 1, "{lines:?}");
    ensure!(
        lines[0].contains("events=5") && lines[0].contains("requests=1"),
        "{lines:?}"
    );

    drop(gated(Duration::ZERO).await?);
    let (app, _gate) = gated(Duration::ZERO).await?;
    emit(&app);
    app.close().await;
    drop(app);
    ensure!(
        told().len() == 1,
        "nothing is lost, or it was told before: {:?}",
        told()
    );
    Ok(())
}

async fn a_limit_for_bodies_around_it_keeps_its_status() -> Result<()> {
    let app = App::with_options(usual_options())?;
    app.post("/echo", |context: Context| async move { context.bytes().await })?;
    let post = Request::post("/echo").header("host", "test");
    let reply = app.handle(post.body(Limited::new(Body::from("four"), 3))?).await;
    ensure!(reply.status() == StatusCode::PAYLOAD_TOO_LARGE, "{reply:?}");
    Ok(())
}
