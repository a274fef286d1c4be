//! Calls to listeners in another process, over NATS (spec N9).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use pointwork::http::header::RETRY_AFTER;
use pointwork::http::{HeaderValue, Request, StatusCode};
use pointwork::{App, AppOptions, Body, Context, Delivery, EventStore, Failure, FailureCode, Payload};
use pointwork_core::{BoxFuture, Clock};
use pointwork_events_tests::proxy::{Fault, Proxy};
use pointwork_events_tests::server::Server;
use pointwork_events_tests::world::quick;
use pointwork_nats::{Connection, NatsOptions, NatsStore};
use pointwork_suite::logs::Logs;
use pointwork_test_clock::TestClock;
use pointwork_test_clock::real::{until_async, within};
use serde_json::json;
use tokio::runtime::Handle;
use tokio::sync::Semaphore;

use crate::Plain;
use crate::cases::TRACEPARENT;

pub(crate) const ALL: &[(&str, Plain)] = crate::list![
    a_call_is_answered_elsewhere,
    a_failure_is_as_that_of_a_listener_here,
    an_emitted_event_is_heard_elsewhere,
    without_a_process_that_serves_it_a_channel_is_unreachable,
    without_a_server_a_channel_is_unreachable,
    a_call_without_an_answer_ends_at_its_deadline,
    a_connection_that_is_cut_sends_no_call_twice,
    a_context_is_not_handed_over,
    a_call_too_many_is_overloaded,
    what_is_too_large_is_not_sent,
    a_circle_over_two_processes_ends,
    processes_share_the_calls,
    an_application_is_ready_when_its_channels_are_served,
    a_served_channel_that_nobody_listens_to_is_warned_of,
    an_application_is_not_ready_without_the_right_to_serve,
    a_channel_without_listeners_is_served_no_more,
    an_answer_waits_for_the_events_that_its_listener_emits,
    what_a_stranger_sends_is_answered_or_dropped,
];

const STOCK: &str = "stock";

/// The deadline of requests and events.
const DEADLINE: Duration = Duration::from_secs(60);

/// The pause after a refusal, and the time that a served channel has for its first listener.
const TEN_SECONDS: Duration = Duration::from_secs(10);

async fn connect(url: &str) -> Connection {
    connect_on(Clock::real(), url).await
}

async fn connect_on(clock: Clock, url: &str) -> Connection {
    let options = NatsOptions {
        servers: vec![url.to_owned()],
        prefix: "shop".to_owned(),
        clock,
        ..NatsOptions::default()
    };
    Connection::open(options, Handle::current())
        .await
        .expect("it begins to connect")
}

fn app() -> App {
    app_on(Clock::real())
}

fn app_on(clock: Clock) -> App {
    let mut options = AppOptions::new().drain(Duration::from_millis(500)).clock(clock);
    (options.router.deadline, options.bus.deadline) = (Some(DEADLINE), DEADLINE);
    App::with_options(options).expect("threads start")
}

/// An application whose channel `stock` is elsewhere.
async fn caller(url: &str) -> App {
    let app = app();
    calls_elsewhere(&app, url).await;
    app
}

async fn calls_elsewhere(app: &App, url: &str) {
    let connection = connect(url).await;
    for event in ["reserve", "other"] {
        app.channel(STOCK)
            .on_raw(event, connection.listener(STOCK))
            .expect("a listener");
    }
    until_connected(app, "stock:other").await;
}

/// Waits until the connection of the event's listener has a server.
async fn until_connected(app: &App, event: &'static str) {
    let is_connected = async || !has_no_server(&app.caller().call_raw(event, Payload::null()).await);
    eventually("it is connected", is_connected).await;
}

fn has_no_server(result: &Result<Payload, Failure>) -> bool {
    result
        .as_ref()
        .is_err_and(|failure| failure.message().contains("no server"))
}

/// Calls until a call ends as expected. A call that is sent while the connection ends waits for its answer, beside the next calls.
async fn until_call(app: &App, event: &'static str, is_expected: fn(&Result<Payload, Failure>) -> bool) {
    let has_ended = Arc::new(AtomicBool::new(false));
    let call = async || {
        let (app, ended) = (app.clone(), has_ended.clone());
        tokio::spawn(async move {
            let result = app.caller().call_raw(event, Payload::null()).await;
            ended.fetch_or(is_expected(&result), Ordering::Relaxed);
        });
        has_ended.load(Ordering::Relaxed)
    };
    eventually("a call ends as expected", call).await;
}

