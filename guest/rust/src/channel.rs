//! The traits that `#[channel]` implements.

use std::future::Future;

use crate::controller::Metadata;
use crate::delivery::{AsyncDelivery, Delivery};
use crate::failure::Failure;
use crate::form::{ModuleForm, Synchronous};
use pointwork_events::Payload;

/// A named group of listeners.
///
/// `#[channel]` implements it. It is public for generic code, such as the module `testing`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a channel",
    label = "expected a type with a `#[channel]` impl block"
)]
pub trait Channel {
    /// The channel's name. The application calls its events as `name:event`.
    const NAME: &'static str;
    /// The number of listeners. They are numbered from 0 in the order of declaration.
    const LISTENERS: u32;
    /// The events in the order of declaration.
    const EVENTS: &'static [Listener];
    /// The open properties of the channel, such as `summary`, from its docs.
    const METADATA: Metadata;
    /// The names of the events that its functions call or emit, as far as the source shows them.
    const EVENTS_USED: &'static [Option<&'static str>];
    /// Its path in the source, with file and line. `module!` lists those of its channels.
    #[doc(hidden)]
    const PLACE: &'static str;

    /// The first listener that takes `Delivery` or `Context`, whose functions wait by blocking: an asynchronous module does not have it.
    #[doc(hidden)]
    const BLOCKING: Option<&'static str>;

    /// [`Async`](crate::form::Async) if one of its listeners is an `async fn`, or takes a context of that form.
    type Form: ModuleForm;

    /// Runs one listener, in the synchronous form of a module.
    #[doc(hidden)]
    fn deliver(listener: u32, delivery: Delivery, payload: Payload) -> Result<Payload, Failure>;

    /// Runs one listener, in the asynchronous form of a module.
    #[doc(hidden)]
    fn deliver_async(
        listener: u32,
        delivery: AsyncDelivery,
        payload: Payload,
    ) -> impl Future<Output = Result<Payload, Failure>>;
}

/// A channel for a synchronous module.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a channel",
    label = "expected a type with a `#[channel]` impl block"
)]
pub trait BlockingChannel: Channel {}

impl<C: Channel> BlockingChannel for C where C::Form: Synchronous {}

/// One attribute of a listener.
#[derive(Clone, Copy, Debug)]
pub struct Listener {
    /// The number of the listener within its channel. Several events may share one.
    pub listener: u32,
    /// The listener's name in the source.
    pub name: &'static str,
    /// The event's name within the channel: `product:all`, not `db:product:all`.
    pub event: &'static str,
    /// The open properties, such as `summary` and `deprecated`, from the listener's docs and attributes.
    pub metadata: Metadata,
}
