//! HTTP/2 in clear text, where it alone is asked for.

use std::time::{Duration, Instant};

use http::{Request, Response, StatusCode, Version};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::client::conn::http2::{self, SendRequest};
use hyper_util::rt::{TokioExecutor, TokioIo};
use pointwork_core::{Body, Context, Failure, RouterOptions};
use pointwork_trillium::{Protocols, ServerOptions, Trillium};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;

use crate::client::within;
use crate::closing::observed;
use crate::subject::{Subject, publish, route, routes};

/// The preface and empty settings.
const BEGIN: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";

/// The frame of `GET http://a/observed`.
fn get_observed(stream: u32) -> Vec<u8> {
    let fields = b"\x82\x86\x41\x01a\x44\x09/observed";
    let mut frame = vec![0, 0, u8::try_from(fields.len()).unwrap(), 1, 5];
    frame.extend_from_slice(&stream.to_be_bytes());
    frame.extend_from_slice(fields);
    frame
}

fn options() -> ServerOptions {
    let mut options = ServerOptions::default();
    options.protocols = Protocols::Http2;
    options
}

async fn plain() -> Subject {
    Subject::with(options(), routes()).await
}

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
async fn it_gives_the_answers_of_http_1() {
    let subject = plain().await;
    let mut client = Client::connect(&subject).await;
    for (method, path, body, answer) in [
        ("GET", "/hello", "", "hello"),
        ("POST", "/body", "abc", "3 bytes"),
        ("GET", "/seen/a%2Fb?c=%41", "", "/seen/a%2Fb Some(\"c=%41\")"),
        ("GET", "/none", "", "{\"message\":\"no route for GET /none\"}"),
    ] {
        assert_eq!(client.text(method, path, body.into()).await.1, answer);
    }
}

