use std::net::SocketAddr;

use pointwork::ModuleStatus;
use pointwork_core::{BoxFuture, RouteRecord};
use tokio::task::JoinHandle;

use crate::subject::{Control, Refusal, Step};

/// A serving application behind a fault.
pub(super) struct Altered {
    pub(super) control: Box<dyn Control>,
    /// Rewrites each later step.
    pub(super) steps: fn(Vec<Step>) -> Vec<Step>,
    /// The proxy in front of the server: its address and its task.
    pub(super) front: Option<(SocketAddr, JoinHandle<()>)>,
}

impl Control for Altered {
    fn address(&self) -> SocketAddr {
        let front = self.front.as_ref().map(|(address, _)| *address);
        front.unwrap_or_else(|| self.control.address())
    }

    fn apply(&self, step: Step) -> BoxFuture<'_, Result<(), Refusal>> {
        Box::pin(async move {
            for step in (self.steps)(vec![step]) {
                self.control.apply(step).await?;
            }
            Ok(())
        })
    }

    fn routes(&self) -> Vec<RouteRecord> {
        self.control.routes()
    }

    fn route_count(&self) -> usize {
        self.control.route_count()
    }

    fn events_refused(&self) -> u64 {
        self.control.events_refused()
    }

    fn statuses(&self) -> Vec<ModuleStatus> {
        self.control.statuses()
    }

    fn requests_in_flight(&self) -> usize {
        self.control.requests_in_flight()
    }

    fn shutdown(self: Box<Self>) -> BoxFuture<'static, ()> {
        if let Some((_, proxy)) = self.front {
            proxy.abort();
        }
        self.control.shutdown()
    }
}
