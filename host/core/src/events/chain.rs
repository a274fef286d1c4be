//! The chain of calls that begins with one request, or with one emitted event.

use std::ops::Deref;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Instant;

use http::HeaderValue;

use super::durable::gate::Gate;
use super::registry::ListenerNames;
use super::request_crashes::RequestCrashes;
use crate::crash::SERVER_CHANNEL;
use crate::routing::RouteRecord;
use crate::{Failure, FailureCode, RequestId, Shard};

/// The number of calls that a chain may be deep. Eight is more than any sane application nests, and few enough that a cycle
/// of channels ends within microseconds.
pub const MAX_DEPTH: u8 = 8;

/// Where an event comes from: its request, the events on the way, and the deadline.
///
/// A chain begins with a request and grows by one link with every `call` and `emit`. It is cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Chain {
    last: Option<Arc<Link>>,
    pub(crate) deadline: Option<Instant>,
    pub(crate) request: Option<RequestOrigin>,
    pub(crate) nested: Nested,
    /// Waits for the durable events of the chain; `None` without a durable channel.
    pub(crate) gate: Option<Arc<Gate>>,
}

/// The number of requests and calls around a request, in its extensions: a function of the host that answers one of them has
/// sent the request to the same application. The chain of the request has it, on whatever thread; see [`Chain::nested`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Nested(pub usize);

/// The request that began a chain, as the crashes of whatever runs in it name it.
#[derive(Clone, Debug)]
pub(crate) struct RequestOrigin {
    pub(crate) id: RequestId,
    pub(crate) route: RouteInTable,
    pub(crate) adapter: Option<&'static str>,
    /// `None` unless the reply shows them.
    pub(crate) crashes: Option<Arc<RequestCrashes>>,
    /// Whether the handler runs in a span of the request.
    pub(crate) in_span: bool,
    /// The request's `traceparent`, if events leave the process: it goes along.
    pub(crate) traceparent: Option<HeaderValue>,
}

/// The request that began the chain of a recorded event or of a call from another process. That request has ended, or runs in another
/// process.
#[derive(Debug, Default)]
pub(super) struct FarOrigin {
    pub(super) request_id: Option<RequestId>,
    pub(super) traceparent: Option<HeaderValue>,
}

/// The records of the routes of a table, by the places of the routes.
pub(crate) type RouteRecords = Arc<[Arc<RouteRecord>]>;

/// The record of a route. It keeps the records of the whole table.
#[derive(Clone, Debug)]
pub(crate) struct RouteInTable {
    records: Shard<RouteRecords>,
    place: usize,
}

impl RouteInTable {
    pub(crate) fn new(records: Shard<RouteRecords>, place: usize) -> Self {
        Self { records, place }
    }
}

impl Deref for RouteInTable {
    type Target = RouteRecord;

    fn deref(&self) -> &RouteRecord {
        &self.records[self.place]
    }
}

#[derive(Debug)]
struct Link {
    listener: Arc<ListenerNames>,
    /// Nobody waits for the result of an emitted event.
    emitted: bool,
    depth: u8,
    /// Whether the call was given up before its result.
    cancelled: AtomicBool,
    far_origin: Option<Box<FarOrigin>>,
    parent: Option<Arc<Link>>,
}

/// The last link of a chain, as long as something runs in the chain.
#[derive(Clone, Debug, Default)]
pub(crate) struct WeakLink(Weak<Link>);

impl WeakLink {
    /// Whether a call of the chain was given up, back to the last emitted event.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.0.upgrade().is_some_and(|link| link.is_cancelled())
    }
}

impl Link {
    /// From this link to the first one.
    fn up(&self) -> impl Iterator<Item = &Self> {
        std::iter::successors(Some(self), |link| link.parent.as_deref())
    }

    fn is_cancelled(&self) -> bool {
        let mut calls = self.up().take_while(|link| !link.emitted);
        calls.any(|link| link.cancelled.load(Ordering::Relaxed))
    }
}

/// Marks the last link of a chain as cancelled, unless its call completes.
pub(crate) struct CancelGuard(Option<Arc<Link>>);

impl CancelGuard {
    /// The call has its result.
    pub(crate) fn complete(mut self) {
        self.0 = None;
    }
}

impl Drop for CancelGuard {
    fn drop(&mut self) {
        if let Some(link) = &self.0 {
            link.cancelled.store(true, Ordering::Relaxed);
        }
    }
}

impl Chain {
    /// The chain of a request.
    pub(crate) fn of_request(
        deadline: Option<Instant>,
        request: RequestOrigin,
        nested: Nested,
        gate: Option<Arc<Gate>>,
    ) -> Self {
        Self {
            last: None,
            deadline,
            request: Some(request),
            nested,
            gate,
        }
    }

