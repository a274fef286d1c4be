//! The one allocation of a request.

use std::ops::Deref;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use http::{HeaderMap, Method, Response, StatusCode, Uri, Version};
use http_body::Body as _;
use ipnet::IpNet;
use parking_lot::Mutex;
use tracing::Span;

use super::body::{Body, BodyBreaker};
use super::body_reader::{ArrivedBody, BodyLimits};
use super::durations::Histogram;
use super::failed_request::FailedRequest;
use super::finish::finish;
use super::forwarded::Peer;
use super::handler::BodyMode;
use super::reply_cell::ReplyCell;
use crate::events::caller::Caller;
use crate::events::chain::{Chain, RequestOrigin, WeakLink};
use crate::routing::Params;
use crate::{Charge, MemoryAccount, MemoryExceeded, Shard};

/// The most bytes of extensions in the access log's line of a request.
const MAX_EXTENSIONS_LINE: usize = 8 * 1024;

/// The target of the access log.
pub(crate) const ACCESS: &str = "pointwork::access";

/// A request whose route has matched, until its reply: made by the router, in one allocation.
///
/// Whoever may reply is a *holder* and is counted; the dispatcher, which waits for the reply, is none. When the last
/// holder is gone, no reply can come any more (spec H7).
pub(crate) struct Exchange {
    pub(crate) arrived: Instant,
    pub(crate) method: Method,
    pub(crate) uri: Uri,
    pub(crate) version: Version,
    pub(crate) headers: HeaderMap,
    /// The other end of the connection, which may be a proxy.
    pub(crate) peer: Peer,
    /// `None` for none.
    pub(super) trusted_proxies: Option<Arc<[IpNet]>>,
    pub(crate) params: Params,
    /// Knows the deadline, and the request with its id and route: see [`origin`](Self::origin).
    pub(crate) caller: Caller,
    pub(crate) body_mode: BodyMode,
    pub(crate) body_limits: BodyLimits,
    pub(super) body: Mutex<Option<ArrivedBody>>,
    /// Counts the bodies that the module of the route was given; `None` for a route of the host application.
    pub(super) bodies_of_module: Option<Arc<MemoryAccount>>,
    /// Count a long head.
    pub(super) head_charges: [Charge; 2],
    /// The time that a client may leave a chunk of the reply untaken.
    pub(crate) write_timeout: Option<Duration>,
    /// The span of the access log; none if that is off.
    pub(crate) span: Span,
    /// `None` on a router that measures nothing.
    pub(super) durations: Option<Shard<Histogram>>,
    /// Most requests set none.
    pub(crate) extensions: OnceLock<Extensions>,
    /// Computed for those who ask for it.
    pub(super) received_at: OnceLock<SystemTime>,
    pub(crate) reply: ReplyCell,
    /// Most requests have none.
    pub(crate) open_reply: OnceLock<OpenedReply>,
    /// One for the handler's context, at first.
    pub(super) holders: AtomicUsize,
    /// See [`OngoingCall`].
    pub(super) calls: AtomicUsize,
    pub(super) _count: Shard<()>,
}

/// The reply that a holder of the context opened, to write it chunk by chunk.
pub(crate) struct OpenedReply {
    pub(crate) body: BodyBreaker,
    /// Whether the handler did, in place of a listener that got the context.
    pub(crate) by_handler: bool,
}

/// The client or the caller that gets the result of a handler or a listener. An audience does not keep the request alive.
///
/// The default is the audience of an event that was emitted: nobody ever waits for it, so nobody leaves.
#[derive(Clone, Debug, Default)]
pub struct Audience(Kind);

#[derive(Clone, derive_more::Debug)]
enum Kind {
    #[debug("the client")]
    Client(Weak<Exchange>),
    #[debug("the caller")]
    Caller(WeakLink),
}

impl Default for Kind {
    fn default() -> Self {
        Self::Caller(WeakLink::default())
    }
}

impl Audience {
    pub(super) fn of_request(exchange: &Arc<Exchange>) -> Self {
        Self(Kind::Client(Arc::downgrade(exchange)))
    }

