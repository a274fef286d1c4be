//! A controller or channel as the dispatch of a module calls it.
//!
//! `module!` names a type in its list and in its dispatch. Only the list reports a type that does not belong there: here
//! the inherent functions exist for controllers and channels only, and have priority over those of [`NotListable`].

use std::marker::PhantomData;

use super::module::{unknown_handler, unknown_listener};
use crate::channel::Channel;
use crate::context::{AsyncContext, Context};
use crate::controller::Controller;
use crate::delivery::{AsyncDelivery, Delivery};
use crate::failure::Failure;
use crate::payload::Payload;
use crate::reply::Outcome;

#[derive(Debug)]
pub struct Served<T>(PhantomData<T>);

impl<C: Controller> Served<C> {
    pub const HANDLERS: u32 = C::HANDLERS;

    pub fn handle(handler: u32, context: Context) -> (Outcome, Option<Context>) {
        C::handle(handler, context)
    }

    pub fn handle_async(handler: u32, context: AsyncContext) -> impl Future<Output = (Outcome, Option<AsyncContext>)> {
        C::handle_async(handler, context)
    }
}

impl<C: Channel> Served<C> {
    pub const LISTENERS: u32 = C::LISTENERS;

    pub fn deliver(listener: u32, delivery: Delivery, payload: Payload) -> Result<Payload, Failure> {
        C::deliver(listener, delivery, payload)
    }

    pub fn deliver_async(
        listener: u32,
        delivery: AsyncDelivery,
        payload: Payload,
    ) -> impl Future<Output = Result<Payload, Failure>> {
        C::deliver_async(listener, delivery, payload)
    }
}

/// The functions of a type that is not a controller or channel.
pub trait NotListable {
    const HANDLERS: u32 = 0;
    const LISTENERS: u32 = 0;

    fn handle(_handler: u32, _context: Context) -> (Outcome, Option<Context>) {
        unknown_handler()
    }

    fn handle_async(_handler: u32, _context: AsyncContext) -> impl Future<Output = (Outcome, Option<AsyncContext>)> {
        std::future::ready(unknown_handler())
    }

    fn deliver(_listener: u32, _delivery: Delivery, _payload: Payload) -> Result<Payload, Failure> {
        Err(unknown_listener())
    }

    fn deliver_async(
        _listener: u32,
        _delivery: AsyncDelivery,
        _payload: Payload,
    ) -> impl Future<Output = Result<Payload, Failure>> {
        std::future::ready(Err(unknown_listener()))
    }
}

impl<T> NotListable for Served<T> {}
