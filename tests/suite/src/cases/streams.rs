//! Bodies that pass through a guest in chunks (spec H4, H9): the whole body is never in memory, and both ends learn of
//! a body that breaks off.

use std::time::Duration;

use anyhow::{Context as _, Result};
use pointwork_core::{Crash, CrashKind, Delivery, Payload};
use pointwork_test_clock::real::{until, within};
use tokio::sync::mpsc;

use crate::case::{Harness, cases};
use crate::client::Request;
use crate::fixtures::Fixture;
use crate::flavor::Flavor;
use crate::guest::{Controller, End, Guest, Program, Step};
use crate::subject::{AppSpec, Limits};

cases![
    sdk and adapter;
    a_long_body_passes_through_a_guest: A1, H4, H9 in hosts;
    a_long_body_passes_through_a_guest_on_http_2: A1, H4, H9 of adapter in hosts;
    a_body_over_the_limit_breaks_the_echo_off: A1, H9 of adapter in hosts;
    a_client_that_goes_away_within_the_body_is_told_to_the_guest: A1, H4, H9 in hosts;
    // In hosts: libmicrohttpd and uvicorn once kept calls of clients that had left.
    a_client_that_goes_away_cancels_what_the_guest_waits_for: A1, H3 in hosts;
    a_reply_that_is_returned_beside_an_open_one_breaks_it_off: A1, H4, H7;
    a_stream_whose_next_piece_never_comes_ends_with_its_client [RustAsync]: A1, H21 in hosts;
    a_stream_of_empty_pieces_ends_with_its_client [RustBasic, RustAsync]: A1, H21 in hosts;
];

/// Longer than any buffer on the way, and than the memory of an instance.
const LENGTH: usize = 8 * 1024 * 1024;

/// Every four bytes contain their position, so that a chunk that is lost, doubled or misplaced shows.
fn body() -> Vec<u8> {
    let words = 0..u32::try_from(LENGTH / 4).unwrap_or(u32::MAX);
    words.flat_map(u32::to_be_bytes).collect()
}

/// POST `/it` echoes the body as it is read, and emits `app:ended` with the outcome.
fn echo(form: Flavor) -> AppSpec {
    let program = Program::new().step(Step::Echo).emit("app:ended").ends(End::Deferred);
    let things = Controller::new("Things", "/").post("it", program).takes("stream");
    AppSpec::new()
        .load("echo", form.form(Guest::with(things)).build())
        .limits(Limits {
            stream_body: Some(LENGTH as u64),
            memory: Some(2 * 1024 * 1024),
            ..Limits::default()
        })
}

/// The number of bytes that differ, and the first position: 8 MiB would not make a readable message.
fn compare(sent: &[u8], came: &[u8]) -> Result<()> {
    anyhow::ensure!(
        sent.len() == came.len(),
        "{} bytes came back of {}",
        came.len(),
        sent.len()
    );
    let first = sent.iter().zip(came).position(|(sent, came)| sent != came);
    anyhow::ensure!(first.is_none(), "byte {first:?} came back as another");
    Ok(())
}

async fn a_long_body_passes_through_a_guest(harness: Harness) -> Result<()> {
    let body = body();
    for form in Flavor::MODULES {
        let live = harness.start(echo(form)).await?;
        let request = Request::new("POST", "/it").body(body.clone());
        let mut connection = live.connect().await?;
        connection
            .write_while_reading(&request.to_bytes(&live.address().to_string()))
            .await?;
        let response = connection.read_response("POST").await?;
        assert_eq!(response.status, 200, "{form}");
        compare(&body, &response.body)?;
        live.ends_without_a_crash().await?;
    }
    Ok(())
}

async fn a_long_body_passes_through_a_guest_on_http_2(harness: Harness) -> Result<()> {
    let body = body();
    for form in Flavor::MODULES {
        let live = harness.start(echo(form)).await?;
        let connection = live.connect_http2().await?;
        let response = connection.send(Request::new("POST", "/it").body(body.clone())).await?;
        assert_eq!(response.status, 200, "{form}");
        compare(&body, &response.body)?;
        live.ends_without_a_crash().await?;
    }
    Ok(())
}