    pub(super) fn of_call(chain: &Chain) -> Self {
        Self(Kind::Caller(chain.last_link()))
    }

    /// Whether nobody gets the result any more: the client left or the deadline passed before the reply was whole, or the call was
    /// cancelled.
    pub fn has_left(&self) -> bool {
        match &self.0 {
            Kind::Client(exchange) => exchange.upgrade().is_some_and(|exchange| exchange.is_unread()),
            Kind::Caller(link) => link.is_cancelled(),
        }
    }
}

/// A call that has the context of a request: that of the handler, until there is the reply too, and that of each listener
/// that the context was handed over to. With the last one goes a body that nobody took, if the route is a module's: a guest may
/// keep the context itself for ever. A native handler may read the body while its reply is sent.
pub(crate) struct OngoingCall(Arc<Exchange>);

impl Exchange {
    /// The request by its id and route. Its chain has them, which may outlive the exchange.
    pub(crate) fn origin(&self) -> &RequestOrigin {
        let request = self.caller.chain.request.as_ref();
        request.expect("the chain of a request begins with the request")
    }

    /// The last step of a reply: makes it fit for the wire, measures and logs the request.
    pub(super) fn finish(&self, mut reply: Response<Body>, now: Instant) -> Response<Body> {
        FailedRequest::end(&self.caller, &self.span, reply.status(), reply.extensions_mut());
        let reply = finish(&self.method, &self.origin().id, reply);
        self.ended(reply.status(), now - self.arrived);
        reply
    }

    /// The request has its reply, or the head of it.
    fn ended(&self, status: StatusCode, time: Duration) {
        if let Some(durations) = &self.durations {
            durations.count(status, time);
        }
        if self.origin().in_span {
            tracing::info!(
                target: ACCESS,
                parent: &self.span,
                status = status.as_u16(),
                micros = u64::try_from(time.as_micros()).unwrap_or(u64::MAX),
                extensions = self.extensions.get().map(Extensions::to_line),
                "replied"
            );
        }
    }

    /// The client of the request, by its peer and the proxies that are trusted.
    pub(crate) fn client(&self) -> Peer {
        let trusted = self.trusted_proxies.as_deref().unwrap_or_default();
        self.peer.client(&self.headers, trusted)
    }

    pub(crate) fn received_at(&self) -> SystemTime {
        let back_then = || SystemTime::now().checked_sub(self.caller.clock().now() - self.arrived);
        *self.received_at.get_or_init(|| back_then().unwrap_or(UNIX_EPOCH))
    }

    pub(crate) fn add_holder(&self) {
        self.holders.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn is_last_holder(&self) -> bool {
        self.holders.load(Ordering::Acquire) == 1
    }

    pub(crate) fn remove_holder(&self) {
        if self.holders.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.reply.abandon();
        }
    }

    /// The request body, once.
    pub(crate) fn take_body(&self) -> Option<ArrivedBody> {
        self.body.lock().take()
    }

    /// The length of the body that waits in memory.
    pub(crate) fn body_in_memory(&self) -> usize {
        if self.body_mode != BodyMode::Whole {
            return 0;
        }
        let body = self.body.lock();
        let length = body.as_ref().and_then(|body| body.body.size_hint().exact());
        length.map_or(0, |length| usize::try_from(length).unwrap_or(usize::MAX))
    }

    /// Puts the body there that has arrived for the handler.
    ///
    /// # Errors
    /// The module holds too much.
    pub(crate) fn put_body(&self, bytes: Bytes, charge: Charge) -> Result<(), MemoryExceeded> {
        let account = self.bodies_of_module.as_ref();
        let of_module = account.map(|account| account.charge(bytes.len() as u64)).transpose()?;
        *self.body.lock() = Some(ArrivedBody {
            body: Body::charged(bytes, charge),
            of_module: of_module.unwrap_or_default(),
        });
        Ok(())
    }

    /// Whether nobody gets what the holders of the context still do: the client left, or the deadline passed, before there was a
    /// reply, or the whole of it.
    pub(crate) fn is_unread(&self) -> bool {
        self.reply.is_closed() || self.open_reply.get().is_some_and(|opened| opened.body.is_unread())
    }