    /// The chain of an event that was recorded, at its depth.
    pub(super) fn of_recorded(listener: &Arc<ListenerNames>, depth: u8, origin: FarOrigin, gate: Arc<Gate>) -> Self {
        let link = Link {
            listener: listener.clone(),
            emitted: true,
            depth,
            cancelled: AtomicBool::new(false),
            far_origin: Some(Box::new(origin)),
            parent: None,
        };
        Self {
            last: Some(Arc::new(link)),
            gate: Some(gate),
            ..Self::default()
        }
    }

    /// The id of the request that began the chain, if a request did.
    pub(crate) fn request_id(&self) -> Option<&RequestId> {
        let of_request = self.request.as_ref().map(|request| &request.id);
        of_request.or_else(|| self.far_origin()?.request_id.as_ref())
    }

    /// The `traceparent` of the request that began the chain, if it had one, and events leave the process.
    pub(crate) fn traceparent(&self) -> Option<&HeaderValue> {
        let of_request = self.request.as_ref().and_then(|request| request.traceparent.as_ref());
        of_request.or_else(|| self.far_origin()?.traceparent.as_ref())
    }

    fn far_origin(&self) -> Option<&FarOrigin> {
        self.links().find_map(|link| link.far_origin.as_deref())
    }

    /// The number of requests and calls around this chain, as the host told it.
    pub fn nested(&self) -> Nested {
        self.nested
    }

    /// When whatever runs in the chain is cancelled; `None` if never.
    pub fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// The number of calls that led here.
    pub fn depth(&self) -> u8 {
        self.last.as_ref().map_or(0, |link| link.depth)
    }

    /// The number of handlers and listeners of a module that wait for the listener at the end of this chain, itself aside:
    /// 0 unless the module is called from within itself. Each of them keeps an instance busy until this one is done.
    pub fn reentrance(&self, module: &str) -> usize {
        let is_of_module = |link: &&Link| link.listener.module.as_deref() == Some(module);
        let mut waiting = 0;
        let mut link = self.last.as_deref();
        while let Some(current) = link {
            if current.emitted {
                return waiting;
            }
            link = current.parent.as_deref();
            waiting += usize::from(link.as_ref().is_some_and(is_of_module));
        }
        let request = self.request.as_ref();
        waiting + usize::from(request.is_some_and(|request| request.route.module.as_deref() == Some(module)))
    }

    pub(crate) fn last_link(&self) -> WeakLink {
        WeakLink(self.last.as_ref().map(Arc::downgrade).unwrap_or_default())
    }

    /// Marks this chain as cancelled when it is dropped before its end.
    pub(crate) fn cancel_guard(&self) -> CancelGuard {
        CancelGuard(self.last.clone())
    }

    /// Whether a call of this chain was cancelled, back to the last emitted event, or its deadline passed.
    pub(crate) fn is_cancelled(&self, now: impl FnOnce() -> Instant) -> bool {
        let cancelled = self.last.as_ref().is_some_and(|last| last.is_cancelled());
        cancelled || self.deadline.is_some_and(|deadline| deadline <= now())
    }

    /// The request whose end awaits this chain, unless its handler runs in a span. An emitted event has a span of its own.
    pub(crate) fn request_without_span(&self) -> Option<&RequestOrigin> {
        let request = self.request.as_ref().filter(|request| !request.in_span)?;
        (!self.links().any(|link| link.emitted)).then_some(request)
    }

    /// Whether an event of the server's own led here.
    pub(crate) fn is_of_server(&self) -> bool {
        self.links()
            .filter_map(|link| link.listener.full.split_once(':'))
            .any(|(channel, _)| channel == SERVER_CHANNEL)
    }

    /// The module whose handler or listener is at the end; `None` for the host application.
    pub(crate) fn module(&self) -> Option<&str> {
        match &self.last {
            Some(link) => link.listener.module.as_deref(),
            None => self.request.as_ref()?.route.module.as_deref(),
        }
    }

    /// The last event on the way; `None` in the handler of the request.
    pub(crate) fn event(&self) -> Option<&str> {
        self.listener().map(|listener| &*listener.full)
    }

    /// The names of the listener at the end; `None` in the handler of the request.
    pub(super) fn listener(&self) -> Option<&ListenerNames> {
        self.last.as_deref().map(|link| &*link.listener)
    }

    /// The chain one call further.
    ///
    /// # Errors
    /// [`TOO_DEEP`](FailureCode::TOO_DEEP) past [`MAX_DEPTH`] links; the message lists them, so that a cycle shows.
    pub(crate) fn extend(&self, listener: &Arc<ListenerNames>) -> Result<Self, Failure> {
        self.grow(listener, false)
    }

