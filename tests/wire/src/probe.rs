//! One connection under test, byte by byte.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::ops::Deref;
use std::time::Duration;

use pointwork_test_clock::real;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::client::{Client, Connection, Response};

/// Waits for a future.
///
/// # Panics
/// If the future does not complete for a while.
pub async fn within<T>(what: &str, future: impl Future<Output = T>) -> T {
    let value = real::within(what, future).await;
    value.unwrap_or_else(|error| panic!("{error}"))
}

/// The pause of a client that sends a request in parts.
const PACE: Duration = Duration::from_millis(5);

/// A [`Connection`] whose failures are panics, and so failures of the case.
#[derive(Debug)]
pub struct Probe {
    connection: Connection,
}

/// A reply whose body is text.
#[derive(Debug)]
pub struct Reply {
    /// The body.
    pub body: String,
    response: Response,
}

impl Reply {
    /// The status.
    pub fn status(&self) -> u16 {
        self.response.status
    }
}

impl Deref for Reply {
    type Target = Response;

    fn deref(&self) -> &Response {
        &self.response
    }
}

/// A reply as text in normal form, equal for all adapters: names of headers in lower case, lines sorted, the date and the
/// request's id removed.
///
/// # Panics
/// If the head is not whole, or does not have exactly one date, or has two ids.
pub(crate) fn normal(reply: &str) -> String {
    let Some((head, body)) = reply.split_once("\r\n\r\n") else {
        panic!("no whole head: {reply:?}");
    };
    let mut lines = head.split("\r\n");
    let status = lines.next().unwrap_or_default();
    let lines = lines.map(|line| {
        let (name, value) = line.split_once(": ").unwrap_or((line, ""));
        format!("{}: {value}\r\n", name.to_ascii_lowercase())
    });
    let (dates, mut lines): (Vec<_>, Vec<_>) = lines.partition(|line| line.starts_with("date: "));
    assert_eq!(dates.len(), 1, "one date: {reply}");
    let all = lines.len();
    lines.retain(|line| !line.starts_with("x-request-id: "));
    assert!(all - lines.len() <= 1, "one id: {reply}");
    lines.sort_unstable();
    format!("{status}\r\n{}\r\n{body}", lines.concat())
}

impl Probe {
    /// Opens a connection.
    pub async fn connect(address: SocketAddr) -> Self {
        let connection = Client::new(address).connect().await.unwrap();
        Self { connection }
    }

    /// The socket, so that the case can read and write at its own pace.
    pub fn stream(&mut self) -> &mut TcpStream {
        &mut self.connection.stream
    }

    /// Sends bytes.
    pub async fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.try_send(bytes).await.unwrap();
    }

    /// Sends the parts with a pause behind each, so that a server that is in time reads each part alone.
    ///
    /// # Errors
    /// If the server refuses a part.
    #[expect(
        clippy::disallowed_methods,
        reason = "the pauses are the pace of the client: a server that is late reads several parts at once, and replies in the same way"
    )]
    pub async fn send_in_parts<P: AsRef<[u8]>>(&mut self, parts: impl IntoIterator<Item = P>) -> io::Result<()> {
        for part in parts {
            self.try_send(part).await?;
            tokio::time::sleep(PACE).await;
        }
        Ok(())
    }

    /// Sends bytes that the server may refuse to read to their end.
    ///
    /// # Errors
    /// If the server refuses them.
    pub async fn try_send(&mut self, bytes: impl AsRef<[u8]>) -> io::Result<()> {
        within("sending", self.stream().write_all(bytes.as_ref())).await
    }

    /// Shuts down the sending side of the connection.
    pub async fn finish(&mut self) {
        self.stream().shutdown().await.unwrap();
    }

    /// Sends a request that consists of a request line and `Host`, without a body.
    pub async fn ask(&mut self, method: &str, target: &str) -> Reply {
        self.send(format!("{method} {target} HTTP/1.1\r\nhost: a\r\n\r\n"))
            .await;
        self.reply_to(method).await
    }

    /// Sends a GET for a target and reads the reply.
    pub async fn get(&mut self, target: &str) -> Reply {
        self.ask("GET", target).await
    }

    /// The next reply to a request that was neither HEAD nor CONNECT.
    pub async fn reply(&mut self) -> Reply {
        self.reply_to("GET").await
    }

    async fn reply_to(&mut self, method: &str) -> Reply {
        let response = match self.connection.read_response(method).await {
            Ok(response) => response,
            Err(error) => panic!("{:#}", anyhow::Error::from(error)),
        };
        let body = response.text();
        Reply { body, response }
    }

    async fn more(&mut self) -> io::Result<usize> {
        let Connection { stream, buffer } = &mut self.connection;
        within("reading", stream.read_buf(buffer)).await
    }

    /// The bytes of the next head, also of a 1xx reply, up to its empty line.
    pub async fn head(&mut self) -> String {
        loop {
            let buffer = &mut self.connection.buffer;
            if let Some(end) = buffer.windows(4).position(|four| four == b"\r\n\r\n") {
                let head: Vec<u8> = buffer.drain(..end + 4).collect();
                return String::from_utf8(head).unwrap();
            }
            let got = self.more().await.unwrap();
            let read = String::from_utf8_lossy(&self.connection.buffer);
            assert_ne!(got, 0, "closed within a head: {read:?}");
        }
    }

    /// The next bytes, as many as requested.
    pub async fn exactly(&mut self, length: usize) -> Vec<u8> {
        while self.connection.buffer.len() < length {
            assert_ne!(self.more().await.unwrap(), 0, "closed within a body");
        }
        self.connection.buffer.drain(..length).collect()
    }

    /// Discards the bytes that were read ahead, and returns their number.
    pub fn read_ahead(&mut self) -> usize {
        std::mem::take(&mut self.connection.buffer).len()
    }

    /// All bytes until the server closes.
    ///
    /// # Errors
    /// If the server resets the connection.
    pub async fn rest(&mut self) -> io::Result<String> {
        while self.more().await? != 0 {}
        Ok(String::from_utf8_lossy(&std::mem::take(&mut self.connection.buffer)).into_owned())
    }

    /// Asserts that neither a byte nor the end of the connection has arrived.
    ///
    /// # Panics
    /// If something has arrived.
    #[expect(
        clippy::disallowed_methods,
        reason = "a timeout of zero lets the runtime look at the socket once, and waits for nothing"
    )]
    pub async fn is_silent(&mut self) {
        let Connection { stream, buffer } = &mut self.connection;
        let got = tokio::time::timeout(Duration::ZERO, stream.read_buf(buffer)).await;
        assert!(got.is_err(), "got {got:?}: {:?}", String::from_utf8_lossy(buffer));
    }
}
