//! Each reply ends where its head declares, whatever a handler sets: all combinations of statuses, bodies, headers,
//! methods and versions, from native handlers and from a guest, read by two readers (spec A1, A8).

mod exchange;

use std::sync::Mutex;

use anyhow::{Context as _, Result, ensure};
use pointwork_core::http::Response;
use pointwork_core::{Body, Context, CrashKind};

use super::at_root;
use crate::case::{Harness, cases};
use crate::client::{Asked, End as Closing};
use crate::guest::{Controller, End, Program, ReplyBody, Step};
use crate::judge::Docket;
use crate::subject::AppSpec;
use exchange::{CLAIMS, Exchange, LONG_DOUBLED, LONG_PART, NEXT, Shape, VERSIONS, Version, as_told, run};

cases![
    adapter;
    no_reply_of_a_native_handler_leaves_its_framing: A1, A8 without guest in hosts;
    no_reply_of_a_guest_leaves_its_framing: A1, A8 in hosts;
    headers_of_the_connection_are_the_servers_alone: A1 without guest in hosts;
    a_guest_sets_no_header_of_the_connection: A1 in hosts;
    a_reply_that_breaks_off_never_looks_whole: A1, H4 in hosts;
    no_header_of_a_guest_splits_a_reply: A1 of sdk and adapter;
    a_status_that_is_no_final_answer_is_500: A1 without guest;
    a_reply_to_connect_has_no_body_if_it_is_successful: M1, D2 without guest in hosts;
];

const STATUSES: [u16; 16] = [
    200, 201, 202, 203, 204, 205, 206, 300, 302, 304, 400, 404, 418, 500, 503, 511,
];

const METHODS: [&str; 4] = ["GET", "HEAD", "POST", "OPTIONS"];

fn native() -> AppSpec {
    AppSpec::new()
        .register_all("/", as_told)
        .register_all("/*rest", as_told)
}

async fn no_reply_of_a_native_handler_leaves_its_framing(harness: Harness) -> Result<()> {
    let live = harness.start(native()).await?;
    let mut exchanges = Vec::new();
    for status in STATUSES {
        for shape in Shape::ALL {
            for method in METHODS {
                exchanges.extend(VERSIONS.map(|version| Exchange {
                    method,
                    target: "/it".to_owned(),
                    reply: format!("{status} {shape:?}"),
                    version,
                    status,
                    body: shape.chunks().concat(),
                }));
            }
        }
    }
    run(&live, exchanges).await?;
    live.shutdown().await;
    Ok(())
}

async fn headers_of_the_connection_are_the_servers_alone(harness: Harness) -> Result<()> {
    let live = harness.start(native()).await?;
    let mut exchanges = Vec::new();
    for status in [200, 204, 205, 304, 404, 500] {
        for shape in [Shape::None, Shape::Short, Shape::StreamOfOne] {
            for (nth, _) in CLAIMS.iter().enumerate() {
                for method in METHODS {
                    exchanges.extend([Version::KeepAlive, Version::Old].map(|version| Exchange {
                        method,
                        target: "/it".to_owned(),
                        reply: format!("{status} {shape:?} {nth}"),
                        version,
                        status,
                        body: shape.chunks().concat(),
                    }));
                }
            }
        }
    }
    run(&live, exchanges).await?;
    live.shutdown().await;
    Ok(())
}

/// The program of a guest that replies with that status and shape.
fn program(status: u16, shape: Shape) -> Program {
    if shape.is_streamed() {
        return Program::new()
            .step(Step::Stream(status, shape.chunks()))
            .step(Step::Finish)
            .ends(End::Deferred);
    }
    let body = if shape == Shape::None {
        ReplyBody::Empty
    } else {
        ReplyBody::Bytes
    };
    let text = match shape {
        // The text of each status would be too long for the module of an SDK.
        Shape::Long => Program::text(LONG_PART).step(Step::Double(LONG_DOUBLED)),
        _ => Program::text(&shape.chunks().concat()),
    };
    text.status(status).replies(body)
}

