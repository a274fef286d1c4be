//! The controllers and channels of a module, as nested pairs: `(Products, (Health, ()))`.
//!
//! The exports call a handler or a listener by its number in the module: the numbers of a list continue those of the
//! items before it.

use crate::channel::{BlockingChannel, Channel, Listener};
use crate::context::{AsyncContext, Context};
use crate::controller::{BlockingController, Controller, Route};
use crate::delivery::{AsyncDelivery, Delivery};
use crate::failure::Failure;
use crate::payload::Payload;
use crate::reply::Outcome;
use crate::throw::Throw;

/// The lists of the type for which `module!` exports a world.
pub trait ModuleLists {
    type ControllerList;
    type ChannelList;
}

/// A list of controllers.
pub trait Controllers {
    /// Calls `visit` with the number of each controller's first handler, its name, prefix and routes.
    fn visit(first: u32, visit: &mut impl FnMut(u32, &'static str, &'static str, &'static [Route]));
}

/// A list of controllers for a synchronous module.
pub trait BlockingControllers: Controllers {
    fn handle(handler: u32, context: Context) -> Outcome;
}

/// A list of controllers for an asynchronous module.
pub trait AsyncControllers: Controllers {
    fn handle(handler: u32, context: AsyncContext) -> impl Future<Output = Outcome>;
}

impl Controllers for () {
    fn visit(_first: u32, _visit: &mut impl FnMut(u32, &'static str, &'static str, &'static [Route])) {}
}

impl<C: Controller, Rest: Controllers> Controllers for (C, Rest) {
    fn visit(first: u32, visit: &mut impl FnMut(u32, &'static str, &'static str, &'static [Route])) {
        visit(first, C::NAME, C::PREFIX, C::ROUTES);
        Rest::visit(first + C::HANDLERS, visit);
    }
}

impl BlockingControllers for () {
    fn handle(_handler: u32, _context: Context) -> Outcome {
        unknown_handler()
    }
}

impl<C: BlockingController, Rest: BlockingControllers> BlockingControllers for (C, Rest) {
    fn handle(handler: u32, context: Context) -> Outcome {
        match handler.checked_sub(C::HANDLERS) {
            None => C::handle(handler, context),
            Some(handler) => Rest::handle(handler, context),
        }
    }
}

impl AsyncControllers for () {
    async fn handle(_handler: u32, _context: AsyncContext) -> Outcome {
        unknown_handler()
    }
}

impl<C: Controller, Rest: AsyncControllers> AsyncControllers for (C, Rest) {
    async fn handle(handler: u32, context: AsyncContext) -> Outcome {
        match handler.checked_sub(C::HANDLERS) {
            None => C::handle_async(handler, context).await,
            Some(handler) => Rest::handle(handler, context).await,
        }
    }
}

/// A list of channels.
pub trait Channels {
    /// Calls `visit` with the number of each channel's first listener, its name and events.
    fn visit(first: u32, visit: &mut impl FnMut(u32, &'static str, &'static [Listener]));
}

/// A list of channels for a synchronous module.
pub trait BlockingChannels: Channels {
    fn deliver(listener: u32, delivery: Delivery, payload: Payload) -> Result<Payload, Failure>;
}

/// A list of channels for an asynchronous module.
pub trait AsyncChannels: Channels {
    fn deliver(
        listener: u32,
        delivery: AsyncDelivery,
        payload: Payload,
    ) -> impl Future<Output = Result<Payload, Failure>>;
}

impl Channels for () {
    fn visit(_first: u32, _visit: &mut impl FnMut(u32, &'static str, &'static [Listener])) {}
}

impl<C: Channel, Rest: Channels> Channels for (C, Rest) {
    fn visit(first: u32, visit: &mut impl FnMut(u32, &'static str, &'static [Listener])) {
        visit(first, C::NAME, C::EVENTS);
        Rest::visit(first + C::LISTENERS, visit);
    }
}

impl BlockingChannels for () {
    fn deliver(_listener: u32, _delivery: Delivery, _payload: Payload) -> Result<Payload, Failure> {
        Err(unknown_listener())
    }
}

impl<C: BlockingChannel, Rest: BlockingChannels> BlockingChannels for (C, Rest) {
    fn deliver(listener: u32, delivery: Delivery, payload: Payload) -> Result<Payload, Failure> {
        match listener.checked_sub(C::LISTENERS) {
            None => C::deliver(listener, delivery, payload),
            Some(listener) => Rest::deliver(listener, delivery, payload),
        }
    }
}

impl AsyncChannels for () {
    async fn deliver(_listener: u32, _delivery: AsyncDelivery, _payload: Payload) -> Result<Payload, Failure> {
        Err(unknown_listener())
    }
}

impl<C: Channel, Rest: AsyncChannels> AsyncChannels for (C, Rest) {
    async fn deliver(listener: u32, delivery: AsyncDelivery, payload: Payload) -> Result<Payload, Failure> {
        match listener.checked_sub(C::LISTENERS) {
            None => C::deliver_async(listener, delivery, payload).await,
            Some(listener) => Rest::deliver(listener, delivery, payload).await,
        }
    }
}

/// The outcome for a number that the module did not declare.
pub fn unknown_handler() -> Outcome {
    Outcome::Throw(Throw::new(500_u16, "the module has no such handler"))
}

/// The failure for a number that the module did not declare.
pub fn unknown_listener() -> Failure {
    Failure::new(500_u16, "the module has no such listener")
}

/// Compiles only if the items of a list fit a synchronous module.
pub mod blocking {
    pub const fn controller<C: super::BlockingController>() {}
    pub const fn channel<C: super::BlockingChannel>() {}
}

/// Compiles only if the items of a list fit an asynchronous module.
pub mod asynchronous {
    pub const fn controller<C: super::Controller>() {}
    pub const fn channel<C: super::Channel>() {}
}
