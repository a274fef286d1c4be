use std::future::Future;
use std::io;
use std::net::SocketAddr;

use bytes::{Buf as _, BytesMut};
use pointwork_test_clock::real::within;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// An HTTP/2 connection without TLS, frame by frame: it sends what no client would.
#[derive(Debug)]
pub struct Frames {
    stream: TcpStream,
    buffer: BytesMut,
}

/// One frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Its type.
    pub kind: u8,
    /// Its flags.
    pub flags: u8,
    /// Its stream; 0 for the connection.
    pub stream: u32,
    /// Its payload.
    pub payload: Vec<u8>,
}

/// The preface, and the settings of a client that has none.
const BEGIN: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";

impl Frame {
    /// `DATA`.
    pub const DATA: u8 = 0;
    /// `HEADERS`.
    pub const HEADERS: u8 = 1;
    /// `PRIORITY`.
    pub const PRIORITY: u8 = 2;
    /// `RST_STREAM`.
    pub const RST_STREAM: u8 = 3;
    /// `SETTINGS`.
    pub const SETTINGS: u8 = 4;
    /// `PING`.
    pub const PING: u8 = 6;
    /// `GOAWAY`.
    pub const GOAWAY: u8 = 7;
    /// `WINDOW_UPDATE`.
    pub const WINDOW_UPDATE: u8 = 8;
    /// `CONTINUATION`.
    pub const CONTINUATION: u8 = 9;
    /// The flag `END_STREAM`.
    pub const END_STREAM: u8 = 1;
    /// The flag `END_HEADERS`.
    pub const END_HEADERS: u8 = 4;

    /// A frame with the flags of the values above.
    pub fn new(kind: u8, flags: u8, stream: u32, payload: impl Into<Vec<u8>>) -> Self {
        let payload = payload.into();
        Self {
            kind,
            flags,
            stream,
            payload,
        }
    }

    /// The head of a request, whose fields go over the wire as they are, without an index and without Huffman's code.
    pub fn request(stream: u32, flags: u8, fields: &[(&str, &[u8])]) -> Self {
        let mut block = Vec::new();
        for (name, value) in fields {
            block.push(0);
            string(&mut block, name.as_bytes());
            string(&mut block, value);
        }
        Self::new(Self::HEADERS, flags | Self::END_HEADERS, stream, block)
    }

    /// Its bytes on the wire.
    pub fn bytes(&self) -> Vec<u8> {
        let length = u32::try_from(self.payload.len()).expect("a short frame").to_be_bytes();
        let mut bytes = vec![length[1], length[2], length[3], self.kind, self.flags];
        bytes.extend_from_slice(&self.stream.to_be_bytes());
        bytes.extend_from_slice(&self.payload);
        bytes
    }

    /// The status of a reply's head, if it is one of the static table (RFC 7541, appendix A).
    pub fn status(&self) -> Option<u16> {
        let sizes = self.payload.iter().take_while(|byte| **byte & 0xe0 == 0x20).count();
        let index = self.payload.get(sizes)?.checked_sub(0x88)?;
        [200, 204, 206, 304, 400, 404, 500].get(usize::from(index)).copied()
    }
}

/// A string of HPACK as it is.
fn string(block: &mut Vec<u8>, bytes: &[u8]) {
    let mut left = bytes.len();
    if left < 127 {
        block.push(u8::try_from(left).expect("7 bits"));
    } else {
        block.push(127);
        left -= 127;
        while left >= 128 {
            block.push(u8::try_from(left % 128).expect("7 bits") | 128);
            left /= 128;
        }
        block.push(u8::try_from(left).expect("7 bits"));
    }
    block.extend_from_slice(bytes);
}

impl Frames {
    /// Opens a connection, and sends the preface and empty settings.
    ///
    /// # Errors
    /// If the connection is refused.
    pub async fn open(address: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        let buffer = BytesMut::new();
        let mut frames = Self { stream, buffer };
        frames.send(BEGIN).await?;
        Ok(frames)
    }

    /// Sends bytes unchanged.
    ///
    /// # Errors
    /// If the server closed the connection, or takes nothing for a while.
    pub async fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        in_time("sending", self.stream.write_all(bytes)).await
    }

    /// Sends bytes and reads meanwhile what the server sends, for [`next`](Self::next).
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub async fn send_while_reading(&mut self, bytes: &[u8]) -> io::Result<()> {
        let (mut read, mut write) = self.stream.split();
        let exchange = async {
            let writing = write.write_all(bytes);
            tokio::pin!(writing);
            loop {
                tokio::select! {
                    written = &mut writing => return written,
                    read = read.read_buf(&mut self.buffer) => if read? == 0 {
                        return Err(io::ErrorKind::UnexpectedEof.into());
                    },
                }
            }
        };
        in_time("sending", exchange).await
    }

    /// The next frame; `None` at the end of the connection.
    ///
    /// # Errors
    /// If there is none for a while.
    pub async fn next(&mut self) -> io::Result<Option<Frame>> {
        loop {
            if let Some(frame) = self.parse() {
                return Ok(Some(frame));
            }
            let read = within("the next frame", self.stream.read_buf(&mut self.buffer)).await;
            // A server that refuses a client does not read what it still sends.
            if read.map_err(io::Error::other)?.unwrap_or(0) == 0 {
                return Ok(None);
            }
        }
    }

    fn parse(&mut self) -> Option<Frame> {
        let [high, middle, low, kind, flags, stream @ ..] = self.buffer.first_chunk::<9>()?;
        let length = u32::from_be_bytes([0, *high, *middle, *low]) as usize;
        let payload = self.buffer.get(9..9 + length)?.to_vec();
        let frame = Frame::new(*kind, *flags, u32::from_be_bytes(*stream), payload);
        self.buffer.advance(9 + length);
        Some(frame)
    }
}

async fn in_time<T>(what: &str, operation: impl Future<Output = io::Result<T>>) -> io::Result<T> {
    within(what, operation)
        .await
        .unwrap_or_else(|error| Err(io::Error::other(error)))
}
