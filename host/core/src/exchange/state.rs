//! The one allocation of a request.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use http::request::Parts;
use http::{HeaderMap, Method, Uri};
use parking_lot::Mutex;

use super::body::Body;
use super::reply_cell::ReplyCell;
use crate::RequestId;
use crate::events::bus::RequestCount;
use crate::events::caller::Caller;
use crate::routing::{Params, RouteRecord};

/// A request whose route has matched, until its reply: made on arrival, in one allocation.
///
/// Whoever may reply is a *holder* and is counted; the dispatcher, which waits for the reply, is none. When the last
/// holder is gone, no reply can come any more (spec H7).
pub(crate) struct Exchange {
    pub(crate) method: Method,
    pub(crate) uri: Uri,
    pub(crate) headers: HeaderMap,
    pub(crate) params: Params,
    pub(crate) route: Arc<RouteRecord>,
    pub(crate) request_id: RequestId,
    /// Knows the deadline, and the request as crashes name it.
    pub(crate) caller: Caller,
    /// The span of the request's log lines.
    pub(crate) span: tracing::Span,
    pub(crate) reply: ReplyCell,
    /// Most requests set none.
    pub(crate) extensions: OnceLock<Extensions>,
    body: Mutex<Option<Body>>,
    holders: AtomicUsize,
    _count: RequestCount,
}

impl Exchange {
    /// An exchange with one holder, whom [`ReplyCell`] waits for.
    pub(crate) fn new(
        parts: Parts,
        body: Body,
        params: Params,
        route: Arc<RouteRecord>,
        request_id: RequestId,
        caller: Caller,
        count: RequestCount,
    ) -> Arc<Self> {
        let span = tracing::info_span!(
            "request",
            method = %parts.method,
            path = parts.uri.path(),
            request_id = %request_id,
            route = route.path,
            module = route.module,
            controller = route.controller,
            handler = route.handler,
        );
        let set_by_middleware = parts.extensions.get::<Extensions>().cloned();
        Arc::new(Self {
            method: parts.method,
            uri: parts.uri,
            headers: parts.headers,
            params,
            route,
            request_id,
            caller,
            span,
            reply: ReplyCell::default(),
            extensions: set_by_middleware.map(OnceLock::from).unwrap_or_default(),
            body: Mutex::new(Some(body)),
            holders: AtomicUsize::new(1),
            _count: count,
        })
    }

    pub(crate) fn add_holder(&self) {
        self.holders.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn remove_holder(&self) {
        if self.holders.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.reply.abandon();
        }
    }

    /// The request body, once.
    pub(crate) fn take_body(&self) -> Option<Body> {
        self.body.lock().take()
    }
}

/// Named values that travel with a request into its log lines (spec H9).
///
/// A middleware puts one into the request's [`http::Extensions`] to set values before the handler runs; handlers reach
/// the same values with [`Context::extension`](crate::Context::extension) and
/// [`Context::set_extension`](crate::Context::set_extension).
#[derive(Clone, Debug, Default)]
pub struct Extensions(Arc<Mutex<Vec<(String, String)>>>);

impl Extensions {
    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<String> {
        let values = self.0.lock();
        let found = values.iter().find(|(known, _)| known == key);
        found.map(|(_, value)| value.clone())
    }

    /// Sets a key; the last value counts.
    pub fn set(&self, key: &str, value: impl Into<String>) {
        let mut values = self.0.lock();
        match values.iter_mut().find(|(known, _)| known == key) {
            Some((_, old)) => *old = value.into(),
            None => values.push((key.to_owned(), value.into())),
        }
    }

    /// All values, as `key=value` separated by spaces, in the order set; for a log line.
    pub(crate) fn to_line(&self) -> String {
        let values = self.0.lock();
        let values: Vec<_> = values.iter().map(|(key, value)| format!("{key}={value}")).collect();
        values.join(" ")
    }
}
