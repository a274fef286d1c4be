//! HTTP/2 in clear text, with prior knowledge.

use http::{Request, Response, StatusCode};
use http_body_util::BodyExt;
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use pointwork_core::{Body, Context};
use pointwork_salvo::ServerOptions;
use tokio::net::TcpStream;

use crate::client::within;
use crate::subject::{Subject, route, routes};

async fn send(subject: &Subject, method: &str, path: &str, body: Body) -> Response<hyper::body::Incoming> {
    let stream = within("connecting", TcpStream::connect(subject.address)).await.unwrap();
    let (mut sender, connection) = http2::handshake(TokioExecutor::new(), TokioIo::new(stream))
        .await
        .unwrap();
    tokio::spawn(connection);
    let request = Request::builder().method(method).uri(format!("http://a{path}"));
    within("the reply", sender.send_request(request.body(body).unwrap()))
        .await
        .unwrap()
}

#[tokio::test]
async fn the_same_port_speaks_both_versions() {
    let subject = Subject::plain().await;
    for (method, path, body, reply) in [
        ("GET", "/hello", "", "hello"),
        ("POST", "/body", "abc", "3 bytes"),
        ("GET", "/seen/a%2Fb?c=%41", "", "/seen/a%2Fb Some(\"c=%41\")"),
        ("PURGE", "/nowhere", "", "{\"message\":\"no route for PURGE /nowhere\"}"),
    ] {
        let got = send(&subject, method, path, body.into()).await.into_body().collect();
        assert_eq!(got.await.unwrap().to_bytes(), reply, "{path}");
    }
    assert_eq!(subject.client().await.get("/hello").await.body, "hello");
}

#[tokio::test]
async fn head_has_the_length_and_no_body() {
    let reply = send(&Subject::plain().await, "HEAD", "/hello", Body::empty()).await;
    assert_eq!(
        (reply.status(), &reply.headers()["content-length"]),
        (StatusCode::OK, &"5".parse().unwrap())
    );
    assert!(reply.into_body().collect().await.unwrap().to_bytes().is_empty());
}

#[tokio::test]
async fn a_broken_off_reply_ends_with_a_reset() {
    let streamed = async |context: Context| {
        let mut writer = context.open_reply(Response::new(())).unwrap();
        writer.write("one").await.unwrap();
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        drop(writer);
    };
    let subject = Subject::with(ServerOptions::default(), vec![route("GET", "/streamed", streamed)]).await;
    let reply = send(&subject, "GET", "/streamed", Body::empty()).await;
    assert!(within("the body", reply.into_body().collect()).await.is_err());
}

#[tokio::test]
async fn a_body_beyond_its_limit_gets_413() {
    let subject = Subject::with(ServerOptions::default(), routes()).await;
    let reply = send(&subject, "POST", "/body", vec![b'x'; 3 * 1024 * 1024].into()).await;
    assert_eq!(reply.status(), StatusCode::PAYLOAD_TOO_LARGE);
}
