//! The exchange of one request, without a server: replies, holders, deadlines, panics, events.

mod bodies;
mod client;
mod replies;
#[path = "../support/mod.rs"]
mod support;

use std::future::Future as _;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::Waker;
use std::time::Duration;

use http::{Method, Request, Response, StatusCode};
use pointwork_core::routing::{MethodFilter, Pattern};
use pointwork_core::{
    Body, BodyError, Bus, BusOptions, Context, Crash, CrashKind, Delivery, Executor, Failure, FailureCode, Handler,
    Listener, Origin, Outcome, Payload, Route, RouteRecord, Router, RouterOptions, Subscription,
};

use serde_json::{Value, json};
use tokio::sync::Notify;

use support::Tokio;

/// One route, its bus, and what the bus reported.
struct Stand {
    router: Router,
    bus: Bus,
    crashes: Arc<Mutex<Vec<Crash>>>,
}

impl Stand {
    fn new(handler: impl Handler) -> Self {
        Self::with(handler, |_| {}, BusOptions::new())
    }

    fn with(handler: impl Handler, change: impl FnOnce(&mut RouterOptions), bus: BusOptions) -> Self {
        let executor: Arc<dyn Executor> = Arc::new(Tokio);
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
            module: None,
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
        let stand = Self { router, bus, crashes };
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
        self.bus.drained().await;
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
    let stand = Stand::new(|ctx: Context| async move {
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(5)).await;
            ctx.send("from elsewhere")
        });
    });
    assert_eq!(stand.get().await, (StatusCode::OK, "from elsewhere".to_owned()));
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
    tokio::time::timeout(Duration::from_secs(5), done.notified())
        .await
        .unwrap();
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
        match ctx.method() {
            &Method::PUT => panic!("a secret\nof two lines"),
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
    assert!(
        body.contains("\"message\": \"the listener of `db:one` crashed\""),
        "{body}"
    );
    let lines = ["the listener of `db:one` panicked: no such table"];
    let crash = json!({"kind": "panic", "event": "db:one", "message": lines});
    assert_eq!(crashes(&body), [crash]);
}

