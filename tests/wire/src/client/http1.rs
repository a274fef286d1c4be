use std::net::SocketAddr;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};

use super::{ClientError, Framing, Response, patient};

/// The longest head that the client accepts.
const MAX_HEAD: usize = 64 * 1024;

/// An HTTP/1.1 connection, usable again as long as its replies are whole.
#[derive(Debug)]
pub struct Connection {
    pub(crate) stream: TcpStream,
    /// Bytes that were read and do not belong to a reply yet.
    pub(crate) buffer: Vec<u8>,
}

impl Connection {
    pub(super) async fn open(address: SocketAddr) -> Result<Self, ClientError> {
        Self::open_with(TcpSocket::new_v4()?, address).await
    }

    pub(super) async fn open_with(socket: TcpSocket, address: SocketAddr) -> Result<Self, ClientError> {
        let stream = patient("connecting", async { Ok(socket.connect(address).await?) }).await?;
        stream.set_nodelay(true)?;
        Ok(Self {
            stream,
            buffer: Vec::new(),
        })
    }

    /// Sends bytes unchanged.
    ///
    /// # Errors
    /// If the other side does not accept them.
    pub async fn write(&mut self, bytes: &[u8]) -> Result<(), ClientError> {
        patient("sending", async { Ok(self.stream.write_all(bytes).await?) }).await
    }

    /// Sends bytes unchanged, and reads the reply meanwhile: a server that replies while it reads would stop reading if
    /// the client did not read.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    pub async fn write_while_reading(&mut self, bytes: &[u8]) -> Result<(), ClientError> {
        patient("sending", async {
            let (mut reader, mut writer) = self.stream.split();
            let writing = writer.write_all(bytes);
            tokio::pin!(writing);
            let mut reads = true;
            loop {
                tokio::select! {
                    written = &mut writing => return Ok(written?),
                    read = reader.read_buf(&mut self.buffer), if reads => reads = read? > 0,
                }
            }
        })
        .await
    }

    /// Shuts down the sending side of the connection.
    ///
    /// # Errors
    /// If the connection is gone.
    pub async fn finish_writing(&mut self) -> Result<(), ClientError> {
        Ok(self.stream.shutdown().await?)
    }

    /// Reads one reply to a request of that method.
    ///
    /// # Errors
    /// If the reply breaks a rule of HTTP/1.1, breaks off, or takes too long.
    pub async fn read_response(&mut self, method: &str) -> Result<Response, ClientError> {
        patient("the reply", self.response(method)).await
    }

    /// Reads the status and headers of one reply, and leaves its body unread.
    ///
    /// # Errors
    /// As [`read_response`](Self::read_response).
    pub async fn read_head(&mut self) -> Result<Response, ClientError> {
        patient("the head of the reply", self.head()).await
    }

    /// Waits until that many bytes after the head have arrived, including the bytes that frame the body, and leaves
    /// them unread.
    ///
    /// # Errors
    /// If the connection ends before, or the bytes take too long.
    pub async fn await_body(&mut self, length: usize) -> Result<(), ClientError> {
        patient("the body of the reply", async {
            while self.buffer.len() < length {
                self.need("the body of the reply").await?;
            }
            Ok(())
        })
        .await
    }

    /// Waits until the other side closes, and fails if it sends anything before that.
    ///
    /// # Errors
    /// If there are bytes after the last reply, or the connection stays open.
    pub async fn expect_end(&mut self) -> Result<(), ClientError> {
        patient("the end of the connection", async {
            // A reset after a whole reply is an end too: the server does not read the rest of a refused request.
            while self.buffer.is_empty() && matches!(self.more().await, Ok(true)) {}
            if self.buffer.is_empty() {
                return Ok(());
            }
            let rest = String::from_utf8_lossy(&self.buffer).escape_debug().to_string();
            Err(ClientError::new(format!("bytes behind the end of the reply: `{rest}`")))
        })
        .await
    }

    /// Whether bytes have arrived that do not belong to a reply; does not wait.
    pub fn has_unread(&self) -> bool {
        let mut byte = [0];
        !self.buffer.is_empty() || matches!(self.stream.try_read(&mut byte), Ok(1))
    }

    async fn more(&mut self) -> Result<bool, ClientError> {
        Ok(self.stream.read_buf(&mut self.buffer).await? > 0)
    }

    async fn need(&mut self, what: &str) -> Result<(), ClientError> {
        if self.more().await? {
            return Ok(());
        }
        Err(ClientError::new(format!("the connection ended within {what}")))
    }

    async fn head(&mut self) -> Result<Response, ClientError> {
        loop {
            if let Some((response, length)) = parse_head(&self.buffer)? {
                self.buffer.drain(..length);
                // 100 Continue and other 1xx replies are not final replies.
                if response.status >= 200 {
                    return Ok(response);
                }
                continue;
            }
            if self.buffer.len() > MAX_HEAD {
                return Err(ClientError::new(format!(
                    "the head of the reply is longer than {MAX_HEAD} bytes"
                )));
            }
            self.need("the head of the reply").await?;
        }
    }

    async fn response(&mut self, method: &str) -> Result<Response, ClientError> {
        let mut response = self.head().await?;
        response.framing = framing(&response, method)?;
        response.body = match response.framing {
            Framing::None | Framing::Frames => Vec::new(),
            Framing::Length => {
                let length = response.header("content-length").and_then(|length| length.parse().ok());
                self.take(length.unwrap_or_default()).await?
            }
            Framing::Chunked => self.chunks().await?,
            Framing::Close => {
                while self.more().await? {}
                std::mem::take(&mut self.buffer)
            }
        };
        Ok(response)
    }

    async fn take(&mut self, length: usize) -> Result<Vec<u8>, ClientError> {
        while self.buffer.len() < length {
            self.need("the body of the reply").await?;
        }
        Ok(self.buffer.drain(..length).collect())
    }

    async fn chunks(&mut self) -> Result<Vec<u8>, ClientError> {
        let mut body = Vec::new();
        loop {
            let size = loop {
                match httparse::parse_chunk_size(&self.buffer) {
                    Ok(httparse::Status::Complete((line, size))) => {
                        self.buffer.drain(..line);
                        break usize::try_from(size).unwrap_or(usize::MAX);
                    }
                    Ok(httparse::Status::Partial) => self.need("a chunk size").await?,
                    Err(_) => return Err(ClientError::new("a chunk has no valid size")),
                }
            };
            body.append(&mut self.take(size).await?);
            // The last chunk may be followed by trailers; no server here sends any.
            if self.take(2).await? != b"\r\n" {
                return Err(ClientError::new("a chunk does not end where its size says"));
            }
            if size == 0 {
                return Ok(body);
            }
        }
    }
}