fn with_ends(app: AppSpec) -> (AppSpec, mpsc::UnboundedReceiver<String>) {
    let (told, ends) = mpsc::unbounded_channel();
    let app = app.answers("app", "ended", move |payload| {
        // The receiver is gone after the end of the case.
        let _ = told.send(String::from_utf8_lossy(payload.data()).into_owned());
        Ok(Payload::null())
    });
    (app, ends)
}

async fn a_body_over_the_limit_breaks_the_echo_off(harness: Harness) -> Result<()> {
    for form in Flavor::MODULES {
        let (app, mut ends) = with_ends(echo(form).limits(Limits {
            stream_body: Some(1000),
            ..Limits::default()
        }));
        let live = harness.start(app).await?;
        let mut connection = live.connect().await?;
        let head = Request::new("POST", "/it").header("transfer-encoding", "chunked");
        connection.write(&head.to_bytes(&live.address().to_string())).await?;
        connection
            .write(format!("3e9\r\n{}\r\n0\r\n\r\n", "x".repeat(1001)).as_bytes())
            .await?;
        let response = connection.read_response("POST").await;
        assert!(response.is_err(), "{form}: the reply looks whole: {response:?}");
        let end = within("the end of the reading", ends.recv()).await?;
        assert_eq!(end.as_deref(), Some("failed too-large"), "{form}");
        live.shutdown().await;
    }
    Ok(())
}

async fn a_client_that_goes_away_within_the_body_is_told_to_the_guest(harness: Harness) -> Result<()> {
    for form in Flavor::MODULES {
        let (app, mut ends) = with_ends(echo(form));
        let live = harness.start(app).await?;
        let mut connection = live.connect().await?;
        let head = Request::new("POST", "/it").header("content-length", LENGTH.to_string());
        connection.write(&head.to_bytes(&live.address().to_string())).await?;
        connection.write(&[b'x'; 1000]).await?;
        // The body sent so far came back, so the guest waits for more.
        assert_eq!(connection.read_head().await?.status, 200, "{form}");
        connection.await_body(1000).await?;
        drop(connection);
        let end = within("the end of the reading", ends.recv()).await?;
        assert_eq!(end.as_deref(), Some("failed gone"), "{form}");
        live.shutdown().await;
    }
    Ok(())
}

/// Notifies when it is dropped.
struct Tells(mpsc::UnboundedSender<()>);

impl Drop for Tells {
    fn drop(&mut self) {
        // The receiver is gone after the end of the case.
        let _ = self.0.send(());
    }
}

async fn a_client_that_goes_away_cancels_what_the_guest_waits_for(harness: Harness) -> Result<()> {
    for form in Flavor::MODULES {
        let (began, mut begun) = mpsc::unbounded_channel();
        let (dropped, mut drops) = mpsc::unbounded_channel();
        let holds = move |_: Delivery, _: Payload| {
            let tells = Tells(dropped.clone());
            let began = began.clone();
            async move {
                let _tells = tells;
                let _ = began.send(());
                std::future::pending().await
            }
        };
        let things = Controller::new("Things", "/").get("it", Program::new().call("app:hold"));
        let app = AppSpec::new()
            .load("m", form.form(Guest::with(things)).build())
            .listen("app", "hold", holds)
            // An instance of the asynchronous form is shared: the host ends a call in it at its deadline at the latest.
            .limits(Limits {
                deadline: Some(Duration::from_secs(2)),
                ..Limits::default()
            });
        let live = harness.start(app).await?;
        let mut connection = live.connect().await?;
        connection
            .write(&Request::new("GET", "/it").to_bytes(&live.address().to_string()))
            .await?;
        within("the beginning of the call", begun.recv())
            .await?
            .context("the call never began")?;
        drop(connection);
        within("the drop of the listener", drops.recv())
            .await?
            .context("the listener is gone")?;
        live.shutdown().await;
    }
    Ok(())
}

