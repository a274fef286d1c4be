//! The handlers, which pass requests on to the core.

use std::sync::Arc;

use pointwork_core::adapter::{AdapterState, Place};
use salvo_core::http::StatusCode;
use salvo_core::routing::{Filter, PathState};
use salvo_core::{Depot, FlowCtrl, Handler, Request, Response, async_trait};

use crate::{reply, request};

/// Longer than any path; twice as long does not overflow.
const LONGEST_PATH: usize = usize::MAX / 2;

/// Matches the rest of a path of the adapter, like `{**rest}`, but sets no parameter: a middleware must not see one
/// (spec H2).
#[derive(Debug)]
pub(crate) struct WholePath(pub(crate) Arc<AdapterState>, pub(crate) Place);

#[async_trait]
impl Filter for WholePath {
    async fn filter(&self, req: &mut Request, path: &mut PathState<'_>) -> bool {
        let is_ours = self.0.accept(self.1, req.uri().path(), None).is_some();
        if is_ours {
            path.forward(LONGEST_PATH);
        }
        is_ours
    }
}

/// Answers each request on the core's router of that moment.
pub(crate) struct CatchAll(pub(crate) Arc<AdapterState>);

#[async_trait]
impl Handler for CatchAll {
    async fn handle(&self, req: &mut Request, depot: &mut Depot, res: &mut Response, _: &mut FlowCtrl) {
        let request = request::take(req, depot).await;
        reply::put(self.0.respond(None, request).await, res);
    }
}

/// The adapter as a hoop of salvo's [`Service`](salvo_core::Service), in front of its routers (spec A9):
/// [`Salvo::in_front`](crate::Salvo::in_front) returns it.
#[derive(Clone, Debug)]
pub struct SalvoHoop(pub(crate) Arc<AdapterState>);

#[async_trait]
impl Handler for SalvoHoop {
    async fn handle(&self, req: &mut Request, depot: &mut Depot, res: &mut Response, ctrl: &mut FlowCtrl) {
        if is_answered(res) {
            return;
        }
        let Some(found) = request::accept(&self.0, req) else {
            return;
        };
        let request = request::take(req, depot).await;
        reply::put(self.0.respond(found, request).await, res);
        ctrl.skip_rest();
    }
}

/// Whether a hoop before has refused the request. Where no router matched, salvo runs the next hoop all the same, on a
/// response that begins with 404 or 405.
fn is_answered(res: &Response) -> bool {
    let is_preset = matches!(
        res.status_code,
        Some(StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED)
    );
    res.is_stamped() && !(is_preset && res.body.is_none())
}
