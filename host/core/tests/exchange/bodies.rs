//! How handlers take the request's body: not at all, whole, or chunk by chunk.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use futures_util::{FutureExt as _, stream};
use http::{Method, StatusCode};
use http_body::Frame;
use http_body_util::{BodyExt as _, StreamBody};
use pointwork_core::{
    Body, BodyError, BodyMode, BusOptions, Context, CrashKind, Failure, FailureCode, Handler, HandlerFuture,
    IntoReply as _, RequestLimits, RouterOptions,
};

use pointwork_core::adapter::BodyPump;
use tokio::sync::Semaphore;

use super::{Stand, request};

/// A handler with a mode. It counts its calls.
struct Moded<H> {
    mode: BodyMode,
    calls: Arc<AtomicUsize>,
    handler: H,
}

impl<H: Handler> Handler for Moded<H> {
    fn call(&self, context: Context) -> HandlerFuture {
        self.calls.fetch_add(1, Ordering::SeqCst);
        self.handler.call(context)
    }

    fn limits(&self) -> RequestLimits {
        let mut limits = RequestLimits::default();
        limits.body_mode = self.mode;
        limits
    }
}

fn stand(mode: BodyMode, handler: impl Handler, change: impl FnOnce(&mut RouterOptions)) -> (Stand, Arc<AtomicUsize>) {
    let calls = Arc::new(AtomicUsize::new(0));
    let handler = Moded {
        mode,
        calls: calls.clone(),
        handler,
    };
    (Stand::with(handler, change, BusOptions::new()), calls)
}

async fn length(context: Context) -> Result<String, Failure> {
    Ok(context.bytes().await?.len().to_string())
}

/// Reads chunk by chunk, and returns how much that was.
async fn count(context: Context) -> Result<String, Failure> {
    let mut reader = context.open_body()?;
    let mut length = 0;
    while let Some(chunk) = reader.read(7).await? {
        length += chunk.len();
    }
    Ok(length.to_string())
}

fn post(body: Body) -> http::Request<Body> {
    request(Method::POST, body)
}

/// A body that arrives chunk by chunk.
fn chunks(chunks: impl IntoIterator<Item = &'static str, IntoIter: Send> + Send + 'static) -> Body {
    let (mut writer, body) = Body::channel();
    tokio::spawn(async move {
        for chunk in chunks {
            if writer.write(chunk).await.is_err() {
                return;
            }
        }
        let _ = writer.finish().await;
    });
    body
}

#[tokio::test]
async fn a_handler_that_takes_no_body_runs_at_once_and_cannot_read_it() {
    let reads = |context: Context| async move {
        let failure = context.open_body().unwrap_err();
        assert_eq!(failure.code(), &FailureCode::GONE);
        context.bytes().await.unwrap_err().message().to_owned()
    };
    let (stand, _) = stand(BodyMode::None, reads, |options| options.body_limit = 1);
    let (mut writer, body) = Body::channel();
    let (status, text) = stand.send(post(body)).await;
    assert_eq!(status, StatusCode::OK);
    assert_eq!(text, "the handler declares that it takes no request body");
    assert!(writer.write("more").await.is_err(), "nobody reads it");
    assert!(writer.write("").await.is_err(), "an empty chunk tells the same");
    assert_eq!(stand.send(post("longer than the limit".into())).await.0, StatusCode::OK);
}

