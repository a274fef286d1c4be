//! The epoch ticker, which interrupts guests at the end of their slice.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use parking_lot::Mutex;
use wasmtime::{Engine, EngineWeak};

use crate::scheduling::meter::SLICE;
use crate::scheduling::signals::leave_signals;
use crate::{Error, ErrorKind, OrError};

/// Increments the epoch of engines once per [`SLICE`], until it is stopped or dropped.
///
/// It has a thread of its own. A timer on an executor would stop when guests occupy all of its threads, which is when
/// it is needed.
pub(crate) struct EpochTicker {
    engines: Arc<Mutex<Vec<EngineWeak>>>,
    stopped: Arc<AtomicBool>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl EpochTicker {
    #[expect(clippy::disallowed_methods, reason = "epochs cut processor time into slices")]
    pub(crate) fn start() -> Result<Self, Error> {
        let engines = Arc::<Mutex<Vec<EngineWeak>>>::default();
        let (ticked, stopped) = (Arc::downgrade(&engines), Arc::<AtomicBool>::default());
        let is_stopped = stopped.clone();
        let tick = move || {
            leave_signals();
            while let Some(engines) = ticked.upgrade().filter(|_| !is_stopped.load(Ordering::Relaxed)) {
                for engine in engines.lock().iter().filter_map(EngineWeak::upgrade) {
                    engine.increment_epoch();
                }
                drop(engines);
                thread::sleep(SLICE);
            }
        };
        let thread = thread::Builder::new().name("pointwork-epoch".to_owned()).spawn(tick);
        let thread = thread.or_error(ErrorKind::Engine, "the epoch thread does not start")?;
        Ok(Self {
            engines,
            stopped,
            thread: Mutex::new(Some(thread)),
        })
    }

    /// Ends the thread and waits for it. Blocks.
    pub(crate) fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.lock().take() {
            // It cannot panic.
            let _ = thread.join();
        }
    }

    /// Adds an engine, for as long as it lives.
    pub(crate) fn add(&self, engine: &Engine) {
        self.engines.lock().push(engine.weak());
    }
}
