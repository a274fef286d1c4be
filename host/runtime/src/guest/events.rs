//! Events, as a guest that listens sees them: the interfaces `events`, `events-sync` and `events-async`.

use pointwork_core::{Charge, Context, Delivery};
use tracing::Instrument;
use wasmtime::Result;
use wasmtime::component::{Access, Accessor, HasSelf, Resource};

use super::Guest;
use super::spans::running_task;
use crate::guest::bindings::{context, events, events_async, events_sync, types};
use crate::guest::instant::{at, by_system_clock};
use crate::guest::memory::size_of_event;
use crate::guest::payload::{payload_in, result_out};
use crate::guest::reply::{failure_out, overloaded};

impl Guest {
    fn delivery(&self, delivery: &Resource<Delivery>) -> Result<&Delivery> {
        Ok(self.table.get(delivery)?)
    }
}

impl events::Host for Guest {}

impl events::HostDelivery for Guest {
    fn id(&mut self, this: Resource<Delivery>) -> Result<String> {
        Ok(self.delivery(&this)?.id())
    }

    fn attempt(&mut self, this: Resource<Delivery>) -> Result<u32> {
        Ok(self.delivery(&this)?.attempt())
    }

    fn event(&mut self, this: Resource<Delivery>) -> Result<String> {
        Ok(self.delivery(&this)?.event().to_owned())
    }

    fn request_id(&mut self, this: Resource<Delivery>) -> Result<Option<String>> {
        Ok(self.delivery(&this)?.request_id().map(ToString::to_string))
    }

    fn deadline(&mut self, this: Resource<Delivery>) -> Result<Option<context::Instant>> {
        Ok(self.delivery(&this)?.deadline().map(by_system_clock).map(at))
    }

    fn cancelled(&mut self, this: Resource<Delivery>) -> Result<bool> {
        Ok(self.delivery(&this)?.is_cancelled())
    }

    fn take_context(&mut self, this: Resource<Delivery>) -> Result<Option<Resource<Context>>> {
        let context = self.table.get_mut(&this)?.take_context();
        context.map(|context| Ok(self.table.push(context)?)).transpose()
    }

    fn drop(&mut self, this: Resource<Delivery>) -> Result<()> {
        self.table.delete(this)?;
        Ok(())
    }
}

impl<T: Send + 'static> events::HostDeliveryWithStore<T> for HasSelf<Guest> {
    fn emit(
        mut access: Access<'_, T, Self>,
        this: Resource<Delivery>,
        event: String,
        payload: types::Payload,
    ) -> Result<()> {
        let task = running_task(&mut access)?;
        let guest = access.get();
        if guest.spend_emit(task, &event)?.is_none()
            && let Ok(charge) = guest.charge(size_of_event(&event, &payload))?
        {
            let running = guest.caller_of(task);
            let caller = guest.delivery(&this)?.caller().deeper(running.as_ref());
            caller.emit_charged(&event, payload_in(payload), charge);
        }
        Ok(())
    }
}

impl events_sync::Host for Guest {
    async fn call(
        &mut self,
        this: Resource<Delivery>,
        event: String,
        payload: types::Payload,
    ) -> Result<Result<types::Payload, types::Failure>> {
        let _charge = match self.charge_call(&event, &payload)? {
            Ok(charge) => charge,
            Err(exceeded) => return Ok(Err(failure_out(overloaded(exceeded)))),
        };
        let running = self.only_caller();
        let caller = self.delivery(&this)?.caller().deeper(running.as_ref());
        let call = caller.call_raw(&event, payload_in(payload));
        Ok(result_out(call.await))
    }
}

impl events_async::Host for Guest {}

impl<T: Send + 'static> events_async::HostWithStore<T> for HasSelf<Guest> {
    async fn call(
        accessor: &Accessor<T, Self>,
        delivery: Resource<Delivery>,
        event: String,
        payload: types::Payload,
    ) -> Result<Result<types::Payload, types::Failure>> {
        let (caller, span, charged) = accessor.with(|mut access| {
            let task = running_task(&mut access)?;
            let guest = access.get();
            let (running, span) = (guest.caller_of(task), guest.entered_of(task));
            guest.note_use(task, &event);
            let charged = guest.charge(size_of_event(&event, &payload))?;
            let caller = guest.delivery(&delivery)?.caller().deeper(running.as_ref()).clone();
            Ok::<_, wasmtime::Error>((caller, span, charged))
        })?;
        let _charge: Charge = match charged {
            Ok(charge) => charge,
            Err(exceeded) => return Ok(Err(failure_out(overloaded(exceeded)))),
        };
        let call = caller.call_raw(&event, payload_in(payload));
        Ok(result_out(call.instrument(span).await))
    }
}
