//! What exactly comes back over the wire, and what exactly reaches a handler.

use http::{Response, StatusCode};
use pointwork_core::{Body, Context, Route, ServerOptions};

use crate::{PATIENCE, Server, Subject, route, routes};

crate::cases! {
    for S;
    a_reply_has_one_content_length,
    head_has_the_length_and_no_body,
    statuses_without_a_body_have_none,
    a_streamed_reply_to_head_has_no_length_and_no_body,
    the_target_arrives_as_it_was_sent,
    every_form_of_target_is_answered,
    connect_opens_no_tunnel,
    connect_is_a_request_like_any_other,
    a_wish_to_upgrade_changes_nothing,
    headers_arrive_in_order_with_their_doubles_and_odd_bytes,
}

/// The reply to one request with `connection: close`.
async fn exchange(server: &Server, line: &str) -> String {
    server
        .exchange(format!("{line} HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n"))
        .await
}

/// The usual routes, and [`status`].
async fn of_status<S: Subject>() -> Server {
    Server::and::<S>(status()).await
}

/// `/status/:status` frames its reply badly.
fn status() -> Route {
    let handler = async |context: Context| {
        let status = StatusCode::from_bytes(context.param("status").unwrap().as_bytes()).unwrap();
        Response::builder()
            .status(status)
            .header("content-length", "99")
            .header("transfer-encoding", "chunked")
            .body(Body::from("some body"))
            .unwrap()
    };
    route("ALL", "/status/:status", handler)
}

async fn a_reply_has_one_content_length<S: Subject>() {
    let server = of_status::<S>().await;
    assert_eq!(
        exchange(&server, "GET /status/200").await,
        "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 9\r\n\r\nsome body"
    );
}

async fn head_has_the_length_and_no_body<S: Subject>() {
    let server = of_status::<S>().await;
    assert_eq!(
        exchange(&server, "HEAD /status/200").await,
        "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 9\r\n\r\n"
    );
    assert_eq!(
        exchange(&server, "HEAD /hello").await,
        "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 5\r\ncontent-type: text/plain; charset=utf-8\r\n\r\n"
    );
}

async fn statuses_without_a_body_have_none<S: Subject>() {
    let server = of_status::<S>().await;
    for (status, words) in [(204, "No Content"), (304, "Not Modified")] {
        for method in ["GET", "HEAD"] {
            assert_eq!(
                exchange(&server, &format!("{method} /status/{status}")).await,
                format!("HTTP/1.1 {status} {words}\r\nconnection: close\r\n\r\n")
            );
        }
    }
    assert_eq!(
        exchange(&server, "GET /status/205").await,
        "HTTP/1.1 205 Reset Content\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
    );
}

async fn a_streamed_reply_to_head_has_no_length_and_no_body<S: Subject>() {
    let streamed = async |context: Context| {
        let mut writer = context.open_reply(Response::new(())).unwrap();
        let _ = writer.write("piece").await;
        let _ = writer.finish().await;
    };
    let server = Server::with::<S>(ServerOptions::default(), vec![route("GET", "/streamed", streamed)]).await;
    let reply = exchange(&server, "HEAD /streamed").await;
    assert!(reply.starts_with("HTTP/1.1 200 OK\r\n"), "{reply}");
    assert!(reply.ends_with("\r\n\r\n"), "{reply}");
    assert!(!reply.contains("content-length"), "{reply}");
}

async fn the_target_arrives_as_it_was_sent<S: Subject>() {
    let server = Server::plain::<S>().await;
    for (target, seen) in [
        (
            "/seen/a%2Fb%20c/../d//e?q=%41&r",
            "/seen/a%2Fb%20c/../d//e Some(\"q=%41&r\")",
        ),
        // No client may send a fragment; it is cut off.
        ("/seen/x#fragment", "/seen/x None"),
        ("http://other/seen/x?", "/seen/x Some(\"\")"),
        ("/seen/~!$&'()*+,;=:@", "/seen/~!$&'()*+,;=:@ None"),
        ("/seen//", "/seen// None"),
    ] {
        assert_eq!(server.client().await.get(target).await.body, seen, "{target}");
    }
}