pub(super) fn parse_head(bytes: &[u8]) -> Result<Option<(Response, usize)>, ClientError> {
    let mut headers = [httparse::EMPTY_HEADER; 128];
    let mut parsed = httparse::Response::new(&mut headers);
    let length = match parsed.parse(bytes) {
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(error) => {
            let head = String::from_utf8_lossy(&bytes[..bytes.len().min(200)])
                .escape_debug()
                .to_string();
            return Err(ClientError::caused(format!("not a reply in HTTP/1.1: `{head}`"), error));
        }
    };
    let response = Response {
        status: parsed.code.unwrap_or_default(),
        headers: parsed
            .headers
            .iter()
            .map(|header| (header.name.to_owned(), header.value.to_vec()))
            .collect(),
        body: Vec::new(),
        framing: Framing::None,
    };
    Ok(Some((response, length)))
}

/// The rules of RFC 9112, section 6.3, for a reply; a violation by the sender is an error.
pub(super) fn framing(response: &Response, method: &str) -> Result<Framing, ClientError> {
    let lengths = response.all("content-length");
    let codings = response.all("transfer-encoding");
    if !lengths.is_empty() && !codings.is_empty() {
        return Err(ClientError::new(
            "the reply has both `content-length` and `transfer-encoding`",
        ));
    }
    if lengths.len() > 1 {
        return Err(ClientError::new(format!(
            "the reply has {} `content-length` headers",
            lengths.len()
        )));
    }
    let opens_a_tunnel = method == "CONNECT" && (200..300).contains(&response.status);
    if (response.status == 204 || opens_a_tunnel) && !(lengths.is_empty() && codings.is_empty()) {
        return Err(ClientError::new(format!(
            "a reply of status {} to {method} must not frame a body",
            response.status
        )));
    }
    if method == "HEAD" || opens_a_tunnel || matches!(response.status, 204 | 304) {
        return Ok(Framing::None);
    }
    match (lengths.first(), codings.first()) {
        (Some(length), _) if length.bytes().all(|byte| byte.is_ascii_digit()) && !length.is_empty() => {
            Ok(Framing::Length)
        }
        (Some(length), _) => Err(ClientError::new(format!("`{length}` is no content-length"))),
        (None, Some(coding)) if coding.eq_ignore_ascii_case("chunked") => Ok(Framing::Chunked),
        (None, Some(coding)) => Err(ClientError::new(format!(
            "transfer-encoding `{coding}` was not asked for"
        ))),
        (None, None) => Ok(Framing::Close),
    }
}
