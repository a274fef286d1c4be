use std::marker::PhantomData;
use std::time::SystemTime;

use pointwork_events::{Event, IoEvent};

use crate::context::Context;
use crate::failure::Failure;
use crate::form::{Async, Blocking};
use crate::request::time;
use crate::{backend, payload};

/// The delivery of one event to a listener, through which the listener calls and emits other events.
///
/// Calls through it continue the chain of calls of the event: they have its deadline, depth and request id. The
/// listener takes it by value or by reference. `Delivery` without a type parameter belongs to the synchronous form;
/// [`AsyncDelivery`] belongs to the asynchronous one.
///
/// ```
/// use pointwork_guest::{Delivery, Failure, channel, events};
///
/// events! {
///     pub Stock = "store:stock": String => u32;
///     pub StockRead = "audit:stock-read": String;
/// }
///
/// struct Db;
///
/// #[channel("db")]
/// impl Db {
///     #[on("product:in-stock")]
///     fn in_stock(delivery: &Delivery, name: String) -> Result<bool, Failure> {
///         Ok(delivery.emit::<StockRead>(name.clone()).call::<Stock>(name)? > 0)
///     }
/// }
/// ```
#[derive(Debug)]
pub struct Delivery<F = Blocking> {
    raw: backend::Delivery,
    form: PhantomData<F>,
}

/// The delivery of the asynchronous form: functions that wait are `async`, and meanwhile the instance handles other
/// events.
pub type AsyncDelivery = Delivery<Async>;

impl<F> Delivery<F> {
    #[cfg(any(target_arch = "wasm32", feature = "testing"))]
    pub(crate) fn new(raw: backend::Delivery) -> Self {
        Self { raw, form: PhantomData }
    }

    pub(crate) fn raw(&self) -> &backend::Delivery {
        &self.raw
    }

    /// The id of the event: the same for each attempt to deliver it, another one for each event. A listener that must not do
    /// its work twice remembers it.
    pub fn id(&self) -> String {
        self.raw.id()
    }

    /// The number of this attempt to deliver the event, from 1.
    pub fn attempt(&self) -> u32 {
        self.raw.attempt()
    }

    /// The event's name within its channel: `product:all` for `db:product:all`. A listener of several events
    /// distinguishes them by it.
    pub fn event(&self) -> String {
        self.raw.event()
    }

    /// The id of the request that started the chain of calls; `None` if no request did.
    pub fn request_id(&self) -> Option<String> {
        self.raw.request_id()
    }

    /// When the host ends the call that the event belongs to; `None` if it has no time limit.
    pub fn deadline(&self) -> Option<SystemTime> {
        self.raw.deadline().as_ref().map(time)
    }

    /// Whether nobody waits for the result any more.
    pub fn is_cancelled(&self) -> bool {
        self.raw.cancelled()
    }

    /// Takes the context that was handed over with the event; `None` if there is none or it was taken before.
    /// A listener that always needs the context takes [`Context`] as an argument instead.
    ///
    /// A context that is not taken is dropped with the delivery.
    pub fn take_context(&self) -> Option<Context<F>> {
        self.raw.take_context().map(Context::new)
    }

    /// Queues an event for its listener and returns at once.
    ///
    /// It returns no error: a failure appears in the host's log and as `server:crashed`.
    pub fn emit<E: Event>(&self, payload: E::Payload) -> &Self {
        if let Some(payload) = payload::for_emit::<E>(payload) {
            self.raw.emit(E::NAME, &payload);
        }
        self
    }
}

impl Delivery<Blocking> {
    /// Calls the listener of another event and suspends the instance until it returns.
    ///
    /// # Errors
    ///
    /// The listener failed, the event has none, the result is not an `E::Output`, or the chain of calls is too deep
    /// (`too-deep`), as in an endless recursion. `?` returns the error to the caller of this listener.
    pub fn call<E: IoEvent>(&self, payload: E::Payload) -> Result<E::Output, Failure> {
        let payload = payload::for_call::<E>(payload)?;
        payload::call_result::<E>(backend::blocking::call_from(&self.raw, E::NAME, &payload))
    }
}

impl Delivery<Async> {
    /// Calls the listener of another event and waits for what it returns. Several calls can be in flight at
    /// once; the `call` of [`AsyncContext`](crate::AsyncContext) has an example.
    ///
    /// # Errors
    ///
    /// As for [`Delivery::call`].
    ///
    /// # Cancel safety
    ///
    /// Dropping the future abandons the call; the listener may have run in part or in full.
    pub async fn call<E: IoEvent>(&self, payload: E::Payload) -> Result<E::Output, Failure> {
        let payload = payload::for_call::<E>(payload)?;
        payload::call_result::<E>(backend::waiting::call_from(&self.raw, E::NAME.to_owned(), payload).await)
    }

    /// For listeners of the synchronous form. Channels without a delivery or a context in any listener have both forms.
    #[doc(hidden)]
    pub fn into_blocking(self) -> Delivery<Blocking> {
        Delivery {
            raw: self.raw,
            form: PhantomData,
        }
    }
}
