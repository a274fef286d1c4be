//! What exactly goes over the wire.

use http::{Response, StatusCode};
use pointwork_core::{Body, Context, ServerOptions};

use crate::subject::{Subject, route, routes};

/// The reply to one request with `connection: close`, its header lines sorted and without the date.
async fn exchange(subject: &Subject, begin: &str) -> String {
    let text = raw(subject, format!("{begin}host: a\r\nconnection: close\r\n\r\n")).await;
    sorted(&text)
}

/// actix-http keeps headers in no order.
fn sorted(reply: &str) -> String {
    let (head, body) = reply.split_once("\r\n\r\n").unwrap();
    let mut lines: Vec<&str> = head.split("\r\n").filter(|line| !line.starts_with("date: ")).collect();
    assert_eq!(lines.len() + 1, head.split("\r\n").count(), "one date: {reply}");
    lines[1..].sort_unstable();
    format!("{}\r\n\r\n{body}", lines.join("\r\n"))
}

/// The reply to bytes that may be no request at all.
async fn raw(subject: &Subject, bytes: impl AsRef<[u8]>) -> String {
    let mut client = subject.client().await;
    client.send(bytes).await;
    client.rest().await.unwrap()
}

async fn of_status() -> Subject {
    let handler = async |context: Context| {
        let status = StatusCode::from_bytes(context.param("status").unwrap().as_bytes()).unwrap();
        Response::builder()
            .status(status)
            .header("content-length", "99")
            .header("transfer-encoding", "chunked")
            .body(Body::from("some body"))
            .unwrap()
    };
    let mut all = routes();
    all.push(route("ALL", "/status/:status", handler));
    Subject::with(ServerOptions::default(), all).await
}

#[tokio::test]
async fn a_reply_has_one_content_length() {
    let subject = of_status().await;
    assert_eq!(
        exchange(&subject, "GET /status/200 HTTP/1.1\r\n").await,
        "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 9\r\n\r\nsome body"
    );
}

#[tokio::test]
async fn head_has_the_length_and_no_body() {
    let subject = of_status().await;
    assert_eq!(
        exchange(&subject, "HEAD /status/200 HTTP/1.1\r\n").await,
        "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 9\r\n\r\n"
    );
    assert_eq!(
        exchange(&subject, "HEAD /hello HTTP/1.1\r\n").await,
        "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 5\r\ncontent-type: text/plain; charset=utf-8\r\n\r\n"
    );
}

#[tokio::test]
async fn statuses_without_a_body_have_none() {
    let subject = of_status().await;
    for (status, reason) in [(204, "No Content"), (304, "Not Modified")] {
        for method in ["GET", "HEAD"] {
            assert_eq!(
                exchange(&subject, &format!("{method} /status/{status} HTTP/1.1\r\n")).await,
                format!("HTTP/1.1 {status} {reason}\r\nconnection: close\r\n\r\n")
            );
        }
    }
    assert_eq!(
        exchange(&subject, "GET /status/205 HTTP/1.1\r\n").await,
        "HTTP/1.1 205 Reset Content\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
    );
}

#[tokio::test]
async fn a_status_without_a_name_has_an_empty_reason() {
    let subject = of_status().await;
    let reply = exchange(&subject, "GET /status/299 HTTP/1.1\r\n").await;
    assert!(reply.starts_with("HTTP/1.1 299 \r\n"), "{reply}");
}

#[tokio::test]
async fn a_streamed_reply_to_head_has_no_length_and_no_body() {
    let streamed = async |context: Context| {
        let mut writer = context.open_reply(Response::new(())).unwrap();
        let _ = writer.write("piece").await;
        let _ = writer.finish().await;
    };
    let subject = Subject::with(ServerOptions::default(), vec![route("GET", "/streamed", streamed)]).await;
    let reply = exchange(&subject, "HEAD /streamed HTTP/1.1\r\n").await;
    assert!(reply.starts_with("HTTP/1.1 200 OK\r\n"), "{reply}");
    assert!(reply.ends_with("\r\n\r\n"), "{reply}");
    assert!(!reply.contains("content-length"), "{reply}");
}

#[tokio::test]
async fn the_target_arrives_as_it_was_sent() {
    let subject = Subject::plain().await;
    for (target, seen) in [
        (
            "/seen/a%2Fb%20c/../d//e?q=%41&r",
            "/seen/a%2Fb%20c/../d//e Some(\"q=%41&r\")",
        ),
        // No client may send a fragment; it is cut off.
        ("/seen/x#fragment", "/seen/x None"),
        ("http://other/seen/x?", "/seen/x Some(\"\")"),
        ("/seen/~!$&'()*+,;=:@", "/seen/~!$&'()*+,;=:@ None"),
    ] {
        assert_eq!(subject.client().await.get(target).await.body, seen, "{target}");
    }
}

#[tokio::test]
async fn every_form_of_target_is_answered() {
    let subject = of_status().await;
    let asterisk = exchange(&subject, "OPTIONS * HTTP/1.1\r\n").await;
    assert!(asterisk.starts_with("HTTP/1.1 "), "{asterisk}");
    assert!(!asterisk.starts_with("HTTP/1.1 5"), "{asterisk}");
    let authority = exchange(&subject, "CONNECT a:80 HTTP/1.1\r\n").await;
    assert!(authority.starts_with("HTTP/1.1 4"), "{authority}");
}

#[tokio::test]
async fn connect_opens_no_tunnel() {
    let subject = of_status().await;
    let begun = std::time::Instant::now();
    let mut client = subject.client().await;
    client
        .send("CONNECT /status/200 HTTP/1.1\r\nhost: a\r\n\r\nGET /hello HTTP/1.1\r\nhost: a\r\n\r\n")
        .await;
    let reply = client.rest().await.unwrap();
    assert!(reply.starts_with("HTTP/1.1 200 OK\r\n"), "{reply}");
    assert!(reply.ends_with("\r\n\r\n"), "{reply}");
    assert!(!reply.contains("hello"), "{reply}");
    assert!(
        begun.elapsed() < std::time::Duration::from_secs(1),
        "closed late: {:?}",
        begun.elapsed()
    );
}

#[tokio::test]
async fn a_wish_to_upgrade_changes_nothing() {
    let subject = of_status().await;
    let mut client = subject.client().await;
    for path in ["/hello", "/status/101"] {
        let request = format!("GET {path} HTTP/1.1\r\nhost: a\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n");
        client.send(request).await;
        let status = client.reply().await.status();
        assert_eq!(status, if path == "/hello" { 200 } else { 500 });
    }
    assert_eq!(client.get("/echo/1").await.body, "1");
}
