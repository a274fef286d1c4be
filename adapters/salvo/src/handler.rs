//! The catch-all handler, which passes every request on to the core.

use std::sync::Arc;

use pointwork_core::Router;
use pointwork_core::adapter::AdapterState;
use salvo_core::routing::{Filter, PathState};
use salvo_core::{Depot, FlowCtrl, Handler, Request, Response, async_trait};

use crate::{reply, request};

/// Longer than any path; twice as long does not overflow.
const LONGEST_PATH: usize = usize::MAX / 2;

/// Takes the rest of the path, like `{**rest}` but without a parameter, which no middleware shall see (spec H2).
#[derive(Debug)]
pub(crate) struct WholePath;

#[async_trait]
impl Filter for WholePath {
    async fn filter(&self, _: &mut Request, path: &mut PathState<'_>) -> bool {
        path.forward(LONGEST_PATH);
        true
    }
}

/// Answers each request on the core's router of that moment.
pub(crate) struct CatchAll(pub(crate) Arc<AdapterState<Router>>);

#[async_trait]
impl Handler for CatchAll {
    async fn handle(&self, req: &mut Request, depot: &mut Depot, res: &mut Response, _: &mut FlowCtrl) {
        let request = request::take(req, depot).await;
        reply::put(self.0.respond(request).await, res);
    }
}
