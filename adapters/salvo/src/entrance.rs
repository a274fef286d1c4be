//! The one entry that salvo sees: it takes every request to the core.

use std::sync::Arc;
use std::time::Duration;

use pointwork_core::{Published, Router};
use salvo_core::routing::{Filter, PathState};
use salvo_core::{Depot, FlowCtrl, Handler, Request, Response, async_trait};

use crate::{reply, request};

/// Longer than any path; twice as long does not overflow.
const WHOLE_PATH: usize = usize::MAX / 2;

/// The router with this entrance as its goal.
pub(crate) fn router(entrance: Entrance) -> salvo_core::Router {
    salvo_core::Router::with_filter(WholePath).goal(entrance)
}

/// Takes whatever is left of the path, like `{**rest}` but for the parameter, which no middleware shall see (spec H2).
#[derive(Debug)]
struct WholePath;

#[async_trait]
impl Filter for WholePath {
    async fn filter(&self, _: &mut Request, path: &mut PathState<'_>) -> bool {
        path.forward(WHOLE_PATH);
        true
    }
}

/// Answers each request on the core's router of that moment, which it keeps until the request ends (spec S1).
pub(crate) struct Entrance {
    pub(crate) published: Arc<Published<Router>>,
    pub(crate) body_timeout: Option<Duration>,
}

#[async_trait]
impl Handler for Entrance {
    async fn handle(&self, req: &mut Request, depot: &mut Depot, res: &mut Response, _: &mut FlowCtrl) {
        let answer = match self.published.load() {
            Some(router) => {
                let request = request::take(req, depot).await;
                let request = request.map(|body| body.within(self.body_timeout, router.executor()));
                router.respond(None, request).await
            }
            None => Published::<Router>::not_ready(req.method()),
        };
        reply::put(answer, res);
    }
}
