use std::marker::PhantomData;

use pointwork_events::{Event, IoEvent};

use crate::form::{Async, Blocking};
use crate::{CallError, Context, backend, payload};

/// One event on its way through a listener, and the door to further events.
///
/// It carries the chain of calls that led here: what the listener calls in turn inherits deadline, depth and request id.
/// A listener takes it by value or by reference. Without a parameter it is the delivery of a synchronous listener; see
/// [`AsyncDelivery`] for the other form.
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

/// The delivery of a listener of the asynchronous form: its waiting functions are awaited, and meanwhile the instance
/// hears other events.
///
/// ```
/// use pointwork_guest::{AsyncDelivery, Failure, channel, events};
///
/// events! { pub Stock = "store:stock": String => u32; }
///
/// struct Db;
///
/// #[channel("db")]
/// impl Db {
///     #[on("product:in-stock")]
///     async fn in_stock(delivery: AsyncDelivery, name: String) -> Result<bool, Failure> {
///         Ok(delivery.call::<Stock>(name).await? > 0)
///     }
/// }
/// ```
pub type AsyncDelivery = Delivery<Async>;

impl<F> Delivery<F> {
    #[cfg(any(target_arch = "wasm32", feature = "testing"))]
    pub(crate) fn new(raw: backend::Delivery) -> Self {
        Self { raw, form: PhantomData }
    }

    /// The event's name within its channel: `product:all` for `db:product:all`. It tells the events of a listener apart
    /// that has several.
    pub fn event(&self) -> String {
        self.raw.event()
    }

    /// The id of the request that began the chain of calls; `None` if no request did.
    pub fn request_id(&self) -> Option<String> {
        self.raw.request_id()
    }

    /// Takes the context that was handed over with the event (spec H6); `None` if there was none, or if it was taken
    /// before. A listener that always needs it takes [`Context`] as an argument instead.
    ///
    /// As long as nobody takes it, the delivery holds it, and dropping the delivery drops it (spec H7).
    pub fn take_context(&self) -> Option<Context<F>> {
        self.raw.take_context().map(Context::new)
    }

    /// Puts an event into its listener's queue and returns the delivery at once (spec H3).
    ///
    /// What becomes of the event shows in the host's log and in `server:crashed`, never here.
    pub fn emit<E: Event>(&self, payload: E::Payload) -> &Self {
        match payload::encode(&payload) {
            Ok(payload) => self.raw.emit(E::NAME, &payload),
            Err(error) => crate::log::error!("event `{}` was not emitted: {error}", E::NAME),
        }
        self
    }
}

impl Delivery<Blocking> {
    /// Calls the listener of another event and suspends the instance until it returned (spec H3).
    ///
    /// # Errors
    ///
    /// The listener failed, there is none, what it returned is not `E::Output`, or the chain of calls is over its depth
    /// (`too-deep`), as one that turns in a circle is in the end. `?` passes the error on to the listener's own caller.
    pub fn call<E: IoEvent>(&self, payload: E::Payload) -> Result<E::Output, CallError> {
        let payload = payload::of_call::<E>(&payload)?;
        payload::of_answer::<E>(self.raw.call(E::NAME, &payload))
    }
}

impl Delivery<Async> {
    /// Calls the listener of another event and waits for what it returns (spec H3). Several calls can be in flight at
    /// once, as with the `call` of an [`AsyncContext`](crate::AsyncContext), whose docs show how.
    ///
    /// # Errors
    ///
    /// As for [`Delivery::call`].
    ///
    /// # Cancel safety
    ///
    /// Dropping the future abandons the call; the listener may have run in part or in full.
    pub async fn call<E: IoEvent>(&self, payload: E::Payload) -> Result<E::Output, CallError> {
        let payload = payload::of_call::<E>(&payload)?;
        payload::of_answer::<E>(backend::call_from(&self.raw, E::NAME.to_owned(), payload).await)
    }

    pub(crate) fn into_blocking(self) -> Delivery<Blocking> {
        Delivery {
            raw: self.raw,
            form: PhantomData,
        }
    }
}
