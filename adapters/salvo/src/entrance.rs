//! The one router that salvo sees: it takes every request to the table of that moment.

use std::sync::Arc;

use pointwork_core::Published;
use salvo_core::routing::{Filter, PathState};
use salvo_core::{Depot, FlowCtrl, Handler, Request, Response, Router, async_trait};

use crate::reply;
use crate::table::Table;

/// Longer than any path; twice as long does not overflow.
const WHOLE_PATH: usize = usize::MAX / 2;

/// The router with this entrance as its goal.
pub(crate) fn router(entrance: Entrance) -> Router {
    Router::with_filter(WholePath).goal(entrance)
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

/// Answers each request on the table of that moment, which it keeps until the request ends (spec S1).
pub(crate) struct Entrance(Arc<Published<Table>>);

impl Entrance {
    pub(crate) fn new(published: Arc<Published<Table>>) -> Self {
        Self(published)
    }
}

#[async_trait]
impl Handler for Entrance {
    async fn handle(&self, req: &mut Request, depot: &mut Depot, res: &mut Response, ctrl: &mut FlowCtrl) {
        match self.0.load() {
            Some(table) => table.find(req).await.handle(req, depot, res, ctrl).await,
            None => reply::put(Published::<Table>::not_ready(req.method()), res).await,
        }
    }
}
