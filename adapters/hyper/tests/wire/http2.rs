//! HTTP/2 in clear text, with prior knowledge.

use std::time::{Duration, Instant};

use http::{Request, Response, StatusCode, Version};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::client::conn::http2::{self, SendRequest};
use hyper_util::rt::{TokioExecutor, TokioIo};
use pointwork_core::{Body, Context, RouterOptions};
use pointwork_hyper::{Hyper, ServerOptions};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;

use crate::client::within;
use crate::closing::observed;
use crate::subject::{Subject, publish, route, routes};

struct Client {
    sender: SendRequest<Body>,
    connection: JoinHandle<hyper::Result<()>>,
}

impl Client {
    async fn connect(subject: &Subject) -> Self {
        let stream = within("connecting", TcpStream::connect(subject.address)).await.unwrap();
        let (sender, connection) = http2::handshake(TokioExecutor::new(), TokioIo::new(stream))
            .await
            .unwrap();
        Self {
            sender,
            connection: tokio::spawn(connection),
        }
    }

    async fn send(&mut self, method: &str, path: &str, body: Body) -> hyper::Result<Response<Incoming>> {
        let uri = format!("http://a{path}");
        let request = Request::builder().method(method).uri(uri).body(body).unwrap();
        within("the reply", self.sender.send_request(request)).await
    }

    async fn text(&mut self, method: &str, path: &str, body: Body) -> (StatusCode, String) {
        let reply = self.send(method, path, body).await.unwrap();
        assert_eq!(reply.version(), Version::HTTP_2);
        let status = reply.status();
        let bytes = within("the body", reply.into_body().collect())
            .await
            .unwrap()
            .to_bytes();
        (status, String::from_utf8(bytes.to_vec()).unwrap())
    }
}

#[tokio::test]
async fn the_same_port_speaks_both_versions() {
    let subject = Subject::plain().await;
    let mut two = Client::connect(&subject).await;
    assert_eq!(
        two.text("GET", "/hello", Body::empty()).await,
        (StatusCode::OK, "hello".to_owned())
    );
    assert_eq!(subject.client().await.get("/hello").await.body, "hello");
    assert_eq!(two.text("POST", "/body", "abc".into()).await.1, "3 bytes");
    assert_eq!(
        two.text("GET", "/seen/a%2Fb?c=%41", Body::empty()).await.1,
        "/seen/a%2Fb Some(\"c=%41\")"
    );
}

#[tokio::test]
async fn requests_of_one_connection_run_beside_each_other() {
    let subject = Subject::plain().await;
    let client = Client::connect(&subject).await;
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

#[tokio::test]
async fn head_has_the_length_and_no_body() {
    let subject = Subject::plain().await;
    let mut client = Client::connect(&subject).await;
    let reply = client.send("HEAD", "/hello", Body::empty()).await.unwrap();
    assert_eq!(reply.headers()["content-length"], "5");
    assert!(reply.into_body().collect().await.unwrap().to_bytes().is_empty());
    let unpublished = Subject::start(&Hyper::new()).await;
    let mut client = Client::connect(&unpublished).await;
    let reply = client.send("HEAD", "/hello", Body::empty()).await.unwrap();
    assert_eq!(reply.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert!(reply.into_body().collect().await.unwrap().to_bytes().is_empty());
}

#[tokio::test]
async fn a_body_beyond_the_limit_gets_413() {
    let hyper = Hyper::new();
    let mut options = RouterOptions::default();
    options.body_limit = 10;
    publish(&hyper, routes(), options);
    let subject = Subject::start(&hyper).await;
    let mut client = Client::connect(&subject).await;
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
    assert_eq!(client.text("GET", "/hello", Body::empty()).await.0, StatusCode::OK);
}

#[tokio::test]
async fn a_body_that_stops_coming_gets_408() {
    let mut options = ServerOptions::default();
    options.body_timeout = Some(Duration::from_millis(200));
    let subject = Subject::with(options, routes()).await;
    let mut client = Client::connect(&subject).await;
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

#[tokio::test]
async fn too_many_headers_get_431() {
    let mut options = ServerOptions::default();
    options.max_headers = 10;
    let subject = Subject::with(options, routes()).await;
    let mut client = Client::connect(&subject).await;
    for (count, status) in [(10, StatusCode::OK), (11, StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE)] {
        let mut request = Request::get("http://a/hello").body(Body::empty()).unwrap();
        for number in 0..count {
            let name: http::HeaderName = format!("x-{number}").parse().unwrap();
            request.headers_mut().insert(name, http::HeaderValue::from_static("y"));
        }
        assert_eq!(client.sender.send_request(request).await.unwrap().status(), status);
    }
}

#[tokio::test]
async fn a_reset_of_the_stream_cancels_the_handler() {
    let (observed, began, dropped) = observed("GET");
    let subject = Subject::with(ServerOptions::default(), vec![observed]).await;
    let client = Client::connect(&subject).await;
    let mut sender = client.sender.clone();
    let call = tokio::spawn(async move {
        let request = Request::get("http://a/observed").body(Body::empty()).unwrap();
        sender.send_request(request).await.map(|_| ())
    });
    within("the handler's begin", began.notified()).await;
    call.abort();
    within("the handler's drop", dropped.notified()).await;
}

#[tokio::test]
async fn a_broken_off_reply_ends_with_a_reset() {
    let streamed = async |context: Context| {
        let mut writer = context.open_reply(Response::new(())).unwrap();
        writer.write("one").await.unwrap();
        tokio::time::sleep(Duration::from_millis(50)).await;
        drop(writer);
    };
    let subject = Subject::with(ServerOptions::default(), vec![route("GET", "/streamed", streamed)]).await;
    let mut client = Client::connect(&subject).await;
    let reply = client.send("GET", "/streamed", Body::empty()).await.unwrap();
    assert!(within("the body", reply.into_body().collect()).await.is_err());
}

#[tokio::test]
async fn a_shutdown_lets_requests_in_flight_end() {
    let mut subject = Subject::plain().await;
    let mut client = Client::connect(&subject).await;
    let mut sender = client.sender.clone();
    let slow = tokio::spawn(async move {
        let request = Request::get("http://a/slow").body(Body::empty()).unwrap();
        let reply = sender.send_request(request).await.unwrap();
        reply.into_body().collect().await.unwrap().to_bytes()
    });
    assert_eq!(client.text("GET", "/hello", Body::empty()).await.1, "hello");
    subject.signal();
    assert_eq!(within("the slow reply", slow).await.unwrap(), "slow");
    within("the connection's end", client.connection)
        .await
        .unwrap()
        .unwrap();
    subject.ended().await;
}

#[tokio::test]
async fn an_idle_connection_is_closed_and_a_busy_one_is_not() {
    let mut options = ServerOptions::default();
    options.header_timeout = Some(Duration::from_millis(200));
    let subject = Subject::with(options, routes()).await;
    let mut client = Client::connect(&subject).await;
    assert_eq!(client.text("GET", "/slow", Body::empty()).await.1, "slow");
    within("the connection's end", client.connection)
        .await
        .unwrap()
        .unwrap();
}

#[tokio::test]
async fn a_connection_that_begins_nothing_is_cut() {
    let mut options = ServerOptions::default();
    options.header_timeout = Some(Duration::from_millis(200));
    let subject = Subject::with(options, routes()).await;
    let mut client = subject.client().await;
    // The preface and empty settings; it answers nothing that the server asks, and its own end stays open.
    client
        .send(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0")
        .await;
    let _ = client.rest().await;
}
