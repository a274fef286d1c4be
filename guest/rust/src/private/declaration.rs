//! What a module declares, without the types that declare it.

use crate::channel::{Channel, Listener};
use crate::controller::{Controller, Route};

/// The declarations of a controller.
#[derive(Clone, Copy, Debug)]
pub struct ControllerDeclaration {
    pub(super) name: &'static str,
    pub(super) prefix: &'static str,
    pub(super) handlers: u32,
    pub(super) routes: &'static [Route],
}

impl ControllerDeclaration {
    pub const fn of<C: Controller>() -> Self {
        Self {
            name: C::NAME,
            prefix: C::PREFIX,
            handlers: C::HANDLERS,
            routes: C::ROUTES,
        }
    }
}

/// The declarations of a channel.
#[derive(Clone, Copy, Debug)]
pub struct ChannelDeclaration {
    pub(super) name: &'static str,
    pub(super) listeners: u32,
    pub(super) events: &'static [Listener],
}

impl ChannelDeclaration {
    pub const fn of<C: Channel>() -> Self {
        Self {
            name: C::NAME,
            listeners: C::LISTENERS,
            events: C::EVENTS,
        }
    }
}
