//! The exchange of one request, without a server: replies, holders, deadlines, panics, events.

mod bodies;
mod client;
mod contexts;
mod events;
mod replies;
#[path = "../support/mod.rs"]
mod support;

use std::future::ready;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::FutureExt as _;
use http::{Method, Request, Response, StatusCode};
use pointwork_core::routing::{MethodFilter, Pattern};
use pointwork_core::{
    Body, BodyError, BodyWriter, Bus, BusOptions, Context, Crash, CrashKind, Delivery, Executor, Failure, FailureCode,
    Handler, IntoReply as _, Listener, Origin, Outcome, Payload, Route, RouteRecord, Router, RouterOptions,
    Subscription,
};

use pointwork_test_clock::TestClock;
use pointwork_test_clock::real::within;
use serde_json::{Value, json};
use tokio::sync::{Notify, mpsc};

use support::{Tokio, drained};

/// One route, its bus, and what the bus reported.
struct Stand {
    /// The time of the router and the bus.
    time: TestClock,
    router: Router,
    bus: Bus,
    crashes: Arc<Mutex<Vec<Crash>>>,
}

impl Stand {
    fn new(handler: impl Handler) -> Self {
        Self::with(handler, |_| {}, BusOptions::new())
    }

    fn with(handler: impl Handler, change: impl FnOnce(&mut RouterOptions), bus: BusOptions) -> Self {
        Self::of(None, handler, change, bus)
    }

    /// The route is a module's, or the host application's.
    fn of(
        module: Option<&str>,
        handler: impl Handler,
        change: impl FnOnce(&mut RouterOptions),
        bus: BusOptions,
    ) -> Self {
        let time = TestClock::new();
        let executor: Arc<dyn Executor> = Arc::new(Tokio(time.clock()));
        let bus = Bus::new(executor.clone(), bus);
        let crashes = Arc::new(Mutex::new(Vec::new()));
        let heard = crashes.clone();
        let hear = move |_: Delivery, payload: Payload| {
            heard.lock().unwrap().push(payload.to().unwrap());
            async { Ok(Payload::null()) }
        };
        let mut options = RouterOptions::new();
        change(&mut options);
        let record = RouteRecord {
            method: "ALL".to_owned(),
            path: "/:id".to_owned(),
            origin: Origin::Manual,
            module: module.map(str::to_owned),
            controller: None,
            handler: None,
            unavailable_on: Vec::new(),
        };
        let route = Route {
            filter: MethodFilter::All,
            pattern: Pattern::parse("/:id").unwrap(),
            record: Arc::new(record),
            handler: Arc::new(handler),
        };
        let router = Router::new(vec![route], options, bus.clone(), executor).unwrap();
        let stand = Self {
            time,
            router,
            bus,
            crashes,
        };
        stand.listen("server", "crashed", hear).unwrap();
        stand
    }

    fn listen(&self, channel: &str, event: &str, listener: impl Listener) -> Result<(), pointwork_core::Error> {
        self.bus.subscribe([Subscription {
            channel: channel.to_owned(),
            event: event.to_owned(),
            module: None,
            listener: Arc::new(listener),
        }])
    }

    async fn reply(&self, request: Request<Body>) -> Response<String> {
        let (head, body) = self.router.respond(None, request).await.into_parts();
        let text = String::from_utf8(body.bytes().await.unwrap().to_vec()).unwrap();
        Response::from_parts(head, text)
    }

    async fn send(&self, request: Request<Body>) -> (StatusCode, String) {
        let (head, text) = self.reply(request).await.into_parts();
        (head.status, text)
    }

    async fn get(&self) -> (StatusCode, String) {
        self.send(request(Method::GET, Body::empty())).await
    }

    async fn crash(&self) -> Crash {
        drained(&self.bus).await;
        let mut crashes = self.crashes.lock().unwrap();
        assert_eq!(crashes.len(), 1, "{crashes:?}");
        crashes.remove(0)
    }
}

fn request(method: Method, body: Body) -> Request<Body> {
    Request::builder()
        .method(method)
        .uri("/7")
        .header("host", "test")
        .body(body)
        .unwrap()
}

#[tokio::test]
async fn a_value_is_the_reply() {
    let stand = Stand::new(|ctx: Context| async move { ctx.param("id").map(str::to_owned) });
    assert_eq!(stand.get().await, (StatusCode::OK, "7".to_owned()));
}

