//! Replies: the id of the request, typed events, errors with many headers (spec H3, H4, H6, H9).

use futures_util::FutureExt;
use http::{HeaderValue, Method, Request, StatusCode};
use pointwork_core::events::events;
use pointwork_core::{Body, BusOptions, Context, Delivery, Outcome, Payload};
use tokio::sync::mpsc;

use super::{Stand, drained, request};

events! {
    pub Double = "math:double": u64 => u64;
    pub Seen = "log:seen": u64;
    pub Send = "response:send": String;
}

fn id_of<T>(reply: &http::Response<T>) -> &str {
    let ids: Vec<_> = reply.headers().get_all("x-request-id").iter().collect();
    assert_eq!(ids.len(), 1, "{ids:?}");
    ids[0].to_str().unwrap()
}

#[tokio::test]
async fn every_reply_has_the_id_of_its_request() {
    let stand = Stand::with(
        |ctx: Context| async move {
            assert_ne!(ctx.method(), Method::PUT, "on purpose");
            if ctx.method() == Method::PATCH {
                return ctx.bytes().await.map(drop);
            }
            ctx.send("sent")
        },
        |options| options.stream_body_limit = Some(1),
        BusOptions::new(),
    );
    let cases = [
        (Method::GET, "/7", "", 200),
        (Method::HEAD, "/7", "", 200),
        (Method::PUT, "/7", "", 500),
        (Method::PATCH, "/7", "", 500),
        (Method::POST, "/7", "too long", 413),
        (Method::GET, "/7/none", "", 404),
        (Method::GET, "/%zz", "", 400),
        (Method::GET, "/%ff", "", 400),
    ];
    for (method, target, body, status) in cases {
        let mut request = request(method.clone(), body.into());
        *request.uri_mut() = target.parse().unwrap();
        let made = stand.reply(request).await;
        assert_eq!(made.status(), status, "{method} {target}");
        assert!(!id_of(&made).is_empty());
        let mut request = super::request(method.clone(), body.into());
        *request.uri_mut() = target.parse().unwrap();
        request
            .headers_mut()
            .insert("x-request-id", HeaderValue::from_static("mine-1"));
        let reply = stand.reply(request).await;
        assert_eq!(
            (reply.status().as_u16(), id_of(&reply)),
            (status, "mine-1"),
            "{method} {target}"
        );
    }
    let without_host = Request::get("/7").body(Body::empty()).unwrap();
    let refused = stand.reply(without_host).await;
    assert_eq!(refused.status(), 400);
    assert!(!id_of(&refused).is_empty());
}

#[tokio::test]
async fn the_id_of_the_host_replaces_one_of_the_handler() {
    let stand = Stand::new(|ctx: Context| async move {
        let id = ctx.request_id().to_string();
        let reply = http::Response::builder().header("x-request-id", "its own");
        reply.header("x-request-id", "twice").body(Body::from(id)).unwrap()
    });
    let reply = stand.reply(request(Method::GET, Body::empty())).await;
    assert_eq!(id_of(&reply), reply.body());
}

#[tokio::test]
async fn payloads_are_given_by_value_and_type() {
    let stand = Stand::new(|ctx: Context| async move {
        let double = ctx.emit::<Seen>(1).call::<Double>(4).await?;
        ctx.hand_over::<Send>(format!("{double}"))
    });
    let double = |delivery: Delivery, payload: Payload| async move {
        delivery.emit::<Seen>(2);
        Ok(Payload::json(&(payload.to::<u64>()? * 2))?)
    };
    stand.listen("math", "double", double).unwrap();
    let send = |mut delivery: Delivery, payload: Payload| async move {
        let double = delivery.call::<Double>(50).await?;
        let text: String = payload.to()?;
        delivery.take_context().unwrap().send(format!("{text} {double}"))?;
        Ok(Payload::null())
    };
    stand.listen("response", "send", send).unwrap();
    let (give, mut seen) = tokio::sync::mpsc::unbounded_channel();
    let see = move |_: Delivery, payload: Payload| {
        give.send(payload.to::<u64>().unwrap()).unwrap();
        async { Ok(Payload::null()) }
    };
    stand.listen("log", "seen", see).unwrap();
    assert_eq!(stand.get().await, (StatusCode::OK, "8 100".to_owned()));
    drained(&stand.bus).await;
    let mut all: Vec<u64> = std::iter::from_fn(|| seen.try_recv().ok()).collect();
    all.sort_unstable();
    assert_eq!(all, [1, 2, 2]);
}

