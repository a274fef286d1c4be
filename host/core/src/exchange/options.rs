//! The options of a router.

use std::time::Duration;

use ipnet::IpNet;

use crate::limits;
use crate::routing::TableOptions;

limits! {
    /// The options of every request.
    #[derive(Clone, Debug)]
    pub struct RouterOptions {
        /// The longest request body that is held in memory; 413 past it. It holds for handlers that take the whole body, and
        /// where a handler reads all of a streamed one at once.
        body_limit: u64 = bytes(2 MiB) as "body";
        /// The longest request body that a handler takes chunk by chunk; 413 past it.
        stream_body_limit: Option<u64> = bytes(none) as "stream-body";
        /// The memory for all request bodies together that have arrived and that no handler has taken yet; a request gets 503
        /// with `Retry-After` past it. Those that one module was given and has not taken hold at most half of it.
        body_memory: u64 = bytes(256 MiB) as "body-memory";
        /// The memory for the heads of all requests in flight together: targets, names and values of headers. Only heads of
        /// 8 KiB or more count; a request with such a head gets 503 with `Retry-After` past it. Those of requests to one module
        /// hold at most half of it.
        head_memory: u64 = bytes(64 MiB) as "head-memory";
        /// The bytes per second that a client must send of a request's body, over 10 seconds in which the server waits for it;
        /// 408 past it. 0 turns it off.
        body_rate: u64 = bytes(1 KiB) as "body-rate";
        /// The time from a request's arrival until its reply begins; 504 past it.
        deadline: Option<Duration> = time(30 s) as "request-deadline";
    } and {
        /// How the table reads paths.
        table: TableOptions = TableOptions::default();
        /// The networks of the proxies whose `Forwarded`, `X-Forwarded-For` and `X-Forwarded-Proto` are believed; see
        /// [`Peer`](crate::Peer). Default: none.
        trusted_proxies: Vec<IpNet> = Vec::new();
        /// Whether a reply of 500 or more has the crashes of its request in its body, and the errors that its modules logged:
        /// module, handler or event, message and backtrace. It is for development only: a crash tells a client about code and
        /// data. The runtime then keeps the lines of source files for backtraces, and compiles modules sooner, to slower
        /// code. Default: `false`.
        show_crashes: bool = false;
        /// Whether each request is logged: a line of the level `info` at its end, within a span around its handler, both with
        /// the target `pointwork::access`. Such a line takes longer than the routing of a request. Default: `false`.
        ///
        /// Without it, the lines of guests and of crashes name their request all the same. A native handler uses
        /// [`Context::span`](crate::Context::span) for its own.
        access_log: bool = false;
    }
}
