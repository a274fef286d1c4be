//! Replies with all statuses.

use http::{Response, StatusCode};
use pointwork_core::{Body, Context, ServerOptions};

use crate::{On, Server, route};

crate::cases! {
    nobody_is_announced_and_the_date_stands_once: A1,
    an_error_without_a_body_gets_no_page_of_the_framework: A1,
    a_status_without_a_name_is_sent_all_the_same: A1,
    a_reply_that_must_not_have_a_length_has_none: A1,
}

async fn of_status(on: On, body: &'static str) -> Server {
    let handler = move |context: Context| async move {
        let status = StatusCode::from_bytes(context.param("status").unwrap().as_bytes()).unwrap();
        Response::builder().status(status).body(Body::from(body)).unwrap()
    };
    Server::and(on, route("ALL", "/status/:status", handler)).await
}

async fn nobody_is_announced_and_the_date_stands_once(on: On) {
    let server = Server::plain(on).await;
    for request in ["GET /hello", "GET /none", "PURGE /hello", "G(T /hello"] {
        // `exchange` asserts that the reply has one date.
        let reply = server
            .exchange(format!("{request} HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n"))
            .await;
        assert!(!reply.contains("\r\nserver:"), "{reply}");
    }
}

async fn an_error_without_a_body_gets_no_page_of_the_framework(on: On) {
    let server = of_status(on, "").await;
    for (status, words) in [
        (200, "OK"),
        (302, "Found"),
        (404, "Not Found"),
        (500, "Internal Server Error"),
    ] {
        for method in ["GET", "DELETE"] {
            let request = format!(
                "{method} /status/{status} HTTP/1.1\r\nhost: a\r\naccept: text/html\r\nconnection: close\r\n\r\n"
            );
            assert_eq!(
                server.exchange(request).await,
                format!("HTTP/1.1 {status} {words}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n")
            );
        }
    }
}

async fn a_status_without_a_name_is_sent_all_the_same(on: On) {
    let server = of_status(on, "some body").await;
    for status in [218, 299, 399, 420, 499, 599] {
        let mut client = server.client().await;
        let reply = client.get(&format!("/status/{status}")).await;
        assert_eq!((reply.status(), reply.body.as_str()), (status, "some body"));
        assert_eq!(client.get("/hello").await.status(), 200);
    }
}

async fn a_reply_that_must_not_have_a_length_has_none(on: On) {
    let silent = |path: &str, status: StatusCode| route("GET", path, move |_: Context| async move { status });
    let routes = vec![
        silent("/204", StatusCode::NO_CONTENT),
        silent("/304", StatusCode::NOT_MODIFIED),
    ];
    let server = Server::with(on, ServerOptions::new(), routes).await;
    let mut client = server.client().await;
    for target in ["/204", "/304"] {
        let reply = client.get(target).await;
        assert!(reply.all("content-length").is_empty(), "{target}: {reply:?}");
        assert!(reply.all("transfer-encoding").is_empty(), "{target}: {reply:?}");
    }
}
