//! What one server is allowed and how long it waits, whichever adapter it is of.

use std::time::Duration;

/// How an adapter serves. Every default is safe on a public port. A setting means the same on every adapter that can keep
/// it; one that the framework's server cannot keep is warned about at boot, and stands in the adapter's docs.
///
/// A time of `None` means no limit. Times beyond a year count as one. They count where the adapter serves by itself; in
/// an application that mounts it, the server is the application's, and only [`body_timeout`](Self::body_timeout) holds.
///
/// ```
/// use std::time::Duration;
/// use pointwork_core::ServerOptions;
///
/// let mut options = ServerOptions::default();
/// options.header_timeout = Some(Duration::from_secs(5));
/// options.max_connections = 500;
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ServerOptions {
    /// Which versions of HTTP are spoken. Default all that the adapter has, on the same port.
    pub protocols: Protocols,
    /// How many connections may be open at a time. Further ones wait in the backlog of the operating system. Default
    /// 20,000; 0 counts as 1.
    pub max_connections: usize,
    /// How long a new connection may take to send its first byte; it is closed past it. Default 10 s.
    pub first_byte_timeout: Option<Duration>,
    /// How long the head of a request may take, counted from the moment the server waits for it. So it is also how long
    /// a connection may be idle between two requests. The connection is closed past it, without a reply. Default 30 s.
    pub header_timeout: Option<Duration>,
    /// How long a handler waits for the next piece of a request's body; reading fails past it, and becomes a 408
    /// unless the handler does something else. Default 30 s.
    pub body_timeout: Option<Duration>,
    /// How long a client may leave a reply unread before its connection is cut, counted from the last byte it took.
    /// Default 30 s.
    pub write_timeout: Option<Duration>,
    /// Whether an HTTP/1.1 connection serves more than one request. Default true.
    pub keep_alive: bool,
    /// How many header lines a request may have; 431 past it. Default 100. Any other number may cost
    /// allocations.
    pub max_headers: usize,
    /// How long the head of a request may be, in bytes, request line included; 431 past it, or 414 if the target alone is
    /// 64 KiB. Default 64 KiB. HTTP/2 adds 32 bytes for every header.
    pub max_header_bytes: u32,
    /// What concerns HTTP/2 alone.
    pub http2: Http2Options,
    /// How long requests in flight may take to end after the signal to shut down; they are cut past it. Default 10 s.
    pub shutdown_grace: Duration,
}

impl Default for ServerOptions {
    fn default() -> Self {
        Self {
            protocols: Protocols::default(),
            max_connections: 20_000,
            first_byte_timeout: Some(Duration::from_secs(10)),
            header_timeout: Some(Duration::from_secs(30)),
            body_timeout: Some(Duration::from_secs(30)),
            write_timeout: Some(Duration::from_secs(30)),
            keep_alive: true,
            max_headers: Self::DEFAULT_MAX_HEADERS,
            max_header_bytes: 64 * 1024,
            http2: Http2Options::default(),
            shutdown_grace: Duration::from_secs(10),
        }
    }
}

/// Which versions of HTTP a port speaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Protocols {
    /// HTTP/1.0, HTTP/1.1, and HTTP/2 in clear text for clients that begin with it ("prior knowledge").
    #[default]
    Both,
    /// HTTP/1.0 and HTTP/1.1.
    Http1,
    /// HTTP/2 in clear text.
    Http2,
}

/// What concerns HTTP/2 alone.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Http2Options {
    /// How many requests of one connection may be in flight. Default 128.
    pub max_streams: u32,
    /// How many requests a client may take back before the server got to them; the connection is closed past it, as it
    /// is an attack ("rapid reset"). Default 20.
    pub max_pending_resets: usize,
    /// How many streams may end by a fault of the client that the server has to answer with a reset; the connection is
    /// closed past it. Default 1,024.
    pub max_faulty_streams: usize,
    /// How often a ping asks whether the client is still there. Default 20 s.
    pub ping_interval: Option<Duration>,
    /// How long the client may take to answer a ping; the connection is closed past it. Default 20 s.
    pub ping_timeout: Duration,
}

impl Default for Http2Options {
    fn default() -> Self {
        Self {
            max_streams: 128,
            max_pending_resets: 20,
            max_faulty_streams: 1024,
            ping_interval: Some(Duration::from_secs(20)),
            ping_timeout: Duration::from_secs(20),
        }
    }
}

/// More than any system has, and few enough for every counter.
const MOST_CONNECTIONS: usize = u32::MAX as usize >> 3;

/// Far beyond any connection's life, and near enough that no sum of times overflows.
const FOREVER: Duration = Duration::from_secs(365 * 24 * 3600);

impl ServerOptions {
    /// How many header lines a request may have unless something else is asked for.
    pub const DEFAULT_MAX_HEADERS: usize = 100;

    /// The same with every time small enough to be added to an instant, and at least one connection: what an adapter
    /// works with.
    #[must_use]
    pub fn clamped(mut self) -> Self {
        let times = [
            &mut self.first_byte_timeout,
            &mut self.header_timeout,
            &mut self.body_timeout,
            &mut self.write_timeout,
            &mut self.http2.ping_interval,
        ];
        for time in times.into_iter().flatten() {
            *time = (*time).min(FOREVER);
        }
        self.http2.ping_timeout = self.http2.ping_timeout.min(FOREVER);
        self.shutdown_grace = self.shutdown_grace.min(FOREVER);
        self.max_connections = self.max_connections.clamp(1, MOST_CONNECTIONS);
        self
    }
}
