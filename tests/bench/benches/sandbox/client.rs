//! A client with little overhead, so that two cores are enough for it and the server.

use std::net::SocketAddr;

use anyhow::{Context as _, Result, bail, ensure};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// The bytes of a GET request.
pub(crate) fn get(path: &str) -> Vec<u8> {
    format!("GET {path} HTTP/1.1\r\nhost: bench\r\n\r\n").into_bytes()
}

/// An HTTP/1.1 connection with keep-alive.
pub(crate) struct Connection {
    stream: TcpStream,
    /// Bytes that were read and do not belong to a reply yet.
    buffer: Vec<u8>,
    reply: Reply,
}

/// A whole reply.
#[derive(Default)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    /// The value of the header `x-version`; empty if the reply has none.
    pub(crate) version: Vec<u8>,
    pub(crate) body: Vec<u8>,
    closes: bool,
}

enum Framing {
    Length(usize),
    Chunks,
}

impl Connection {
    pub(crate) async fn open(address: SocketAddr) -> Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Self {
            stream,
            buffer: Vec::with_capacity(4096),
            reply: Reply::default(),
        })
    }

    /// Sends a request and reads the whole reply.
    pub(crate) async fn ask(&mut self, request: &[u8]) -> Result<&Reply> {
        ensure!(!self.reply.closes, "the server closes the connection");
        self.stream.write_all(request).await?;
        let framing = loop {
            if let Some((framing, length)) = self.head()? {
                self.buffer.drain(..length);
                break framing;
            }
            self.more().await.context("within the head")?;
        };
        self.reply.body.clear();
        match framing {
            Framing::Length(length) => self.take(length).await?,
            Framing::Chunks => self.chunks().await?,
        }
        Ok(&self.reply)
    }

    async fn more(&mut self) -> Result<()> {
        let read = self.stream.read_buf(&mut self.buffer).await?;
        ensure!(read > 0, "the connection ended within a reply");
        Ok(())
    }

    fn head(&mut self) -> Result<Option<(Framing, usize)>> {
        let mut headers = [httparse::EMPTY_HEADER; 32];
        let mut head = httparse::Response::new(&mut headers);
        let httparse::Status::Complete(end) = head.parse(&self.buffer)? else {
            return Ok(None);
        };
        self.reply.status = head.code.context("a reply without a status")?;
        self.reply.version.clear();
        let mut framing = None;
        for header in head.headers.iter() {
            if header.name.eq_ignore_ascii_case("content-length") {
                framing = Some(Framing::Length(std::str::from_utf8(header.value)?.parse()?));
            } else if header.name.eq_ignore_ascii_case("transfer-encoding") {
                framing = Some(Framing::Chunks);
            } else if header.name.eq_ignore_ascii_case("connection") {
                self.reply.closes = header.value.eq_ignore_ascii_case(b"close");
            } else if header.name.eq_ignore_ascii_case("x-version") {
                self.reply.version.extend_from_slice(header.value);
            }
        }
        match framing {
            Some(framing) => Ok(Some((framing, end))),
            None => bail!("a reply of {} that does not say how long it is", self.reply.status),
        }
    }

    /// Moves body bytes from the buffer into the reply.
    async fn take(&mut self, length: usize) -> Result<()> {
        while self.buffer.len() < length {
            self.more().await.context("within the body")?;
        }
        self.reply.body.extend_from_slice(&self.buffer[..length]);
        self.buffer.drain(..length);
        Ok(())
    }

    async fn chunks(&mut self) -> Result<()> {
        loop {
            let size = match httparse::parse_chunk_size(&self.buffer) {
                Ok(httparse::Status::Complete((line, size))) => {
                    self.buffer.drain(..line);
                    usize::try_from(size)?
                }
                Ok(httparse::Status::Partial) => {
                    self.more().await.context("within a chunk")?;
                    continue;
                }
                Err(_) => bail!("a chunk without a size"),
            };
            self.take(size).await?;
            while self.buffer.len() < 2 {
                self.more().await.context("behind a chunk")?;
            }
            ensure!(self.buffer.starts_with(b"\r\n"), "a chunk does not end where it says");
            self.buffer.drain(..2);
            if size == 0 {
                return Ok(());
            }
        }
    }
}
