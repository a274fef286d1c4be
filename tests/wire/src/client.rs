//! A client of HTTP/1 that sees and sends every byte.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// Far longer than anything here takes, so that a hang fails instead of staying.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// Waits for a future, at most as long as [`PATIENCE`].
///
/// # Panics
/// If it takes longer.
pub async fn within<T>(what: &str, future: impl Future<Output = T>) -> T {
    match timeout(PATIENCE, future).await {
        Ok(value) => value,
        Err(_) => panic!("{what} took longer than {PATIENCE:?}"),
    }
}

/// One connection. Whatever takes longer than [`PATIENCE`] panics, and so does a reply that is none.
pub struct Client {
    /// The socket.
    pub stream: TcpStream,
    read: Vec<u8>,
}

/// One reply with a `Content-Length`, or without a body.
#[derive(Debug)]
pub struct Reply {
    /// The head, up to its empty line.
    pub head: String,
    /// The body.
    pub body: String,
}

impl Reply {
    /// The number of the status.
    ///
    /// # Panics
    /// If the reply has none.
    pub fn status(&self) -> u16 {
        self.head[9..12].parse().unwrap()
    }

    /// All values of a header, in the order of their lines.
    pub fn all(&self, name: &str) -> Vec<&str> {
        let lines = self.head.lines().skip(1).filter_map(|line| line.split_once(": "));
        lines
            .filter(|(known, _)| known.eq_ignore_ascii_case(name))
            .map(|(_, value)| value)
            .collect()
    }
}

/// A reply as text, whichever adapter it is from: names of headers in small letters, lines sorted, and without the date,
/// which stands there once.
///
/// # Panics
/// If it has no whole head, or not one date.
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
    lines.sort_unstable();
    format!("{status}\r\n{}\r\n{body}", lines.concat())
}

impl Client {
    /// Opens a connection.
    pub async fn connect(address: SocketAddr) -> Self {
        let stream = within("connecting", TcpStream::connect(address)).await.unwrap();
        stream.set_nodelay(true).unwrap();
        Self {
            stream,
            read: Vec::new(),
        }
    }

    /// Sends bytes.
    pub async fn send(&mut self, bytes: impl AsRef<[u8]>) {
        within("sending", self.stream.write_all(bytes.as_ref())).await.unwrap();
    }

    /// Sends what the server may refuse to take to its end.
    ///
    /// # Errors
    /// If it does.
    pub async fn try_send(&mut self, bytes: impl AsRef<[u8]>) -> io::Result<()> {
        within("sending", self.stream.write_all(bytes.as_ref())).await
    }

    /// Sends a request that is a line, `Host`, and no body.
    pub async fn ask(&mut self, method: &str, target: &str) -> Reply {
        self.send(format!("{method} {target} HTTP/1.1\r\nhost: a\r\n\r\n"))
            .await;
        self.reply().await
    }

    /// Gets a target.
    pub async fn get(&mut self, target: &str) -> Reply {
        self.ask("GET", target).await
    }

    async fn more(&mut self) -> io::Result<usize> {
        within("reading", self.stream.read_buf(&mut self.read)).await
    }

    /// The head of the next reply, up to its empty line.
    pub async fn head(&mut self) -> String {
        loop {
            if let Some(end) = self.read.windows(4).position(|four| four == b"\r\n\r\n") {
                let head: Vec<u8> = self.read.drain(..end + 4).collect();
                return String::from_utf8(head).unwrap();
            }
            let got = self.more().await.unwrap();
            assert_ne!(
                got,
                0,
                "closed within a head: {:?}",
                String::from_utf8_lossy(&self.read)
            );
        }
    }

    /// The next bytes, as many as asked for.
    pub async fn exactly(&mut self, length: usize) -> Vec<u8> {
        while self.read.len() < length {
            assert_ne!(self.more().await.unwrap(), 0, "closed within a body");
        }
        self.read.drain(..length).collect()
    }

    /// Forgets what was read beyond what was asked for, and says how much that was.
    pub fn read_ahead(&mut self) -> usize {
        std::mem::take(&mut self.read).len()
    }

    /// The next reply.
    pub async fn reply(&mut self) -> Reply {
        let head = self.head().await;
        let mut reply = Reply {
            head,
            body: String::new(),
        };
        let length = reply
            .all("content-length")
            .first()
            .map_or(0, |length| length.parse().unwrap());
        reply.body = String::from_utf8(self.exactly(length).await).unwrap();
        reply
    }

    /// Everything until the server closes.
    ///
    /// # Errors
    /// If it resets.
    pub async fn rest(&mut self) -> io::Result<String> {
        while self.more().await? != 0 {}
        Ok(String::from_utf8_lossy(&std::mem::take(&mut self.read)).into_owned())
    }

    /// Asserts that nothing comes within a time.
    pub async fn silence(&mut self, time: Duration) {
        let got = timeout(time, self.stream.read_buf(&mut self.read)).await;
        assert!(got.is_err(), "got {got:?}: {:?}", String::from_utf8_lossy(&self.read));
    }
}
