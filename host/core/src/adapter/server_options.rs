//! The limits and times of one server, the same for every adapter.

use std::time::Duration;

use crate::executor::FOREVER;
use crate::{Clock, limits};

limits! {
    /// How an adapter serves. Every default is safe on a public port. A setting means the same on every adapter that supports
    /// it. The adapter's docs list the settings that the framework's server does not support; it warns about them at boot.
    ///
    /// A time of `None` means no limit. Times beyond a year count as one. The options hold where the adapter runs the server.
    /// In an application that mounts the adapter, only [`body_timeout`](Self::body_timeout) holds, and
    /// [`write_timeout`](Self::write_timeout) for handlers that write a reply in chunks.
    ///
    /// ```
    /// use std::time::Duration;
    /// use pointwork_core::ServerOptions;
    ///
    /// let options = ServerOptions::new()
    ///     .header_timeout(Duration::from_secs(5))
    ///     .write_timeout(None)
    ///     .max_connections(500);
    /// ```
    #[derive(Clone, Debug)]
    pub struct ServerOptions {
        /// The number of connections that may be open; further ones wait in the backlog of the operating system. 0 counts
        /// as 1.
        max_connections: usize = count(20_000) as "max-connections" in_program;
        /// The time until a new connection has sent its first byte; the connection is closed past it.
        first_byte_timeout: Option<Duration> = time(10 s) as "header-timeout";
        /// The time that a connection may be idle, and the time until a request's head is complete, counted from the end of
        /// the request before; the connection is closed past it, without a reply.
        header_timeout: Option<Duration> = time(30 s) as "header-timeout";
        /// The time that a handler waits for the next chunk of a request's body; reading fails past it, which becomes a
        /// 408 unless the handler replies something else.
        body_timeout: Option<Duration> = time(30 s) as "body-timeout";
        /// The time that a client may leave a reply unread, counted from the last byte that it took; the connection is
        /// closed past it, and of HTTP/2 the stream alone is reset if the client has closed its window. A handler that writes
        /// a reply in chunks gets `gone` when its client has not taken the chunk before for this long.
        write_timeout: Option<Duration> = time(30 s) as "write-timeout" in_program;
        /// The number of header lines of a request; 431 past it. Any other number than the default may cost allocations.
        max_headers: usize = count(100) as "max-headers" in_program;
        /// The length of a request's head, request line included; 431 past it, or 414 if the target alone is 64 KiB.
        /// HTTP/2 adds 32 bytes for every header.
        max_header_bytes: u32 = bytes(64 KiB) as "max-header-bytes" in_program;
        /// The time that requests in flight have to end after the signal to shut down; they are cut past it.
        shutdown_grace: Duration = time(10 s) as "shutdown-grace";
    } and {
        /// The versions of HTTP that are served. Default: all that the adapter has, on the same port.
        protocols: Protocols = Protocols::default();
        /// Whether an HTTP/1.1 connection serves more than one request. Default: true.
        keep_alive: bool = true;
        /// The options of HTTP/2.
        http2: Http2Options = Http2Options::new();
        /// The clock of all times above. Default: the real clock.
        clock: Clock = Clock::real();
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

limits! {
    /// The options of HTTP/2.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Http2Options {
        /// The number of requests of one connection that may be in flight.
        max_streams: u32 = count(128) as "max-streams" in_program;
        /// The number of requests that a client may reset before the server has handled them; the connection is closed
        /// past it ("rapid reset").
        max_pending_resets: usize = count(20) as "max-pending-resets" in_program;
        /// The number of streams that the server may have to reset because of a fault of the client; the connection is
        /// closed past it.
        max_faulty_streams: usize = count(1_024) as "max-faulty-streams" in_program;
        /// The time between two pings, which check that the client is still there.
        ping_interval: Option<Duration> = time(20 s) as "ping-interval" in_program;
        /// The time that the client may take to answer a ping; the connection is closed past it.
        ping_timeout: Duration = time(20 s) as "ping-timeout" in_program;
    }
}

/// More than any system has, and few enough for every counter.
const MOST_CONNECTIONS: usize = u32::MAX as usize >> 3;

impl ServerOptions {
    /// The default of [`max_headers`](Self::max_headers).
    pub const DEFAULT_MAX_HEADERS: usize = 100;

    /// The options as an adapter uses them: every time is short enough to be added to an instant, and there is at least one
    /// connection.
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
