//! What is counted of one version of a module, and what follows when it crashes again and again.

use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use pointwork_core::{Caller, Crash, CrashKind};

use crate::app::options::{Breaker, Trial};
use crate::app::status::{ModuleState, Usage};

/// Runs once, with the reason, when a version does not stand its trial.
pub(crate) type Failed = Box<dyn FnOnce(String) + Send>;

/// The counts of one version of a module.
///
/// A call costs it a few relaxed additions; everything else happens only after a crash.
pub(crate) struct Metrics {
    module: Arc<str>,
    bus: Caller,
    calls: AtomicU64,
    crashes: AtomicU64,
    refused: AtomicU64,
    in_flight: AtomicUsize,
    waiting: AtomicUsize,
    instances: AtomicUsize,
    /// Crashes since the last call that was none.
    in_a_row: AtomicU32,
    breaker: Breaker,
    held_back: Mutex<Option<HeldBack>>,
    trial: Trial,
    failed: Mutex<Option<Failed>>,
}

/// A pause of the breaker.
struct HeldBack {
    until: Instant,
    pause: Duration,
    /// A call was let through, and nobody knows yet what became of it.
    probing: bool,
}

/// Counts one up for as long as it lives.
pub(crate) struct Counted {
    metrics: Arc<Metrics>,
    of: fn(&Metrics) -> &AtomicUsize,
}

impl Counted {
    fn new(metrics: &Arc<Metrics>, of: fn(&Metrics) -> &AtomicUsize) -> Self {
        of(metrics).fetch_add(1, Ordering::Relaxed);
        Self {
            metrics: metrics.clone(),
            of,
        }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        (self.of)(&self.metrics).fetch_sub(1, Ordering::Relaxed);
    }
}

impl Metrics {
    pub(crate) fn new(module: &Arc<str>, breaker: &Breaker, trial: &Trial, bus: Caller) -> Self {
        Self {
            module: module.clone(),
            bus,
            calls: AtomicU64::new(0),
            crashes: AtomicU64::new(0),
            refused: AtomicU64::new(0),
            in_flight: AtomicUsize::new(0),
            waiting: AtomicUsize::new(0),
            instances: AtomicUsize::new(0),
            in_a_row: AtomicU32::new(0),
            breaker: breaker.clone(),
            held_back: Mutex::default(),
            trial: trial.clone(),
            failed: Mutex::default(),
        }
    }

    /// The same settings, nothing counted.
    pub(crate) fn anew(&self) -> Self {
        Self::new(&self.module, &self.breaker, &self.trial, self.bus.clone())
    }

    /// Lets a call in, unless the module is held back.
    ///
    /// # Errors
    /// How long the module is still held back.
    pub(crate) fn admit(self: &Arc<Self>) -> Result<Counted, Duration> {
        if self.in_a_row.load(Ordering::Relaxed) >= self.breaker.crashes
            && self.breaker.crashes > 0
            && let Some(held_back) = &mut *lock(&self.held_back)
        {
            let now = Instant::now();
            if let Some(left) = held_back
                .until
                .checked_duration_since(now)
                .filter(|left| !left.is_zero())
            {
                self.refused.fetch_add(1, Ordering::Relaxed);
                return Err(left);
            }
            // This one is let through; the others wait for what becomes of it, or for another pause.
            held_back.until = now + held_back.pause;
            held_back.probing = true;
        }
        self.calls.fetch_add(1, Ordering::Relaxed);
        Ok(Counted::new(self, |metrics| &metrics.in_flight))
    }

    /// Lets a call wait for an instance; `None` if as many wait already as may.
    pub(crate) fn wait(self: &Arc<Self>, limit: usize) -> Option<Counted> {
        let counted = Counted::new(self, |metrics| &metrics.waiting);
        (self.waiting.load(Ordering::Relaxed) <= limit).then_some(counted)
    }

    pub(crate) fn instance(self: &Arc<Self>) -> Counted {
        Counted::new(self, |metrics| &metrics.instances)
    }

