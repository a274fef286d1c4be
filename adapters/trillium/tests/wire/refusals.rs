//! What is refused, by the server or by the router behind it.

use crate::exactness::raw;
use crate::subject::Subject;

#[tokio::test]
async fn what_is_no_request_gets_400() {
    let subject = Subject::plain().await;
    for bytes in [
        &b"G(T /hello HTTP/1.1\r\nhost: a\r\n\r\n"[..],
        b"GET /hel\0lo HTTP/1.1\r\nhost: a\r\n\r\n",
        b"GET /hel lo HTTP/1.1\r\nhost: a\r\n\r\n",
        b"GET /hello HTTP/1.2\r\nhost: a\r\n\r\n",
        b"GET /hello HTTP/1.1\r\nhost: a\r\nx: a\0b\r\n\r\n",
        b"GET /hello HTTP/1.1\r\nhost: a\r\nno colon\r\n\r\n",
        b"GET /hello HTTP/1.1\r\nhost: a\r\nx : y\r\n\r\n",
        b"GET /hello HTTP/1.1\r\nhost: a\r\nx: y\r\n folded\r\n\r\n",
        b"GET /hello HTTP/1.1\r\nhost: a\r\ncontent-length: +1\r\n\r\n",
        b"GET /hello HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n",
        b"GET /hello HTTP/1.1\r\nhost: a\r\ntransfer-encoding: gzip\r\n\r\n",
        b"GET /hello HTTP/1.0\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n",
        b"\x16\x03\x01\x00\xa5\x01\x00\x00\xa1\x03\x03 a TLS client that took the wrong port\r\n\r\n",
    ] {
        let reply = raw(&subject, bytes).await;
        let shown = String::from_utf8_lossy(bytes);
        assert!(
            reply.starts_with("HTTP/1.1 400 Bad Request\r\n"),
            "{shown:?}: {reply:?}"
        );
        assert!(reply.contains("\r\nconnection: close\r\n"), "{shown:?}: {reply:?}");
    }
}

#[tokio::test]
async fn what_parses_may_still_be_refused_by_the_router() {
    let subject = Subject::plain().await;
    for head in [
        "GET /hello HTTP/1.1\r\n\r\n",
        "GET /hello HTTP/1.1\r\nhost: a\r\nhost: a\r\n\r\n",
        "GET /echo/%zz HTTP/1.1\r\nhost: a\r\n\r\n",
    ] {
        let mut client = subject.client().await;
        client.send(head).await;
        let reply = client.reply().await;
        assert_eq!(reply.status(), 400, "{head:?}");
        assert!(reply.body.starts_with("{\"message\":"), "{head:?}: {}", reply.body);
    }
}

#[tokio::test]
async fn a_body_with_an_uncertain_end_is_refused_and_ends_the_connection() {
    let subject = Subject::plain().await;
    for framing in [
        "content-length: 3\r\ntransfer-encoding: chunked",
        "transfer-encoding: chunked\r\ncontent-length: 3",
        "content-length: 3\r\ncontent-length: 3",
        "content-length: 3\r\ncontent-length: 4",
        "content-length: 3, 3",
        "content-length: -3",
        "transfer-encoding: identity",
    ] {
        let request = format!(
            "POST /body HTTP/1.1\r\nhost: a\r\n{framing}\r\n\r\n1\r\nx\r\n0\r\n\r\nGET /hello HTTP/1.1\r\nhost: a\r\n\r\n"
        );
        let reply = raw(&subject, request).await;
        assert!(reply.starts_with("HTTP/1.1 400 "), "{framing}: {reply}");
        assert_eq!(reply.matches("HTTP/1.1").count(), 1, "{framing}: {reply}");
        assert!(!reply.contains("bytes"), "{framing}: {reply}");
    }
    for codings in ["gzip, chunked", "chunked\r\ntransfer-encoding: chunked"] {
        let request = format!("POST /body HTTP/1.1\r\nhost: a\r\ntransfer-encoding: {codings}\r\n\r\n0\r\n\r\n");
        let reply = raw(&subject, request).await;
        assert!(reply.starts_with("HTTP/1.1 501 "), "{codings}: {reply}");
    }
}

#[tokio::test]
async fn refusals_of_what_is_no_request_are_empty() {
    let subject = Subject::plain().await;
    let reply = raw(&subject, "GET /hello\r\n\r\n").await;
    let (head, body) = reply.split_once("\r\n\r\n").unwrap();
    assert!(
        head.starts_with("HTTP/1.1 400 Bad Request\r\nconnection: close\r\ncontent-length: 0\r\ndate: "),
        "{head}"
    );
    assert_eq!(body, "");
}

#[tokio::test]
async fn a_broken_body_ends_the_connection() {
    let subject = Subject::plain().await;
    for body in ["zz\r\n", "\r\n", "1\r\nxy\r\n"] {
        let request = format!(
            "POST /unread HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n{body}GET /hello HTTP/1.1\r\nhost: a\r\n\r\n"
        );
        let reply = raw(&subject, request).await;
        assert!(reply.ends_with("not read"), "{body:?}: {reply}");
    }
}
