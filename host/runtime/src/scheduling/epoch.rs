//! The epoch ticker, which interrupts guests at the end of their slice.

use std::sync::Arc;
use std::thread;

use parking_lot::Mutex;
use wasmtime::{Engine, EngineWeak};

use crate::scheduling::meter::SLICE;
use crate::{Error, ErrorKind, OrError};

/// Increments the epoch of engines once per [`SLICE`], until it is dropped.
///
/// It has a thread of its own. A timer on an executor would stop when guests occupy all of its threads, which is when
/// it is needed.
pub(crate) struct EpochTicker(Arc<Mutex<Vec<EngineWeak>>>);

impl EpochTicker {
    pub(crate) fn start() -> Result<Self, Error> {
        let engines = Arc::<Mutex<Vec<EngineWeak>>>::default();
        let ticked = Arc::downgrade(&engines);
        let tick = move || {
            while let Some(engines) = ticked.upgrade() {
                for engine in engines.lock().iter().filter_map(EngineWeak::upgrade) {
                    engine.increment_epoch();
                }
                drop(engines);
                thread::sleep(SLICE);
            }
        };
        thread::Builder::new()
            .name("pointwork-epoch".to_owned())
            .spawn(tick)
            .or_error(ErrorKind::Engine, "the epoch thread does not start")?;
        Ok(Self(engines))
    }

    /// Adds an engine, for as long as it lives.
    pub(crate) fn add(&self, engine: &Engine) {
        self.0.lock().push(engine.weak());
    }
}
