//! HTTP/2 in clear text, with prior knowledge: its requests and replies.

use std::time::{Duration, Instant};

use http::{Request, StatusCode};
use http_body_util::BodyExt;
use pointwork_core::{Body, Context, Failure, Protocols, ServerOptions};

use crate::http2::Http2Client;
use crate::{Http2, Server, Subject, route, routes, within};

crate::cases! {
    for S;
    it_gives_the_answers_of_http_1,
    requests_of_one_connection_run_beside_each_other,
    head_has_the_length_and_no_body,
    a_body_beyond_the_limit_gets_413,
    a_body_that_stops_coming_gets_408,
    too_many_headers_get_431,
    the_end_of_a_request_is_not_the_clients,
    any_method_is_a_real_route_or_the_end,
}

/// The options that have HTTP/2 spoken.
pub(super) fn options<S: Subject>() -> ServerOptions {
    let mut options = ServerOptions::default();
    if S::DIFFERENCES.http2 == Http2::Alone {
        options.protocols = Protocols::Http2;
    }
    options
}

pub(super) async fn plain<S: Subject>() -> Server {
    Server::with::<S>(options::<S>(), routes()).await
}

async fn it_gives_the_answers_of_http_1<S: Subject>() {
    let server = plain::<S>().await;
    let mut client = Http2Client::connect(&server).await;
    for (method, path, body, answer) in [
        ("GET", "/hello", "", "hello"),
        ("POST", "/body", "abc", "3 bytes"),
        ("GET", "/seen/a%2Fb?c=%41", "", "/seen/a%2Fb Some(\"c=%41\")"),
        ("GET", "/none", "", "{\"message\":\"no route for GET /none\"}"),
    ] {
        assert_eq!(client.text(method, path, body.into()).await.1, answer);
    }
}

async fn requests_of_one_connection_run_beside_each_other<S: Subject>() {
    let server = plain::<S>().await;
    let client = Http2Client::connect(&server).await;
    let begun = Instant::now();
    let slow = (0..10).map(|_| {
        let mut sender = client.sender.clone();
        async move {
            let request = Request::get("http://a/slow").body(Body::empty()).unwrap();
            sender.send_request(request).await.unwrap().status()
        }
    });
    let all = within("the replies", futures_util::future::join_all(slow)).await;
    assert_eq!(all, [StatusCode::OK; 10]);
    assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());
}

async fn head_has_the_length_and_no_body<S: Subject>() {
    let server = plain::<S>().await;
    let mut client = Http2Client::connect(&server).await;
    let reply = client.send("HEAD", "/hello", Body::empty()).await.unwrap();
    assert_eq!(reply.headers()["content-length"], "5");
    assert!(reply.into_body().collect().await.unwrap().to_bytes().is_empty());
    let unpublished = Server::start::<S>(&S::adapter(options::<S>())).await;
    let mut client = Http2Client::connect(&unpublished).await;
    let reply = client.send("HEAD", "/hello", Body::empty()).await.unwrap();
    assert_eq!(reply.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert!(reply.into_body().collect().await.unwrap().to_bytes().is_empty());
}

async fn a_body_beyond_the_limit_gets_413<S: Subject>() {
    let server = Server::limited::<S>(options::<S>(), routes(), 10).await;
    let mut client = Http2Client::connect(&server).await;
    let (mut writer, body) = Body::channel();
    let writing = tokio::spawn(async move {
        for _ in 0..4 {
            if writer.write("01234567").await.is_err() {
                return;
            }
        }
        let _ = writer.finish().await;
    });
    assert_eq!(
        client.text("POST", "/body", body).await.0,
        StatusCode::PAYLOAD_TOO_LARGE
    );
    within("the writer", writing).await.unwrap();
    let whole = vec![b'x'; 3 * 1024 * 1024];
    assert_eq!(
        client.text("POST", "/body", whole.into()).await.0,
        StatusCode::PAYLOAD_TOO_LARGE
    );
    assert_eq!(client.text("GET", "/hello", Body::empty()).await.0, StatusCode::OK);
}

async fn a_body_that_stops_coming_gets_408<S: Subject>() {
    let mut options = options::<S>();
    options.body_timeout = Some(Duration::from_millis(200));
    let server = Server::with::<S>(options, routes()).await;
    let mut client = Http2Client::connect(&server).await;
    let (mut writer, body) = Body::channel();
    let writing = tokio::spawn(async move {
        writer.write("x").await.unwrap();
        // Neither another piece nor an end.
        std::future::pending::<()>().await;
        drop(writer);
    });
    assert_eq!(client.text("POST", "/body", body).await.0, StatusCode::REQUEST_TIMEOUT);
    writing.abort();
}

async fn too_many_headers_get_431<S: Subject>() {
    let mut options = options::<S>();
    options.max_headers = 10;
    let server = Server::with::<S>(options, routes()).await;
    let mut client = Http2Client::connect(&server).await;
    for (count, status) in [(10, StatusCode::OK), (11, StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE)] {
        let mut request = Request::get("http://a/hello").body(Body::empty()).unwrap();
        for number in 0..count {
            let name: http::HeaderName = format!("x-{number}").parse().unwrap();
            request.headers_mut().insert(name, http::HeaderValue::from_static("y"));
        }
        assert_eq!(client.sender.send_request(request).await.unwrap().status(), status);
    }
}

async fn the_end_of_a_request_is_not_the_clients<S: Subject>() {
    let slow = async |context: Context| {
        context.bytes().await?;
        tokio::time::sleep(Duration::from_millis(200)).await;
        Ok::<_, Failure>("slow")
    };
    let server = Server::with::<S>(options::<S>(), vec![route("ALL", "/slow", slow)]).await;
    let mut client = Http2Client::connect(&server).await;
    for (method, body) in [("GET", ""), ("POST", "abc")] {
        assert_eq!(
            client.text(method, "/slow", body.into()).await,
            (StatusCode::OK, "slow".to_owned())
        );
    }
}

async fn any_method_is_a_real_route_or_the_end<S: Subject>() {
    let all = route("ALL", "/all", async |context: Context| context.method().to_string());
    let server = Server::with::<S>(options::<S>(), vec![all]).await;
    let mut client = Http2Client::connect(&server).await;
    assert_eq!(client.text("MKWORKSPACE", "/all", Body::empty()).await.1, "MKWORKSPACE");
    if S::DIFFERENCES.every_method {
        assert_eq!(client.text("PURGE", "/all", Body::empty()).await.1, "PURGE");
    } else {
        assert!(client.send("PURGE", "/all", Body::empty()).await.is_err());
    }
}
