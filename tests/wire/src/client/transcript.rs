use std::net::SocketAddr;
use std::ops::Range;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::Notify;

use super::http1::{framing, parse_head};
use super::{ClientError, Framing, Response};

/// The time without a byte after which a connection counts as left open: 5 s.
const SILENCE: Duration = Duration::from_secs(5);

/// The time without a byte after which the next part of a request is sent.
const PAUSE: Duration = Duration::from_secs(1);

/// All bytes that a server sent on one connection.
#[derive(Clone, Debug)]
pub struct Transcript {
    bytes: Vec<u8>,
    end: End,
}

/// The end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Closed gracefully, or with a reset: a server that refuses a request does not read the rest of it.
    Closed,
    /// Left open.
    Open,
}

/// The parts of a request on which the reading of its reply depends.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// The method.
    pub method: &'a str,
    /// Whether the version is HTTP/1.0.
    pub old: bool,
    /// Whether the request tells the server to close the connection after it.
    pub last: bool,
}

/// A reply, and its place in the transcript.
#[derive(Clone, Debug)]
pub struct Reply {
    /// The reply.
    pub response: Response,
    /// Its bytes, from the status line to the end of its framing.
    pub span: Range<usize>,
}

impl Asked<'_> {
    /// A request of HTTP/1.1 that keeps the connection open.
    pub fn with_method(method: &str) -> Asked<'_> {
        Asked {
            method,
            old: false,
            last: false,
        }
    }

    /// The same, as the last request of its connection.
    #[must_use]
    pub fn last(self) -> Self {
        Self { last: true, ..self }
    }
}