/// An application that serves the channel.
async fn server<F, R>(url: &str, at_once: u16, listener: F) -> App
where
    F: Fn(Delivery, Payload) -> R + Send + Sync + 'static,
    R: Future<Output = Result<Payload, Failure>> + Send + 'static,
{
    let app = app();
    app.channel(STOCK).on_raw("reserve", listener).expect("a listener");
    serve(&app, url, at_once).await;
    app
}

async fn serve(app: &App, url: &str, at_once: u16) {
    let starting = app.bus().not_ready_until("stock");
    connect(url).await.serve(app.caller(), STOCK, at_once, starting);
    eventually("it is served", async || app.bus().starting().is_empty()).await;
}

async fn eventually(what: &str, holds: impl AsyncFn() -> bool) {
    until_async(what, || holds()).await.expect("it comes to pass");
}

async fn call(app: &App) -> Result<Payload, Failure> {
    app.caller().call_raw("stock:reserve", Payload::null()).await
}

fn word(result: Result<Payload, Failure>) -> (String, u16) {
    let failure = result.expect_err("it fails");
    (failure.code().as_str().to_owned(), failure.status().as_u16())
}

async fn a_call_is_answered_elsewhere() {
    let (nats, time) = (Server::start(), TestClock::new());
    let seen = Arc::<Mutex<Vec<String>>>::default();
    let (sees, now) = (seen.clone(), time.now());
    let listener = move |delivery: Delivery, payload: Payload| {
        assert_eq!(delivery.deadline(), Some(now + DEADLINE));
        sees.lock().push(format!(
            "{} {} {} {:?} {:?}",
            delivery.event(),
            delivery.attempt(),
            delivery.caller().chain().depth(),
            delivery.request_id().map(ToString::to_string),
            delivery.caller().traceparent(),
        ));
        async move {
            Ok(Payload::new(
                "application/x-reversed",
                payload.data().iter().rev().copied().collect::<Vec<_>>(),
            ))
        }
    };
    let [serving, calling] = [(); 2].map(|()| app_on(time.clock()));
    serving.channel(STOCK).on_raw("reserve", listener).expect("a listener");
    serve(&serving, &nats.url(), 16).await;
    calls_elsewhere(&calling, &nats.url()).await;
    let route = |ctx: Context| async move {
        let payload = Payload::new("application/x-bytes", (0..=255).collect::<Vec<u8>>());
        let result = ctx.call_raw("stock:reserve", payload).await?;
        let is_reversed = result.data().iter().copied().eq((0..=255).rev());
        Ok::<_, Failure>(format!("{} {is_reversed}", result.content_type()))
    };
    calling.post("/reserve", route).expect("a route");
    let request = Request::post("/reserve")
        .header("host", "localhost")
        .header("x-request-id", "of-the-shop")
        .header("traceparent", TRACEPARENT);
    let request = request.body(Body::empty()).expect("a request");
    let reply = within("the reply", calling.handle(request)).await.expect("a reply");
    let body = reply.into_body().bytes().await.expect("a body");
    assert_eq!(body, "application/x-reversed true");
    assert_eq!(
        *seen.lock(),
        [format!(r#"reserve 1 1 Some("of-the-shop") Some("{TRACEPARENT}")"#)]
    );
    calling.close().await;
    serving.close().await;
}

async fn a_failure_is_as_that_of_a_listener_here() {
    let nats = Server::start();
    let listener = |_: Delivery, _: Payload| async {
        let failure = Failure::with_code(
            FailureCode::new("sold-out"),
            StatusCode::CONFLICT,
            "none is left – 'ü'\nat all",
        );
        Err(failure
            .detail("left", 0)
            .header(RETRY_AFTER, HeaderValue::from_static("7")))
    };
    let serving = server(&nats.url(), 16, listener).await;
    let calling = caller(&nats.url()).await;
    let failure = call(&calling).await.expect_err("it fails");
    assert_eq!((failure.code().as_str(), failure.status().as_u16()), ("sold-out", 409));
    assert_eq!(failure.message(), "none is left – 'ü'\nat all");
    assert_eq!(failure.details().expect("details")["left"], 0);
    assert_eq!(failure.headers()[RETRY_AFTER], "7");
    // An event that the process serves no listener for is as unknown as here.
    let other = calling.caller().call_raw("stock:other", Payload::null()).await;
    assert_eq!(word(other), ("unknown-event".to_owned(), 500));
    calling.close().await;
    serving.close().await;
}

async fn an_emitted_event_is_heard_elsewhere() {
    let nats = Server::start();
    let heard = Arc::new(AtomicU32::new(0));
    let hears = heard.clone();
    let listener = move |_: Delivery, _: Payload| {
        hears.fetch_add(1, Ordering::Relaxed);
        async { Ok(Payload::null()) }
    };
    let serving = server(&nats.url(), 16, listener).await;
    let calling = caller(&nats.url()).await;
    calling.caller().emit_raw("stock:reserve", Payload::null());
    eventually("it is heard", async || heard.load(Ordering::Relaxed) == 1).await;
    calling.close().await;
    serving.close().await;
}

async fn without_a_process_that_serves_it_a_channel_is_unreachable() {
    let nats = Server::start();
    let calling = caller(&nats.url()).await;
    assert_eq!(word(call(&calling).await), ("unreachable".to_owned(), 503));
    calling.close().await;
}

async fn without_a_server_a_channel_is_unreachable() {
    let nats = Server::start();
    let serving = server(&nats.url(), 16, |_, _| async { Ok(Payload::null()) }).await;
    let calling = caller(&nats.url()).await;
    nats.kill();
    let is_unreachable = |result: &Result<Payload, Failure>| {
        let failure = result.as_ref().err();
        failure.is_some_and(|failure| *failure.code() == FailureCode::UNREACHABLE)
    };
    until_call(&calling, "stock:reserve", is_unreachable).await;
    nats.start_again();
    until_call(&calling, "stock:reserve", Result::is_ok).await;
    calling.close().await;
    serving.close().await;
}

/// Holds the calls of its listener until it opens.
#[derive(Clone)]
struct Gate {
    runs: Arc<AtomicU32>,
    closed: Arc<Semaphore>,
}

impl Gate {
    fn new() -> Self {
        let (runs, closed) = (Arc::default(), Arc::new(Semaphore::new(0)));
        Self { runs, closed }
    }

    fn listener(&self) -> impl Fn(Delivery, Payload) -> BoxFuture<'static, Result<Payload, Failure>> + use<> {
        let gate = self.clone();
        move |_, _| {
            gate.runs.fetch_add(1, Ordering::Relaxed);
            let closed = gate.closed.clone();
            Box::pin(async move {
                // The semaphore is closed when the gate opens.
                let _ = closed.acquire().await;
                Ok(Payload::null())
            })
        }
    }

    fn open(&self) {
        self.closed.close();
    }

    /// The calls of the listener.
    fn runs(&self) -> u32 {
        self.runs.load(Ordering::Relaxed)
    }
}

async fn a_call_without_an_answer_ends_at_its_deadline() {
    let (nats, time) = (Server::start(), TestClock::new());
    let gate = Gate::new();
    let serving = server(&nats.url(), 16, gate.listener()).await;
    let calling = app_on(time.clock());
    calls_elsewhere(&calling, &nats.url()).await;
    let seen = Arc::<Mutex<Option<(String, u16)>>>::default();
    let sees = seen.clone();
    // The time of an emitted event is that of the calls within it.
    let listener = move |delivery: Delivery, _: Payload| {
        let sees = sees.clone();
        async move {
            let called = delivery.call_raw("stock:reserve", Payload::null()).await;
            *sees.lock() = Some(word(called));
            Ok(Payload::null())
        }
    };
    calling.channel("here").on_raw("ask", listener).expect("a listener");
    calling.caller().emit_raw("here:ask", Payload::null());
    eventually("the listener runs", async || gate.runs() == 1).await;
    time.advance(DEADLINE - Duration::from_millis(1)).await;
    assert_eq!(*seen.lock(), None);
    time.advance(Duration::from_millis(1)).await;
    assert_eq!(*seen.lock(), Some(("deadline".to_owned(), 504)));
    calling.close().await;
    serving.close().await;
}

async fn a_connection_that_is_cut_sends_no_call_twice() {
    let nats = Server::start();
    let proxy = Proxy::before(nats.port()).await;
    let gate = Gate::new();
    let serving = server(&nats.url(), 16, gate.listener()).await;
    let calling = caller(&proxy.url()).await;
    let client = calling.clone();
    // The answer may find the connection that is made again.
    let first = tokio::spawn(async move { call(&client).await });
    eventually("the listener runs", async || gate.runs() == 1).await;
    proxy.set(Fault::Cut);
    until_call(&calling, "stock:other", has_no_server).await;
    proxy.set(Fault::None);
    until_connected(&calling, "stock:other").await;
    gate.open();
    // The server of NATS keeps the order of calls.
    call(&calling).await.expect("an answer");
    assert_eq!(gate.runs(), 2);
    first.abort();
    calling.close().await;
    serving.close().await;
}

async fn a_context_is_not_handed_over() {
    let nats = Server::start();
    let calling = caller(&nats.url()).await;
    let route = |ctx: Context| async move {
        let failure = ctx
            .hand_over_raw("stock:reserve", Payload::null())
            .expect_err("it is elsewhere");
        failure.code().as_str().to_owned()
    };
    calling.post("/hand-over", route).expect("a route");
    let request = Request::post("/hand-over")
        .header("host", "localhost")
        .body(Body::empty());
    let reply = calling.handle(request.expect("a request")).await;
    assert_eq!(reply.into_body().bytes().await.expect("a body"), "not-remote");
    calling.close().await;
}

async fn a_call_too_many_is_overloaded() {
    let nats = Server::start();
    let gate = Gate::new();
    let serving = server(&nats.url(), 2, gate.listener()).await;
    let calling = caller(&nats.url()).await;
    let calls = (0..5).map(|_| {
        let calling = calling.clone();
        tokio::spawn(async move { call(&calling).await })
    });
    let calls: Vec<_> = calls.collect();
    let ended = || calls.iter().filter(|call| call.is_finished()).count();
    eventually("three calls are refused", async || ended() == 3).await;
    gate.open();
    let mut answers = Vec::new();
    for answer in calls {
        answers.push(
            answer
                .await
                .expect("no panic")
                .map_or_else(|failure| failure.status().as_u16(), |_| 200),
        );
    }
    answers.sort_unstable();
    assert_eq!(answers, [200, 200, 503, 503, 503]);
    assert_eq!(gate.runs(), 2);
    assert!(call(&calling).await.is_ok(), "there is room again");
    calling.close().await;
    serving.close().await;
}

async fn what_is_too_large_is_not_sent() {
    let nats = Server::with("max_payload: 65536");
    let listener = |_: Delivery, payload: Payload| async move {
        let size = payload.data().len();
        Ok(if size == 0 {
            Payload::new("text/plain", vec![0; 100_000])
        } else {
            Payload::json(&size)?
        })
    };
    let serving = server(&nats.url(), 16, listener).await;
    let calling = caller(&nats.url()).await;
    let call = async |size: usize| {
        let payload = Payload::new("text/plain", vec![0; size]);
        calling.caller().call_raw("stock:reserve", payload).await
    };
    assert_eq!(word(call(100_000).await), ("too-large".to_owned(), 413));
    assert_eq!(call(60_000).await.expect("a result").to::<u32>().expect("JSON"), 60_000);
    assert_eq!(word(call(0).await), ("too-large".to_owned(), 413), "of the result");
    calling.close().await;
    serving.close().await;
}

async fn a_circle_over_two_processes_ends() {
    let nats = Server::start();
    let url = nats.url();
    let (first, second) = (app(), app());
    let runs = Arc::new(AtomicU32::new(0));
    for (app, own, other) in [(&first, "a", "b"), (&second, "b", "a")] {
        let connection = connect(&url).await;
        let runs = runs.clone();
        let listener = move |delivery: Delivery, _: Payload| {
            runs.fetch_add(1, Ordering::Relaxed);
            async move { delivery.call_raw(&format!("{other}:turn"), Payload::null()).await }
        };
        app.channel(own).on_raw("turn", listener).expect("a listener");
        app.channel(other)
            .on_raw("turn", connection.listener(other))
            .expect("a listener");
        let starting = app.bus().not_ready_until(own);
        connection.serve(app.caller(), own, 16, starting);
        eventually("it is served", async || app.bus().starting().is_empty()).await;
    }
    let failed = first.caller().call_raw("a:turn", Payload::null()).await;
    assert_eq!(word(failed).0, "too-deep");
    assert!(runs.load(Ordering::Relaxed) <= 8);
    first.close().await;
    second.close().await;
}

async fn processes_share_the_calls() {
    let nats = Server::start();
    let counts = [(); 2].map(|()| Arc::new(AtomicU32::new(0)));
    let mut serving = Vec::new();
    for count in &counts {
        let count = count.clone();
        let listener = move |_: Delivery, _: Payload| {
            count.fetch_add(1, Ordering::Relaxed);
            async { Ok(Payload::null()) }
        };
        serving.push(server(&nats.url(), 16, listener).await);
    }
    let calling = caller(&nats.url()).await;
    for _ in 0..100 {
        call(&calling).await.expect("an answer");
    }
    let counts = counts.map(|count| count.load(Ordering::Relaxed));
    assert_eq!(counts.iter().sum::<u32>(), 100);
    assert!(counts.iter().all(|count| *count > 10), "{counts:?}");
    // One ends, and every call is answered by the other.
    serving.pop().expect("an application").close().await;
    for _ in 0..50 {
        call(&calling).await.expect("an answer");
    }
    calling.close().await;
    serving.pop().expect("an application").close().await;
}

async fn an_application_is_ready_when_its_channels_are_served() {
    let (nats, time) = (Server::start(), TestClock::new());
    nats.kill();
    let serving = app();
    let starting = serving.bus().not_ready_until("the channel `stock` is not served yet");
    let connection = connect_on(time.clock(), &nats.url()).await;
    let elsewhere = serving.channel("elsewhere");
    elsewhere
        .on_raw("ask", connection.listener("elsewhere"))
        .expect("a listener");
    connection.serve(serving.caller(), STOCK, 16, starting);
    time.until_timer(TEN_SECONDS).await;
    assert_eq!(serving.bus().starting(), ["the channel `stock` is not served yet"]);
    nats.start_again();
    until_connected(&serving, "elsewhere:ask").await;
    assert_eq!(time.timers(), [TEN_SECONDS], "it waits for a listener");
    assert_eq!(serving.bus().starting().len(), 1, "nobody listens yet");
    serving
        .channel(STOCK)
        .on_raw("reserve", |_, _| async { Ok(Payload::null()) })
        .expect("a listener");
    eventually("it is ready", async || serving.bus().starting().is_empty()).await;
    let calling = caller(&nats.url()).await;
    call(&calling).await.expect("an answer");
    calling.close().await;
    serving.close().await;
}

async fn a_served_channel_that_nobody_listens_to_is_warned_of() {
    let (nats, time, logs) = (Server::start(), TestClock::new(), Logs::begin());
    let serving = app();
    let starting = serving.bus().not_ready_until("unheard");
    let connection = connect_on(time.clock(), &nats.url()).await;
    connection.serve(serving.caller(), "unheard", 16, starting);
    time.until_timer(TEN_SECONDS).await;
    time.advance(TEN_SECONDS - Duration::from_millis(1)).await;
    assert_eq!(time.timers(), [Duration::from_millis(1)], "not yet");
    time.advance(Duration::from_millis(1)).await;
    let warned = logs.containing("channel=unheard", 1).await.expect("a warning");
    assert!(
        warned[0].text.contains("nobody listens to the channel"),
        "{}",
        warned[0].text
    );
    serving.close().await;
}

async fn an_application_is_not_ready_without_the_right_to_serve() {
    let time = TestClock::new();
    let rights = "permissions: {subscribe: [\"_INBOX.>\"], publish: [\">\"]}";
    let nats = Server::with(&format!(
        "authorization: {{users: [{{user: shop, password: \"a b\", {rights}}}]}}"
    ));
    let serving = app();
    let listener = |_: Delivery, _: Payload| async { Ok(Payload::null()) };
    serving.channel(STOCK).on_raw("reserve", listener).expect("a listener");
    let starting = serving.bus().not_ready_until("stock");
    // The user and the password are those of the address.
    let url = nats.url().replace("nats://", "nats://shop:a%20b@");
    let connection = connect_on(time.clock(), &url).await;
    connection.serve(serving.caller(), STOCK, 16, starting);
    for _ in 0..2 {
        // The pause after a refusal.
        time.until_timer(TEN_SECONDS).await;
        assert_eq!(serving.bus().starting(), ["stock"]);
        time.advance(TEN_SECONDS).await;
    }
    serving.close().await;
}

async fn a_channel_without_listeners_is_served_no_more() {
    let nats = Server::start();
    let serving = server(&nats.url(), 16, |_, _| async { Ok(Payload::null()) }).await;
    let calling = caller(&nats.url()).await;
    call(&calling).await.expect("an answer");
    serving.close().await;
    assert_eq!(word(call(&calling).await), ("unreachable".to_owned(), 503));
    calling.close().await;
}

async fn an_answer_waits_for_the_events_that_its_listener_emits() {
    let nats = Server::start();
    let serving = app();
    let store: Arc<dyn EventStore> = Arc::new(NatsStore::new(connect(&nats.url()).await));
    serving
        .make_durable("mail", quick(), store.clone())
        .expect("it is durable");
    let listener = |delivery: Delivery, payload: Payload| async move {
        let payload: bool = payload.to()?;
        if payload {
            delivery.emit_raw("mail:order", Payload::json(&json!({"key": 1}))?);
        }
        Ok(Payload::null())
    };
    serving.channel(STOCK).on_raw("reserve", listener).expect("a listener");
    serve(&serving, &nats.url(), 16).await;
    let calling = caller(&nats.url()).await;
    let call = async |emits: bool| {
        let payload = Payload::json(&emits).expect("JSON");
        calling.caller().call_raw("stock:reserve", payload).await
    };
    call(true).await.expect("an answer");
    assert_eq!(store.figures("mail").await.expect("figures").waiting, 1);
    calling.close().await;
    serving.close().await;
}

async fn what_a_stranger_sends_is_answered_or_dropped() {
    let nats = Server::start();
    let serving = server(&nats.url(), 16, |_, _| async { Ok(Payload::null()) }).await;
    let stranger = async_nats::connect(nats.url()).await.expect("a connection");
    let send = async |headers: &[(&str, &str)], payload: &'static [u8]| {
        let mut map = async_nats::HeaderMap::new();
        for (name, value) in headers {
            map.insert(*name, *value);
        }
        let answer = stranger
            .request_with_headers("shop.call.stock.reserve", map, payload.into())
            .await;
        let headers = answer.expect("an answer").headers.unwrap_or_default();
        headers.get("pointwork-code").map(|code| code.as_str().to_owned())
    };
    assert_eq!(send(&[], b"").await.as_deref(), Some("unknown-event"));
    assert_eq!(
        send(&[("ce-type", "mail:reserve")], b"").await.as_deref(),
        Some("unknown-event")
    );
    let deep = [("ce-type", "stock:reserve"), ("ce-depth", "200")];
    assert_eq!(send(&deep, b"").await.as_deref(), Some("too-deep"));
    let late = [
        ("ce-type", "stock:reserve"),
        ("ce-time-left", "-1"),
        ("ce-requestid", "a\tb"),
        ("content-type", ""),
    ];
    assert_eq!(
        send(&late, b"\xff\xfe").await,
        None,
        "what it cannot read counts as absent"
    );
    let no_time = [("ce-type", "stock:reserve"), ("ce-time-left", "0")];
    assert!([None, Some("deadline".to_owned())].contains(&send(&no_time, b"").await));
    // Without an address for the answer.
    stranger
        .publish("shop.call.stock.reserve", "".into())
        .await
        .expect("it is sent");
    let calling = caller(&nats.url()).await;
    call(&calling).await.expect("an answer");
    calling.close().await;
    serving.close().await;
}
