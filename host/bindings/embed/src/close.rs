//! The end of an application.

use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use crate::Host;
use crate::error::{Error, ErrorKind};
use crate::server::Server;
use crate::waiting::{Waiting, wait};

/// The time that requests which were cut have to end.
const CUT_TIME: Duration = Duration::from_secs(1);

/// The end of an application, for threads that cannot poll: tokio needs locals of the thread.
#[derive(Default)]
pub(crate) struct Ending {
    is_over: Mutex<bool>,
    over: Condvar,
    thread: Mutex<Option<thread::JoinHandle<()>>>,
}

impl Host {
    /// Ends the application: its servers accept no more, requests and events in flight end within the option
    /// [`drain`](field@crate::AppOptions::drain), which is the setting `shutdown-grace` of `limits`, the rest is cancelled,
    /// every function that waits for an end gets it, and all threads end, none of them waited for by the caller. A
    /// second call completes with the first. In a child of a fork nothing is ended, and it completes at once.
    pub fn close(&self) -> impl Future<Output = ()> + Send + use<> {
        let (host, mut closed) = (self.clone(), self.0.closed.subscribe());
        if host.app().is_err() {
            // A child of a fork has no threads to end, and the lock of one may be held for ever.
            host.ended();
        } else if !host.0.is_closing.swap(true, Ordering::Relaxed) {
            let ending = host.clone();
            let spawned = thread::Builder::new()
                .name("pointwork-end".to_owned())
                .spawn(move || ending.end());
            match spawned {
                Ok(thread) => *host.0.ending.thread.lock() = Some(thread),
                Err(error) => {
                    tracing::error!("the thread that ends the application does not start: {error}");
                    host.ended();
                }
            }
        }
        async move {
            let _ = closed.wait_for(|closed| *closed).await;
            drop(host);
        }
    }

    /// Closes the application and waits for its end on the calling thread: its threads have ended then. `None` if
    /// `waiting` gave up; the application ends all the same. It must not be called in a function of the host's
    /// language, for whose end it would wait up to the time that [`close`](Self::close) allows. It may be called by a
    /// thread that has no locals any more, as in a function of `atexit`.
    ///
    /// # Errors
    /// [`Refused`](ErrorKind::Refused) in the writer of the log: the end writes lines itself.
    pub fn close_blocking(&self, mut waiting: Waiting<'_>) -> Result<Option<()>, Error> {
        crate::log::refuse_in_writer()?;
        drop(self.close());
        let Ending {
            is_over, over, thread, ..
        } = &self.0.ending;
        loop {
            let mut is_over = is_over.lock();
            match waiting.pause() {
                _ if *is_over => break,
                Some(time) => drop(over.wait_for(&mut is_over, time)),
                None => over.wait(&mut is_over),
            }
            let goes_on = *is_over;
            drop(is_over);
            if !goes_on && !waiting.goes_on() {
                return Ok(None);
            }
        }
        let thread = thread.lock().take();
        // It does not panic. A second caller has nothing to wait for.
        let _ = thread.map(thread::JoinHandle::join);
        Ok(Some(()))
    }

    fn ended(&self) {
        *self.0.ending.is_over.lock() = true;
        self.0.ending.over.notify_all();
        self.0.closed.send_replace(true);
    }

    /// Closes the application; `done` is called at its end, on a thread of its own.
    ///
    /// # Errors
    /// [`Engine`](ErrorKind::Engine) if that thread does not start; the application closes all the same.
    pub fn close_then(&self, done: impl FnOnce() + Send + 'static) -> Result<(), Error> {
        let (closing, threads) = (self.close(), self.0.threads.clone());
        let end = move || {
            wait(&threads, closing, Waiting::forever());
            done();
        };
        let spawned = thread::Builder::new().name("pointwork-done".to_owned()).spawn(end);
        spawned.map_err(|error| Error::new(ErrorKind::Engine, "a thread does not start").with_source(error))?;
        Ok(())
    }

    /// Ends everything. Blocks.
    fn end(&self) {
        let inner = &self.0;
        let servers = std::mem::take(&mut *inner.servers.lock());
        servers.iter().for_each(Server::stop);
        wait(&inner.threads, inner.app.close(), Waiting::forever());
        inner.cut.send_replace(true);
        for server in servers {
            wait(&inner.threads, server.stopped(), Waiting::forever());
        }
        // Their handlers were cut, and most have their reply by now.
        let until = Instant::now() + CUT_TIME;
        while inner.requests.count() > 0 && Instant::now() < until {
            thread::sleep(Duration::from_millis(1));
        }
        inner.requests.cancel_all();
        while inner.requests.count() > 0 && Instant::now() < until + CUT_TIME {
            thread::sleep(Duration::from_millis(1));
        }
        let runtime = inner.runtime.lock().take();
        if let Some(runtime) = runtime {
            runtime.shutdown_timeout(CUT_TIME);
        }
        self.ended();
    }
}
