//! Clients that send or read as slowly as they can, and come again as soon as the server has ended their request.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::fmt;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::Result;
use bytes::Bytes;
use futures_util::stream::{self, BoxStream, Stream, StreamExt as _};
use http::Request;
use http_body_util::StreamBody;
use hyper::body::Frame;
use hyper::client::conn::http2::{SendRequest, handshake};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};
use tokio::runtime::Runtime;
use tokio::time::{Instant, sleep_until};

/// The time between two bytes of a client.
const PAUSE: Duration = Duration::from_secs(5);

/// The time after which a client comes again.
const AGAIN: Duration = Duration::from_millis(200);

/// The length that a slow client declares for its body.
const DECLARED: usize = 1024 * 1024;

/// The number of open bodies of one HTTP/2 connection.
pub(crate) const BODIES: usize = 128;

/// The way in which the clients are slow.
#[derive(Clone, Copy)]
pub(crate) enum Attack {
    /// They send a body of a declared length to a route that takes it whole.
    Whole,
    /// They send a chunked body to a route that takes it as a stream.
    Stream,
    /// They read a streamed reply.
    Download,
    /// The bodies of as many HTTP/2 connections, to a route that takes them as streams.
    Http2(usize),
}

impl fmt::Display for Attack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole => f.pad("whole bodies"),
            Self::Stream => f.pad("streamed bodies"),
            Self::Download => f.pad("readers of a streamed reply"),
            Self::Http2(1) => f.pad("bodies on one HTTP/2 connection"),
            Self::Http2(connections) => f.pad(&format!("bodies on {connections} HTTP/2 connections")),
        }
    }
}

/// The requests of an attack.
#[derive(Default)]
pub(crate) struct Progress {
    begun: AtomicUsize,
    ends: Mutex<BTreeMap<String, usize>>,
}

impl Progress {
    fn begins(&self) {
        self.begun.fetch_add(1, Ordering::Relaxed);
    }

    fn ended(&self, how: String) {
        *self.counts().entry(how).or_default() += 1;
    }

    fn counts(&self) -> MutexGuard<'_, BTreeMap<String, usize>> {
        self.ends.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of requests so far.
    pub(crate) fn begun(&self) -> usize {
        self.begun.load(Ordering::Relaxed)
    }

    /// The number of requests that are open now.
    pub(crate) fn open(&self) -> usize {
        self.begun() - self.counts().values().sum::<usize>()
    }

    /// The ends of requests: statuses, `closed`, or the error of the connection.
    pub(crate) fn ends(&self) -> String {
        let counts = self.counts();
        if counts.is_empty() {
            return "none".to_owned();
        }
        let counts: Vec<_> = counts.iter().map(|(how, count)| format!("{count} × {how}")).collect();
        counts.join(", ")
    }
}

/// Starts this number of clients. The clients end with the runtime.
pub(crate) fn start(attack: Attack, clients: usize, address: SocketAddr, runtime: &Runtime) -> Arc<Progress> {
    let progress = Arc::<Progress>::default();
    let client = |number: usize| Client {
        attack,
        address,
        progress: progress.clone(),
        // The bytes of all clients are spread over the pause.
        first: PAUSE.mul_f64((number + 1) as f64 / clients as f64),
    };
    if let Attack::Http2(connections) = attack {
        for number in 0..connections {
            runtime.spawn(client(number).multiplex());
        }
    } else {
        for number in 0..clients {
            runtime.spawn(client(number).repeat());
        }
    }
    progress
}

#[derive(Clone)]
struct Client {
    attack: Attack,
    address: SocketAddr,
    progress: Arc<Progress>,
    first: Duration,
}

impl Client {
    async fn repeat(self) {
        loop {
            if let Ok(stream) = self.connect().await {
                self.progress.begins();
                let end = match self.attack {
                    Attack::Download => self.read(stream).await,
                    _ => self.send(stream).await,
                };
                self.progress
                    .ended(end.unwrap_or_else(|error| error.kind().to_string()));
            }
            tokio::time::sleep(AGAIN).await;
        }
    }

