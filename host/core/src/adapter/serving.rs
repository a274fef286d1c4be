//! A running server, whichever adapter it is of.

use std::future::{Future, pending};
use std::pin::Pin;
use std::task::{Context, Poll};

use crate::BoxFuture;

/// A running server: await it, or spawn it on a tokio runtime. The `serve` of an adapter returns it.
///
/// Without a signal it completes only if the server cannot be started at all, which is reported as `server:crashed`:
/// neither a broken connection nor a system out of file descriptors ends it (spec E1).
///
/// # Cancel safety
/// Dropping it closes the listener and cuts every connection.
#[derive(derive_more::Debug)]
#[debug("Serving")]
#[must_use = "nothing is served until it is awaited or spawned"]
pub struct Serving {
    signal: BoxFuture<'static, ()>,
    start: Option<Start>,
    running: Option<BoxFuture<'static, ()>>,
}

type Start = Box<dyn FnOnce(BoxFuture<'static, ()>) -> BoxFuture<'static, ()> + Send>;

impl Serving {
    /// A server that `run` runs, for adapters. Its argument is the signal to shut down. It is called at the first poll.
    ///
    /// ```no_run
    /// # async fn accept() {}
    /// use futures_util::future::select;
    /// use pointwork_core::Serving;
    ///
    /// let serving = Serving::new(|signal| async {
    ///     let accepting = std::pin::pin!(accept());
    ///     select(signal, accepting).await;
    /// });
    /// # drop(serving);
    /// ```
    pub fn new<Fut>(run: impl FnOnce(BoxFuture<'static, ()>) -> Fut + Send + 'static) -> Self
    where
        Fut: Future<Output = ()> + Send + 'static,
    {
        Self {
            signal: Box::pin(pending()),
            start: Some(Box::new(|signal| Box::pin(run(signal)))),
            running: None,
        }
    }

    /// Serves until the signal completes.
    ///
    /// Then no connection is accepted any more, idle ones close, and each request in flight gets its reply, the last of
    /// its connection. A request that is not done after [`shutdown_grace`](crate::ServerOptions::shutdown_grace) is cut,
    /// its handler is cancelled, and `Serving` completes. Once serving began, a signal set here is ignored.
    pub fn with_graceful_shutdown(mut self, signal: impl Future<Output = ()> + Send + 'static) -> Self {
        self.signal = Box::pin(signal);
        self
    }
}

impl Future for Serving {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = &mut *self;
        if let Some(start) = this.start.take() {
            let signal = std::mem::replace(&mut this.signal, Box::pin(pending()));
            this.running = Some(start(signal));
        }
        match &mut this.running {
            Some(running) => running.as_mut().poll(cx),
            None => Poll::Ready(()),
        }
    }
}
