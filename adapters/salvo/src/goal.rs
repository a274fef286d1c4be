//! The goal of a native router: it hands the request to the core.

use std::time::Duration;

use pointwork_core::Router;
use pointwork_core::routing::{Pattern, Segment, Shape, ShapeId};
use salvo_core::routing::{PathParams, decode_url_path};
use salvo_core::{Depot, FlowCtrl, Handler, Request, Response, async_trait};

use crate::reply;
use crate::request::{self, Alone};

/// Has the core answer a request, which it does alike whether a native router took the request or none did.
pub(crate) struct Goal {
    router: Router,
    matched: Option<Matched>,
    body_timeout: Option<Duration>,
}

impl Goal {
    pub(crate) fn new(router: Router, matched: Option<Matched>, body_timeout: Option<Duration>) -> Self {
        Self {
            router,
            matched,
            body_timeout,
        }
    }
}

#[async_trait]
impl Handler for Goal {
    async fn handle(&self, req: &mut Request, depot: &mut Depot, res: &mut Response, _: &mut FlowCtrl) {
        if let Some(matched) = &self.matched
            && !Alone::is(req)
        {
            matched.show(req);
        }
        let request = request::take(req, depot).await;
        let request = request.map(|body| body.within(self.body_timeout, self.router.executor()));
        let hint = self.matched.as_ref().map(|matched| matched.shape);
        reply::put(self.router.respond(hint, request).await, res).await;
    }
}

/// The shape that a native router took a request for.
pub(crate) struct Matched {
    shape: ShapeId,
    pattern: Pattern,
    path: String,
}

impl Matched {
    /// `path` is the shape's pattern in salvo's syntax.
    pub(crate) fn new(shape: &Shape, path: String) -> Self {
        Self {
            shape: shape.id(),
            pattern: shape.pattern().clone(),
            path,
        }
    }

    /// Sets what salvo's users look for after a match. salvo keeps what its filters captured from a router that is not
    /// in the service's tree, so it is captured once more, beside what the user's own routers captured.
    fn show(&self, req: &mut Request) {
        self.path.clone_into(req.matched_path_mut());
        let mut params = PathParams::new();
        // One by one: the user's may end in a rest, and nothing can be added after that.
        for (name, value) in req.params().iter() {
            params.insert(name, value.clone());
        }
        let path = req.uri().path();
        let mut rest = path.strip_prefix('/').unwrap_or(path);
        for segment in self.pattern.segments() {
            let (text, after) = rest.split_once('/').unwrap_or((rest, ""));
            match segment {
                Segment::Param(name) => params.insert(name, decode_url_path(text).into_owned()),
                // The stars make it the tail.
                Segment::Rest(name) => params.insert(&format!("**{name}"), decode_url_path(rest).into_owned()),
                _ => {}
            }
            rest = after;
        }
        *req.params_mut() = params;
    }
}