#[tokio::test]
async fn a_reply_with_more_headers_than_fit_is_refused() {
    let stand = Stand::new(|ctx: Context| async move {
        let mut failure = ctx.throw(StatusCode::CONFLICT, "too much");
        let count: usize = ctx.param("id").unwrap().parse().unwrap();
        for number in 0..count {
            let name = http::HeaderName::try_from(format!("x-{number}")).unwrap();
            failure = failure.header(name, HeaderValue::from_static("y"));
        }
        Err::<(), _>(failure)
    });
    for (count, status) in [(16_000, 409), (16_384, 500), (40_000, 500)] {
        let mut request = request(Method::GET, Body::empty());
        *request.uri_mut() = format!("/{count}").parse().unwrap();
        assert_eq!(stand.send(request).await.0, status, "{count}");
    }
}

/// A handler learns from its writer that the client has left, and ends with that error.
#[tokio::test]
async fn an_error_behind_a_reply_that_its_reader_left_is_no_crash() {
    let (ended, mut ends) = tokio::sync::mpsc::unbounded_channel();
    let stand = Stand::new(move |ctx: Context| {
        let ended = ended.clone();
        async move {
            let mut writer = ctx.open_reply(http::Response::new(()))?;
            let end = loop {
                if let Err(failure) = writer.write("a chunk").await {
                    break failure;
                }
            };
            ended.send(()).unwrap();
            Err::<(), _>(end)
        }
    });
    for reads in [true, false] {
        let reply = stand.router.respond(None, request(Method::GET, Body::empty())).await;
        if reads {
            drop(reply);
        } else {
            // It leaves in the middle.
            let mut body = reply.into_body();
            http_body_util::BodyExt::frame(&mut body).await.unwrap().unwrap();
        }
        ends.recv().await.unwrap();
    }
    drained(&stand.bus).await;
    tokio::task::yield_now().await;
    assert!(stand.crashes.lock().unwrap().is_empty());
}

/// Spec E8.
#[tokio::test]
async fn an_audience_leaves_as_long_as_the_reply_is_not_whole() {
    let (sender, mut opened) = mpsc::unbounded_channel();
    let stand = Stand::new(move |ctx: Context| {
        let sender = sender.clone();
        async move {
            let writer = ctx.open_reply(http::Response::new(())).unwrap();
            sender.send((ctx, writer)).unwrap();
            Outcome::Deferred
        }
    });
    let mut open = async || {
        let reply = stand.router.respond(None, request(Method::GET, Body::empty())).await;
        let (ctx, writer) = opened.recv().await.unwrap();
        assert!(!ctx.audience().has_left());
        (reply.into_body(), ctx, writer)
    };

    let (body, ctx, writer) = open().await;
    let (read, finished) = tokio::join!(body.bytes(), writer.finish());
    assert!(read.is_ok() && finished.is_ok());
    assert!(!ctx.audience().has_left(), "it has the whole reply");

    let (body, ctx, writer) = open().await;
    drop(writer);
    drop(body);
    assert!(!ctx.audience().has_left(), "the writer left first");

    let (body, ctx, writer) = open().await;
    drop(body);
    assert!(ctx.audience().has_left());
    assert!(writer.finish().await.is_err());
    assert!(ctx.audience().has_left());
}

/// Spec E8.
#[tokio::test]
async fn an_audience_that_waits_for_a_reply_leaves() {
    let (sender, mut begun) = mpsc::unbounded_channel();
    let stand = Stand::new(move |ctx: Context| {
        sender.send(ctx).unwrap();
        async { Outcome::Deferred }
    });
    let mut waiting = Box::pin(stand.router.respond(None, request(Method::GET, Body::empty())));
    assert!((&mut waiting).now_or_never().is_none());
    let ctx = begun.recv().await.unwrap();
    assert!(!ctx.audience().has_left());
    drop(waiting);
    assert!(ctx.audience().has_left());
}
