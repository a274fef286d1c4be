//! HTTP/2 clients that leave their replies unread: they keep the windows of their streams shut, and answer everything else.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use http::Response;
use pointwork_core::{Context, FailureCode};
use pointwork_test_clock::TestClock;
use tokio::sync::mpsc;

use super::http2::options;
use crate::client::{Frame, Frames};
use crate::{On, Server, route, routes, within};

crate::cases! {
    a_reply_that_nobody_takes_is_reset_alone: A1 A5,
    a_reply_of_which_one_byte_is_taken_is_reset_alone: A1 A5,
    a_reply_that_is_taken_slowly_is_not_reset: A1 A5,
    a_writer_whose_reply_is_reset_is_told: A1 A5 H4,
    a_client_with_many_unread_bytes_gets_no_further_request_handled: A1 A5,
    a_long_reply_that_is_read_holds_up_no_other: A1 A5,
}

const TIMEOUT: Duration = Duration::from_secs(7);

/// More than the largest chunk that hyper gets, and no multiple of it.
const LENGTH: usize = 100_000;

/// A client that takes nothing until it says so.
struct Client(Frames);

impl Client {
    async fn connect(server: &Server) -> Self {
        let mut frames = Frames::open(server.address).await.unwrap();
        let window = Frame::new(Frame::SETTINGS, 0, 0, [0, 4, 0, 0, 0, 0]);
        frames.send(&window.bytes()).await.expect("the connection ended");
        Self(frames)
    }

    async fn get(&mut self, stream: u32, path: &str) {
        let fields = [
            (":method", "GET"),
            (":scheme", "http"),
            (":path", path),
            (":authority", "a"),
        ];
        let fields = fields.map(|(name, value)| (name, value.as_bytes()));
        let request = Frame::request(stream, Frame::END_STREAM, &fields);
        self.0.send(&request.bytes()).await.expect("the connection ended");
    }

    /// Takes so many bytes of the stream, and of the connection, which is stream 0.
    async fn take(&mut self, stream: u32, bytes: usize) {
        let bytes = u32::try_from(bytes).unwrap().to_be_bytes();
        let update = Frame::new(Frame::WINDOW_UPDATE, 0, stream, bytes);
        self.0.send(&update.bytes()).await.expect("the connection ended");
    }

    /// The next frame of a kind; frames of other kinds go by, and pings are answered.
    async fn next(&mut self, kind: u8) -> Frame {
        loop {
            let frame = self.0.next().await.expect("a frame in time");
            let frame = frame.expect("the connection ended");
            match frame.kind {
                Frame::PING if frame.flags == 0 => {
                    let answer = Frame::new(Frame::PING, 1, 0, frame.payload);
                    self.0.send(&answer.bytes()).await.expect("the connection ended");
                }
                found if found == kind => return frame,
                Frame::GOAWAY => panic!("the server ends the connection: {frame:?}"),
                _ => {}
            }
        }
    }

    /// The bytes of a reply, up to the end of its stream.
    async fn body(&mut self, stream: u32) -> Vec<u8> {
        let mut body = Vec::new();
        loop {
            let frame = self.next(Frame::DATA).await;
            assert_eq!(frame.stream, stream);
            body.extend(frame.payload);
            if frame.flags & Frame::END_STREAM != 0 {
                return body;
            }
        }
    }

    /// The server has reset the stream, and answers another one.
    async fn is_reset_alone(&mut self, stream: u32, time: &TestClock) {
        time.until_timer(TIMEOUT).await;
        time.advance(TIMEOUT).await;
        let reset = self.next(Frame::RST_STREAM).await;
        assert_eq!(reset.stream, stream);
        self.get(stream + 2, "/hello").await;
        self.take(stream + 2, 100).await;
        assert_eq!(self.body(stream + 2).await, b"hello");
    }
}

async fn server(on: On) -> (Server, TestClock) {
    let long = route("GET", "/long", async |_: Context| vec![b'x'; LENGTH]);
    Server::timed(on, options().write_timeout(TIMEOUT), [routes(), vec![long]].concat()).await
}

async fn a_reply_that_nobody_takes_is_reset_alone(on: On) {
    let (server, time) = server(on).await;
    for path in ["/hello", "/long"] {
        let mut client = Client::connect(&server).await;
        client.get(1, path).await;
        assert_eq!(client.next(Frame::HEADERS).await.status(), Some(200));
        client.is_reset_alone(1, &time).await;
    }
}

