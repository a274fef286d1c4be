//! Floods of HTTP/2: a client that makes the server work or keep bytes at little cost to itself. Each flood ends the
//! connection or is bounded, other clients are served meanwhile, and the memory of the server stays below a ceiling.

use std::time::Duration;

use pointwork_core::ServerOptions;

use crate::apart::ServerApart;
use crate::client::{Client, Frame, Frames};
use crate::{On, within};

crate::cases! {
    rapid_resets_end_the_connection: A5,
    resets_of_requests_that_run_are_bounded: A5,
    resets_that_the_server_is_made_to_send_end_the_connection: A5,
    a_head_without_an_end_ends_the_connection: A5,
    settings_without_end_are_bounded: A5,
    pings_without_end_are_bounded: A5,
    empty_data_without_end_ends_the_connection: A5,
    a_head_that_grows_when_it_is_unpacked_ends_the_connection: A5,
    heads_that_grow_up_to_the_limit_are_bounded: A5,
}

/// The most that the memory of the server may grow, in bytes: about ten times what it does.
const CEILING: u64 = 24 << 20;

/// The time after which a server takes no more from a client that does not read.
const BLOCKED: Duration = Duration::from_secs(1);

/// The streams of a client, in order.
fn streams() -> impl Iterator<Item = u32> {
    (1..).step_by(2)
}

/// The fields of a request for a handler that never replies.
fn held(stream: u32, flags: u8) -> Frame {
    let fields = [
        (":method", "POST"),
        (":scheme", "http"),
        (":path", "/held"),
        (":authority", "a"),
    ];
    Frame::request(stream, flags, &fields.map(|(name, value)| (name, value.as_bytes())))
}

/// How a flood ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flooded {
    /// The server closed the connection, with that code in its last frame if that arrived: a reset may overtake it.
    Ended(Option<u8>),
    /// The server takes no more.
    Blocked,
    /// The server took it all.
    Taken,
}

impl Flooded {
    /// Waits until the server has read everything, or has ended the connection.
    async fn by(client: &mut Frames) -> Self {
        const LAST: [u8; 8] = [7; 8];
        let mut code = None;
        let _ = client.send(&Frame::new(Frame::PING, 0, 0, LAST).bytes()).await;
        loop {
            match client.next().await {
                Ok(Some(frame)) if frame.kind == Frame::GOAWAY => code = frame.payload.get(7).copied(),
                Ok(Some(frame)) if frame.kind == Frame::PING && frame.payload == LAST => return Self::Taken,
                Ok(Some(_)) => {}
                Ok(None) => return Self::Ended(code),
                Err(_) => return Self::Blocked,
            }
        }
    }

    /// Asserts that the server ended the connection because of the flood, and not because it did not understand it.
    fn has_ended(self) {
        const ENHANCE_YOUR_CALM: u8 = 0xb;
        assert!(matches!(self, Self::Ended(None | Some(ENHANCE_YOUR_CALM))), "{self:?}");
    }
}

/// Sends these frames until the server ends the connection or takes no more, while another client asks for a route.
#[expect(
    clippy::disallowed_methods,
    reason = "a server that takes no more reports no event, and no case depends on how such a flood ends"
)]
async fn flood(server: &ServerApart, reads: bool, frames: impl Iterator<Item = Frame>) -> Flooded {
    let mut client = Frames::open(server.address).await.unwrap();
    let flooding = async {
        let mut frames = frames.peekable();
        while frames.peek().is_some() {
            let mut batch = Vec::new();
            while batch.len() < 32 * 1024
                && let Some(frame) = frames.next()
            {
                batch.extend_from_slice(&frame.bytes());
            }
            let sent = match reads {
                true => client.send_while_reading(&batch).await,
                false => match tokio::time::timeout(BLOCKED, client.send(&batch)).await {
                    Ok(sent) => sent,
                    Err(_) => return Flooded::Blocked,
                },
            };
            if sent.is_err() {
                break;
            }
        }
        match reads {
            true => Flooded::by(&mut client).await,
            false => Flooded::Taken,
        }
    };
    beside_another_client(server, flooding).await
}

async fn beside_another_client<T>(server: &ServerApart, flooding: impl Future<Output = T>) -> T {
    tokio::pin!(flooding);
    let other = Client::new(server.address);
    loop {
        tokio::select! {
            flooded = &mut flooding => return flooded,
            reply = other.get("/hello") => assert_eq!(reply.unwrap().text(), "hello"),
        }
    }
}

/// Begins requests, 50 at a time, whose handlers run, and spoils each; returns whether the connection ended.
async fn rounds(server: &ServerApart, count: usize, spoil: impl Fn(u32) -> Frame) -> bool {
    let mut client = Frames::open(server.address).await.unwrap();
    let flooding = async {
        let streams: Vec<_> = streams().take(count * 50).collect();
        for round in streams.chunks(50) {
            let begin: Vec<_> = round.iter().flat_map(|stream| held(*stream, 0).bytes()).collect();
            let end: Vec<_> = round.iter().flat_map(|stream| spoil(*stream).bytes()).collect();
            for bytes in [begin, end] {
                if client.send(&bytes).await.is_err() || Flooded::by(&mut client).await != Flooded::Taken {
                    return true;
                }
            }
        }
        false
    };
    beside_another_client(server, flooding).await
}

/// The server still serves, it ran no more handlers at a time than it may, and its memory is below the ceiling.
async fn is_bounded(server: &ServerApart) {
    let client = Client::new(server.address);
    let reply = within("a reply after the flood", client.get("/hello")).await.unwrap();
    assert_eq!(reply.text(), "hello");
    let most: usize = client.get("/most").await.unwrap().text().parse().unwrap();
    let allowed = ServerOptions::new().http2.max_streams as usize;
    assert!(
        most <= allowed,
        "{most} handlers ran at the same time, expected at most {allowed}"
    );
    let growth = server.growth();
    assert!(growth < CEILING, "the memory grew by {growth} bytes");
}

