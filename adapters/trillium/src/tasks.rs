//! The tasks of trillium's server.

use std::future::{Future, poll_fn};
use std::sync::Arc;
use std::task::{Poll, ready};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use trillium_server_common::{DroppableFuture, Runtime, RuntimeTrait, Stream};
use trillium_tokio::TokioRuntime;

/// tokio, with all tasks of one server in one set, so that they can be awaited and ended: trillium detaches them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tasks {
    tokio: TokioRuntime,
    set: Arc<Mutex<JoinSet<()>>>,
}

impl Tasks {
    /// The number of tasks that have not been joined.
    pub(crate) fn count(&self) -> usize {
        self.set.lock().len()
    }

    /// Ends all tasks.
    pub(crate) fn abort(&self) {
        self.set.lock().abort_all();
    }

    /// Completes when no task is left.
    pub(crate) async fn ended(&self) {
        poll_fn(|cx| {
            let mut set = self.set.lock();
            while ready!(set.poll_join_next(cx)).is_some() {}
            Poll::Ready(())
        })
        .await;
    }
}

impl RuntimeTrait for Tasks {
    fn spawn<Fut>(&self, fut: Fut) -> DroppableFuture<impl Future<Output = Option<Fut::Output>> + Send + 'static>
    where
        Fut: Future + Send + 'static,
        Fut::Output: Send + 'static,
    {
        let (done, output) = oneshot::channel();
        let mut set = self.set.lock();
        // A task that has ended stays in the set until it is joined.
        while set.try_join_next().is_some() {}
        set.spawn(async move {
            let _ = done.send(fut.await);
        });
        DroppableFuture::new(async move { output.await.ok() })
    }

    async fn delay(&self, duration: Duration) {
        self.tokio.delay(duration).await;
    }

    fn interval(&self, period: Duration) -> impl Stream<Item = ()> + Send + 'static {
        self.tokio.interval(period)
    }

    fn block_on<Fut: Future>(&self, fut: Fut) -> Fut::Output {
        self.tokio.block_on(fut)
    }
}

impl From<Tasks> for Runtime {
    fn from(tasks: Tasks) -> Self {
        Arc::new(tasks).into()
    }
}
