use std::time::Duration;

use pointwork_core::ServerOptions;

use crate::subject::{Subject, routes};

#[tokio::test]
async fn one_connection_serves_many_requests() {
    let subject = Subject::plain().await;
    let mut client = subject.client().await;
    for round in 0..50 {
        let reply = client.get(&format!("/echo/{round}")).await;
        assert_eq!((reply.status(), reply.body), (200, round.to_string()));
    }
}

#[tokio::test]
async fn without_keep_alive_the_connection_closes_after_the_reply() {
    let mut options = ServerOptions::default();
    options.keep_alive = false;
    let subject = Subject::with(options, routes()).await;
    let mut client = subject.client().await;
    let reply = client.get("/hello").await;
    assert_eq!(reply.all("connection"), ["close"]);
    assert_eq!(client.rest().await.unwrap(), "");
}

#[tokio::test]
async fn http_1_0_closes_unless_asked_to_stay() {
    let subject = Subject::plain().await;
    let mut client = subject.client().await;
    client
        .send("GET /hello HTTP/1.0\r\nconnection: keep-alive\r\n\r\n")
        .await;
    assert_eq!(client.reply().await.body, "hello");
    client.send("GET /hello HTTP/1.0\r\n\r\n").await;
    assert!(client.rest().await.unwrap().ends_with("\r\n\r\nhello"));
}

#[tokio::test]
async fn pipelined_requests_are_answered_in_order() {
    let subject = Subject::plain().await;
    let mut client = subject.client().await;
    let request = |path: &str| format!("GET {path} HTTP/1.1\r\nhost: a\r\n\r\n");
    let all: String = (0..40).map(|round| request(&format!("/echo/{round}"))).collect();
    client.send(request("/slow") + &all).await;
    assert_eq!(client.reply().await.body, "slow");
    for round in 0..40 {
        assert_eq!(client.reply().await.body, round.to_string());
    }
}

#[tokio::test]
async fn a_reply_does_not_wait_for_the_rest_of_a_half_sent_request() {
    let subject = Subject::plain().await;
    let mut client = subject.client().await;
    client.send("GET /echo/1 HTTP/1.1\r\nhost: a\r\n\r\nGET /ec").await;
    assert_eq!(client.reply().await.body, "1");
    client.send("ho/2 HTTP/1.1\r\nhost: a\r\n\r\n").await;
    assert_eq!(client.reply().await.body, "2");
}

#[tokio::test]
async fn a_head_may_come_byte_by_byte() {
    let subject = Subject::plain().await;
    let mut client = subject.client().await;
    // The first letters could also be the beginning of HTTP/2.
    for byte in b"PROPFIND /hello HTTP/1.1\r\nhost: a\r\n\r\n" {
        client.send([*byte]).await;
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    assert_eq!(client.reply().await.status(), 405);
}

#[tokio::test]
async fn an_unread_body_does_not_disturb_the_next_request() {
    let subject = Subject::plain().await;
    let mut client = subject.client().await;
    client
        .send("POST /unread HTTP/1.1\r\nhost: a\r\ncontent-length: 4\r\n\r\nGET ")
        .await;
    assert_eq!(client.reply().await.body, "not read");
    assert_eq!(client.get("/echo/7").await.body, "7");
}

#[tokio::test]
async fn an_unread_body_that_does_not_come_ends_the_connection() {
    let subject = Subject::plain().await;
    for framing in ["content-length: 4", "transfer-encoding: chunked"] {
        let mut client = subject.client().await;
        client
            .send(format!("POST /unread HTTP/1.1\r\nhost: a\r\n{framing}\r\n\r\n"))
            .await;
        let reply = client.reply().await;
        assert_eq!(reply.body, "not read");
        assert_eq!(reply.all("connection"), ["close"]);
        assert_eq!(client.rest().await.unwrap(), "");
    }
}
