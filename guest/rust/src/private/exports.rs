//! From the parts of a module to the exports of its world.
//!
//! The bindings of each world define their traits and records anew, so everything here is written once and stamped out
//! for each world. `module!` then exports its type to the one world that it chose.

use super::parts::{AsyncChannels, AsyncControllers, BlockingChannels, BlockingControllers, Channels, Controllers};
use crate::bindings::types;
use crate::{AsyncContext, AsyncDelivery, Context, Delivery, Failure, Outcome, Payload, backend};

/// Sets up what every handler and listener may rely on.
fn begin() {
    wit_bindgen::rt::maybe_link_cabi_realloc();
    super::panic::tell_host();
}

fn lower(outcome: Outcome) -> types::Outcome {
    match outcome {
        Outcome::Reply(reply) => types::Outcome::Reply(reply.into()),
        Outcome::Throw(throw) => {
            let (status, message) = throw.into_parts();
            types::Outcome::Throw(types::Thrown { status, message })
        }
        Outcome::Deferred => types::Outcome::Deferred,
    }
}

fn lower_answer(answer: Result<Payload, Failure>) -> Result<types::Payload, types::Failure> {
    answer.map(Into::into).map_err(Into::into)
}

macro_rules! routes {
    ($($world:ident),*) => {$(
        const _: () = {
            use crate::bindings::$world::exports::pointwork::module::routes::{Controller, Guest, Route};

            impl<M: Controllers> Guest for M {
                fn declare_routes() -> Vec<Controller> {
                    begin();
                    let mut first = 0;
                    let controllers = M::CONTROLLERS.iter().map(|controller| {
                        let routes = controller.routes.iter().map(|route| Route {
                            handler: first + route.handler,
                            name: route.name.to_owned(),
                            method: route.method.map(str::to_owned),
                            paths: route.paths.iter().map(|&path| path.to_owned()).collect(),
                        });
                        let declared = Controller {
                            name: controller.name.to_owned(),
                            prefix: controller.prefix.to_owned(),
                            routes: routes.collect(),
                        };
                        first += controller.handlers;
                        declared
                    });
                    controllers.collect()
                }
            }
        };
    )*};
}

macro_rules! channels {
    ($($world:ident),*) => {$(
        const _: () = {
            use crate::bindings::$world::exports::pointwork::module::channels::{Channel, Guest, Listener};

            impl<M: Channels> Guest for M {
                fn declare_channels() -> Vec<Channel> {
                    begin();
                    let mut first = 0;
                    let channels = M::CHANNELS.iter().map(|channel| {
                        let listeners = channel.events.iter().map(|listener| Listener {
                            id: first + listener.listener,
                            event: listener.event.to_owned(),
                        });
                        let declared = Channel {
                            name: channel.name.to_owned(),
                            listeners: listeners.collect(),
                        };
                        first += channel.listeners;
                        declared
                    });
                    channels.collect()
                }
            }
        };
    )*};
}

macro_rules! handlers {
    ($($world:ident),*) => {$(
        impl<M: BlockingControllers> crate::bindings::$world::exports::pointwork::module::handlers::Guest for M {
            fn handle(handler: u32, context: backend::Context) -> types::Outcome {
                begin();
                lower(<M as BlockingControllers>::handle(handler, Context::new(context)))
            }
        }
    )*};
}

macro_rules! handlers_async {
    ($($world:ident),*) => {$(
        impl<M: AsyncControllers> crate::bindings::$world::exports::pointwork::module::handlers_async::Guest for M {
            async fn handle(handler: u32, context: backend::Context) -> types::Outcome {
                begin();
                lower(<M as AsyncControllers>::handle(handler, AsyncContext::new(context)).await)
            }
        }
    )*};
}

macro_rules! listeners {
    ($($world:ident),*) => {$(
        impl<M: BlockingChannels> crate::bindings::$world::exports::pointwork::module::listeners::Guest for M {
            fn deliver(
                listener: u32,
                delivery: backend::Delivery,
                payload: types::Payload,
            ) -> Result<types::Payload, types::Failure> {
                begin();
                let delivery = Delivery::new(delivery);
                lower_answer(<M as BlockingChannels>::deliver(listener, delivery, payload.into()))
            }
        }
    )*};
}

macro_rules! listeners_async {
    ($($world:ident),*) => {$(
        impl<M: AsyncChannels> crate::bindings::$world::exports::pointwork::module::listeners_async::Guest for M {
            async fn deliver(
                listener: u32,
                delivery: backend::Delivery,
                payload: types::Payload,
            ) -> Result<types::Payload, types::Failure> {
                begin();
                let delivery = AsyncDelivery::new(delivery);
                lower_answer(<M as AsyncChannels>::deliver(listener, delivery, payload.into()).await)
            }
        }
    )*};
}

routes!(
    controller_module,
    controller_module_async,
    full_module,
    full_module_async
);
channels!(channel_module, channel_module_async, full_module, full_module_async);
handlers!(controller_module, full_module);
handlers_async!(controller_module_async, full_module_async);
listeners!(channel_module, full_module);
listeners_async!(channel_module_async, full_module_async);
