//! The counters of one version of a module, and the decision whether it takes a call.
//!
//! A crash counts against the handler or listener whose call crashed, so that a handler that always crashes closes no other one.
//! The whole module takes no call only if its instances cannot be created, which has a breaker of its own, or while the
//! [histories](super::call_history) say that most handlers are held back.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use pointwork_core::{Caller, Crash, CrashKind, Shard, Sharded};

use crate::call_counts::CallCountsByName;
use crate::scheduling::breaker::{BreakerState, CircuitBreaker, Opened, Probe};
use crate::scheduling::call_history::{CallHistories, CallHistory, TICK};
use crate::scheduling::ended_calls::EndedCalls;
use crate::scheduling::held_places::{HeldPlaces, WaitingCall};
use crate::scheduling::status::{ModuleState, Usage};
use crate::scheduling::trial::{CanaryTrial, INSTANCES, TrialState};
use crate::{Breaker, Trial};

/// Counts the calls of one version of a module, and feeds its circuit breakers.
///
/// A call costs a few relaxed additions; everything else happens only after a crash, and in each tick.
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
    /// The options of each breaker.
    breaker: Breaker,
    /// Opens if instances cannot be created.
    instantiation: Arc<CircuitBreaker>,
    /// Instances that were created, or failed to be, for the trial.
    created: EndedCalls,
    /// Whether most handlers are held back.
    is_held_back: AtomicBool,
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
pub(crate) struct InFlight {
    _counted: Shard<AtomicU64>,
    /// The half-open breakers that admitted the call: that of its handler, and that of the instances.
    _probes: [Option<Probe>; 2],
}

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
            breaker: breaker.clone(),
            instantiation: CircuitBreaker::new(breaker.clone(), bus.clock()),
            created: EndedCalls::default(),
            is_held_back: AtomicBool::new(false),
            trial: CanaryTrial::new(trial.clone()),
            bus,
        }
    }

    /// New admission with the same options.
    pub(crate) fn fresh(&self) -> Self {
        Self::new(&self.module, &self.breaker, &self.trial.options, self.bus.clone())
    }

    /// No call histories, with the options and the clock of the breakers.
    pub(crate) fn histories(&self) -> CallHistories {
        CallHistories::new(self.breaker.clone(), self.bus.clock())
    }

    /// Admits a call of a handler or listener, unless a circuit breaker is open. The call is in flight until the result is dropped.
    ///
    /// # Errors
    /// The time after which a retry may succeed.
    pub(crate) fn admit(&self, history: &CallHistory) -> Result<InFlight, Duration> {
        let probes = self.probes(history).inspect_err(|_| self.refused())?;
        let calls = self.calls.local();
        calls.fetch_add(1, Ordering::Relaxed);
        Ok(InFlight {
            _counted: calls.clone(),
            _probes: probes,
        })
    }

    fn probes(&self, history: &CallHistory) -> Result<[Option<Probe>; 2], Duration> {
        let of_handler = history.breaker.admit()?;
        // A handler whose own breaker is half-open may end the state of the module.
        if of_handler.is_none() && self.is_held_back.load(Ordering::Relaxed) {
            return Err(TICK);
        }
        Ok([of_handler, self.instantiation.admit()?])
    }

    fn calls(&self) -> u64 {
        self.calls.all().map(|calls| calls.load(Ordering::Relaxed)).sum()
    }

    /// Counts a call of that history that waits for an instance; `None` if `limit` calls already wait, or too many of the history.
    pub(crate) fn wait(self: &Arc<Self>, history: &Arc<CallHistory>, limit: usize) -> Option<(Counted, WaitingCall)> {
        let counted = Counted::new(self, |admission| &admission.waiting);
        let is_full = self.waiting.load(Ordering::Relaxed) > limit;
        let waiting = HeldPlaces::wait(history, limit)?;
        (!is_full).then_some((counted, waiting))
    }

    pub(crate) fn instance(self: &Arc<Self>) -> Counted {
        Counted::new(self, |admission| &admission.instances)
    }

    pub(crate) fn refused(&self) {
        self.refused.fetch_add(1, Ordering::Relaxed);
    }

    /// A call of a handler or listener ended without a crash or an exception.
    pub(crate) fn succeeded(&self, history: &CallHistory) {
        history.ended.succeeded();
        self.ended_without_crash(history);
    }

    fn ended_without_crash(&self, history: &CallHistory) {
        if history.breaker.succeeded() {
            tracing::info!(
                module = &*self.module,
                "the circuit breaker of `{}` is closed again",
                history.name
            );
        }
    }

    /// An instance was created.
    pub(crate) fn instantiated(&self) {
        self.created.succeeded();
        if self.instantiation.succeeded() {
            tracing::info!(module = &*self.module, "the module's instances can be created again");
        }
    }

    /// Whether most handlers are held back, so that the others are too.
    pub(crate) fn hold_back(&self, is_held_back: bool) {
        if self.is_held_back.swap(is_held_back, Ordering::Relaxed) == is_held_back {
            return;
        }
        if is_held_back {
            self.report_breaker("most handlers crash again and again; all calls of the module are refused".to_owned());
        } else {
            tracing::info!(module = &*self.module, "the module takes calls again");
        }
    }

    /// An exception of the guest ended a call of a handler or listener, and the instance goes on.
    pub(crate) fn raised(&self, history: &CallHistory, is_of_client: bool) {
        self.exceptions.fetch_add(1, Ordering::Relaxed);
        if !is_of_client {
            history.ended.failed();
        }
        self.ended_without_crash(history);
    }

    /// A call crashed; the handler or listener at fault is known. A breaker that this opens is reported as `server:crashed`.
    pub(crate) fn crashed(&self, history: &CallHistory) {
        self.count_crash();
        history.ended.failed();
        if let Some(Opened {
            crashes_in_a_row,
            pause,
        }) = history.crashed()
        {
            history.ended.opened_breaker();
            self.report_breaker(format!(
                "{crashes_in_a_row} calls of `{}` in a row crashed; its circuit breaker is open for {pause:?}",
                history.name
            ));
        }
    }

    /// An instance crashed while several calls shared it. The handler or listener at fault is unknown: each becomes a suspect.
    pub(crate) fn shared_crash(&self, suspects: &[Arc<CallHistory>]) {
        self.count_crash();
        suspects.iter().for_each(|suspect| suspect.suspect());
    }

    /// An instance could not be created.
    pub(crate) fn instantiation_failed(&self) {
        self.count_crash();
        self.created.failed();
        if let Some(Opened {
            crashes_in_a_row,
            pause,
        }) = self.instantiation.crashed()
        {
            self.created.opened_breaker();
            self.report_breaker(format!(
                "{crashes_in_a_row} instances in a row could not be created; the module's circuit breaker is open for {pause:?}"
            ));
        }
    }

    pub(crate) fn count_crash(&self) {
        self.crashes.fetch_add(1, Ordering::Relaxed);
    }

    fn report_breaker(&self, message: String) {
        let crash = Crash::new(CrashKind::Limit, message).in_module(&*self.module);
        self.bus.report(crash.at_limit("breaker"));
    }

    /// Reports a crash that no call reports.
    pub(crate) fn report(&self, crash: Crash) {
        self.bus.report(crash);
    }

    /// Begins to count created instances.
    pub(crate) fn begin_counts(&self) {
        self.created.reset();
    }

    /// Adds the counts of created instances to those of routes and listeners.
    pub(crate) fn count_instances(&self, counts: &mut CallCountsByName) {
        let created = self.created.counts();
        if created.calls > 0 {
            counts.entry(INSTANCES.to_owned()).or_default().add(created);
        }
    }

    /// Begins the trial of the version, or goes on with it after `elapsed`. `before` has the counts of the version before.
    pub(crate) fn begin_trial(&self, before: CallCountsByName, elapsed: Duration) {
        self.trial.begin(before, elapsed, self.now());
    }

    pub(crate) fn is_on_trial(&self) -> bool {
        self.trial.is_on()
    }

    /// The time on trial; `None` if the version is not on trial.
    pub(crate) fn time_on_trial(&self) -> Option<Duration> {
        self.trial.elapsed(self.now())
    }

    /// Compares the version with the one before. A trial that is over is reported once.
    pub(crate) fn judge_trial(&self, counts: &CallCountsByName) -> Option<TrialState> {
        self.trial.judge(counts, self.now())
    }

    fn now(&self) -> Instant {
        self.bus.clock().now()
    }

    pub(crate) fn state(&self) -> ModuleState {
        let instantiation = self.instantiation.state();
        if self.is_held_back.load(Ordering::Relaxed) || matches!(instantiation, Some(BreakerState::Open(_))) {
            ModuleState::HeldBack
        } else if instantiation.is_some() {
            ModuleState::HalfOpen
        } else if self.trial.is_on() {
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
    use crate::scheduling::call_history::Callee;
    use crate::scheduling::threads::Threads;

    fn admission(breaker: &Breaker) -> Arc<Admission> {
        let bus = Bus::new(Arc::new(Threads::start(Clock::real()).unwrap()), BusOptions::new());
        Arc::new(Admission::new(&"shop".into(), breaker, &Trial::new(), bus.caller()))
    }

    #[test]
    fn an_exception_between_crashes_breaks_their_row() {
        let admission = admission(&Breaker::new().crashes(3));
        let history = admission
            .histories()
            .uncounted(Callee::Handler(0), || "handler".to_owned());
        for _ in 0..4 {
            admission.crashed(&history);
            admission.crashed(&history);
            admission.raised(&history, false);
        }
        assert!(admission.admit(&history).is_ok());
        (0..3).for_each(|_| admission.crashed(&history));
        assert!(admission.admit(&history).is_err());
    }

    #[test]
    fn a_gauge_falls_when_its_guard_is_dropped() {
        let admission = admission(&Breaker::new());
        let (call, instance) = (admission.admit(&CallHistory::default()), admission.instance());
        let history = Arc::default();
        let waiting = admission.wait(&history, 1);
        assert!(waiting.is_some() && admission.wait(&Arc::default(), 1).is_none());
        let usage = admission.usage();
        assert_eq!((usage.in_flight, usage.waiting, usage.instances), (1, 1, 1));
        drop((call, instance, waiting));
        let usage = admission.usage();
        assert_eq!((usage.in_flight, usage.waiting, usage.instances), (0, 0, 0));
        assert_eq!(usage.calls, 1);
    }
}
