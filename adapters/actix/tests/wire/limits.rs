use pointwork_core::ServerOptions;

use crate::subject::{Subject, routes};

async fn with_body_limit(limit: u64) -> Subject {
    Subject::limited(ServerOptions::default(), routes(), limit).await
}

#[tokio::test]
async fn a_body_of_exactly_the_limit_is_taken() {
    let subject = with_body_limit(10).await;
    let mut client = subject.client().await;
    client
        .send("POST /body HTTP/1.1\r\nhost: a\r\ncontent-length: 10\r\n\r\n0123456789")
        .await;
    assert_eq!(client.reply().await.body, "10 bytes");
    let chunks =
        "POST /body HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n5\r\n01234\r\n5\r\n56789\r\n0\r\n\r\n";
    client.send(chunks).await;
    assert_eq!(client.reply().await.body, "10 bytes");
}

#[tokio::test]
async fn a_declared_length_beyond_the_limit_gets_413_before_the_body_is_sent() {
    let subject = with_body_limit(10).await;
    let mut client = subject.client().await;
    client
        .send("POST /body HTTP/1.1\r\nhost: a\r\nexpect: 100-continue\r\ncontent-length: 11\r\n\r\n")
        .await;
    let reply = client.reply().await;
    assert_eq!(reply.status(), 413);
    assert!(reply.body.starts_with("{\"message\":"), "{}", reply.body);
}

#[tokio::test]
async fn chunks_beyond_the_limit_get_413() {
    let subject = with_body_limit(10).await;
    let mut client = subject.client().await;
    client
        .send("POST /body HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n8\r\n01234567\r\n")
        .await;
    client.send("8\r\n01234567\r\n").await;
    assert_eq!(client.reply().await.status(), 413);
}

#[tokio::test]
async fn a_client_that_uploads_far_too_much_still_sees_its_413() {
    let subject = with_body_limit(10).await;
    let long = vec![b'x'; 8 * 1024 * 1024];
    for framing in [
        format!("content-length: {}", long.len()),
        "transfer-encoding: chunked".to_owned(),
    ] {
        let mut client = subject.client().await;
        client
            .send(format!("POST /body HTTP/1.1\r\nhost: a\r\n{framing}\r\n\r\n"))
            .await;
        if framing.starts_with('t') {
            client.send(format!("{:x}\r\n", long.len())).await;
        }
        client.try_send(&long).await.unwrap();
        assert_eq!(client.reply().await.status(), 413, "{framing}");
    }
}

#[tokio::test]
async fn a_client_that_expects_100_is_told_to_go_on_when_the_handler_reads() {
    let subject = Subject::plain().await;
    let mut client = subject.client().await;
    client
        .send("POST /body HTTP/1.1\r\nhost: a\r\nexpect: 100-continue\r\ncontent-length: 2\r\n\r\n")
        .await;
    assert_eq!(client.head().await, "HTTP/1.1 100 Continue\r\n\r\n");
    client.send("ok").await;
    assert_eq!(client.reply().await.body, "2 bytes");
}

#[tokio::test]
async fn too_many_headers_get_431() {
    let with = |count: usize| {
        let lines: String = (1..count).map(|number| format!("x-{number}: y\r\n")).collect();
        format!("GET /hello HTTP/1.1\r\nhost: a\r\n{lines}\r\n")
    };
    for limit in [100, 20] {
        let mut options = ServerOptions::default();
        options.max_headers = limit;
        let subject = Subject::with(options, routes()).await;
        let mut client = subject.client().await;
        client.send(with(limit)).await;
        assert_eq!(client.reply().await.status(), 200);
        client.send(with(limit + 1)).await;
        let reply = client.rest().await.unwrap();
        assert!(reply.starts_with("HTTP/1.1 431 "), "{reply}");
    }
}

#[tokio::test]
async fn a_head_beyond_its_limit_gets_431() {
    let mut options = ServerOptions::default();
    options.max_header_bytes = 4096;
    let subject = Subject::with(options, routes()).await;
    let with = |length: usize| {
        let begin = "GET /hello HTTP/1.1\r\nhost: a\r\nx: ";
        format!("{begin}{}\r\n\r\n", "y".repeat(length - begin.len() - 4))
    };
    let mut client = subject.client().await;
    client.send(with(4096)).await;
    assert_eq!(client.reply().await.status(), 200);
    client.send(with(4097)).await;
    assert!(client.rest().await.unwrap().starts_with("HTTP/1.1 431 "));
    // One that never ends is refused as well, and the client sees it although it sent more than was read.
    let mut client = subject.client().await;
    client.send(with(1024 * 1024)).await;
    assert!(client.rest().await.unwrap().starts_with("HTTP/1.1 431 "));
}

#[tokio::test]
async fn connections_beyond_the_limit_wait_their_turn() {
    let mut options = ServerOptions::default();
    options.max_connections = 2;
    let subject = Subject::with(options, routes()).await;
    let mut first = subject.client().await;
    let mut second = subject.client().await;
    assert_eq!(first.get("/echo/1").await.body, "1");
    assert_eq!(second.get("/echo/2").await.body, "2");
    let mut third = subject.client().await;
    third.send("GET /echo/3 HTTP/1.1\r\nhost: a\r\n\r\n").await;
    third.silence(std::time::Duration::from_millis(200)).await;
    drop(first);
    assert_eq!(third.reply().await.body, "3");
}

#[tokio::test]
async fn a_client_is_not_told_to_go_on_if_nobody_reads() {
    let subject = Subject::plain().await;
    let mut client = subject.client().await;
    client
        .send("POST /unread HTTP/1.1\r\nhost: a\r\nexpect: 100-continue\r\ncontent-length: 2\r\n\r\n")
        .await;
    let reply = client.rest().await.unwrap();
    assert!(reply.starts_with("HTTP/1.1 200 OK\r\n"), "{reply}");
    assert!(reply.contains("\r\nconnection: close\r\n"), "{reply}");
}