fn reset(stream: u32) -> Frame {
    Frame::new(Frame::RST_STREAM, 0, stream, [0, 0, 0, 8])
}

async fn rapid_resets_end_the_connection(on: On) {
    let server = ServerApart::start(on);
    let frames = streams().take(100_000);
    let frames = frames.flat_map(|stream| [held(stream, Frame::END_STREAM), reset(stream)]);
    flood(&server, true, frames).await.has_ended();
    is_bounded(&server).await;
}

/// Each request is cancelled after its handler began, as a client may do.
async fn resets_of_requests_that_run_are_bounded(on: On) {
    let server = ServerApart::start(on);
    rounds(&server, 60, reset).await;
    is_bounded(&server).await;
}

/// "MadeYouReset": the client breaks a rule of each stream, so that the server resets it.
async fn resets_that_the_server_is_made_to_send_end_the_connection(on: On) {
    let faults = [
        // The window of the stream grows by 0, or beyond 31 bits.
        |stream| Frame::new(Frame::WINDOW_UPDATE, 0, stream, [0; 4]),
        |stream| Frame::new(Frame::WINDOW_UPDATE, 0, stream, [0x7f, 0xff, 0xff, 0xff]),
        // The trailers do not end the stream; the stream depends on itself.
        |stream| Frame::new(Frame::HEADERS, Frame::END_HEADERS, stream, [0x82]),
        |stream: u32| {
            Frame::new(
                Frame::PRIORITY,
                0,
                stream,
                [stream.to_be_bytes().as_slice(), &[0]].concat(),
            )
        },
    ];
    for fault in faults {
        let server = ServerApart::start(on);
        let frames = streams()
            .take(20_000)
            .flat_map(|stream| [held(stream, 0), fault(stream)]);
        let flooded = flood(&server, true, frames).await;
        assert!(matches!(flooded, Flooded::Ended(_)), "{flooded:?}");
        assert!(rounds(&server, 60, fault).await, "the connection goes on");
        is_bounded(&server).await;
    }
}

/// "CONTINUATION flood".
async fn a_head_without_an_end_ends_the_connection(on: On) {
    let field = [b"\x00\x01x\x64".as_slice(), &[b'y'; 100]].concat();
    for (more, count) in [(field.repeat(150), 10_000), (Vec::new(), 1_000_000)] {
        let server = ServerApart::start(on);
        let mut begin = held(1, 0);
        begin.flags = 0;
        let more = Frame::new(Frame::CONTINUATION, 0, 1, more);
        let frames = std::iter::once(begin).chain(std::iter::repeat_n(more, count));
        flood(&server, true, frames).await.has_ended();
        is_bounded(&server).await;
    }
}

/// The client may read the acknowledgements or not.
async fn settings_without_end_are_bounded(on: On) {
    for reads in [true, false] {
        let server = ServerApart::start(on);
        let settings = Frame::new(Frame::SETTINGS, 0, 0, [0, 3, 0, 0, 0, 100].repeat(10));
        flood(&server, reads, std::iter::repeat_n(settings, 50_000)).await;
        is_bounded(&server).await;
    }
}

/// The client may read the acknowledgements or not.
async fn pings_without_end_are_bounded(on: On) {
    for reads in [true, false] {
        let server = ServerApart::start(on);
        let ping = Frame::new(Frame::PING, 0, 0, [0; 8]);
        flood(&server, reads, std::iter::repeat_n(ping, 200_000)).await;
        is_bounded(&server).await;
    }
}

/// The handler never reads the body. A frame with padding alone is empty too.
async fn empty_data_without_end_ends_the_connection(on: On) {
    for (flags, payload) in [(0, Vec::new()), (8, vec![0])] {
        let server = ServerApart::start(on);
        let empty = Frame::new(Frame::DATA, flags, 1, payload);
        let frames = std::iter::once(held(1, 0)).chain(std::iter::repeat_n(empty, 500_000));
        flood(&server, true, frames).await.has_ended();
        is_bounded(&server).await;
    }
}

/// The head of a request that puts a field of 4,000 bytes into the table; `0xbe` stands for that field then.
fn with_long_field() -> Frame {
    let mut head = held(1, 0);
    head.payload.extend_from_slice(b"\x40\x01x\x7f\xa1\x1e");
    head.payload.extend_from_slice(&[b'y'; 4000]);
    head
}

/// "HPACK bomb": every head names a long field thousands of times, with one byte each.
async fn a_head_that_grows_when_it_is_unpacked_ends_the_connection(on: On) {
    let server = ServerApart::start(on);
    let bombs = streams().skip(1).take(1_000).map(|stream| {
        let mut bomb = held(stream, 0);
        bomb.payload.extend_from_slice(&[0xbe; 16_000]);
        bomb
    });
    flood(&server, true, std::iter::once(with_long_field()).chain(bombs))
        .await
        .has_ended();
    is_bounded(&server).await;
}

/// Each head takes 15 bytes more and becomes 60,000 bytes, just below the limit, and stays as long as its handler.
async fn heads_that_grow_up_to_the_limit_are_bounded(on: On) {
    let server = ServerApart::start(on);
    let heads = streams().skip(1).take(5_000).map(|stream| {
        let mut head = held(stream, 0);
        head.payload.extend_from_slice(&[0xbe; 15]);
        head
    });
    flood(&server, true, std::iter::once(with_long_field()).chain(heads)).await;
    is_bounded(&server).await;
}
