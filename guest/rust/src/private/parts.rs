//! What `module!` makes of its lists. The exports of each world stand on these traits, so that the macro has to say of
//! a module only what it consists of.
//!
//! Native builds have no exports and so no declarations, but the same dispatch: it is what tells an author that a part
//! does not fit the module's form.

#[cfg(target_arch = "wasm32")]
use super::{ChannelDeclaration, ControllerDeclaration};
use crate::{AsyncContext, AsyncDelivery, Context, Delivery, Failure, Outcome, Payload};

/// The controllers of a module; handlers are numbered through, without gaps.
pub trait Controllers {
    #[cfg(target_arch = "wasm32")]
    const CONTROLLERS: &'static [ControllerDeclaration];
}

/// Of a synchronous module.
pub trait BlockingControllers: Controllers {
    fn handle(handler: u32, context: Context) -> Outcome;
}

/// Of an asynchronous module.
pub trait AsyncControllers: Controllers {
    fn handle(handler: u32, context: AsyncContext) -> impl Future<Output = Outcome>;
}

/// The channels of a module; listeners are numbered through, without gaps.
pub trait Channels {
    #[cfg(target_arch = "wasm32")]
    const CHANNELS: &'static [ChannelDeclaration];
}

/// Of a synchronous module.
pub trait BlockingChannels: Channels {
    fn deliver(listener: u32, delivery: Delivery, payload: Payload) -> Result<Payload, Failure>;
}

/// Of an asynchronous module.
pub trait AsyncChannels: Channels {
    fn deliver(
        listener: u32,
        delivery: AsyncDelivery,
        payload: Payload,
    ) -> impl Future<Output = Result<Payload, Failure>>;
}
