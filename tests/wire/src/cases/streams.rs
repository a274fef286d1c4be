//! Replies that are streamed in chunks.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use http::Response;
use pointwork_core::{Context, ServerOptions};
use pointwork_test_clock::TestClock;
use tokio::io::AsyncWriteExt as _;
use tokio::sync::Notify;

use crate::{On, Server, broken_off, route, within};

crate::cases! {
    each_chunk_leaves_as_it_is_written: A1 H4,
    a_slow_client_slows_the_writer_down: A1 H4,
    a_broken_off_reply_lacks_its_end: A1 H4,
    a_broken_off_reply_in_http_1_0_ends_with_a_reset: A1 H4,
    a_client_that_goes_away_within_the_reply_is_told_to_the_writer: A1 H4,
    a_body_may_be_read_while_the_reply_is_written: A1 H4,
    a_slow_reader_slows_the_client_down: A1 H4,
    a_reply_may_begin_before_the_body_has_ended: A1 H4,
    a_connection_goes_on_after_a_reply_that_began_early: A1 H4,
}

/// Echoes each chunk of the body as it arrives.
async fn echo(context: Context) {
    let mut reader = context.open_body().unwrap();
    let mut writer = context.open_reply(Response::new(())).unwrap();
    while let Some(chunk) = reader.read(1024).await.unwrap() {
        writer.write(chunk).await.unwrap();
    }
    writer.finish().await.unwrap();
}

async fn each_chunk_leaves_as_it_is_written(on: On) {
    static NEXT: Notify = Notify::const_new();
    let streamed = async |context: Context| {
        let mut writer = context.open_reply(Response::new(())).unwrap();
        for chunk in ["one", "two"] {
            writer.write(chunk).await.unwrap();
            NEXT.notified().await;
        }
        writer.finish().await.unwrap();
    };
    let server = Server::with(on, ServerOptions::new(), vec![route("GET", "/streamed", streamed)]).await;
    let mut client = server.client().await;
    client.send("GET /streamed HTTP/1.1\r\nhost: a\r\n\r\n").await;
    let head = client.head().await;
    assert!(
        head.to_ascii_lowercase().contains("\r\ntransfer-encoding: chunked\r\n"),
        "{head}"
    );
    assert_eq!(client.exactly(8).await, b"3\r\none\r\n");
    NEXT.notify_one();
    assert_eq!(client.exactly(8).await, b"3\r\ntwo\r\n");
    NEXT.notify_one();
    assert_eq!(client.exactly(5).await, b"0\r\n\r\n");
}

async fn a_slow_client_slows_the_writer_down(on: On) {
    let written = Arc::new(AtomicUsize::new(0));
    let streamed = {
        let written = written.clone();
        move |context: Context| {
            let written = written.clone();
            async move {
                let mut writer = context.open_reply(Response::new(())).unwrap();
                for _ in 0..1024 {
                    writer.write(vec![b'x'; 64 * 1024]).await.unwrap();
                    written.fetch_add(1, Ordering::SeqCst);
                }
                writer.finish().await.unwrap();
            }
        }
    };
    let routes = vec![route("GET", "/streamed", streamed)];
    let (server, time) = Server::timed(on, ServerOptions::new(), routes).await;
    let mut client = server.client().await;
    client
        .send("GET /streamed HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n")
        .await;
    client.head().await;
    // The socket buffers of both sides take a few MiB; 64 MiB is more than any.
    time.settle().await;
    let count = written.load(Ordering::SeqCst);
    assert!(count < 512, "{count} of 1024 chunks written while the client read none");
    let rest = client.rest().await.unwrap();
    assert!(rest.len() > 64 * 1024 * 1024 && rest.ends_with("0\r\n\r\n"));
}

async fn broken(on: On, begin: &str) -> std::io::Result<String> {
    let (streamed, gate) = broken_off();
    let (server, time) = Server::timed(on, ServerOptions::new(), vec![streamed]).await;
    let mut client = server.client().await;
    client.send(format!("GET /streamed {begin}\r\nhost: a\r\n\r\n")).await;
    gate.open_at_rest(&time).await;
    client.rest().await
}

async fn a_broken_off_reply_lacks_its_end(on: On) {
    let reply = broken(on, "HTTP/1.1").await.unwrap();
    assert!(reply.ends_with("\r\n\r\n3\r\none\r\n"), "{reply}");
}