    /// Connects and sends a head.
    async fn connect(&self) -> std::io::Result<TcpStream> {
        let socket = TcpSocket::new_v4()?;
        let head = match self.attack {
            Attack::Whole => format!("POST /slow/whole HTTP/1.1\r\nhost: bench\r\ncontent-length: {DECLARED}\r\n\r\n"),
            Attack::Download => {
                // The reply fills the buffers of both sides early.
                socket.set_recv_buffer_size(2048)?;
                "GET /slow/download HTTP/1.1\r\nhost: bench\r\n\r\n".to_owned()
            }
            _ => "POST /slow/stream HTTP/1.1\r\nhost: bench\r\ntransfer-encoding: chunked\r\n\r\n".to_owned(),
        };
        let mut stream = socket.connect(self.address).await?;
        stream.write_all(head.as_bytes()).await?;
        Ok(stream)
    }

    /// Sends one byte at a time until the server answers or closes.
    async fn send(&self, mut stream: TcpStream) -> std::io::Result<String> {
        let byte: &[u8] = match self.attack {
            Attack::Whole => b"x",
            _ => b"1\r\nx\r\n",
        };
        let mut next = Instant::now() + self.first;
        let mut reply = [0; 256];
        loop {
            tokio::select! {
                read = stream.read(&mut reply) => return Ok(status(&reply[..read?])),
                () = sleep_until(next) => {
                    stream.write_all(byte).await?;
                    next += PAUSE;
                }
            }
        }
    }

    /// Reads the status, then one byte at a time until the server closes.
    async fn read(&self, mut stream: TcpStream) -> std::io::Result<String> {
        let mut head = [0; 12];
        stream.read_exact(&mut head).await?;
        let answer = status(&head);
        if answer != "200" {
            return Ok(answer);
        }
        let mut next = Instant::now() + self.first;
        loop {
            sleep_until(next).await;
            if stream.read(&mut [0]).await? == 0 {
                return Ok("closed".to_owned());
            }
            next += PAUSE;
        }
    }

    /// Keeps the bodies of one connection open.
    async fn multiplex(self) {
        loop {
            // A refused connection is tried again.
            let _ = self.bodies().await;
            tokio::time::sleep(AGAIN).await;
        }
    }

    async fn bodies(&self) -> Result<()> {
        let stream = TcpStream::connect(self.address).await?;
        let (sender, connection) = handshake(TokioExecutor::new(), TokioIo::new(stream)).await?;
        for number in 0..BODIES {
            let mut client = self.clone();
            client.first = PAUSE.mul_f64((number + 1) as f64 / BODIES as f64);
            tokio::spawn(client.body(sender.clone()));
        }
        drop(sender);
        // The bodies end with the connection.
        Ok(connection.await?)
    }

    /// Opens a body on the connection, and another one when the server has ended it.
    async fn body(self, mut sender: SendRequest<SlowBody>) -> Result<()> {
        loop {
            sender.ready().await?;
            let body = StreamBody::new(bytes(self.first).boxed());
            let request = Request::post(format!("http://{}/slow/stream", self.address)).body(body)?;
            self.progress.begins();
            let reply = sender.send_request(request).await;
            self.progress
                .ended(reply.map_or_else(|error| error.to_string(), |reply| reply.status().as_str().to_owned()));
            tokio::time::sleep(AGAIN).await;
        }
    }
}

type SlowBody = StreamBody<BoxStream<'static, Result<Frame<Bytes>, Infallible>>>;

/// The bytes of a body that does not end.
fn bytes(first: Duration) -> impl Stream<Item = Result<Frame<Bytes>, Infallible>> {
    stream::unfold(Instant::now() + first, |next| async move {
        sleep_until(next).await;
        Some((Ok(Frame::data(Bytes::from_static(b"x"))), next + PAUSE))
    })
}

/// The status of a reply, from its first bytes.
fn status(head: &[u8]) -> String {
    match head.get(9..12) {
        Some(status) => String::from_utf8_lossy(status).into_owned(),
        None => "closed".to_owned(),
    }
}