#[tokio::test]
async fn requests_of_one_connection_run_beside_each_other() {
    let subject = plain().await;
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
    let subject = plain().await;
    let mut client = Client::connect(&subject).await;
    let reply = client.send("HEAD", "/hello", Body::empty()).await.unwrap();
    assert_eq!(reply.headers()["content-length"], "5");
    assert!(reply.into_body().collect().await.unwrap().to_bytes().is_empty());
    let unpublished = Subject::start(&Trillium::with_options(options())).await;
    let mut client = Client::connect(&unpublished).await;
    let reply = client.send("HEAD", "/hello", Body::empty()).await.unwrap();
    assert_eq!(reply.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert!(reply.into_body().collect().await.unwrap().to_bytes().is_empty());
}

#[tokio::test]
async fn a_body_beyond_the_limit_gets_413() {
    let trillium = Trillium::with_options(options());
    let mut limits = RouterOptions::default();
    limits.body_limit = 10;
    publish(&trillium, routes(), limits);
    let subject = Subject::start(&trillium).await;
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
    let mut options = options();
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
    let mut options = options();
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
    let subject = Subject::with(options(), vec![observed]).await;
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
async fn a_shutdown_lets_requests_in_flight_end() {
    let mut subject = plain().await;
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
async fn a_broken_off_reply_ends_with_a_reset() {
    let streamed = async |context: Context| {
        let mut writer = context.open_reply(Response::new(())).unwrap();
        writer.write("one").await.unwrap();
        tokio::time::sleep(Duration::from_millis(50)).await;
        drop(writer);
    };
    let subject = Subject::with(
        options(),
        [routes(), vec![route("GET", "/streamed", streamed)]].concat(),
    )
    .await;
    let mut client = Client::connect(&subject).await;
    let reply = client.send("GET", "/streamed", Body::empty()).await.unwrap();
    assert!(within("the body", reply.into_body().collect()).await.is_err());
    // The others of the connection go on.
    assert_eq!(client.text("GET", "/hello", Body::empty()).await.1, "hello");
}

#[tokio::test]
async fn an_idle_connection_is_closed_and_a_busy_one_is_not() {
    let mut options = options();
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
    let mut options = options();
    options.header_timeout = Some(Duration::from_millis(200));
    let subject = Subject::with(options, routes()).await;
    let mut client = subject.client().await;
    // The preface and empty settings; it answers nothing that the server asks, and its own end stays open.
    client.send(BEGIN).await;
    let _ = client.rest().await;
}

#[tokio::test]
async fn a_client_that_takes_all_its_requests_back_is_cut() {
    let (observed, ..) = observed("GET");
    let mut options = options();
    options.http2.max_faulty_streams = 100;
    let subject = Subject::with(options, vec![observed]).await;
    let mut client = subject.client().await;
    client.send(BEGIN).await;
    for stream in (1..400_u32).step_by(2) {
        let mut frames = get_observed(stream);
        frames.extend_from_slice(&[0, 0, 4, 3, 0]);
        frames.extend_from_slice(&stream.to_be_bytes());
        frames.extend_from_slice(&[0, 0, 0, 8]);
        if client.try_send(frames).await.is_err() {
            break;
        }
    }
    // The server's last words may be lost in the reset that its end is to a client that still sends.
    let _ = client.rest().await;
}

#[tokio::test]
async fn a_long_download_is_not_idle() {
    const LENGTH: usize = 24 * 1024 * 1024;
    let big = route("GET", "/big", async |_: Context| vec![b'x'; LENGTH]);
    let mut options = options();
    options.header_timeout = Some(Duration::from_millis(300));
    let subject = Subject::with(options, vec![big]).await;
    let mut client = Client::connect(&subject).await;
    let mut body = client.send("GET", "/big", Body::empty()).await.unwrap().into_body();
    let (begun, mut got, mut slept) = (Instant::now(), 0, 0);
    while let Some(frame) = within("a piece", body.frame()).await {
        got += frame.unwrap().into_data().unwrap().len();
        if got / (2 * 1024 * 1024) > slept {
            slept += 1;
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
    assert_eq!(got, LENGTH);
    assert!(
        begun.elapsed() > Duration::from_millis(600),
        "too fast to prove anything"
    );
}

#[tokio::test]
async fn the_end_of_a_request_is_not_the_clients() {
    let slow = async |context: Context| {
        context.bytes().await?;
        tokio::time::sleep(Duration::from_millis(200)).await;
        Ok::<_, Failure>("slow")
    };
    let subject = Subject::with(options(), vec![route("ALL", "/slow", slow)]).await;
    let mut client = Client::connect(&subject).await;
    for (method, body) in [("GET", ""), ("POST", "abc")] {
        assert_eq!(
            client.text(method, "/slow", body.into()).await,
            (StatusCode::OK, "slow".to_owned())
        );
    }
}

#[tokio::test]
async fn the_end_of_the_connection_cancels_its_handlers() {
    let (observed, began, dropped) = observed("GET");
    let subject = Subject::with(options(), vec![observed]).await;
    let mut client = subject.client().await;
    client.send(BEGIN).await;
    client.send(get_observed(1)).await;
    within("the handler's begin", began.notified()).await;
    tokio::time::sleep(Duration::from_millis(50)).await;
    drop(client);
    within("the handler's drop", dropped.notified()).await;
}

#[tokio::test]
async fn a_method_outside_the_list_ends_the_connection_without_a_route() {
    let subject = Subject::with(options(), vec![route("ALL", "/all", async |_: Context| "all")]).await;
    let mut client = Client::connect(&subject).await;
    assert_eq!(client.text("MKWORKSPACE", "/all", Body::empty()).await.1, "all");
    assert!(client.send("PURGE", "/all", Body::empty()).await.is_err());
}

#[tokio::test]
async fn it_is_not_spoken_unasked() {
    let subject = Subject::plain().await;
    let mut client = subject.client().await;
    client.send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await;
    assert!(client.rest().await.unwrap().starts_with("HTTP/1.1 400 "));
}
