//! The end of an application.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use pointwork_core::adapter::CUT_TIME;
use pointwork_core::{Clock, Executor as _};

use super::App;
use crate::app::module::Module;
use crate::app::state::AppInner;

/// The time between two looks at the calls that are left.
const LOOK: Duration = Duration::from_millis(2);

impl App {
    /// Ends the application: requests, calls, events and threads, in this order.
    ///
    /// 1. New requests are refused: below the prefix of an adapter they get 503 with `Retry-After`, in front of the user's
    ///    own routes they go on to these; [`handle`](Self::handle) answers 503. Nothing can be loaded, swapped, removed or
    ///    registered any more: that fails with [`Closed`](crate::ErrorKind::Closed).
    /// 2. Requests and calls that are in flight end, and emitted events are delivered, for
    ///    [`AppOptions::drain`](field@crate::AppOptions::drain) together. Handlers and listeners can still call and emit.
    /// 3. The rest is cut: clients get 503, events are lost with a warning. From now on [`Caller`](crate::Caller)s fail with
    ///    the code `gone`, and every listener is dropped.
    /// 4. Instances are freed, and all threads of the application end. That waits on a thread of its own, never on the
    ///    caller's.
    ///
    /// A program awaits it before it returns from `main`: dropping the last clone waits for nothing, and events that were
    /// emitted and not delivered by the end of the program are lost. The drop logs their number.
    ///
    /// Servers of adapters go on; end them before or after. Routes and modules stay listed as they were. Another
    /// application can open the state directory. A thread that compiles without a [`Worker`](crate::Worker) cannot be ended
    /// and is not waited for. A handler that awaits the result waits for itself, until the drain is over.
    ///
    /// A second call waits for the end of the first, or returns at once after it.
    ///
    /// ```
    /// # async fn close() -> Result<(), pointwork::Error> {
    /// use std::time::Duration;
    /// use pointwork::{App, AppOptions, ErrorKind};
    ///
    /// let app = App::with_options(AppOptions::new().drain(Duration::from_secs(5)))?;
    /// app.close().await;
    /// let error = app.module("shop").bytes("").load().await.unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::Closed);
    /// # Ok(())
    /// # }
    /// # futures_executor::block_on(close()).unwrap();
    /// ```
    ///
    /// # Cancel safety
    /// Cancelled, the application closes all the same; another call waits for its end.
    pub async fn close(&self) {
        let mut closed = self.0.closed.subscribe();
        if self.refuse() {
            let app = self.clone();
            let ending = thread::Builder::new().name("pointwork-close".to_owned());
            let done = self.0.closed.clone();
            let end = move || {
                app.end();
                // Nothing of the application runs when the close is over.
                drop(app);
                done.send_replace(true);
            };
            match ending.spawn(end) {
                Ok(thread) => *self.0.ending.lock() = Some(thread),
                Err(error) => {
                    tracing::error!("the thread that ends the application does not start: {error}");
                    self.0.closed.send_replace(true);
                }
            }
        }
        // The sender lives as long as the application.
        let _ = closed.wait_for(|closed| *closed).await;
        let thread = self.0.ending.lock().take();
        // It has nothing left to do, and no thread is alive behind this.
        let _ = thread.map(thread::JoinHandle::join);
    }

    /// Refuses new requests and changes. The result is whether it is the first to do so.
    fn refuse(&self) -> bool {
        let mut state = self.state();
        if std::mem::replace(&mut state.is_closed, true) {
            return false;
        }
        state.binder.transports().for_each(|transport| transport.close());
        self.0.routers.in_process.close();
        self.bus().stop_durable();
        true
    }

    /// Drains, cuts and ends the rest. Blocks.
    fn end(&self) {
        let drain = self.0.drain;
        let bus = self.bus();
        let calls = || {
            self.versions()
                .iter()
                .map(|version| version.admission().in_flight())
                .sum::<usize>()
        };
        let is_idle = || bus.requests() == 0 && bus.waiting() == 0 && calls() == 0;
        if !wait(self.0.threads.clock(), drain, is_idle) {
            let (requests, calls, events) = (bus.requests(), calls(), bus.waiting());
            tracing::warn!(
                requests,
                calls,
                events,
                "requests, calls or emitted events did not end within {drain:?} after the application was closed, and \
                 are cut"
            );
        }
        bus.close();
        for version in self.versions() {
            version.cut();
            version.retire();
        }
        wait(&Clock::real(), CUT_TIME, || calls() == 0);
        self.0.threads.join(CUT_TIME);
        // No older record can follow.
        self.record_calls();
        self.0.engines.ticker.stop();
        self.0.directory.lock().take();
    }

    /// Every version that may have calls in flight.
    fn versions(&self) -> Vec<Arc<Module>> {
        let state = self.state();
        let draining = state.past.values().flat_map(|past| &past.draining);
        let draining = draining.map(|version| version.module().clone());
        state.binder.modules().cloned().chain(draining).collect()
    }
}

impl Drop for AppInner {
    /// Tells what is lost if the program ends now. It must not wait, so it cannot deliver anything.
    fn drop(&mut self) {
        let (events, requests) = (self.routers.bus.waiting(), self.routers.bus.requests());
        if !*self.closed.borrow() && events + requests > 0 {
            tracing::warn!(
                events,
                requests,
                "the application is dropped without `App::close`: if the program ends now, the emitted events that are not \
                 delivered and the requests in flight are lost"
            );
        }
    }
}

/// Waits until `is_done`, for at most `time` of the clock, and returns whether it is done. Blocks.
#[expect(
    clippy::disallowed_methods,
    reason = "no event reports that the work is done, and the limit follows the clock"
)]
fn wait(clock: &Clock, time: Duration, is_done: impl Fn() -> bool) -> bool {
    let began = clock.now();
    loop {
        if is_done() {
            return true;
        }
        if clock.now() - began >= time {
            return false;
        }
        thread::sleep(LOOK);
    }
}