fn on_next(things: Controller) -> Controller {
    things.get("next", Program::text("next"))
}

async fn no_reply_of_a_guest_leaves_its_framing(harness: Harness) -> Result<()> {
    let module = at_root(|mut things| {
        for status in STATUSES {
            for shape in Shape::ALL {
                let path = format!("{status}/{shape:?}");
                things = things.route(&path, None, &[&path], program(status, shape));
            }
        }
        on_next(things)
    });
    let live = harness.start(AppSpec::new().load("m", module)).await?;
    let mut exchanges = Vec::new();
    for status in STATUSES {
        for shape in Shape::ALL {
            for method in METHODS {
                exchanges.extend(VERSIONS.map(|version| Exchange {
                    method,
                    target: format!("/{status}/{shape:?}"),
                    reply: String::new(),
                    version,
                    status,
                    body: shape.chunks().concat(),
                }));
            }
        }
    }
    run(&live, exchanges).await?;
    live.shutdown().await;
    Ok(())
}

async fn a_guest_sets_no_header_of_the_connection(harness: Harness) -> Result<()> {
    const WITH: [u16; 4] = [200, 204, 304, 404];
    let module = at_root(|mut things| {
        for status in WITH {
            for (nth, (name, value)) in CLAIMS.iter().enumerate() {
                let mut program = program(status, Shape::Short).header(name, value);
                if value.contains("x-hop") {
                    program = program.header("x-hop", "1");
                }
                let path = format!("{status}/{nth}");
                things = things.route(&path, None, &[&path], program);
            }
        }
        on_next(things)
    });
    let live = harness.start(AppSpec::new().load("m", module)).await?;
    let mut exchanges = Vec::new();
    for status in WITH {
        for (nth, _) in CLAIMS.iter().enumerate() {
            for method in METHODS {
                exchanges.extend(VERSIONS.map(|version| Exchange {
                    method,
                    target: format!("/{status}/{nth}"),
                    reply: String::new(),
                    version,
                    status,
                    body: Shape::Short.chunks().concat(),
                }));
            }
        }
    }
    run(&live, exchanges).await?;
    live.shutdown().await;
    Ok(())
}

async fn a_reply_that_breaks_off_never_looks_whole(harness: Harness) -> Result<()> {
    let chunks = |count: usize| (0..count).map(|nth| format!("chunk {nth}")).collect::<Vec<_>>();
    let module = at_root(|mut things| {
        for count in [1, 2, 20] {
            let program = Program::new().step(Step::Stream(200, chunks(count))).ends(End::Trap);
            things = things.get(&format!("guest/{count}"), program);
        }
        on_next(things)
    });
    let native = move |ctx: Context| async move {
        let count = ctx
            .param("count")
            .and_then(|count| count.parse().ok())
            .unwrap_or_default();
        let (mut writer, body) = Body::channel();
        tokio::spawn(async move {
            for chunk in chunks(count) {
                if writer.write(chunk).await.is_err() {
                    return;
                }
            }
        });
        Response::new(body)
    };
    let app = AppSpec::new()
        .load("m", module)
        .register("GET", "/native/:count", native);
    let live = harness.start(app).await?;
    for who in ["guest", "native"] {
        for count in [1, 2, 20] {
            for connection in ["", "connection: close\r\n"] {
                let request = format!("GET /{who}/{count} HTTP/1.1\r\nhost: a\r\n{connection}\r\n{NEXT}");
                let transcript = live.exchange(request.as_bytes()).await?;
                let read = transcript.replies(&[Asked::with_method("GET"), Asked::with_method("GET").last()]);
                let whole = read.map(|replies| replies.len());
                ensure!(whole.is_err(), "{request:?}: {whole:?}: what broke off looks whole");
                let seen = String::from_utf8_lossy(transcript.bytes());
                ensure!(
                    !seen.ends_with("next"),
                    "{request:?}: the next request was answered: {seen}"
                );
                ensure!(
                    transcript.end() == Closing::Closed,
                    "{request:?}: the connection stays open"
                );
            }
        }
    }
    assert_eq!(live.get("/next").await?.text(), "next");
    live.shutdown().await;
    Ok(())
}