async fn a_broken_off_reply_in_http_1_0_ends_with_a_reset(on: On) {
    let error = broken(on, "HTTP/1.0").await.unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
}

async fn a_client_that_goes_away_within_the_reply_is_told_to_the_writer(on: On) {
    static GONE: Notify = Notify::const_new();
    let streamed = async |context: Context| {
        let mut writer = context.open_reply(Response::new(())).unwrap();
        while writer.write("chunk").await.is_ok() {
            tokio::task::yield_now().await;
        }
        GONE.notify_one();
    };
    let server = Server::with(on, ServerOptions::new(), vec![route("GET", "/streamed", streamed)]).await;
    let mut client = server.client().await;
    client.send("GET /streamed HTTP/1.1\r\nhost: a\r\n\r\n").await;
    client.head().await;
    drop(client);
    within("the writer's end", GONE.notified()).await;
}

async fn a_body_may_be_read_while_the_reply_is_written(on: On) {
    let server = Server::with(on, ServerOptions::new(), vec![route("POST", "/echo", echo)]).await;
    for framing in ["content-length: 6", "transfer-encoding: chunked"] {
        let mut client = server.client().await;
        client
            .send(format!("POST /echo HTTP/1.1\r\nhost: a\r\n{framing}\r\n\r\n"))
            .await;
        client.head().await;
        for chunk in ["abc", "def"] {
            let chunked = framing.starts_with('t');
            client
                .send(if chunked {
                    format!("3\r\n{chunk}\r\n")
                } else {
                    chunk.to_owned()
                })
                .await;
            assert_eq!(client.exactly(8).await, format!("3\r\n{chunk}\r\n").as_bytes());
        }
        if framing.starts_with('t') {
            client.send("0\r\n\r\n").await;
        }
        assert_eq!(client.exactly(5).await, b"0\r\n\r\n");
    }
}

async fn a_slow_reader_slows_the_client_down(on: On) {
    let read = async |context: Context| {
        let mut reader = context.open_body().unwrap();
        reader.read(1).await.unwrap();
        std::future::pending::<()>().await;
    };
    let time = TestClock::new();
    let options = ServerOptions::new().write_timeout(None).clock(time.clock());
    let server = Server::limited(on, options, vec![route("POST", "/read", read)], u64::MAX).await;
    let mut client = server.client().await;
    client
        .send("POST /read HTTP/1.1\r\nhost: a\r\ncontent-length: 1000000000\r\n\r\n")
        .await;
    let mut sent = 0;
    let chunk = vec![b'x'; 64 * 1024];
    // The socket buffers of both sides take a few MiB; after that a write makes no progress.
    loop {
        sent += tokio::select! {
            biased;
            written = client.stream().write(&chunk) => written.unwrap(),
            () = time.settle() => break,
        };
        assert!(sent < 64 * 1024 * 1024, "{sent} bytes sent, and nobody read them");
    }
}

async fn a_reply_may_begin_before_the_body_has_ended(on: On) {
    let server = Server::with(on, ServerOptions::new(), vec![route("POST", "/echo", echo)]).await;
    let mut client = server.client().await;
    client
        .send("POST /echo HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n3\r\none\r\n")
        .await;
    client.head().await;
    assert_eq!(client.exactly(8).await, b"3\r\none\r\n");
    client.send("3\r\ntwo\r\n").await;
    assert_eq!(client.exactly(8).await, b"3\r\ntwo\r\n");
    client.send("0\r\n\r\n").await;
    assert_eq!(client.exactly(5).await, b"0\r\n\r\n");
}

async fn a_connection_goes_on_after_a_reply_that_began_early(on: On) {
    let server = Server::with(on, ServerOptions::new(), vec![route("POST", "/echo", echo)]).await;
    let mut client = server.client().await;
    client
        .send("POST /echo HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n3\r\none\r\n")
        .await;
    let head = client.head().await;
    assert!(
        !head.contains("\r\nconnection: close\r\n"),
        "the connection closes: {head}"
    );
    client
        .send("0\r\n\r\nPOST /echo HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\n\r\nx")
        .await;
    assert_eq!(client.exactly(13).await, b"3\r\none\r\n0\r\n\r\n");
    client.head().await;
    assert_eq!(client.exactly(11).await, b"1\r\nx\r\n0\r\n\r\n");
}
