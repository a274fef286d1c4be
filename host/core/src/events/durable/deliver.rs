//! Delivers the events of a durable channel, each until it is settled.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures_util::future::{Either, select};
use tracing::Instrument;

use super::channel::DurableChannel;
use super::failed::Failed;
use super::gate::Gate;
use super::store::{Hold, RecordedEvent, Settled, TakenEvent};
use crate::events::bus::{LiveBus, WeakBus};
use crate::events::chain::MAX_DEPTH;
use crate::executor::within;
use crate::{Crash, CrashKind, Executor};

/// The time between two signs to the store that a listener still runs.
const EXTEND: Duration = Duration::from_secs(5);

/// The time until the next try after the store failed.
const STORE_PAUSE: Duration = Duration::from_secs(1);

impl DurableChannel {
    /// Delivers one event after the other, as long as the channel has listeners, until the bus stops.
    pub(crate) async fn deliver_all(self: Arc<Self>, bus: WeakBus, executor: Arc<dyn Executor>) {
        while let Some(mut changed) = bus.durable_change() {
            // Without listeners the events wait: the module that listens may come back.
            if !bus.listens_to(&self.name) {
                changed.await;
                continue;
            }
            let mut taking = self.store.take(&self.name);
            let taken = loop {
                match select(taking, changed).await {
                    Either::Left((taken, _)) => break Some(taken),
                    Either::Right(((), rest)) => taking = rest,
                }
                // A change elsewhere does not give up the place in the store.
                match bus.durable_change().filter(|_| bus.listens_to(&self.name)) {
                    Some(next) => changed = next,
                    None => break None,
                }
            };
            match taken {
                Some(Ok(taken)) => {
                    // Not held while nothing is delivered: a bus lives as long as the application.
                    let Ok(bus) = bus.upgrade() else { return };
                    self.deliver(&bus, &executor, taken).await;
                }
                Some(Err(error)) => {
                    if bus.begins_burst("event-store", &self.name) {
                        tracing::error!(
                            channel = &*self.name,
                            "the store of the channel gives no events out: {error}"
                        );
                    }
                    executor.sleep_until(executor.now() + STORE_PAUSE).await;
                }
                None => {}
            }
        }
    }

    async fn deliver(&self, bus: &LiveBus, executor: &Arc<dyn Executor>, taken: TakenEvent) {
        let TakenEvent { event, attempt, hold } = taken;
        let _delivering = bus.delivering();
        let span = tracing::info_span!(
            "event",
            event = format!("{}:{}", event.channel, event.event),
            id = event.id,
            attempt,
            request_id = event.request_id,
        );
        async {
            let settled = match self.attempt(bus, executor, &event, attempt, &*hold).await {
                Ok(()) => Settled::Done,
                Err(failed) => self.after(bus, &event, attempt, failed),
            };
            let counter = match &settled {
                Settled::Done => &self.counts.delivered,
                Settled::Retry(_) => &self.counts.retried,
                Settled::Dead(_) => &self.counts.dead,
            };
            counter.fetch_add(1, Ordering::Relaxed);
            if let Err(error) = hold.settle(settled).await {
                tracing::error!("the store did not keep how the event ended, so that it is delivered again: {error}");
            }
        }
        .instrument(span)
        .await;
    }

    /// Runs the listener once.
    async fn attempt(
        &self,
        bus: &LiveBus,
        executor: &Arc<dyn Executor>,
        event: &RecordedEvent,
        attempt: u32,
        hold: &dyn Hold,
    ) -> Result<(), Failed> {
        if attempt > self.options.attempts {
            return Err(Failed::for_good("its process ended during each attempt"));
        }
        if event.depth > MAX_DEPTH {
            return Err(Failed::for_good(format!(
                "it is call {} of a chain of at most {MAX_DEPTH}",
                event.depth
            )));
        }
        bus.check_recorded(event).map_err(Failed::for_good)?;
        let gate = Arc::<Gate>::default();
        let listener = bus.listener(event, &gate);
        let (registered, chain) = listener.ok_or_else(|| Failed::once("nobody listens to it"))?;
        let run = bus.run_recorded(&registered, chain, event, attempt);
        extending(executor, hold, run).await?;
        match gate.wait(None, executor) {
            Some(recorded) => recorded.await.map_err(|failure| Failed::once(failure.to_string())),
            None => Ok(()),
        }
    }

    /// Chooses between another attempt and the dead letters, after an attempt has failed.
    fn after(&self, bus: &LiveBus, event: &RecordedEvent, attempt: u32, failed: Failed) -> Settled {
        let (
            Failed {
                message,
                is_reported,
                is_final,
            },
            attempts,
        ) = (failed, self.options.attempts);
        if is_final || attempt >= attempts {
            if is_reported {
                tracing::error!("the event is a dead letter after attempt {attempt} of {attempts}: {message}");
            } else {
                let message = format!(
                    "the event `{}` is a dead letter after attempt {attempt} of {attempts}: {message}",
                    event.id
                );
                bus.report_recorded(event, Crash::new(CrashKind::Listener, message));
            }
            return Settled::Dead(message);
        }
        let pause = self.options.backoff_after(attempt);
        tracing::warn!("attempt {attempt} of {attempts} failed, the next one follows in {pause:?}: {message}");
        Settled::Retry(pause)
    }
}

/// Runs a listener, and tells the store every few seconds that it runs.
async fn extending<T>(executor: &Arc<dyn Executor>, hold: &dyn Hold, run: impl Future<Output = T>) -> T {
    let mut run = std::pin::pin!(run);
    loop {
        if let Some(value) = within(&**executor, executor.now() + EXTEND, run.as_mut()).await {
            return value;
        }
        hold.extend();
    }
}
