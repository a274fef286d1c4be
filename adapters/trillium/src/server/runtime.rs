//! tokio, with a thread from every request of HTTP/2 back to its connection.

use std::future::Future;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use trillium_server_common::{DroppableFuture, Runtime, RuntimeTrait, Stream};
use trillium_tokio::TokioRuntime;

use super::link::Link;

type Slot = Arc<OnceLock<Arc<Link>>>;

tokio::task_local! {
    static CONNECTION: Slot;
}

/// trillium runs each request of HTTP/2 in a task of its own and tells it nothing of its connection. What the task of a
/// connection spawns inherits the connection here.
#[derive(Clone, Debug)]
pub(crate) struct Inheriting(TokioRuntime);

impl Inheriting {
    pub(crate) fn new() -> Self {
        Self(TokioRuntime::default())
    }
}

/// Names the connection of this task, for all that it spawns.
pub(crate) fn set_connection(link: &Arc<Link>) {
    let _ = CONNECTION.try_with(|slot| slot.set(link.clone()));
}

/// The connection that this task, or the one that spawned it, is of.
pub(crate) fn connection() -> Option<Arc<Link>> {
    CONNECTION.try_with(|slot| slot.get().cloned()).ok().flatten()
}

impl RuntimeTrait for Inheriting {
    fn spawn<Fut>(&self, fut: Fut) -> DroppableFuture<impl Future<Output = Option<Fut::Output>> + Send + 'static>
    where
        Fut: Future + Send + 'static,
        Fut::Output: Send + 'static,
    {
        // Only what is named is inherited: the task that accepts is of no connection.
        let slot = connection().map(OnceLock::from).unwrap_or_default();
        self.0.spawn(CONNECTION.scope(Arc::new(slot), fut))
    }

    async fn delay(&self, duration: Duration) {
        self.0.delay(duration).await;
    }

    fn interval(&self, period: Duration) -> impl Stream<Item = ()> + Send + 'static {
        self.0.interval(period)
    }

    fn block_on<Fut: Future>(&self, fut: Fut) -> Fut::Output {
        self.0.block_on(fut)
    }
}

impl From<Inheriting> for Runtime {
    fn from(runtime: Inheriting) -> Self {
        Arc::new(runtime).into()
    }
}
