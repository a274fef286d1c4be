//! Records what is emitted to a durable channel.

use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};

use super::channel::DurableChannel;
use super::gate::Receipt;
use super::store::RecordedEvent;
use crate::events::Payload;
use crate::events::caller::Caller;
use crate::request_id::EventId;
use crate::{Charge, Failure, FailureCode};

/// The longest id that a payload may give its event, in bytes.
const MAX_ID: usize = 256;

impl DurableChannel {
    /// Records an event, or tells the gate of the chain and the log why the event is not recorded. At most `queue` events wait for the
    /// store. The charge is kept until the store has answered.
    pub(crate) fn record(
        self: &Arc<Self>,
        caller: &Caller,
        event: &str,
        payload: Result<Payload, Failure>,
        charge: Charge,
        queue: usize,
    ) {
        let waiting = self.unanswered.fetch_add(1, Ordering::Relaxed);
        let mut receipt = self.receipt(caller, event, charge);
        if let Some(gate) = &caller.chain.gate {
            gate.add(&mut receipt, caller.clock().now() + self.options.confirm);
        }
        let recorded = payload.map_err(|failure| failure.to_string()).and_then(|payload| {
            if waiting >= queue {
                return Err(format!("{queue} events wait for the store of the channel"));
            }
            self.event(caller, event, payload)
        });
        match recorded {
            Ok(recorded) => self.store.record(recorded, receipt),
            Err(reason) => receipt.refuse(reason),
        }
    }

    fn receipt(self: &Arc<Self>, caller: &Caller, event: &str, charge: Charge) -> Receipt {
        let (channel, caller, event) = (self.clone(), caller.clone(), event.to_owned());
        Receipt::new(move |kept| {
            drop(charge);
            channel.unanswered.fetch_sub(1, Ordering::Relaxed);
            let Err(reason) = kept else {
                channel.counts.recorded.fetch_add(1, Ordering::Relaxed);
                return;
            };
            channel.counts.refused.fetch_add(1, Ordering::Relaxed);
            let failure = Failure::of(FailureCode::UNRECORDED, reason);
            let full = format!("{}:{event}", channel.name);
            caller.log_refused("the event was not recorded", &full, &failure);
        })
    }

    fn event(&self, caller: &Caller, event: &str, payload: Payload) -> Result<RecordedEvent, String> {
        let full = || format!("{}:{event}", self.name);
        let depth = caller
            .chain
            .depth_after(&full())
            .map_err(|failure| failure.to_string())?;
        let own = match &self.options.id {
            Some(pointer) => pointer.value(&payload)?,
            None => made_id(),
        };
        if own.len() > MAX_ID {
            return Err(format!(
                "the id in the payload has {} bytes; at most {MAX_ID} are allowed",
                own.len()
            ));
        }
        Ok(RecordedEvent {
            id: format!("{}:{own}", full()),
            channel: self.name.clone(),
            event: event.to_owned(),
            partition: self.options.partition(&payload)?,
            payload,
            depth,
            request_id: caller.request_id().map(ToString::to_string),
            traceparent: caller.traceparent(),
        })
    }
}

/// An id of its own among all processes that ever use a store: a store takes a second event of an id for the first one.
fn made_id() -> String {
    static PROCESS: OnceLock<String> = OnceLock::new();
    let process = PROCESS.get_or_init(|| {
        let random = RandomState::new();
        format!("{:016x}{:016x}", random.hash_one(0), random.hash_one(1))
    });
    // The part behind the hyphen counts the ids of the process.
    let made = EventId::made().to_string();
    let number = made.split_once('-').map_or(&*made, |(_, number)| number);
    format!("{process}-{number}")
}