async fn a_reply_that_is_returned_beside_an_open_one_breaks_it_off(harness: Harness) -> Result<()> {
    let stream = |chunks: &[&str]| {
        let chunks = chunks.iter().map(|&chunk| chunk.to_owned()).collect();
        // The guest keeps the writer.
        Program::new().step(Step::Stream(200, chunks)).say("returned")
    };
    for form in Flavor::MODULES {
        let things = Controller::new("Things", "/")
            .get("begun", stream(&["a chunk"]))
            .get("opened", stream(&[]))
            .get("thrown", stream(&["a chunk"]).ends(End::Throw(418)))
            .get(
                "whole",
                Program::new()
                    .step(Step::Stream(200, vec!["a chunk".to_owned()]))
                    .step(Step::Finish),
            );
        let live = harness
            .start(AppSpec::new().load("m", form.form(Guest::with(things)).build()))
            .await?;
        for path in ["/begun", "/opened", "/thrown"] {
            let reply = live.get(path).await;
            assert!(reply.is_err(), "{form}: {path} looks whole: {reply:?}");
        }
        assert_eq!(
            live.get("/whole").await?.text(),
            "a chunk",
            "{form}: a reply that is finished counts"
        );
        let misused = |crash: &Crash| crash.kind == CrashKind::Reply && crash.module.as_deref() == Some("m");
        live.crashes().expect("the second reply", misused).await?;
        live.shutdown().await;
    }
    Ok(())
}

async fn a_stream_whose_next_piece_never_comes_ends_with_its_client(harness: Harness) -> Result<()> {
    let module = harness.fixture(Fixture::RustAsync).await?;
    let live = harness.start(AppSpec::new().load("parts", module)).await?;
    let calls = || -> usize {
        let statuses = live.control().statuses();
        statuses.iter().map(|status| status.usage.in_flight).sum()
    };
    let request = Request::new("GET", "/parts/silent").to_bytes(&live.address().to_string());
    // Bytes behind the request, with it or later, which a server may hold unread.
    let behind: [(&[u8], &[u8]); 5] = [
        (b"", b""),
        (b"\r\n", b""),
        (b"G", b""),
        (&request, b""),
        (b"", b"GET /"),
    ];
    let mut clients = Vec::new();
    for (at_once, later) in behind.iter().cycle().take(20) {
        let mut connection = live.connect().await?;
        connection.write(&[&request[..], at_once].concat()).await?;
        connection.read_head().await?;
        connection.await_body(1).await?;
        connection.write(later).await?;
        clients.push(connection);
    }
    assert_eq!(calls(), 20);
    drop(clients);
    until("the calls have ended", || calls() == 0).await?;
    // A client that wants no body has it all with the head.
    assert_eq!(live.call("HEAD", "/parts/silent").await?.status, 200);
    until("the call of HEAD has ended", || calls() == 0).await?;
    live.ends_without_a_crash().await
}

async fn a_stream_of_empty_pieces_ends_with_its_client(harness: Harness) -> Result<()> {
    for fixture in [Fixture::RustBasic, Fixture::RustAsync] {
        let module = harness.fixture(fixture).await?;
        let live = harness.start(AppSpec::new().load("parts", module)).await?;
        let request = Request::new("GET", "/parts/empty").to_bytes(&live.address().to_string());
        let mut connection = live.connect().await?;
        connection.write(&request).await?;
        connection.read_head().await?;
        connection.await_body(1).await?;
        drop(connection);
        let done = || {
            live.control()
                .statuses()
                .iter()
                .all(|status| status.usage.in_flight == 0)
        };
        until("the call has ended", done).await?;
        assert_eq!(live.call("HEAD", "/parts/empty").await?.status, 200);
        live.ends_without_a_crash()
            .await
            .context("the call has ended by a crash")?;
    }
    Ok(())
}
