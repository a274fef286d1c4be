//! The epoch ticker, which interrupts guests at the end of their slice.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, Thread};

use wasmtime::{Engine, EngineWeak};

use crate::scheduling::meter::SLICE;
use crate::{Error, ErrorKind};

/// Increments the epoch of engines once per [`SLICE`].
///
/// It has a thread of its own. A timer on an executor would stop when guests occupy all of its threads, which is when it is
/// needed.
pub(crate) struct EpochTicker {
    state: Arc<TickerState>,
    thread: Thread,
}

#[derive(Default)]
struct TickerState {
    engines: Mutex<Vec<EngineWeak>>,
    stop: AtomicBool,
}

impl TickerState {
    fn engines(&self) -> MutexGuard<'_, Vec<EngineWeak>> {
        self.engines.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self) {
        while !self.stop.load(Ordering::Relaxed) {
            thread::park_timeout(SLICE);
            for engine in self.engines().iter().filter_map(EngineWeak::upgrade) {
                engine.increment_epoch();
            }
        }
    }
}

impl EpochTicker {
    pub(crate) fn start() -> Result<Self, Error> {
        let state = Arc::<TickerState>::default();
        let ticking = state.clone();
        let thread = thread::Builder::new()
            .name("pointwork-epoch".to_owned())
            .spawn(move || ticking.run())
            .map_err(|error| Error::new(ErrorKind::Engine, "the epoch thread does not start").with_source(error))?
            .thread()
            .clone();
        Ok(Self { state, thread })
    }

    /// Adds an engine, for as long as it lives.
    pub(crate) fn add(&self, engine: &Engine) {
        self.state.engines().push(engine.weak());
    }
}

impl Drop for EpochTicker {
    fn drop(&mut self) {
        self.state.stop.store(true, Ordering::Relaxed);
        self.thread.unpark();
    }
}