#[tokio::test]
async fn the_deadline_cancels_the_handler_with_504() {
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
    let stand = Stand::with(
        handler,
        |options| options.deadline = Some(Duration::from_millis(10)),
        BusOptions::new(),
    );
    assert_eq!(stand.get().await.0, StatusCode::GATEWAY_TIMEOUT);
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
    let executor: Arc<dyn Executor> = Arc::new(Tokio);
    const PAUSE: Duration = Duration::from_millis(300);
    let (mut writer, body) = Body::channel();
    let reading = tokio::spawn(body.within(Some(PAUSE), &executor).bytes());
    // Together they take longer than the pause, which counts anew with each.
    for _ in 0..20 {
        tokio::time::sleep(Duration::from_millis(20)).await;
        writer.write("a piece in time").await.unwrap();
    }
    assert!(matches!(reading.await.unwrap(), Err(BodyError::Timeout)));

    let (writer, body) = Body::channel();
    let reading = tokio::spawn(body.within(None, &executor).bytes());
    // That no pause is too long shows in time alone: one that would be too long above.
    tokio::time::sleep(PAUSE * 2).await;
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
async fn an_unknown_event_names_the_nearest_known_one() {
    let stand = Stand::new(|_: Context| async {});
    stand
        .listen("db", "product:all", |_: Delivery, payload: Payload| async {
            Ok(payload)
        })
        .unwrap();
    let failure = stand
        .bus
        .caller()
        .call_raw("db:product:al", Payload::null())
        .await
        .unwrap_err();
    assert_eq!(failure.code(), &FailureCode::UNKNOWN_EVENT);
    assert!(failure.message().contains("`db:product:all`"), "{failure}");
}

#[tokio::test]
async fn a_plain_name_that_two_channels_have_is_an_error() {
    let stand = Stand::new(|_: Context| async {});
    let echo = |_: Delivery, payload: Payload| async { Ok(payload) };
    stand.listen("one", "saved", echo).unwrap();
    assert!(stand.bus.caller().call_raw("saved", Payload::null()).await.is_ok());
    stand.listen("two", "saved", echo).unwrap();
    let failure = stand.bus.caller().call_raw("saved", Payload::null()).await.unwrap_err();
    assert_eq!(failure.code(), &FailureCode::AMBIGUOUS_EVENT);
    assert!(
        failure.message().contains("`one:saved`") && failure.message().contains("`two:saved`"),
        "{failure}"
    );
    assert!(stand.listen("one", "saved", echo).is_err());
}

#[tokio::test]
async fn a_name_whose_first_part_is_a_channel_is_looked_up_there_alone() {
    let stand = Stand::new(|_: Context| async {});
    let echo = |_: Delivery, payload: Payload| async { Ok(payload) };
    stand.listen("audit", "product:viewed", echo).unwrap();
    assert!(
        stand
            .bus
            .caller()
            .call_raw("product:viewed", Payload::null())
            .await
            .is_ok()
    );
    stand.listen("product", "sold", echo).unwrap();
    let failure = stand
        .bus
        .caller()
        .call_raw("product:viewed", Payload::null())
        .await
        .unwrap_err();
    assert_eq!(failure.code(), &FailureCode::UNKNOWN_EVENT);
}

#[tokio::test]
async fn emitted_events_of_a_channel_are_heard_in_order() {
    let stand = Stand::new(|_: Context| async {});
    let heard = Arc::new(Mutex::new(Vec::new()));
    let list = heard.clone();
    let listener = move |_: Delivery, payload: Payload| {
        let heard = list.clone();
        async move {
            tokio::task::yield_now().await;
            heard.lock().unwrap().push(payload.to::<usize>().unwrap());
            Ok(Payload::null())
        }
    };
    stand.listen("log", "line", listener).unwrap();
    for number in 0..100 {
        stand.bus.caller().emit_raw("log:line", Payload::json(&number).unwrap());
    }
    stand.bus.drained().await;
    assert_eq!(*heard.lock().unwrap(), (0..100).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_full_queue_refuses_the_event_and_counts_it() {
    let options = BusOptions::new().queue(3);
    let stand = Stand::with(|_: Context| async {}, |_| {}, options);
    let count = Arc::new(AtomicUsize::new(0));
    let counter = count.clone();
    let listener = move |_: Delivery, _: Payload| {
        counter.fetch_add(1, Ordering::SeqCst);
        async { Ok(Payload::null()) }
    };
    stand.listen("slow", "work", listener).unwrap();
    // The test's one thread does not run the listener before the loop is over.
    for _ in 0..5 {
        stand.bus.caller().emit_raw("slow:work", Payload::null());
    }
    stand.bus.drained().await;
    assert_eq!((count.load(Ordering::SeqCst), stand.bus.refused()), (3, 2));
}

#[tokio::test]
async fn a_listener_that_fails_on_an_emitted_event_is_reported_and_the_next_event_is_heard() {
    let stand = Stand::new(|_: Context| async {});
    let listener = |_: Delivery, payload: Payload| async move {
        match payload.to::<bool>()? {
            true => Err(Failure::new(StatusCode::CONFLICT, "no")),
            false => Ok(Payload::null()),
        }
    };
    stand.listen("db", "write", listener).unwrap();
    stand.bus.caller().emit_raw("db:write", Payload::json(&true).unwrap());
    stand.bus.caller().emit_raw("db:write", Payload::json(&false).unwrap());
    let crash = stand.crash().await;
    assert_eq!(crash.kind, CrashKind::Listener);
    assert!(crash.message.contains("`db:write`"), "{}", crash.message);
}

#[tokio::test]
async fn a_cycle_of_calls_ends_in_an_error_that_lists_it() {
    let stand = Stand::new(|_: Context| async {});
    let again = |delivery: Delivery, payload: Payload| async move { delivery.caller().call_raw("a:b", payload).await };
    stand.listen("a", "b", again).unwrap();
    let failure = stand.bus.caller().call_raw("a:b", Payload::null()).await.unwrap_err();
    assert_eq!(failure.code(), &FailureCode::TOO_DEEP);
}

#[tokio::test]
async fn a_context_that_is_handed_over_is_replied_to_by_its_listener() {
    let stand = Stand::new(|ctx: Context| async move { ctx.hand_over_raw("response:send", Payload::null()) });
    let (status, _) = stand.get().await;
    assert_eq!(status, StatusCode::INTERNAL_SERVER_ERROR, "nobody listens yet");
    let listener = |mut delivery: Delivery, _: Payload| async move {
        delivery.take_context().unwrap().send("from the channel")?;
        assert!(delivery.take_context().is_none());
        Ok(Payload::null())
    };
    stand.listen("response", "send", listener).unwrap();
    assert_eq!(stand.get().await, (StatusCode::OK, "from the channel".to_owned()));
}

#[tokio::test]
async fn dropping_the_request_cancels_the_handler_and_refuses_its_reply() {
    let (give, given) = tokio::sync::oneshot::channel();
    let give = Mutex::new(Some(give));
    let (began, dropped) = tokio::sync::oneshot::channel::<()>();
    let began = Mutex::new(Some(began));
    let stand = Stand::new(move |ctx: Context| {
        let (give, began) = (give.lock().unwrap().take(), began.lock().unwrap().take());
        async move {
            let _began = began;
            give.unwrap().send(ctx).unwrap();
            std::future::pending::<Outcome>().await
        }
    });
    let request = tokio::spawn(stand.router.respond(None, request(Method::GET, Body::empty())));
    let context = given.await.unwrap();
    request.abort();
    assert!(dropped.await.is_err(), "what the handler held is dropped with it");
    assert_eq!(context.send("too late").unwrap_err().code(), &FailureCode::GONE);
}

#[tokio::test]
async fn a_holder_is_told_when_nobody_waits_for_the_reply_any_more() {
    let (give, given) = tokio::sync::oneshot::channel();
    let give = Mutex::new(Some(give));
    let stand = Stand::new(move |ctx: Context| {
        let give = give.lock().unwrap().take();
        async move {
            give.unwrap().send(ctx).unwrap();
            std::future::pending::<()>().await;
        }
    });
    let request = tokio::spawn(stand.router.respond(None, request(Method::GET, Body::empty())));
    let held = given.await.unwrap();
    let gone = tokio::spawn(held.gone());
    // The request still waits, and that is all it depends on.
    let now = &mut std::task::Context::from_waker(Waker::noop());
    assert!(pin!(held.gone()).poll(now).is_pending());
    request.abort();
    gone.await.unwrap();
    held.gone().await;
    assert_eq!(held.send("late").unwrap_err().code(), &FailureCode::GONE);
}

#[tokio::test]
async fn a_context_that_is_kept_for_ever_keeps_no_listener() {
    let (give, given) = tokio::sync::oneshot::channel();
    let give = Mutex::new(Some(give));
    let stand = Stand::new(move |ctx: Context| {
        let give = give.lock().unwrap().take();
        async move { give.unwrap().send(ctx).unwrap() }
    });
    let owned = Arc::new(());
    let kept = Arc::downgrade(&owned);
    let listener = move |_: Delivery, payload: Payload| {
        let _ = &owned;
        async { Ok(payload) }
    };
    stand.listen("db", "one", listener).unwrap();
    let request = tokio::spawn(stand.router.respond(None, request(Method::GET, Body::empty())));
    let held = given.await.unwrap();
    assert!(held.call_raw("db:one", Payload::null()).await.is_ok());
    request.abort();
    assert!(request.await.is_err());
    drop(stand);
    assert!(
        kept.upgrade().is_none(),
        "a guest may keep its context, and the listener may be that guest"
    );
    let failure = held.call_raw("db:one", Payload::null()).await.unwrap_err();
    assert_eq!(failure.code(), &FailureCode::GONE);
}
