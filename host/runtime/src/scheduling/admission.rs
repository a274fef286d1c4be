//! The counters of one version of a module.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use pointwork_core::{Caller, Crash, CrashKind, Shard, Sharded};

use crate::scheduling::breaker::CircuitBreaker;
use crate::scheduling::status::{ModuleState, Usage};
use crate::scheduling::trial::{CanaryTrial, OnFailure};
use crate::{Breaker, Trial};

/// Counts the calls of one version of a module, and feeds its circuit breaker and its canary trial.
///
/// A call costs a few relaxed additions; everything else happens only after a crash.
pub(crate) struct Admission {
    module: Arc<str>,
    bus: Caller,
    /// The number of calls. Each call in flight has a reference to a shard.
    calls: Sharded<AtomicU64>,
    crashes: AtomicU64,
    exceptions: AtomicU64,
    refused: AtomicU64,
    waiting: AtomicUsize,
    instances: AtomicUsize,
    breaker: CircuitBreaker,
    trial: CanaryTrial,
}

/// Holds a gauge one higher until it is dropped.
pub(crate) struct Counted {
    admission: Arc<Admission>,
    gauge: fn(&Admission) -> &AtomicUsize,
}

impl Counted {
    fn new(admission: &Arc<Admission>, gauge: fn(&Admission) -> &AtomicUsize) -> Self {
        gauge(admission).fetch_add(1, Ordering::Relaxed);
        Self {
            admission: admission.clone(),
            gauge,
        }
    }

    /// Counts a refusal of the same version.
    pub(crate) fn refused(&self) {
        self.admission.refused();
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        (self.gauge)(&self.admission).fetch_sub(1, Ordering::Relaxed);
    }
}

/// A call in flight.
#[derive(Debug)]
pub(crate) struct InFlight(#[expect(dead_code, reason = "a reference that is counted")] Shard<AtomicU64>);

impl Admission {
    /// Counters at zero, a closed breaker, and a trial that has not begun.
    pub(crate) fn new(module: &Arc<str>, breaker: &Breaker, trial: &Trial, bus: Caller) -> Self {
        Self {
            module: module.clone(),
            calls: Sharded::default(),
            crashes: AtomicU64::new(0),
            exceptions: AtomicU64::new(0),
            refused: AtomicU64::new(0),
            waiting: AtomicUsize::new(0),
            instances: AtomicUsize::new(0),
            breaker: CircuitBreaker::new(breaker.clone(), bus.clock()),
            trial: CanaryTrial::new(trial.clone()),
            bus,
        }
    }

    /// New admission with the same options.
    pub(crate) fn fresh(&self) -> Self {
        let (breaker, trial) = (&self.breaker.options, &self.trial.options);
        Self::new(&self.module, breaker, trial, self.bus.clone())
    }

    /// Admits a call, unless the circuit breaker is open. The call is in flight until the result is dropped.
    ///
    /// # Errors
    /// The time for which the breaker stays open.
    pub(crate) fn admit(&self) -> Result<InFlight, Duration> {
        self.breaker.admit().inspect_err(|_| self.refused())?;
        let calls = self.calls.local();
        calls.fetch_add(1, Ordering::Relaxed);
        Ok(InFlight(calls.clone()))
    }

    fn calls(&self) -> u64 {
        self.calls.all().map(|calls| calls.load(Ordering::Relaxed)).sum()
    }

    /// Counts a call that waits for an instance; `None` if `limit` calls already wait.
    pub(crate) fn wait(self: &Arc<Self>, limit: usize) -> Option<Counted> {
        let counted = Counted::new(self, |admission| &admission.waiting);
        (self.waiting.load(Ordering::Relaxed) <= limit).then_some(counted)
    }

    pub(crate) fn instance(self: &Arc<Self>) -> Counted {
        Counted::new(self, |admission| &admission.instances)
    }

    pub(crate) fn refused(&self) {
        self.refused.fetch_add(1, Ordering::Relaxed);
    }

    /// A call ended without a crash.
    pub(crate) fn succeeded(&self) {
        if self.breaker.succeeded() {
            tracing::info!(module = &*self.module, "the module's circuit breaker is closed again");
        }
    }

    /// An exception of the guest ended a call, and the instance goes on.
    pub(crate) fn raised(&self) {
        self.exceptions.fetch_add(1, Ordering::Relaxed);
    }

    /// A call crashed. If this opens the breaker, it is reported as `server:crashed`.
    pub(crate) fn crashed(&self) {
        let crashes = self.crashes.fetch_add(1, Ordering::Relaxed) + 1;
        self.trial.crashed(crashes, self.calls());
        if let Some((in_a_row, pause)) = self.breaker.crashed() {
            let message =
                format!("{in_a_row} calls in a row crashed; the module's circuit breaker is open for {pause:?}");
            let crash = Crash::new(CrashKind::Limit, message).in_module(&*self.module);
            self.bus.report(crash.at_limit("breaker"));
        }
    }

    /// Reports a crash that no call reports.
    pub(crate) fn report(&self, crash: Crash) {
        self.bus.report(crash);
    }

    pub(crate) fn begin_trial(&self, on_failure: OnFailure) {
        self.trial.begin(on_failure);
    }

    pub(crate) fn state(&self) -> ModuleState {
        if self.breaker.is_open() {
            ModuleState::HeldBack
        } else if self.trial.is_on(self.calls()) {
            ModuleState::OnTrial
        } else {
            ModuleState::Serving
        }
    }

    pub(crate) fn in_flight(&self) -> usize {
        self.calls.references()
    }

    /// All counters. `idle`, `held` and `host_memory` are 0: only the instance pools and the account know them.
    pub(crate) fn usage(&self) -> Usage {
        Usage {
            calls: self.calls(),
            crashes: self.crashes.load(Ordering::Relaxed),
            exceptions: self.exceptions.load(Ordering::Relaxed),
            refused: self.refused.load(Ordering::Relaxed),
            in_flight: self.in_flight(),
            waiting: self.waiting.load(Ordering::Relaxed),
            instances: self.instances.load(Ordering::Relaxed),
            idle: 0,
            held: 0,
            host_memory: 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use pointwork_core::{Bus, BusOptions, Clock};

    use super::*;
    use crate::scheduling::threads::Threads;

    #[test]
    fn a_gauge_falls_when_its_guard_is_dropped() {
        let bus = Bus::new(Arc::new(Threads::start(Clock::real()).unwrap()), BusOptions::new());
        let (breaker, trial) = (Breaker::new(), Trial::new());
        let admission = Arc::new(Admission::new(&"shop".into(), &breaker, &trial, bus.caller()));
        let (call, instance) = (admission.admit(), admission.instance());
        let waiting = admission.wait(1);
        assert!(waiting.is_some() && admission.wait(1).is_none());
        let usage = admission.usage();
        assert_eq!((usage.in_flight, usage.waiting, usage.instances), (1, 1, 1));
        drop((call, instance, waiting));
        let usage = admission.usage();
        assert_eq!((usage.in_flight, usage.waiting, usage.instances), (0, 0, 0));
        assert_eq!(usage.calls, 1);
    }
}