    /// The chain one emitted event further: it keeps its depth, but runs in its own time, within no request.
    pub(crate) fn detach(&self, listener: &Arc<ListenerNames>) -> Result<Self, Failure> {
        Ok(Self {
            deadline: None,
            nested: Nested::default(),
            gate: None,
            ..self.grow(listener, true)?
        })
    }

    /// The depth of an event that follows in this chain.
    ///
    /// # Errors
    /// [`TOO_DEEP`](FailureCode::TOO_DEEP), as [`extend`](Self::extend).
    pub(super) fn depth_after(&self, event: &str) -> Result<u8, Failure> {
        let depth = self.depth() + 1;
        if depth > MAX_DEPTH {
            let message = format!(
                "`{event}` is call {depth} of a chain of at most {MAX_DEPTH}: {}",
                self.describe()
            );
            return Err(Failure::of(FailureCode::TOO_DEEP, message));
        }
        Ok(depth)
    }

    fn grow(&self, listener: &Arc<ListenerNames>, emitted: bool) -> Result<Self, Failure> {
        let link = Link {
            listener: listener.clone(),
            emitted,
            depth: self.depth_after(&listener.full)?,
            cancelled: AtomicBool::new(false),
            far_origin: None,
            parent: self.last.clone(),
        };
        Ok(Self {
            last: Some(Arc::new(link)),
            ..self.clone()
        })
    }

    fn links(&self) -> impl Iterator<Item = &Link> {
        self.last.iter().flat_map(|last| last.up())
    }

    fn describe(&self) -> String {
        let mut names: Vec<_> = self.links().map(|link| format!("`{}`", link.listener.full)).collect();
        names.reverse();
        names.join(" → ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Sharded;
    use crate::routing::Origin;

    fn names(event: &str, module: Option<&str>) -> Arc<ListenerNames> {
        Arc::new(ListenerNames {
            full: event.to_owned(),
            event_at: 0,
            module: module.map(str::to_owned),
        })
    }

    fn request_of(module: &str) -> Chain {
        let route = RouteRecord {
            method: "GET".to_owned(),
            path: "/".to_owned(),
            origin: Origin::Decorator,
            module: Some(module.to_owned()),
            controller: None,
            handler: None,
            unavailable_on: Vec::new(),
        };
        let records: RouteRecords = [Arc::new(route)].into();
        let records = Sharded::of(records);
        let origin = RequestOrigin {
            id: RequestId::from_headers(&http::HeaderMap::new()),
            route: RouteInTable::new(records.local().clone(), 0),
            adapter: None,
            crashes: None,
            in_span: false,
            traceparent: None,
        };
        Chain::of_request(None, origin, Nested::default(), None)
    }

    #[test]
    fn a_chain_past_its_depth_names_every_link() {
        let mut chain = Chain::default();
        for round in 0..MAX_DEPTH {
            let event = if round % 2 == 0 { "a:x" } else { "b:y" };
            chain = chain.extend(&names(event, None)).unwrap();
        }
        let failure = chain.extend(&names("a:x", None)).unwrap_err();
        assert_eq!(failure.code(), &FailureCode::TOO_DEEP);
        assert!(failure.message().contains("`a:x` → `b:y`"), "{failure}");
    }

    #[test]
    fn a_module_that_is_called_from_within_itself_waits_once_for_each_turn() {
        let (shop, db) = (Some("shop"), Some("db"));
        let chain = request_of("shop").extend(&names("db:one", db)).unwrap();
        assert_eq!((chain.reentrance("db"), chain.reentrance("shop")), (0, 1));
        let chain = chain.extend(&names("shop:ask", shop)).unwrap();
        assert_eq!((chain.reentrance("db"), chain.reentrance("shop")), (1, 1));
        let chain = chain.extend(&names("shop:again", shop)).unwrap();
        assert_eq!((chain.reentrance("db"), chain.reentrance("shop")), (1, 2));
    }

    #[test]
    fn nobody_waits_for_an_emitted_event() {
        let (shop, db) = (Some("shop"), Some("db"));
        let chain = request_of("shop").extend(&names("db:one", db)).unwrap();
        let chain = chain.detach(&names("shop:heard", shop)).unwrap();
        assert_eq!((chain.reentrance("db"), chain.reentrance("shop")), (0, 0));
        let chain = chain.extend(&names("shop:ask", shop)).unwrap();
        assert_eq!((chain.reentrance("db"), chain.reentrance("shop")), (0, 1));
        assert_eq!(chain.depth(), 3, "its depth goes on all the same");
    }
}
