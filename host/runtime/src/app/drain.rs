//! Versions that are no longer current: their calls drain, then they are freed.

use std::sync::Arc;
use std::time::{Duration, Instant};

use pointwork_core::Executor as _;

use super::App;
use crate::app::changes::now;
use crate::app::module::Module;
use crate::app::state::AppState;
use crate::app::status::Draining;
use crate::scheduling::call_history::TICK;

#[derive(Default)]
pub(super) struct PastVersions {
    /// The version that a roll-back leads to. It has no instances.
    pub(super) previous: Option<Arc<Module>>,
    pub(super) draining: Vec<DrainingVersion>,
    /// When the current version became current, in milliseconds since 1970-01-01 UTC.
    pub(super) since: u64,
}

impl PastVersions {
    /// A version was published in the place of `current`. A roll-back leads to `previous`.
    pub(super) fn replaced(&mut self, time: u64, previous: Option<&Arc<Module>>, current: Option<&Arc<Module>>) {
        self.since = time;
        self.previous = previous.map(|previous| Arc::new(previous.fresh()));
        self.draining.extend(current.cloned().map(DrainingVersion::new));
    }
}

/// A version that was replaced or removed, with calls in flight.
pub(super) struct DrainingVersion {
    module: Arc<Module>,
    /// When its calls are ended; `None` once they were.
    until: Option<Instant>,
    /// The same time in milliseconds since 1970-01-01 UTC.
    until_unix: u64,
}

impl DrainingVersion {
    fn new(module: Arc<Module>) -> Self {
        let time = module.options.drain;
        Self {
            until: Some(module.now() + time),
            until_unix: now() + millis(time),
            module,
        }
    }

    /// Returns whether no call is left. Ends the calls when their time is over.
    fn is_drained(&mut self, now: Instant) -> bool {
        let in_flight = self.module.admission().in_flight();
        if in_flight == 0 {
            return true;
        }
        if self.until.is_some_and(|until| until <= now) {
            self.until = None;
            let info = &self.module.info;
            tracing::warn!(
                module = info.name,
                digest = info.digest,
                in_flight,
                "the replaced version did not drain in time; its calls are ended"
            );
            self.module.cut();
        }
        false
    }

    pub(super) fn module(&self) -> &Arc<Module> {
        &self.module
    }

    pub(super) fn status(&self) -> Draining {
        Draining {
            digest: self.module.info.digest.clone(),
            in_flight: self.module.admission().in_flight(),
            until: self.until_unix,
        }
    }
}

impl App {
    /// Runs [`maintain`](Self::maintain) every [`TICK`], as long as the application exists.
    #[expect(clippy::disallowed_methods, reason = "the real clock has no timers of its own")]
    pub(super) fn start_maintenance(&self) {
        let (inner, clock) = (Arc::downgrade(&self.0), self.0.threads.clock().clone());
        self.0.threads.spawn_work(async move {
            loop {
                match clock.sleep_until(clock.now() + TICK) {
                    None => tokio::time::sleep(TICK).await,
                    Some(sleep) => sleep.await,
                }
                match inner.upgrade() {
                    Some(inner) => App(inner).maintain(),
                    None => break,
                }
            }
        });
    }

    /// Frees idle instances and drained versions, and judges the versions on trial.
    fn maintain(&self) {
        let now = self.0.threads.now();
        let mut state = self.state();
        let current: Vec<_> = state.binder.modules().cloned().collect();
        let mut modules = current.clone();
        let AppState { binder, past, .. } = &mut *state;
        past.retain(|name, past| {
            past.draining.retain_mut(|version| !version.is_drained(now));
            modules.extend(past.draining.iter().map(|version| version.module().clone()));
            !past.draining.is_empty() || binder.module(name).is_some()
        });
        drop(state);
        for module in modules {
            module.tick();
        }
        self.judge_trials(&current);
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
