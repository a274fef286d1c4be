//! Both ends of a call that crosses to another process, as far as the bus knows of it (spec N9).

use std::sync::{Arc, OnceLock};
use std::time::Instant;

use tracing::Instrument;

use super::bus::{Bus, LiveBus};
use super::caller::Caller;
use super::chain::MAX_DEPTH;
use super::durable::gate::Gate;
use super::durable::store::RecordedEvent;
use super::starting::StartGuard;
use crate::executor::within;
use crate::request_id::EventId;
use crate::{Failure, FailureCode, Payload};

impl Bus {
    /// The application is not ready until the guard is dropped. `what` is the sentence that `/ready` shows meanwhile.
    pub fn not_ready_until(&self, what: impl Into<String>) -> StartGuard {
        self.state().starting.begin(what.into())
    }

    /// The sentences of all guards of [`not_ready_until`](Self::not_ready_until), in the order of the alphabet.
    pub fn starting(&self) -> Vec<String> {
        self.state().starting.all()
    }
}

impl Caller {
    /// Answers a call that another process has sent: runs the listener, at most until the deadline or for
    /// [`deadline`](crate::BusOptions::deadline), waits for the durable events that it emits, and gives the result to `reply`. The
    /// application does not end before `reply` is done, unless its time to drain is over.
    ///
    /// The failures are those of [`call_raw`](Self::call_raw), [`DEADLINE`](FailureCode::DEADLINE), and
    /// [`UNRECORDED`](FailureCode::UNRECORDED).
    ///
    /// # Cancel safety
    /// Cancelling cancels the listener.
    pub async fn answer<R>(
        &self,
        call: RecordedEvent,
        deadline: Instant,
        reply: impl FnOnce(Result<Payload, Failure>) -> R,
    ) where
        R: Future<Output = ()>,
    {
        let bus = match self.bus.upgrade() {
            Ok(bus) => bus,
            Err(gone) => return reply(Err(gone)).await,
        };
        let _delivering = bus.delivering();
        let full = format!("{}:{}", call.channel, call.event);
        let span = tracing::info_span!("call", event = full, id = call.id, request_id = call.request_id);
        let deadline = deadline.min(bus.0.executor.now() + bus.0.options.deadline);
        let answered = answer(&bus, call, &full, deadline);
        let answered = within(&*bus.0.executor, deadline, answered).instrument(span).await;
        let answered = answered.unwrap_or_else(|| {
            let message = format!("the listener of `{full}` took too long");
            Err(Failure::of(FailureCode::DEADLINE, message))
        });
        reply(answered).await;
    }

    /// Completes as soon as the channel has a listener. With `listens = false` it completes as soon as the channel has none.
    ///
    /// # Errors
    /// [`GONE`](FailureCode::GONE) when the application ends.
    ///
    /// # Cancel safety
    /// Cancelling has no effect.
    pub async fn until_listens(&self, channel: &str, listens: bool) -> Result<(), Failure> {
        while let Some(changed) = self.bus.durable_change() {
            if self.bus.listens_to(channel) == listens {
                return Ok(());
            }
            changed.await;
        }
        Err(Failure::of(FailureCode::GONE, "the application has ended"))
    }
}

async fn answer(bus: &LiveBus, call: RecordedEvent, full: &str, deadline: Instant) -> Result<Payload, Failure> {
    if call.depth > MAX_DEPTH {
        let message = format!("`{full}` is call {} of a chain of at most {MAX_DEPTH}", call.depth);
        return Err(Failure::of(FailureCode::TOO_DEEP, message));
    }
    bus.check_size(&call.payload, || format!("the payload of `{full}`"))?;
    let gate = Arc::<Gate>::default();
    let found = bus.listener(&call, &gate);
    let (registered, mut chain) = found.ok_or_else(|| bus.0.registry.load().unknown(full))?;
    chain.deadline = Some(deadline);
    let mut delivery = bus.delivery(chain.clone());
    delivery.id = OnceLock::from(EventId::Recorded(call.id));
    let result = bus.run(&registered, &chain, delivery, call.payload).await;
    let result = result.map_err(|(failure, _)| failure)?;
    bus.check_size(&result, || format!("the result of `{full}`"))?;
    match gate.wait(Some(deadline), &bus.0.executor) {
        Some(recorded) => recorded.await.map(|()| result),
        None => Ok(result),
    }
}
