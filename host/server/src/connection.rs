//! One connection, from its first byte to its last.

use std::future::poll_fn;
use std::io;
use std::sync::Arc;

use bytes::BytesMut;
use pointwork_core::Protocols;
use pointwork_core::adapter::Framing;
use tokio::net::TcpStream;

use crate::driver::Driver;
use crate::io::Io;
use crate::serve::{InfallibleService, Server};
use crate::state::ConnectionState;
use crate::{http1, http2};

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Room for the first read: nearly every first request fits.
const FIRST_READ: usize = 4 * 1024;

pub(crate) async fn serve<S: InfallibleService>(
    server: Arc<Server<S>>,
    stream: TcpStream,
    state: Arc<ConnectionState>,
) {
    let mut driver = Driver::new(state.clone());
    let Some((is_http2, first)) = begin(server.options.protocols, &stream, &mut driver).await else {
        return;
    };
    let framing = (!is_http2).then(|| Framing::new(server.options.max_header_bytes));
    let io = Io::new(stream, first, framing, state);
    if is_http2 {
        http2::serve(server, io, driver).await;
    } else {
        http1::serve(&server, io, driver).await;
    }
}

/// Reads the first bytes, and whether they begin HTTP/2; `None` if the connection ends before that.
async fn begin(protocols: Protocols, stream: &TcpStream, driver: &mut Driver) -> Option<(bool, BytesMut)> {
    let mut bytes = BytesMut::new();
    loop {
        tokio::select! {
            biased;
            readable = stream.readable() => readable.ok()?,
            // A shutdown ends it too: no request is in flight.
            _ = poll_fn(|cx| driver.poll(cx)) => return None,
        }
        bytes.reserve(FIRST_READ);
        match stream.try_read_buf(&mut bytes) {
            Ok(0) => return None,
            Ok(_) => driver.state.deadlines.note_read(),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => continue,
            Err(_) => return None,
        }
        if let Some(is_http2) = is_http2(protocols, &bytes) {
            return Some((is_http2, bytes));
        }
    }
}

/// `None` if more bytes are needed.
fn is_http2(protocols: Protocols, bytes: &[u8]) -> Option<bool> {
    match protocols {
        Protocols::Http2 => Some(true),
        Protocols::Both if bytes.starts_with(PREFACE) => Some(true),
        Protocols::Both if PREFACE.starts_with(bytes) => None,
        _ => Some(false),
    }
}