async fn every_form_of_target_is_answered<S: Subject>() {
    let server = of_status::<S>().await;
    let asterisk = exchange(&server, "OPTIONS *").await;
    assert!(asterisk.starts_with("HTTP/1.1 "), "{asterisk}");
    assert!(!asterisk.starts_with("HTTP/1.1 5"), "{asterisk}");
    let authority = exchange(&server, "CONNECT a:80").await;
    assert!(authority.starts_with("HTTP/1.1 4"), "{authority}");
}

async fn connect_opens_no_tunnel<S: Subject>() {
    let mut options = ServerOptions::default();
    // No time of the server's can end the connection: the reply does.
    let never = Some(60 * PATIENCE);
    options.first_byte_timeout = never;
    options.header_timeout = never;
    options.body_timeout = never;
    options.write_timeout = never;
    let server = Server::with::<S>(options, [routes(), vec![status()]].concat()).await;
    let reply = server
        .raw("CONNECT /status/200 HTTP/1.1\r\nhost: a\r\n\r\nGET /hello HTTP/1.1\r\nhost: a\r\n\r\n")
        .await;
    assert!(reply.starts_with("HTTP/1.1 200 OK\r\n"), "{reply}");
    assert!(reply.ends_with("\r\n\r\n"), "{reply}");
    assert!(!reply.contains("hello"), "{reply}");
}

async fn connect_is_a_request_like_any_other<S: Subject>() {
    let refuse = route("CONNECT", "/tunnel", async |_: Context| StatusCode::FORBIDDEN);
    let server = Server::with::<S>(ServerOptions::default(), vec![refuse]).await;
    let mut client = server.client().await;
    let reply = client.ask("CONNECT", "/tunnel").await;
    assert_eq!(reply.status(), 403);
    if S::DIFFERENCES.stays_after_a_refused_connect {
        assert!(reply.all("connection").is_empty(), "{reply:?}");
        assert_eq!(client.ask("CONNECT", "/tunnel").await.status(), 403);
    } else {
        assert_eq!(reply.all("connection"), ["close"], "{reply:?}");
        assert_eq!(client.rest().await.unwrap(), "");
    }
}

async fn a_wish_to_upgrade_changes_nothing<S: Subject>() {
    let server = of_status::<S>().await;
    let mut client = server.client().await;
    for (path, status) in [("/hello", 200), ("/status/101", 500)] {
        let request = format!("GET {path} HTTP/1.1\r\nhost: a\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n");
        client.send(request).await;
        assert_eq!(client.reply().await.status(), status, "{path}");
    }
    assert_eq!(client.get("/echo/1").await.body, "1");
}

async fn headers_arrive_in_order_with_their_doubles_and_odd_bytes<S: Subject>() {
    let told = async |context: Context| {
        let lines = context.headers().iter().map(|(name, value)| {
            let value: String = value.as_bytes().iter().map(|byte| char::from(*byte)).collect();
            format!("{name}={value}")
        });
        lines.collect::<Vec<_>>().join("|")
    };
    let server = Server::with::<S>(ServerOptions::default(), vec![route("GET", "/headers", told)]).await;
    let mut client = server.client().await;
    let mut request =
        b"GET /headers HTTP/1.1\r\nX-B: 1\r\nhost: a\r\nx-a:\t2 \r\nx-b:3\r\nexpect: 100-continue\r\n".to_vec();
    request.extend_from_slice(b"Upgrade: websocket\r\nx-empty:\r\nx-odd: \xff\r\nx-t: \r\n\r\n");
    client.send(request).await;
    assert_eq!(
        client.reply().await.body,
        "x-b=1|x-b=3|host=a|x-a=2|expect=100-continue|upgrade=websocket|x-empty=|x-odd=\u{ff}|x-t="
    );
}