#[tokio::test]
async fn a_whole_body_is_there_before_the_handler_runs() {
    let (stand, calls) = stand(BodyMode::Whole, count, |_| {});
    let (mut writer, body) = Body::channel();
    let mut replying = Box::pin(stand.router.respond(None, post(body)));
    for _ in 0..3 {
        assert!((&mut replying).now_or_never().is_none());
        writer.write("a chunk").await.unwrap();
    }
    assert!((&mut replying).now_or_never().is_none());
    assert_eq!(calls.load(Ordering::SeqCst), 0, "the body has not ended");
    let (finished, reply) = tokio::join!(writer.finish(), replying);
    finished.unwrap();
    assert_eq!(reply.into_body().bytes().await.unwrap(), "21");
    assert_eq!(calls.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_whole_body_that_is_there_or_empty_waits_for_nothing() {
    let (stand, _) = stand(BodyMode::Whole, length, |_| {});
    for body in [Body::empty(), Body::from("all"), Body::stream(Body::empty())] {
        let expected = body.known_length().unwrap().to_string();
        let reply = stand.router.respond(None, post(body)).now_or_never().unwrap();
        assert_eq!(reply.into_body().bytes().await.unwrap(), expected);
    }
}

#[tokio::test]
async fn a_whole_body_may_come_in_many_small_chunks() {
    let (stand, _) = stand(BodyMode::Whole, length, |options| options.body_limit = 10_000);
    let body = chunks(std::iter::repeat_n("x", 10_000));
    assert_eq!(stand.send(post(body)).await, (StatusCode::OK, "10000".to_owned()));
}

#[tokio::test]
async fn a_whole_body_over_its_limit_is_413_and_the_message_names_stream() {
    let expected = r#"{"message":"the request body is longer than 8 bytes, the limit `body`; a handler may take longer ones as a `stream`"}"#;
    for body in [Body::from("123456789"), chunks(["12345", "6789", "and so on"])] {
        let (stand, calls) = stand(BodyMode::Whole, length, |options| {
            options.body_limit = 8;
            options.stream_body_limit = Some(1);
        });
        assert_eq!(
            stand.send(post("12345678".into())).await,
            (StatusCode::OK, "8".to_owned())
        );
        let reply = stand.send(post(body)).await;
        assert_eq!(reply, (StatusCode::PAYLOAD_TOO_LARGE, expected.to_owned()));
        let crash = stand.crash().await;
        assert_eq!((crash.kind, crash.limit.as_deref()), (CrashKind::Limit, Some("body")));
        assert_eq!(calls.load(Ordering::SeqCst), 1, "of the first request");
    }
}

#[tokio::test]
async fn a_whole_body_that_breaks_off_ends_the_request() {
    let (stand, calls) = stand(BodyMode::Whole, length, |_| {});
    let (mut writer, body) = Body::channel();
    let broken = tokio::spawn(async move { writer.write("half").await });
    let (status, text) = stand.send(post(body)).await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
    assert_eq!(text, r#"{"message":"the body broke off before its end"}"#);
    broken.await.unwrap().unwrap();
    const PAUSE: Duration = Duration::from_secs(7);
    let (_writer, body) = Body::channel();
    let router = stand.router.with_timeouts(Some(PAUSE), None);
    let late = stand.time.elapse(PAUSE, router.respond(None, post(body))).await;
    assert_eq!(late.status(), StatusCode::REQUEST_TIMEOUT);
    assert_eq!(calls.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn a_writer_without_a_chunk_learns_that_nobody_reads() {
    let (mut writer, mut body) = Body::channel();
    let closed = writer.closed();
    let mut waits = Box::pin(writer.closed());
    assert!((&mut waits).now_or_never().is_none());
    let reading = tokio::spawn(async move {
        body.frame().await.unwrap().unwrap();
        body
    });
    writer.write("one").await.unwrap();
    assert!((&mut waits).now_or_never().is_none(), "the body is read");
    drop(reading.await.unwrap());
    waits.now_or_never().expect("the body is dropped");
    closed.await;
    writer.closed().await;
    assert_eq!(writer.write("two").await.unwrap_err().code(), &FailureCode::GONE);
}

#[tokio::test]
async fn the_deadline_counts_while_a_whole_body_arrives() {
    let (stand, calls) = stand(BodyMode::Whole, length, |options| {
        options.deadline = Some(Duration::from_secs(7));
    });
    let (mut writer, body) = Body::channel();
    let replying = tokio::spawn(stand.router.respond(None, post(body)));
    for _ in 0..7 {
        writer.write("on and on").await.unwrap();
        stand.time.advance(Duration::from_secs(1)).await;
    }
    let writing = tokio::spawn(async move { while writer.write("on and on").await.is_ok() {} });
    assert_eq!(replying.await.unwrap().status(), StatusCode::GATEWAY_TIMEOUT);
    assert_eq!(stand.crash().await.kind, CrashKind::Deadline);
    writing.await.unwrap();
    assert_eq!(calls.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn a_client_that_goes_away_before_its_whole_body_leaves_nothing() {
    let (stand, calls) = stand(BodyMode::Whole, length, |_| {});
    let (mut writer, body) = Body::channel();
    let request = tokio::spawn(stand.router.respond(None, post(body)));
    writer.write("half").await.unwrap();
    tokio::task::yield_now().await;
    assert_eq!(stand.bus.requests(), 1);
    request.abort();
    assert!(request.await.is_err());
    assert_eq!(stand.bus.requests(), 0);
    assert!(writer.write("more").await.is_err());
    assert_eq!(calls.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn a_streamed_body_may_be_longer_than_what_is_held_in_memory() {
    let (stand, _) = stand(BodyMode::Stream, count, |options| options.body_limit = 8);
    assert_eq!(stand.send(post("123456789".into())).await.1, "9");
    let body = chunks(std::iter::repeat_n("0123456789", 100));
    assert_eq!(stand.send(post(body)).await.1, "1000");
}

/// Reads chunk by chunk, and returns the length of each, and the failure at the end.
async fn lengths(context: Context) -> Result<String, Failure> {
    let mut reader = context.open_body()?;
    let mut lengths = Vec::new();
    loop {
        match reader.read(10_000).await {
            Ok(Some(chunk)) => lengths.push(chunk.len().to_string()),
            Ok(None) => return Ok(lengths.join(" ")),
            Err(failure) => return Ok(format!("{} {}", lengths.join(" "), failure.code())),
        }
    }
}

#[tokio::test]
async fn short_frames_that_have_arrived_are_one_chunk() {
    let (stand, _) = stand(BodyMode::Stream, lengths, |_| {});
    let body = |frames: Vec<Result<Bytes, BodyError>>| {
        let frames = frames.into_iter().map(|data| data.map(Frame::data));
        post(Body::stream(StreamBody::new(stream::iter(frames))))
    };
    let frames = |count: usize, length: usize| (0..count).map(move |_| Ok(Bytes::from(vec![b'x'; length])));
    assert_eq!(stand.send(body(frames(10_000, 1).collect())).await.1, "4096 4096 1808");
    assert_eq!(stand.send(body(frames(2, 5_000).collect())).await.1, "5000 5000");
    let broken = frames(3, 1).chain([Err(BodyError::Incomplete)]).collect();
    assert_eq!(stand.send(body(broken)).await.1, "3 gone", "what came before the error");
}

#[tokio::test]
async fn the_time_of_a_handler_between_two_chunks_is_not_the_clients() {
    let works = Arc::new(Semaphore::new(0));
    let work = works.clone();
    let handler = move |context: Context| {
        let works = works.clone();
        async move {
            let mut reader = context.open_body()?;
            let first = reader.read(10).await?;
            drop(works.acquire().await);
            let second = reader.read(10).await?;
            Ok::<_, Failure>(format!("{first:?} {second:?} {:?}", reader.read(10).await?))
        }
    };
    let (stand, _) = stand(BodyMode::Stream, handler, |options| options.body_rate = 1024);
    let (mut writer, body) = Body::channel();
    let replying = tokio::spawn(stand.router.respond(None, post(body)));
    writer.write("a").await.unwrap();
    // Longer than a window of the rate, shorter than the deadline.
    stand.time.advance(Duration::from_secs(15)).await;
    work.add_permits(1);
    writer.write("b").await.unwrap();
    writer.finish().await.unwrap();
    let reply = replying.await.unwrap();
    assert_eq!(reply.status(), StatusCode::OK);
    let text = reply.into_body().collect().await.unwrap().to_bytes();
    assert_eq!(text, r#"Some(b"a") Some(b"b") None"#);
}

#[tokio::test]
async fn reading_a_streamed_body_at_once_is_bounded_as_a_whole_one() {
    for body in [Body::from("123456789"), chunks(["12345", "6789"])] {
        let (stand, _) = stand(BodyMode::Stream, length, |options| options.body_limit = 8);
        let (status, text) = stand.send(post(body)).await;
        assert_eq!(status, StatusCode::PAYLOAD_TOO_LARGE);
        assert!(text.contains("longer than 8 bytes, the limit `body`"), "{text}");
        assert_eq!(stand.crash().await.limit.as_deref(), Some("body"));
    }
}

#[tokio::test]
async fn a_streamed_body_has_a_limit_of_its_own() {
    for body in [Body::from("123456789"), chunks(["12345", "6789"])] {
        let (stand, _) = stand(BodyMode::Stream, count, |options| options.stream_body_limit = Some(8));
        assert_eq!(stand.send(post("12345678".into())).await.1, "8");
        let (status, text) = stand.send(post(body)).await;
        assert_eq!(status, StatusCode::PAYLOAD_TOO_LARGE);
        assert_eq!(
            text,
            r#"{"message":"the request body is longer than 8 bytes, the limit `stream-body`"}"#
        );
        assert_eq!(stand.crash().await.limit.as_deref(), Some("stream-body"));
    }
}

#[tokio::test]
async fn a_body_is_text_only_if_it_is_utf_8() {
    let (stand, _) = stand(
        BodyMode::Stream,
        |context: Context| async move { context.text().await },
        |_| {},
    );
    assert_eq!(
        stand.send(post("höhö".into())).await,
        (StatusCode::OK, "höhö".to_owned())
    );
    let (status, text) = stand.send(post(Body::from(&b"ab\xff"[..]))).await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
    assert_eq!(text, r#"{"message":"the body is not UTF-8 from byte 2 on"}"#);
}

#[tokio::test]
async fn a_panic_of_a_handler_behind_a_whole_body_is_500() {
    struct Panics;

    impl Handler for Panics {
        fn call(&self, context: Context) -> HandlerFuture {
            assert_ne!(context.method(), Method::POST, "on purpose");
            Box::pin(async { "fine".into_reply() })
        }
    }

    let (stand, _) = stand(BodyMode::Whole, Panics, |_| {});
    let reply = stand.send(post(chunks(["a body"]))).await;
    assert_eq!(reply.0, StatusCode::INTERNAL_SERVER_ERROR);
    assert_eq!(stand.crash().await.kind, CrashKind::Panic);
}

#[tokio::test]
async fn bodies_that_arrive_share_their_memory_and_one_too_many_is_503() {
    for mode in [BodyMode::Whole, BodyMode::Stream] {
        let (stand, _) = stand(mode, length, |options| options.body_memory = 100);
        let (mut writer, body) = Body::channel();
        let mut first = Box::pin(stand.router.respond(None, post(body)));
        assert!((&mut first).now_or_never().is_none());
        writer.write("x".repeat(60)).await.unwrap();
        assert!((&mut first).now_or_never().is_none());

        let refused = stand.router.respond(None, post(chunks(["0123456789"; 5]))).await;
        assert_eq!(refused.status(), StatusCode::SERVICE_UNAVAILABLE, "{mode:?}");
        assert_eq!(refused.headers()["retry-after"], "1");
        let crash = stand.crash().await;
        assert_eq!(
            (crash.kind, crash.limit.as_deref()),
            (CrashKind::Limit, Some("body-memory"))
        );

        let small = stand.send(post(chunks(["0123456789"; 4]))).await;
        assert_eq!(
            small,
            (StatusCode::OK, "40".to_owned()),
            "{mode:?}: there is room for it"
        );
        let (finished, reply) = tokio::join!(writer.finish(), first);
        finished.unwrap();
        assert_eq!(reply.into_body().bytes().await.unwrap(), "60");
        let large = stand.send(post(chunks(["0123456789"; 10]))).await;
        assert_eq!(
            large,
            (StatusCode::OK, "100".to_owned()),
            "{mode:?}: the first body is gone"
        );
    }
}

#[tokio::test]
async fn memory_is_taken_by_the_bytes_that_arrive_not_by_those_that_are_declared() {
    let (stand, _) = stand(BodyMode::Whole, length, |options| options.body_memory = 100);
    // It declares a megabyte, and has sent ten bytes.
    let (mut pump, body) = BodyPump::new(Some(1 << 20));
    let mut waiting = Box::pin(stand.router.respond(None, post(body)));
    assert!((&mut waiting).now_or_never().is_none());
    pump.put(Some(Ok("0123456789".into())));
    assert!((&mut waiting).now_or_never().is_none());
    let other = stand.send(post(chunks(["0123456789"; 9]))).await;
    assert_eq!(other, (StatusCode::OK, "90".to_owned()));
}

#[tokio::test]
async fn a_body_counts_until_its_handler_takes_it() {
    let gate = Arc::new(Semaphore::new(0));
    let (calls, held) = (Arc::new(AtomicUsize::new(0)), gate.clone());
    let handler = move |context: Context| {
        let (is_first, gate) = (calls.fetch_add(1, Ordering::SeqCst) == 0, held.clone());
        async move {
            if is_first {
                gate.acquire().await.unwrap().forget();
            }
            let length = context.bytes().await?.len().to_string();
            if is_first {
                gate.acquire().await.unwrap().forget();
            }
            Ok::<_, Failure>(length)
        }
    };
    let (stand, started) = stand(BodyMode::Whole, handler, |options| options.body_memory = 100);
    let send = || stand.send(post(chunks(["0123456789"; 10])));
    let mut first = Box::pin(send());
    while started.load(Ordering::SeqCst) == 0 {
        assert!((&mut first).now_or_never().is_none());
        tokio::task::yield_now().await;
    }
    assert_eq!(send().await.0, StatusCode::SERVICE_UNAVAILABLE);
    gate.add_permits(1);
    assert!(
        (&mut first).now_or_never().is_none(),
        "it has taken its body, and works on"
    );
    assert_eq!(send().await.0, StatusCode::OK);
    gate.add_permits(1);
    assert_eq!(first.await.0, StatusCode::OK);
}

#[tokio::test]
async fn a_client_that_sends_less_than_the_rate_gets_408() {
    let status = |mode| async move {
        let (stand, _) = stand(mode, length, |options| options.body_rate = 1024);
        let (mut writer, body) = Body::channel();
        let replying = tokio::spawn(stand.router.respond(None, post(body)));
        // One byte now and then, until nobody reads any more.
        while writer.write("x").await.is_ok() {
            stand.time.advance(Duration::from_millis(200)).await;
        }
        replying.await.unwrap().status()
    };
    let statuses = tokio::join!(status(BodyMode::Whole), status(BodyMode::Stream));
    assert_eq!(statuses, (StatusCode::REQUEST_TIMEOUT, StatusCode::REQUEST_TIMEOUT));
}

#[tokio::test]
async fn a_body_that_nobody_took_is_dropped_after_the_reply_and_the_last_call() {
    let kept = Arc::new(Mutex::new(None));
    let keeps = kept.clone();
    let handler = move |context: Context| {
        *keeps.lock().unwrap() = Some(context);
        async { "done" }
    };
    let handler = Arc::new(handler);
    for module in [Some("shop"), None] {
        let handler = handler.clone();
        let handler = Moded {
            mode: BodyMode::Whole,
            calls: Arc::default(),
            handler: move |context: Context| handler(context),
        };
        let stand = Stand::of(module, handler, |options| options.body_memory = 100, BusOptions::new());
        for turn in 0..3 {
            let reply = stand.send(post(chunks(["0123456789"; 4]))).await;
            assert_eq!(reply.0, StatusCode::OK, "{turn}: nothing is left of the body before");
            let context = kept.lock().unwrap().take().unwrap();
            let body = context.bytes().await;
            match module {
                Some(_) => assert_eq!(body.unwrap_err().code(), &FailureCode::GONE),
                // As a reply does that reads the request while it is sent.
                None => assert_eq!(body.unwrap().len(), 40, "a native handler is trusted"),
            }
        }
    }
}

#[tokio::test]
async fn a_task_takes_the_body_until_there_is_a_reply() {
    let handler = |context: Context| async move {
        tokio::spawn(async move {
            // The handler has ended, and the request waits for this reply.
            tokio::task::yield_now().await;
            let bytes = context.bytes().await.unwrap();
            context.send(bytes).unwrap();
        });
    };
    let (stand, _) = stand(BodyMode::Whole, handler, |_| {});
    let reply = stand.send(post(chunks(["a", "b"]))).await;
    assert_eq!(reply, (StatusCode::OK, "ab".to_owned()));
}
