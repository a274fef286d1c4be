//! Long bodies through a handler in a module: the growth of the server's memory, as the peak over the memory before, and the
//! throughput. The server is hyper's, in a process of its own.

use std::convert::Infallible;
use std::time::Instant;

use anyhow::{Result, ensure};
use bytes::Bytes;
use futures_util::stream;
use http::{Method, Request, Version};
use http_body_util::{BodyExt, StreamBody};
use hyper::body::Frame;
use hyper_util::rt::{TokioExecutor, TokioIo};
use pointwork_load::{Estimate, Server};
use tokio::net::TcpStream;
use tokio::runtime::Runtime;

use crate::{Table, server};

const CHUNK: usize = 64 * 1024;

pub(crate) fn measure(table: &mut Table) -> Result<()> {
    if !table.wants("streams", "") {
        return Ok(());
    }
    let mib = if table.quick { 64 } else { 1024 };
    let server = Server::start(&mut server::command("all", "hyper", None)?)?;
    let more = Runtime::new()?.block_on(exchanges(&server, mib))?;
    table.note(
        "growth of memory beside long bodies, MiB".to_owned(),
        Estimate::of([more]),
    );
    Ok(())
}

async fn exchanges(server: &Server, mib: usize) -> Result<f64> {
    // The memory that any first request takes does not count.
    for module in ["streams", "streams-async"] {
        for version in [Version::HTTP_11, Version::HTTP_2] {
            exchange(server, version, module, "echo", 1).await?;
        }
    }
    let idle = server.memory("VmRSS")?;
    println!("\n## streams\n\n| {mib} MiB | | | MiB/s | MiB more, so far |\n|---|---|---|---|---|");
    for version in [Version::HTTP_11, Version::HTTP_2] {
        for module in ["streams", "streams-async"] {
            for what in ["count", "give", "echo"] {
                let began = Instant::now();
                exchange(server, version, module, what, mib).await?;
                let rate = mib as f64 / began.elapsed().as_secs_f64();
                let more = server.memory("VmHWM")? - idle;
                println!("| {version:?} | {module} | {what} | {rate:.0} | {more:.1} |");
            }
        }
    }
    Ok(server.memory("VmHWM")? - idle)
}

/// Sends and receives the bodies of one kind and checks their lengths.
async fn exchange(server: &Server, version: Version, module: &str, what: &str, mib: usize) -> Result<()> {
    let (method, path, sent) = match what {
        "give" => (Method::GET, format!("give/{mib}"), 0),
        _ => (Method::POST, what.to_owned(), mib * 1024 * 1024),
    };
    let chunks =
        stream::iter((0..sent / CHUNK).map(|_| Ok::<_, Infallible>(Frame::data(Bytes::from_static(&[7; CHUNK])))));
    let target = match version {
        Version::HTTP_2 => format!("http://{}/{module}/{path}", server.address),
        _ => format!("/{module}/{path}"),
    };
    let mut request = Request::builder()
        .method(method)
        .uri(target)
        .body(StreamBody::new(chunks))?;
    let io = TokioIo::new(TcpStream::connect(server.address).await?);
    let response = if version == Version::HTTP_2 {
        let (mut sender, connection) = hyper::client::conn::http2::handshake(TokioExecutor::new(), io).await?;
        tokio::spawn(connection);
        sender.send_request(request).await?
    } else {
        request.headers_mut().insert("host", "bench".parse()?);
        let (mut sender, connection) = hyper::client::conn::http1::handshake(io).await?;
        tokio::spawn(connection);
        sender.send_request(request).await?
    };
    ensure!(response.status().is_success(), "{module}/{what}: {}", response.status());
    let mut body = response.into_body();
    let (mut received, mut text) = (0, Vec::new());
    while let Some(frame) = body.frame().await {
        if let Ok(data) = frame?.into_data() {
            received += data.len();
            if what == "count" {
                text.extend_from_slice(&data);
            }
        }
    }
    let length = mib * 1024 * 1024;
    let whole = match what {
        "count" => text == length.to_string().as_bytes(),
        _ => received == length,
    };
    ensure!(whole, "{module}/{what}: {received} bytes came, expected {length}");
    Ok(())
}
