use std::collections::BTreeMap;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use pointwork_core::BoxFuture;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy};
use tokio::net::{TcpListener, TcpStream};

use super::control::Altered;
use crate::subject::{AppSpec, Control, Refusal, Subject};

/// A subject behind a proxy that rewrites either the head of the first request of each connection, line by line, or the
/// replies.
pub struct Rewriting {
    inner: Arc<dyn Subject>,
    rewrite: Rewrite,
}

#[derive(Clone, Copy)]
struct Rewrite {
    head: fn(Vec<String>) -> Vec<String>,
    reply: fn(Vec<u8>) -> Vec<u8>,
}

impl Rewriting {
    /// Rewrites the requests of a subject.
    pub fn new(inner: Arc<dyn Subject>, head: fn(Vec<String>) -> Vec<String>) -> Self {
        let rewrite = Rewrite {
            head,
            reply: |bytes| bytes,
        };
        Self { inner, rewrite }
    }

    /// Rewrites the replies of a subject, each chunk as it arrives.
    pub fn replies(inner: Arc<dyn Subject>, reply: fn(Vec<u8>) -> Vec<u8>) -> Self {
        let rewrite = Rewrite {
            head: |head| head,
            reply,
        };
        Self { inner, rewrite }
    }
}

impl Subject for Rewriting {
    fn name(&self) -> &'static str {
        self.inner.name()
    }

    fn start(&self, app: AppSpec) -> BoxFuture<'_, Result<Box<dyn Control>, Refusal>> {
        Box::pin(async move {
            let control = self.inner.start(app).await?;
            let front = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
                .await
                .map_err(|error| Refusal::from_error(&error))?;
            let address = front.local_addr().map_err(|error| Refusal::from_error(&error))?;
            let proxy = tokio::spawn(serve(front, control.address(), self.rewrite));
            Ok(Box::new(Altered {
                control,
                steps: |steps| steps,
                front: Some((address, proxy)),
            }) as Box<dyn Control>)
        })
    }
}

async fn serve(front: TcpListener, back: SocketAddr, rewrite: Rewrite) {
    while let Ok((client, _)) = front.accept().await {
        tokio::spawn(async move {
            // The client notices a broken connection.
            let _ = forward(client, back, rewrite).await;
        });
    }
}

async fn forward(mut client: TcpStream, back: SocketAddr, rewrite: Rewrite) -> io::Result<()> {
    let mut server = TcpStream::connect(back).await?;
    let mut read = Vec::new();
    let end = loop {
        if let Some(end) = read.windows(4).position(|bytes| bytes == b"\r\n\r\n") {
            break end;
        }
        if client.read_buf(&mut read).await? == 0 {
            return server.write_all(&read).await;
        }
    };
    let head = String::from_utf8_lossy(&read[..end])
        .split("\r\n")
        .map(str::to_owned)
        .collect();
    let head = (rewrite.head)(head).join("\r\n");
    server.write_all(head.as_bytes()).await?;
    server.write_all(&read[end..]).await?;
    let (mut from_client, mut to_client) = client.split();
    let (mut from_server, mut to_server) = server.split();
    let requests = async {
        copy(&mut from_client, &mut to_server).await?;
        to_server.shutdown().await
    };
    let replies = async {
        let mut piece = vec![0; 64 * 1024];
        loop {
            let length = from_server.read(&mut piece).await?;
            if length == 0 {
                break;
            }
            to_client.write_all(&(rewrite.reply)(piece[..length].to_vec())).await?;
        }
        to_client.shutdown().await
    };
    // Ends with the first of the two directions: a server that closes does not wait for its client.
    tokio::select! {
        done = replies => done,
        Err(failed) = requests => Err(failed),
    }
}

pub(super) fn drop_query(mut head: Vec<String>) -> Vec<String> {
    if let Some(line) = head.first_mut() {
        let parts: Vec<_> = line
            .split(' ')
            .map(|part| part.split('?').next().unwrap_or_default())
            .collect();
        *line = parts.join(" ");
    }
    head
}

pub(super) fn decode_slashes(mut head: Vec<String>) -> Vec<String> {
    if let Some(line) = head.first_mut() {
        *line = line.replace("%2F", "/");
    }
    head
}

pub(super) fn merge_slashes(mut head: Vec<String>) -> Vec<String> {
    if let Some(line) = head.first_mut() {
        while line.contains(" //") || line.split('?').next().is_some_and(|path| path.contains("//")) {
            *line = line.replacen("//", "/", 1);
        }
    }
    head
}

pub(super) fn raise_method(mut head: Vec<String>) -> Vec<String> {
    if let Some((method, rest)) = head.first().and_then(|line| line.split_once(' ')) {
        head[0] = format!("{} {rest}", method.to_uppercase());
    }
    head
}

/// The end of the head, if the chunk begins with a head that has a length.
fn end_of_head(piece: &[u8]) -> Option<usize> {
    piece.starts_with(b"HTTP/1.").then_some(())?;
    let end = piece.windows(4).position(|bytes| bytes == b"\r\n\r\n")?;
    let head = piece[..end].to_ascii_lowercase();
    head.windows(16)
        .any(|bytes| bytes == b"\r\ncontent-length")
        .then_some(end)
}

pub(super) fn trail(mut piece: Vec<u8>) -> Vec<u8> {
    if end_of_head(&piece).is_some() {
        piece.push(b'x');
    }
    piece
}

fn with_line(mut piece: Vec<u8>, line: &[u8]) -> Vec<u8> {
    if let Some(end) = end_of_head(&piece) {
        piece.splice(end..end, line.iter().copied());
    }
    piece
}

/// Replaces the words of the server's own errors by others of the same length.
pub(super) fn tell_of_a_trap(mut piece: Vec<u8>) -> Vec<u8> {
    const OWN: &[u8] = b"internal error";
    if let Some(at) = piece.windows(OWN.len()).position(|bytes| bytes == OWN) {
        piece[at..at + OWN.len()].copy_from_slice(b"wasm trap: 0x7");
    }
    piece
}

pub(super) fn repeat_length(piece: Vec<u8>) -> Vec<u8> {
    with_line(piece, b"\r\ncontent-length: 5")
}

pub(super) fn announce_trailer(piece: Vec<u8>) -> Vec<u8> {
    with_line(piece, b"\r\ntrailer: x-later")
}

pub(super) fn end_at_once(mut piece: Vec<u8>) -> Vec<u8> {
    if end_of_head(&piece).is_none() && !piece.ends_with(b"0\r\n\r\n") {
        piece.extend_from_slice(b"0\r\n\r\n");
    }
    piece
}

pub(super) fn merge_headers(head: Vec<String>) -> Vec<String> {
    let mut lines = head.into_iter();
    let mut merged: Vec<_> = lines.next().into_iter().collect();
    let mut values: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for line in lines {
        let (name, value) = line.split_once(':').unwrap_or((&line, ""));
        values
            .entry(name.to_lowercase())
            .or_default()
            .push(value.trim().to_owned());
    }
    merged.extend(
        values
            .into_iter()
            .map(|(name, values)| format!("{name}: {}", values.join(", "))),
    );
    merged
}
