//! A server at work, whichever adapter runs it.

use std::fmt;
use std::future::{Future, pending};
use std::pin::Pin;
use std::task::{Context, Poll};

use crate::BoxFuture;

/// A server at work: await it, or spawn it on a tokio runtime. Made by the `serve` of an adapter.
///
/// Without a signal it completes only if the server cannot be started at all, which is reported as `server:crashed`:
/// neither a broken connection nor a system out of file descriptors ends it (spec E1).
///
/// # Cancel safety
/// Dropping it closes the listener and cuts every connection.
#[must_use = "nothing is served until it is awaited or spawned"]
pub struct Serving(State);

enum State {
    Fresh(Option<Start>),
    Running(BoxFuture<'static, ()>),
}

struct Start {
    signal: BoxFuture<'static, ()>,
    run: Box<dyn FnOnce(BoxFuture<'static, ()>) -> BoxFuture<'static, ()> + Send>,
}

impl Serving {
    /// A server that `run` runs, for adapters. It is given the signal to shut down, and nothing of it runs before the
    /// first poll.
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
        Self(State::Fresh(Some(Start {
            signal: Box::pin(pending()),
            run: Box::new(|signal| Box::pin(run(signal))),
        })))
    }

    /// Serves until the signal completes.
    ///
    /// Then no connection is accepted any more, idle ones close, and each request in flight gets its reply, the last of
    /// its connection. What is not done after [`shutdown_grace`](crate::ServerOptions::shutdown_grace) is cut, its
    /// handlers are cancelled, and `Serving` completes. Once serving began, a signal set here comes too late and is
    /// ignored.
    pub fn with_graceful_shutdown(mut self, signal: impl Future<Output = ()> + Send + 'static) -> Self {
        if let State::Fresh(Some(start)) = &mut self.0 {
            start.signal = Box::pin(signal);
        }
        self
    }
}

impl Future for Serving {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            match &mut self.0 {
                State::Running(running) => return running.as_mut().poll(cx),
                State::Fresh(start) => {
                    let Some(start) = start.take() else {
                        return Poll::Ready(());
                    };
                    self.0 = State::Running((start.run)(start.signal));
                }
            }
        }
    }
}

impl fmt::Debug for Serving {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Serving")
    }
}
