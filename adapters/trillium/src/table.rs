//! One table of routes as trillium takes it: a router of its own for every shape.

use std::sync::Arc;

use http::Uri;
use pointwork_core::Router;
use pointwork_core::routing::{Segment, Shape, ShapeId};
use routefinder::{RouteSpec, Segment as Native, Text};
use trillium::{Conn, Handler, Method};

/// The core's router, and beside it what trillium matches by itself.
///
/// trillium's router asks its routes one after the other, so each shape has a router with one route: the core says which
/// to ask, and that one takes the request or declines.
pub(crate) struct Table {
    pub(crate) router: Arc<Router>,
    /// By [`ShapeId::index`]. `None` for a shape whose methods trillium does not have.
    entries: Vec<Option<trillium_router::Router>>,
}

impl Table {
    pub(crate) fn new(router: Arc<Router>) -> Self {
        let entries = router.shapes().iter().map(entry).collect();
        Self { router, entries }
    }

    /// Lets trillium match the request. A match leaves the parameters in the connection's state, where
    /// `trillium_router::RouterConnExt` finds them.
    pub(crate) async fn propose(&self, conn: Conn, method: &http::Method, uri: &Uri) -> (Conn, Option<ShapeId>) {
        let located = self.router.locate(method, uri);
        let entry = located.and_then(|shape| self.entries.get(shape.index())?.as_ref());
        let Some(entry) = entry else {
            return (conn, None);
        };
        let mut conn = entry.run(conn).await;
        let taken = conn.take_state::<Taken>();
        (conn, taken.map(|taken| taken.0))
    }
}

/// A method in trillium's list, by its very name: trillium would take `get` for `GET`.
pub(crate) fn native_method(method: &http::Method) -> Option<Method> {
    Method::try_from(method.as_str())
        .ok()
        .filter(|native| native.as_str() == method.as_str())
}

fn entry(shape: &Shape) -> Option<trillium_router::Router> {
    // OPTIONS is the core's, which answers it alike on every adapter.
    let router = trillium_router::Router::new().without_options_handling();
    let (spec, taken) = (spec(shape)?, Taken(shape.id()));
    if shape.takes_every_method() {
        return Some(router.all(spec, taken));
    }
    let mut methods: Vec<Method> = shape.methods().filter_map(native_method).collect();
    if methods.contains(&Method::Get) && !methods.contains(&Method::Head) {
        methods.push(Method::Head);
    }
    (!methods.is_empty()).then(|| router.any(&methods, spec, taken))
}

/// The pattern as trillium writes it, which it can tell as `conn.route()`; or else piece by piece, as a `*` or `:` in a
/// literal would mean something there. `None` for what trillium has no word for.
fn spec(shape: &Shape) -> Option<RouteSpec> {
    let (mut text, mut pieces, mut plain) = (String::new(), Vec::new(), true);
    for segment in shape.pattern().segments() {
        if !pieces.is_empty() {
            pieces.push(Native::Slash);
        }
        text.push('/');
        match segment {
            Segment::Literal(literal) => {
                plain &= literal.is_ascii() && !literal.contains([':', '*', '/']);
                text.push_str(literal);
                pieces.push(Native::Exact(Text::from(&**literal)));
            }
            Segment::Param(name) => {
                text.push(':');
                text.push_str(name);
                pieces.push(Native::Param(Text::from(name.as_ref())));
            }
            Segment::Rest(_) => {
                text.push('*');
                pieces.push(Native::Wildcard);
            }
            _ => return None,
        }
    }
    let written = plain.then(|| text.parse().ok()).flatten();
    Some(written.unwrap_or_else(|| RouteSpec::from(pieces)))
}

/// Both the handler behind a native route and the mark that it leaves: the answering is done by whoever asked.
#[derive(Clone, Copy)]
struct Taken(ShapeId);

impl Handler for Taken {
    async fn run(&self, conn: Conn) -> Conn {
        conn.with_state(*self)
    }
}