    pub(crate) fn refused(&self) {
        self.refused.fetch_add(1, Ordering::Relaxed);
    }

    /// A call ended that did not crash.
    pub(crate) fn succeeded(&self) {
        if self.in_a_row.load(Ordering::Relaxed) == 0 {
            return;
        }
        self.in_a_row.store(0, Ordering::Relaxed);
        if lock(&self.held_back).take().is_some() {
            tracing::info!(module = &*self.module, "the module serves again");
        }
    }

    /// A call ended that crashed.
    pub(crate) fn crashed(&self) {
        let crashes = self.crashes.fetch_add(1, Ordering::Relaxed) + 1;
        let in_a_row = self.in_a_row.fetch_add(1, Ordering::Relaxed).saturating_add(1);
        self.judge(crashes);
        if self.breaker.crashes > 0 && in_a_row >= self.breaker.crashes {
            self.hold_back(in_a_row);
        }
    }

    fn hold_back(&self, in_a_row: u32) {
        let mut held_back = lock(&self.held_back);
        let now = Instant::now();
        let pause = match &*held_back {
            None => self.breaker.pause,
            Some(held_back) if held_back.probing => (held_back.pause * 2).min(self.breaker.longest),
            // A call that began before the pause makes it no longer.
            Some(_) => return,
        };
        *held_back = Some(HeldBack {
            until: now + pause,
            pause,
            probing: false,
        });
        drop(held_back);
        let message = format!("{in_a_row} calls in a row crashed; the module is held back for {pause:?}");
        let crash = Crash::new(CrashKind::Limit, message).in_module(&*self.module);
        self.bus.report(crash.at_limit("breaker"));
    }

    /// Puts the version on trial.
    pub(crate) fn on_trial(&self, failed: Failed) {
        if self.trial.crashes > 0 {
            *lock(&self.failed) = Some(failed);
        }
    }

    fn judge(&self, crashes: u64) {
        let calls = self.calls.load(Ordering::Relaxed);
        if self.trial.crashes == 0 || crashes < self.trial.crashes {
            return;
        }
        let Some(failed) = lock(&self.failed).take() else {
            return;
        };
        if calls <= self.trial.calls {
            failed(format!("{crashes} of its first {calls} calls crashed"));
        }
    }

    pub(crate) fn state(&self) -> ModuleState {
        if lock(&self.held_back).is_some() {
            return ModuleState::HeldBack;
        }
        let young = self.calls.load(Ordering::Relaxed) < self.trial.calls;
        if young && lock(&self.failed).is_some() {
            return ModuleState::OnTrial;
        }
        ModuleState::Serving
    }

    pub(crate) fn in_flight(&self) -> usize {
        self.in_flight.load(Ordering::Relaxed)
    }