    /// Breaks the reply off that the handler opened, unless it is finished: the handler returned another one. Returns whether
    /// that is right, since its writer was told that the client has left.
    pub(crate) fn break_reply_off(&self) -> bool {
        let opened = self.open_reply.get().filter(|opened| opened.by_handler);
        opened.is_some_and(|opened| opened.body.break_off())
    }
}

impl OngoingCall {
    pub(crate) fn begin(exchange: Arc<Exchange>) -> Self {
        exchange.calls.fetch_add(1, Ordering::Relaxed);
        Self(exchange)
    }
}

impl Deref for OngoingCall {
    type Target = Arc<Exchange>;

    fn deref(&self) -> &Arc<Exchange> {
        &self.0
    }
}

impl Drop for OngoingCall {
    fn drop(&mut self) {
        let is_of_module = self.0.origin().route.module.is_some();
        if self.0.calls.fetch_sub(1, Ordering::AcqRel) == 1 && is_of_module {
            drop(self.0.take_body());
        }
    }
}

/// Named values that travel with a request into its log lines (spec H9).
///
/// A middleware puts one into the request's [`http::Extensions`] to set values before the handler runs; handlers reach
/// the same values with [`Context::extension`](crate::Context::extension) and
/// [`Context::set_extension`](crate::Context::set_extension).
#[derive(Clone, Debug, Default)]
pub struct Extensions(Arc<Mutex<Vec<Extension>>>);

#[derive(Debug)]
struct Extension {
    key: String,
    value: String,
    _charge: Charge,
}

impl Extensions {
    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<String> {
        let values = self.0.lock();
        let found = values.iter().find(|known| known.key == key);
        found.map(|known| known.value.clone())
    }

    /// Sets a key; the last value counts.
    pub fn set(&self, key: &str, value: impl Into<String>) {
        self.set_charged(key, value, Charge::default());
    }

    /// Sets a key to a value that is counted for as long as it is kept.
    pub(crate) fn set_charged(&self, key: &str, value: impl Into<String>, charge: Charge) {
        let (value, mut values) = (value.into(), self.0.lock());
        match values.iter_mut().find(|known| known.key == key) {
            Some(known) => (known.value, known._charge) = (value, charge),
            None => values.push(Extension {
                key: key.to_owned(),
                value,
                _charge: charge,
            }),
        }
    }

    /// The values, as `key=value` separated by spaces, in the order set; for a log line, which is cut with the mark `…`.
    pub(crate) fn to_line(&self) -> String {
        let mut line = String::new();
        for Extension { key, value, .. } in &*self.0.lock() {
            let separator = if line.is_empty() { "" } else { " " };
            for part in [separator, key, "=", value] {
                let room = MAX_EXTENSIONS_LINE - line.len();
                line.push_str(&part[..part.floor_char_boundary(room)]);
                if part.len() > room {
                    line.push('…');
                    return line;
                }
            }
        }
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MemoryAccount;

    #[test]
    fn the_line_of_extensions_is_bounded() {
        let extensions = Extensions::default();
        extensions.set("a", "1");
        extensions.set("b", "2");
        extensions.set("a", "3");
        assert_eq!(extensions.to_line(), "a=3 b=2");
        extensions.set("long", "é".repeat(MAX_EXTENSIONS_LINE));
        let line = extensions.to_line();
        assert!(line.starts_with("a=3 b=2 long=é") && line.ends_with('…'), "{line:.20}");
        assert!(line.len() <= MAX_EXTENSIONS_LINE + '…'.len_utf8(), "{}", line.len());
    }

    #[test]
    fn a_value_counts_until_it_is_replaced_or_dropped() {
        let account = MemoryAccount::new(100);
        let extensions = Extensions::default();
        extensions.set_charged("a", "1", account.charge(60).unwrap());
        extensions.set_charged("a", "2", account.charge(30).unwrap());
        assert_eq!((account.used(), extensions.get("a").as_deref()), (30, Some("2")));
        drop(extensions);
        assert_eq!(account.used(), 0);
    }
}