impl Transcript {
    /// Sends the parts, each when the server has sent something since the part before, or nothing for a while.
    #[expect(
        clippy::disallowed_methods,
        reason = "a server that waits for more of a request reports no event: it is silent"
    )]
    pub(super) async fn record(address: SocketAddr, parts: &[&[u8]]) -> Result<Self, ClientError> {
        let mut stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        let (mut read, mut write) = stream.split();
        let has_read = Notify::new();
        let send = async {
            for (nth, part) in parts.iter().enumerate() {
                if nth > 0 {
                    let _ = tokio::time::timeout(PAUSE, has_read.notified()).await;
                }
                // A server need not read a refused request to its end, so a failure here is not an error.
                if write.write_all(part).await.is_err() {
                    return;
                }
            }
        };
        let receive = async {
            let mut bytes = Vec::new();
            loop {
                match tokio::time::timeout(SILENCE, read.read_buf(&mut bytes)).await {
                    Ok(Ok(1..)) => has_read.notify_one(),
                    Ok(Ok(0) | Err(_)) => return (bytes, End::Closed),
                    Err(_) => return (bytes, End::Open),
                }
            }
        };
        let (bytes, end) = tokio::select! {
            received = receive => received,
            never = async { send.await; std::future::pending().await } => never,
        };
        Ok(Self { bytes, end })
    }

    /// A transcript of a closed connection, from its bytes.
    pub fn closed(bytes: impl Into<Vec<u8>>) -> Self {
        Self {
            bytes: bytes.into(),
            end: End::Closed,
        }
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The end of the connection.
    pub fn end(&self) -> End {
        self.end
    }

    /// Reads the replies to these requests. There may be fewer, if the connection closed in between: HTTP allows this,
    /// and the caller decides whether it is right.
    ///
    /// # Errors
    /// If a reply breaks a rule of RFC 9112 or breaks off; if there is no reply, or one too many; or if the connection
    /// stayed open although the last request or a reply announced its end.
    pub fn replies(&self, asked: &[Asked<'_>]) -> Result<Vec<Reply>, ClientError> {
        self.read(asked).map_err(|error| {
            let told = excerpt(&self.bytes);
            error.during(&format!("the connection brought `{told}` and is {:?}", self.end))
        })
    }

    fn read(&self, asked: &[Asked<'_>]) -> Result<Vec<Reply>, ClientError> {
        let mut replies = Vec::new();
        let mut at = 0;
        let mut over = false;
        for asked in asked {
            if over || (at == self.bytes.len() && !replies.is_empty() && self.end == End::Closed) {
                break;
            }
            let (response, head) = self.head(at)?;
            let (response, length) = self.body(response, at + head, asked)?;
            over = ends_the_connection(&response, asked);
            let span = at..at + head + length;
            at = span.end;
            replies.push(Reply { response, span });
        }
        if at < self.bytes.len() {
            return Err(ClientError::new(format!(
                "bytes behind the end of the last reply: `{}`",
                excerpt(&self.bytes[at..])
            )));
        }
        if over && self.end == End::Open {
            return Err(ClientError::new("the connection stays open"));
        }
        Ok(replies)
    }

    /// The head at that position, after any 1xx replies, and its length.
    fn head(&self, at: usize) -> Result<(Response, usize), ClientError> {
        let mut announced = 0;
        loop {
            let bytes = &self.bytes[at + announced..];
            let Some((response, length)) = parse_head(bytes)? else {
                return Err(ClientError::new(match bytes {
                    [] => "there is no reply",
                    _ => "the head of a reply breaks off",
                }));
            };
            check_lines(&bytes[..length])?;
            announced += length;
            if response.status >= 200 {
                return Ok((response, announced));
            }
            if response.status == 101 {
                return Err(ClientError::new("nobody asked for another protocol"));
            }
        }
    }

    /// Reads the body at that position; returns its length on the wire.
    fn body(&self, mut response: Response, at: usize, asked: &Asked<'_>) -> Result<(Response, usize), ClientError> {
        let rest = &self.bytes[at..];
        response.framing = framing(&response, asked.method)?;
        let length = match response.framing {
            Framing::None | Framing::Frames => 0,
            Framing::Length => {
                let length = response.header("content-length").and_then(|length| length.parse().ok());
                length.ok_or_else(|| ClientError::new("the content-length is no number"))?
            }
            Framing::Chunked if asked.old => {
                return Err(ClientError::new("a reply to HTTP/1.0 is chunked"));
            }
            Framing::Chunked => {
                let (body, length) = chunks(rest)?;
                response.body = body;
                return Ok((response, length));
            }
            Framing::Close if self.end == End::Open => {
                return Err(ClientError::new("nothing tells where the reply ends"));
            }
            Framing::Close => rest.len(),
        };
        response.body = rest
            .get(..length)
            .ok_or_else(|| ClientError::new(format!("the body breaks off at byte {} of {length}", rest.len())))?
            .to_vec();
        Ok((response, length))
    }
}

fn ends_the_connection(response: &Response, asked: &Asked<'_>) -> bool {
    let says = |token: &str| {
        response
            .all("connection")
            .iter()
            .flat_map(|value| value.split(','))
            .any(|said| said.trim().eq_ignore_ascii_case(token))
    };
    let tunnel = asked.method == "CONNECT" && (200..300).contains(&response.status);
    asked.last || tunnel || response.framing == Framing::Close || says("close") || (asked.old && !says("keep-alive"))
}

/// Refuses heads that the parser accepts and a strict reader does not: lines that do not end in CR LF.
fn check_lines(head: &[u8]) -> Result<(), ClientError> {
    let bare = |at: usize, byte: u8| match byte {
        b'\n' => at == 0 || head[at - 1] != b'\r',
        b'\r' => head.get(at + 1) != Some(&b'\n'),
        _ => false,
    };
    match head.iter().enumerate().find(|(at, byte)| bare(*at, **byte)) {
        Some((at, _)) => Err(ClientError::new(format!("half a line end at byte {at} of the head"))),
        None => Ok(()),
    }
}

/// Reads a chunked body; returns its bytes and its length on the wire. No server here sends extensions or trailers.
fn chunks(bytes: &[u8]) -> Result<(Vec<u8>, usize), ClientError> {
    let mut body = Vec::new();
    let mut at = 0;
    loop {
        let rest = &bytes[at..];
        let line = rest.windows(2).position(|pair| pair == b"\r\n");
        let line = &rest[..line.ok_or_else(|| ClientError::new("the chunked body breaks off"))?];
        let digits = std::str::from_utf8(line)
            .ok()
            .filter(|digits| (1..=16).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_hexdigit()));
        let size = digits.and_then(|digits| usize::from_str_radix(digits, 16).ok());
        let size = size.ok_or_else(|| ClientError::new(format!("`{}` is no chunk size", excerpt(line))))?;
        at += line.len() + 2;
        let end = at.saturating_add(size);
        let chunk = bytes.get(at..end);
        body.extend_from_slice(chunk.ok_or_else(|| ClientError::new("the chunked body breaks off"))?);
        match bytes.get(end..end + 2) {
            Some(b"\r\n") => at = end + 2,
            Some(_) => return Err(ClientError::new("a chunk does not end where its size says")),
            None => return Err(ClientError::new("the chunked body breaks off")),
        }
        if size == 0 {
            return Ok((body, at));
        }
    }
}

/// The first bytes, for a message.
fn excerpt(bytes: &[u8]) -> String {
    const LONGEST: usize = 400;
    let more = if bytes.len() > LONGEST { "…" } else { "" };
    format!("{}{more}", bytes[..bytes.len().min(LONGEST)].escape_ascii())
}
