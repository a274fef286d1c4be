//! A client that sees and sends every byte.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// Far longer than anything here takes, so that a hang fails instead of staying.
pub const PATIENCE: Duration = Duration::from_secs(10);

pub async fn within<T>(what: &str, future: impl Future<Output = T>) -> T {
    match timeout(PATIENCE, future).await {
        Ok(value) => value,
        Err(_) => panic!("{what} took longer than {PATIENCE:?}"),
    }
}

pub struct Client {
    pub stream: TcpStream,
    read: Vec<u8>,
}

/// One reply with a `Content-Length`, or without a body.
#[derive(Debug)]
pub struct Reply {
    pub head: String,
    pub body: String,
}

impl Reply {
    pub fn status(&self) -> u16 {
        self.head[9..12].parse().unwrap()
    }

    /// All values of a header.
    pub fn all(&self, name: &str) -> Vec<&str> {
        let lines = self.head.lines().skip(1).filter_map(|line| line.split_once(": "));
        lines
            .filter(|(known, _)| *known == name)
            .map(|(_, value)| value)
            .collect()
    }
}

impl Client {
    pub async fn connect(address: SocketAddr) -> Self {
        let stream = within("connecting", TcpStream::connect(address)).await.unwrap();
        stream.set_nodelay(true).unwrap();
        Self {
            stream,
            read: Vec::new(),
        }
    }

    pub async fn send(&mut self, bytes: impl AsRef<[u8]>) {
        within("sending", self.stream.write_all(bytes.as_ref())).await.unwrap();
    }

    /// Sends what the server may refuse to take to its end.
    pub async fn try_send(&mut self, bytes: impl AsRef<[u8]>) -> io::Result<()> {
        within("sending", self.stream.write_all(bytes.as_ref())).await
    }

    pub async fn get(&mut self, path: &str) -> Reply {
        self.send(format!("GET {path} HTTP/1.1\r\nhost: a\r\n\r\n")).await;
        self.reply().await
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

    /// Everything until the server closes; fails if it resets.
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