async fn a_reply_of_which_one_byte_is_taken_is_reset_alone(on: On) {
    let (server, time) = server(on).await;
    let mut client = Client::connect(&server).await;
    client.get(1, "/long").await;
    client.take(1, 1).await;
    assert_eq!(client.next(Frame::DATA).await.payload, b"x");
    client.is_reset_alone(1, &time).await;
}

async fn a_reply_that_is_taken_slowly_is_not_reset(on: On) {
    let (server, time) = server(on).await;
    let mut client = Client::connect(&server).await;
    client.get(1, "/long").await;
    let mut left = LENGTH;
    while left > 0 {
        let taken = left.min(17_000);
        client.take(1, taken).await;
        let mut arrived = 0;
        while arrived < taken {
            arrived += client.next(Frame::DATA).await.payload.len();
        }
        // The window of the connection is not what this case is about.
        client.take(0, taken).await;
        left -= taken;
        time.advance(TIMEOUT / 2).await;
    }
    client.get(3, "/hello").await;
    client.take(3, 5).await;
    assert_eq!(client.body(3).await, b"hello");
}

async fn a_writer_whose_reply_is_reset_is_told(on: On) {
    let (sender, mut ends) = mpsc::unbounded_channel();
    let streamed = route("GET", "/streamed", move |context: Context| {
        let sender = sender.clone();
        async move {
            let mut writer = context.open_reply(Response::new(())).unwrap();
            let end = loop {
                if let Err(end) = writer.write(vec![b'x'; 1000]).await {
                    break end;
                }
            };
            let _ = sender.send(end.code().clone());
        }
    });
    let (server, time) = Server::timed(on, options().write_timeout(TIMEOUT), vec![streamed]).await;
    let mut client = Client::connect(&server).await;
    client.get(1, "/streamed").await;
    assert_eq!(client.next(Frame::HEADERS).await.status(), Some(200));
    time.until_timer(TIMEOUT).await;
    time.advance(TIMEOUT).await;
    let reset = client.next(Frame::RST_STREAM).await;
    assert_eq!(reset.stream, 1);
    assert_eq!(within("the writer's end", ends.recv()).await, Some(FailureCode::GONE));
}

async fn a_client_with_many_unread_bytes_gets_no_further_request_handled(on: On) {
    let handled = Arc::new(AtomicUsize::new(0));
    let counter = handled.clone();
    let counted = route("GET", "/counted", move |_: Context| {
        counter.fetch_add(1, Relaxed);
        async { vec![b'x'; 300 * 1024] }
    });
    let server = Server::with(on, options().write_timeout(None), [routes(), vec![counted]].concat()).await;
    let mut client = Client::connect(&server).await;
    for number in 0..20 {
        client.get(2 * number + 1, "/counted").await;
    }
    for _ in 0..16 {
        client.next(Frame::HEADERS).await;
    }
    // A request of another connection after them has passed through the whole server.
    let mut other = Client::connect(&server).await;
    other.get(1, "/hello").await;
    other.take(1, 5).await;
    assert_eq!(other.body(1).await, b"hello");
    assert_eq!(handled.load(Relaxed), 16, "each reply counts up to 64 KiB");
    // Once the client reads, its other requests are handled.
    client.take(0, 20 * 300 * 1024).await;
    for number in 0..20 {
        client.take(2 * number + 1, 300 * 1024).await;
    }
    let mut arrived = 0;
    while arrived < 20 * 300 * 1024 {
        arrived += client.next(Frame::DATA).await.payload.len();
    }
    assert_eq!(handled.load(Relaxed), 20);
}

async fn a_long_reply_that_is_read_holds_up_no_other(on: On) {
    const HUGE: usize = 3 * 1024 * 1024;
    let huge = route("GET", "/huge", async |_: Context| vec![b'x'; HUGE]);
    let server = Server::with(on, options(), [routes(), vec![huge]].concat()).await;
    let mut client = Client::connect(&server).await;
    client.get(1, "/huge").await;
    client.next(Frame::HEADERS).await;
    for stream in [3, 5] {
        client.get(stream, "/hello").await;
        client.take(stream, 5).await;
        client.take(1, 40_000).await;
        client.take(0, 40_000).await;
        let mut hello = Vec::new();
        while hello.len() < 5 {
            let frame = client.next(Frame::DATA).await;
            if frame.stream == stream {
                hello.extend(frame.payload);
            }
        }
        assert_eq!(hello, b"hello", "beside {HUGE} bytes of which few are read");
    }
}