    /// The counts; what is idle is for the pools to say.
    pub(crate) fn usage(&self) -> Usage {
        Usage {
            calls: self.calls.load(Ordering::Relaxed),
            crashes: self.crashes.load(Ordering::Relaxed),
            refused: self.refused.load(Ordering::Relaxed),
            in_flight: self.in_flight(),
            waiting: self.waiting.load(Ordering::Relaxed),
            instances: self.instances.load(Ordering::Relaxed),
            idle: 0,
            held: 0,
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Each is changed in one step.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::thread::sleep;

    use pointwork_core::{BoxFuture, Bus, BusOptions, Executor};

    use super::*;

    /// Runs nothing: no event is heard here.
    struct Nobody;

    impl Executor for Nobody {
        fn spawn(&self, _: BoxFuture<'static, ()>) {}

        fn sleep_until(&self, _: Instant) -> BoxFuture<'static, ()> {
            Box::pin(std::future::pending())
        }
    }

    fn metrics(breaker: Breaker, trial: Trial) -> Arc<Metrics> {
        let bus = Bus::new(Arc::new(Nobody), BusOptions::default());
        Arc::new(Metrics::new(&"shop".into(), &breaker, &trial, bus.caller()))
    }

    fn held_back_after(crashes: u32, pause: Duration) -> Arc<Metrics> {
        let longest = Duration::from_secs(60);
        metrics(
            Breaker {
                crashes,
                pause,
                longest,
            },
            Trial::default(),
        )
    }

    fn crash(metrics: &Arc<Metrics>) -> bool {
        let admitted = metrics.admit();
        if admitted.is_ok() {
            metrics.crashed();
        }
        admitted.is_ok()
    }

    #[test]
    fn crashes_in_a_row_hold_a_module_back() {
        let metrics = held_back_after(3, Duration::from_secs(60));
        for _ in 0..10 {
            assert!(crash(&metrics) && crash(&metrics));
            metrics.succeeded();
        }
        assert_eq!(
            metrics.state(),
            ModuleState::Serving,
            "there was always one that did not crash"
        );
        assert!(crash(&metrics) && crash(&metrics) && crash(&metrics));
        assert_eq!(metrics.state(), ModuleState::HeldBack);
        assert!(!crash(&metrics));
        assert_eq!(metrics.usage().refused, 1);
        assert!(metrics.admit().is_err_and(|left| left <= Duration::from_secs(60)));
    }

    #[test]
    fn one_call_is_let_through_after_the_pause_and_decides() {
        let pause = Duration::from_millis(1);
        let metrics = held_back_after(1, pause);
        assert!(crash(&metrics));
        sleep(pause);
        assert!(crash(&metrics), "the pause is over");
        let doubled = metrics.admit().map(drop).is_err_and(|left| left <= pause * 2);
        assert!(doubled || metrics.state() == ModuleState::HeldBack);
        sleep(pause * 2);
        let probe = metrics.admit();
        assert!(probe.is_ok());
        metrics.succeeded();
        assert_eq!(metrics.state(), ModuleState::Serving);
        assert!(metrics.admit().is_ok());
    }

    #[test]
    fn a_module_without_a_breaker_is_never_held_back() {
        let metrics = held_back_after(0, Duration::from_secs(60));
        assert!((0..100).all(|_| crash(&metrics)));
    }

    #[test]
    fn a_version_is_judged_once_by_its_first_calls() {
        let (sender, reasons) = std::sync::mpsc::channel();
        let trial = Trial { calls: 10, crashes: 2 };
        let judged = metrics(Breaker::default(), trial.clone());
        judged.on_trial(Box::new(move |reason| sender.send(reason).unwrap()));
        assert_eq!(judged.state(), ModuleState::OnTrial);
        for _ in 0..5 {
            crash(&judged);
        }
        let reasons: Vec<_> = reasons.try_iter().collect();
        assert_eq!(reasons, ["2 of its first 2 calls crashed"]);

        let (sender, reasons) = std::sync::mpsc::channel();
        let late = metrics(Breaker::default(), trial);
        late.on_trial(Box::new(move |reason| sender.send(reason).unwrap()));
        for _ in 0..10 {
            drop(late.admit());
        }
        assert_eq!(late.state(), ModuleState::Serving, "it stood its trial");
        crash(&late);
        crash(&late);
        assert_eq!(reasons.try_iter().count(), 0);
    }

    #[test]
    fn what_is_counted_in_is_counted_out() {
        let metrics = held_back_after(0, Duration::ZERO);
        let (call, instance) = (metrics.admit(), metrics.instance());
        let waiting = metrics.wait(1);
        assert!(waiting.is_some() && metrics.wait(1).is_none());
        let usage = metrics.usage();
        assert_eq!((usage.in_flight, usage.waiting, usage.instances), (1, 1, 1));
        drop((call, instance, waiting));
        let usage = metrics.usage();
        assert_eq!((usage.in_flight, usage.waiting, usage.instances), (0, 0, 0));
        assert_eq!(usage.calls, 1);
    }
}
