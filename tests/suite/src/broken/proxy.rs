use std::collections::BTreeMap;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use pointwork_core::{BoxFuture, RouteRecord};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use crate::subject::{AppSpec, Control, Refusal, Step, Subject};

/// A subject behind a proxy that rewrites the head of the first request of each connection, line by line.
pub struct Rewriting {
    inner: Arc<dyn Subject>,
    rewrite: fn(Vec<String>) -> Vec<String>,
}

impl Rewriting {
    /// Breaks a subject.
    pub fn new(inner: Arc<dyn Subject>, rewrite: fn(Vec<String>) -> Vec<String>) -> Self {
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
                .map_err(|error| Refusal::of(&error))?;
            let address = front.local_addr().map_err(|error| Refusal::of(&error))?;
            let proxy = tokio::spawn(serve(front, control.address(), self.rewrite));
            Ok(Box::new(Behind {
                control,
                address,
                proxy,
            }) as Box<dyn Control>)
        })
    }
}

struct Behind {
    control: Box<dyn Control>,
    address: SocketAddr,
    proxy: JoinHandle<()>,
}

impl Control for Behind {
    fn address(&self) -> SocketAddr {
        self.address
    }

    fn apply(&self, step: Step) -> BoxFuture<'_, Result<(), Refusal>> {
        self.control.apply(step)
    }

    fn routes(&self) -> Vec<RouteRecord> {
        self.control.routes()
    }

    fn route_count(&self) -> usize {
        self.control.route_count()
    }

    fn bind_again(&self, address: SocketAddr) -> BoxFuture<'_, Result<(), Refusal>> {
        self.control.bind_again(address)
    }

    fn shutdown(self: Box<Self>) -> BoxFuture<'static, ()> {
        self.proxy.abort();
        self.control.shutdown()
    }
}

async fn serve(front: TcpListener, back: SocketAddr, rewrite: fn(Vec<String>) -> Vec<String>) {
    while let Ok((client, _)) = front.accept().await {
        tokio::spawn(async move {
            // A broken connection shows at the client.
            let _ = forward(client, back, rewrite).await;
        });
    }
}

async fn forward(mut client: TcpStream, back: SocketAddr, rewrite: fn(Vec<String>) -> Vec<String>) -> io::Result<()> {
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
    let head = rewrite(head).join("\r\n");
    server.write_all(head.as_bytes()).await?;
    server.write_all(&read[end..]).await?;
    copy_bidirectional(&mut client, &mut server).await?;
    Ok(())
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