#[tokio::test]
async fn a_handler_that_lets_go_of_its_context_may_still_return_a_value() {
    let stand = Stand::new(|ctx: Context| async move {
        drop(ctx);
        tokio::task::yield_now().await;
        "late"
    });
    assert_eq!(stand.get().await, (StatusCode::OK, "late".to_owned()));
}

#[tokio::test]
async fn nobody_replies_is_500_at_once_and_a_crash_that_names_the_route() {
    let stand = Stand::new(|_: Context| async {});
    let (status, body) = stand.get().await;
    assert_eq!(
        (status, body.as_str()),
        (StatusCode::INTERNAL_SERVER_ERROR, r#"{"message":"internal error"}"#)
    );
    let crash = stand.crash().await;
    assert_eq!(
        (crash.kind, crash.route.as_deref()),
        (CrashKind::NoReply, Some("ALL /:id"))
    );
}

#[tokio::test]
async fn whoever_holds_the_context_may_reply_later() {
    let (hold, mut held) = mpsc::unbounded_channel();
    let stand = Stand::new(move |ctx: Context| {
        assert!(hold.send(ctx).is_ok());
        ready(())
    });
    let later = async { held.recv().await.unwrap().send("from elsewhere").unwrap() };
    // The first poll of the request ends the handler.
    let (reply, ()) = tokio::join!(stand.get(), later);
    assert_eq!(reply, (StatusCode::OK, "from elsewhere".to_owned()));
}

#[tokio::test]
async fn a_second_reply_is_refused_and_changes_nothing() {
    let stand = Stand::new(|ctx: Context| async move {
        ctx.send("first").unwrap();
        let failure = ctx.send("second").unwrap_err();
        assert_eq!(failure.code(), &FailureCode::ALREADY_REPLIED);
    });
    assert_eq!(stand.get().await, (StatusCode::OK, "first".to_owned()));
}

#[tokio::test]
async fn a_handler_goes_on_after_its_reply() {
    let (answered, done) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (waits, tells) = (answered.clone(), done.clone());
    let stand = Stand::new(move |ctx: Context| {
        let (waits, tells) = (waits.clone(), tells.clone());
        async move {
            ctx.send("sent").unwrap();
            // It cannot end before the client has its answer.
            waits.notified().await;
            tells.notify_one();
        }
    });
    assert_eq!(stand.get().await.1, "sent");
    answered.notify_one();
    within("the end of the handler", done.notified()).await.unwrap();
}

#[tokio::test]
async fn a_panic_ends_one_request_with_500() {
    let stand = Stand::new(|ctx: Context| async move {
        assert_ne!(ctx.method(), Method::PUT, "a secret");
        "fine"
    });
    let (status, body) = stand.send(request(Method::PUT, Body::empty())).await;
    assert_eq!(status, StatusCode::INTERNAL_SERVER_ERROR);
    assert!(!body.contains("secret"), "{body}");
    assert_eq!(stand.get().await.1, "fine");
    let crash = stand.crash().await;
    assert_eq!(crash.kind, CrashKind::Panic);
    assert!(crash.message.contains("a secret"), "{}", crash.message);
}

#[tokio::test]
async fn a_reply_shows_the_crashes_of_its_request_only_if_it_is_to() {
    let handler = |ctx: Context| async move {
        match *ctx.method() {
            Method::PUT => panic!("a secret\nof two lines"),
            Method::DELETE => {
                ctx.caller().show_error("shop", "the reason");
                Err(Failure::new(StatusCode::BAD_GATEWAY, "no"))
            }
            _ => ctx.call_raw("db:one", Payload::null()).await.map(|_| "fine"),
        }
    };
    let hear = |_: Delivery, _: Payload| async { panic!("no such table") };
    let crashes = |body: &str| -> Vec<Value> {
        let body: Value = serde_json::from_str(body).unwrap();
        body["crashes"].as_array().cloned().unwrap_or_default()
    };
    let silent = Stand::new(handler);
    assert!(crashes(&silent.send(request(Method::PUT, Body::empty())).await.1).is_empty());

    let stand = Stand::with(handler, |options| options.show_crashes = true, BusOptions::new());
    stand.listen("db", "one", hear).unwrap();
    let (status, body) = stand.send(request(Method::PUT, Body::empty())).await;
    assert_eq!(status, StatusCode::INTERNAL_SERVER_ERROR);
    assert!(body.contains("\"message\": \"internal error\""), "{body}");
    assert!(body.contains("\"route\": \"ALL /:id\""), "{body}");
    let lines = ["the handler panicked: a secret", "of two lines"];
    assert_eq!(crashes(&body), [json!({"kind": "panic", "message": lines})]);

    let (status, body) = stand.get().await;
    assert_eq!(status, StatusCode::INTERNAL_SERVER_ERROR);
    assert!(body.contains("\"message\": \"internal error\""), "{body}");
    let lines = ["the listener of `db:one` panicked: no such table"];
    let crash = json!({"kind": "panic", "event": "db:one", "message": lines});
    assert_eq!(crashes(&body), [crash]);

    let (status, body) = stand.send(request(Method::DELETE, Body::empty())).await;
    assert_eq!(status, StatusCode::BAD_GATEWAY);
    let error = json!({"kind": "error", "module": "shop", "message": ["the reason"]});
    assert_eq!(crashes(&body), [error]);
}

#[tokio::test]
async fn the_deadline_cancels_the_handler_with_504() {
    const DEADLINE: Duration = Duration::from_secs(7);
    let dropped = Arc::new(AtomicBool::new(false));
    struct OnDrop(Arc<AtomicBool>);
    impl Drop for OnDrop {
        fn drop(&mut self) {
            self.0.store(true, Ordering::SeqCst);
        }
    }
    let flag = dropped.clone();
    let handler = move |_: Context| {
        let guard = OnDrop(flag.clone());
        async move {
            std::future::pending::<()>().await;
            drop(guard);
        }
    };
    let stand = Stand::with(handler, |options| options.deadline = Some(DEADLINE), BusOptions::new());
    let (status, _) = stand.time.elapse(DEADLINE, stand.get()).await;
    assert_eq!(status, StatusCode::GATEWAY_TIMEOUT);
    assert!(dropped.load(Ordering::SeqCst));
    assert_eq!(stand.crash().await.kind, CrashKind::Deadline);
}

#[tokio::test]
async fn a_body_over_the_limit_is_413_declared_or_not() {
    let stand = Stand::with(
        |ctx: Context| async move { ctx.bytes().await.map(|bytes| bytes.len().to_string()) },
        |options| options.body_limit = 8,
        BusOptions::new(),
    );
    let post = |body| stand.send(request(Method::POST, body));
    assert_eq!(post(Body::from("12345678")).await, (StatusCode::OK, "8".to_owned()));
    assert_eq!(post(Body::from("123456789")).await.0, StatusCode::PAYLOAD_TOO_LARGE);
    let (mut writer, body) = Body::channel();
    let writing = tokio::spawn(async move {
        writer.write("12345").await.unwrap();
        // The reader may be gone by now; that is the point.
        let _ = writer.write("6789").await;
    });
    assert_eq!(post(body).await.0, StatusCode::PAYLOAD_TOO_LARGE);
    writing.await.unwrap();
}

#[tokio::test]
async fn a_body_that_pauses_too_long_breaks_off_as_timed_out() {
    let time = TestClock::new();
    let executor: Arc<dyn Executor> = Arc::new(Tokio(time.clock()));
    const PAUSE: Duration = Duration::from_secs(7);
    let (mut writer, body) = Body::channel();
    let reading = tokio::spawn(body.within(Some(PAUSE), &executor).bytes());
    // Together they take longer than the pause, which begins again with each.
    for _ in 0..20 {
        time.advance(PAUSE - Duration::from_nanos(1)).await;
        writer.write("a chunk in time").await.unwrap();
    }
    time.advance(PAUSE).await;
    assert!(matches!(reading.await.unwrap(), Err(BodyError::Timeout)));

    let (writer, body) = Body::channel();
    let reading = tokio::spawn(body.within(None, &executor).bytes());
    time.advance(PAUSE * 2).await;
    assert!(!reading.is_finished());
    writer.finish().await.unwrap();
    assert_eq!(reading.await.unwrap().unwrap(), "");
}

#[tokio::test]
async fn a_reply_that_cannot_be_one_is_refused() {
    let stand = Stand::new(|ctx: Context| async move {
        let failure = ctx.send((StatusCode::CONTINUE, "no")).unwrap_err();
        assert_eq!(failure.code(), &FailureCode::INVALID_REPLY);
        (StatusCode::from_u16(999).unwrap(), "no")
    });
    assert_eq!(stand.get().await.0, StatusCode::INTERNAL_SERVER_ERROR);
    assert_eq!(stand.crash().await.kind, CrashKind::Reply);
}

#[tokio::test]
async fn a_streamed_reply_that_breaks_off_is_an_error_to_its_reader() {
    let stand = Stand::new(|ctx: Context| async move {
        let mut writer = ctx.open_reply(Response::new(())).unwrap();
        writer.write("half").await.unwrap();
    });
    let reply = stand.router.respond(None, request(Method::GET, Body::empty())).await;
    assert_eq!(reply.status(), StatusCode::OK);
    assert!(reply.into_body().bytes().await.is_err());
}

#[tokio::test]
async fn a_writer_whose_client_leaves_before_it_takes_the_head_is_told() {
    let (sender, mut ends) = mpsc::unbounded_channel();
    let (pending, opened) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (begin, told) = (pending.clone(), opened.clone());
    let stand = Stand::new(move |ctx: Context| {
        let (sender, begin, told) = (sender.clone(), begin.clone(), told.clone());
        tokio::spawn(async move {
            begin.notified().await;
            let mut writer = ctx.open_reply(Response::new(())).unwrap();
            told.notify_one();
            while writer.write("a chunk").await.is_ok() {}
            sender.send(()).unwrap();
        });
        async { Outcome::Deferred }
    });
    let mut reply = Box::pin(stand.router.respond(None, request(Method::GET, Body::empty())));
    assert!((&mut reply).now_or_never().is_none());
    pending.notify_one();
    opened.notified().await;
    drop(reply);
    let told = within("the end of the writer", ends.recv()).await;
    told.unwrap().expect("the writer is told");
}

#[tokio::test]
async fn a_writer_whose_chunk_nobody_takes_is_told() {
    let (sender, mut ends) = mpsc::unbounded_channel();
    let write = async |writer: &mut BodyWriter| loop {
        if let Err(end) = writer.write("a chunk").await {
            return end.code().clone();
        }
    };
    // A reply that is opened, and one that is returned with its body.
    for opened in [true, false] {
        let sender = sender.clone();
        let stand = Stand::new(move |ctx: Context| {
            let sender = sender.clone();
            async move {
                let (mut writer, reply) = if opened {
                    (ctx.open_reply(Response::new(())).unwrap(), Outcome::Deferred)
                } else {
                    let (writer, body) = Body::channel();
                    (writer, Response::new(body).into_reply())
                };
                tokio::spawn(async move {
                    let end = write(&mut writer).await;
                    assert_eq!(write(&mut writer).await, end, "no second wait");
                    sender.send(end).unwrap();
                });
                reply
            }
        });
        const TIMEOUT: Duration = Duration::from_secs(7);
        let router = stand.router.with_timeouts(None, Some(TIMEOUT));
        let reply = router.respond(None, request(Method::GET, Body::empty())).await;
        let end = stand.time.elapse(TIMEOUT, ends.recv()).await;
        assert_eq!(end, Some(FailureCode::GONE));
        let broken = reply.into_body().bytes().await;
        assert!(matches!(broken, Err(BodyError::Incomplete)), "{broken:?}");
    }
}

#[tokio::test]
async fn long_heads_of_requests_in_flight_share_their_memory() {
    let gate = Arc::new(Notify::new());
    let held = gate.clone();
    let handler = move |ctx: Context| {
        let held = held.clone();
        async move {
            if ctx.headers().contains_key("x-waits") {
                held.notified().await;
            }
            "ok"
        }
    };
    let stand = Stand::with(handler, |options| options.head_memory = 20 * 1024, BusOptions::new());
    let long = |header: &'static str| {
        let mut request = request(Method::GET, Body::empty());
        let value = "y".repeat(12 * 1024).try_into().unwrap();
        request.headers_mut().insert(header, value);
        request
    };
    let mut waiting = Box::pin(stand.router.respond(None, long("x-waits")));
    assert!((&mut waiting).now_or_never().is_none());
    let refused = stand.reply(long("x-long")).await;
    assert_eq!(refused.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(refused.headers()["retry-after"], "1");
    let crash = stand.crash().await;
    assert_eq!(
        (crash.kind, crash.limit.as_deref()),
        (CrashKind::Limit, Some("head-memory"))
    );
    assert_eq!(stand.get().await.0, StatusCode::OK, "a short head is not counted");
    gate.notify_one();
    assert_eq!(waiting.await.status(), StatusCode::OK);
    assert_eq!(stand.reply(long("x-long")).await.status(), StatusCode::OK);
    // The target counts too.
    let mut waiting = Box::pin(stand.router.respond(None, long("x-waits")));
    assert!((&mut waiting).now_or_never().is_none());
    let mut target = request(Method::GET, Body::empty());
    *target.uri_mut() = format!("/7?{}", "q".repeat(12 * 1024)).parse().unwrap();
    assert_eq!(stand.reply(target).await.status(), StatusCode::SERVICE_UNAVAILABLE);
}