async fn no_header_of_a_guest_splits_a_reply(harness: Harness) -> Result<()> {
    let headers: [(&str, &[u8]); 17] = [
        ("x", b"a\r\nx-injected: 1"),
        ("x", b"a\nx-injected: 1"),
        ("x", b"a\rx-injected: 1"),
        ("x", b"a\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"),
        ("x", b"\r\n"),
        ("x", b"a\0b"),
        ("x", b"a\x7fb"),
        ("x", b"\x01"),
        ("x\r\nx-injected: 1\r\ny", b"a"),
        ("x\nx-injected", b"a"),
        ("x: a\r\nx-injected", b"a"),
        ("x\0", b"a"),
        ("x y", b"a"),
        ("x:", b"a"),
        ("", b"a"),
        ("\u{e9}", b"a"),
        (" x", b"a"),
    ];
    let module = at_root(|mut things| {
        for (nth, (name, value)) in headers.iter().enumerate() {
            let path = format!("bad/{nth}");
            things = things.route(&path, None, &[&path], Program::text("x").header(name, value).bytes());
        }
        on_next(things)
    });
    let live = harness.start(AppSpec::new().load("m", module)).await?;
    let docket = Mutex::new(Docket::new());
    for (nth, header) in headers.iter().enumerate() {
        for method in METHODS {
            for version in VERSIONS {
                let exchange = Exchange {
                    method,
                    target: format!("/bad/{nth}"),
                    reply: String::new(),
                    version,
                    status: 500,
                    body: "{\"message\":\"internal error\"}".to_owned(),
                };
                let transcript = live.exchange(&exchange.bytes()).await?;
                exchange
                    .check(&transcript, &docket)
                    .with_context(|| format!("{header:?}: {}", exchange.told()))?;
                let seen = transcript.bytes().escape_ascii().to_string();
                ensure!(!seen.contains("injected"), "{header:?}: {seen}");
            }
        }
    }
    live.crashes()
        .expect("a reply that cannot be sent", |crash| crash.kind == CrashKind::Reply)
        .await?;
    docket
        .into_inner()
        .map_err(|_| anyhow::anyhow!("the docket is gone"))?
        .judge()
        .await?;
    live.shutdown().await;
    Ok(())
}

async fn a_status_that_is_no_final_answer_is_500(harness: Harness) -> Result<()> {
    let live = harness.start(native()).await?;
    let mut exchanges = Vec::new();
    for refused in [100, 101, 102, 103, 150, 199, 600, 601, 700, 999] {
        for shape in [Shape::None, Shape::Short, Shape::StreamOfMany] {
            for method in METHODS {
                exchanges.extend(VERSIONS.map(|version| Exchange {
                    method,
                    target: "/it".to_owned(),
                    reply: format!("{refused} {shape:?}"),
                    version,
                    status: 500,
                    body: "{\"message\":\"internal error\"}".to_owned(),
                }));
            }
        }
    }
    run(&live, exchanges).await?;
    live.shutdown().await;
    Ok(())
}

async fn a_reply_to_connect_has_no_body_if_it_is_successful(harness: Harness) -> Result<()> {
    let app = AppSpec::new()
        .register("CONNECT", "/", as_told)
        .register("GET", "/next", as_told);
    let live = harness.start(app).await?;
    let mut exchanges = Vec::new();
    for status in STATUSES {
        for shape in Shape::ALL {
            exchanges.extend(VERSIONS.map(|version| Exchange {
                method: "CONNECT",
                target: "a:80".to_owned(),
                reply: format!("{status} {shape:?}"),
                version,
                status,
                body: shape.chunks().concat(),
            }));
        }
    }
    run(&live, exchanges).await?;
    live.shutdown().await;
    Ok(())
}
