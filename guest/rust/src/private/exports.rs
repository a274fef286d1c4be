//! Implements the exports of each world for the type that `module!` declares.
//!
//! The bindings of each world define their own traits and records, so the macros here implement them world by world.
//! `module!` then exports its type to the one world that it needs.

use super::module::{AsyncModule, BlockingModule, DeclaredChannel, DeclaredController, Module};
use crate::backend;
use crate::bindings::types;
use crate::context::{AsyncContext, Context};
use crate::delivery::{AsyncDelivery, Delivery};
use crate::failure::Failure;
use crate::payload::Payload;
use crate::reply::Outcome;

/// Prepares the instance; every export calls it first.
fn begin() {
    wit_bindgen::rt::maybe_link_cabi_realloc();
    super::panic::set_hook();
}

fn outcome(outcome: Outcome) -> types::Outcome {
    match outcome {
        Outcome::Reply(reply) => types::Outcome::Reply(reply.into()),
        Outcome::Throw(throw) => types::Outcome::Throw(throw.into()),
        Outcome::Deferred => types::Outcome::Deferred,
    }
}

fn result(result: Result<Payload, Failure>) -> Result<types::Payload, types::Failure> {
    result.map(Into::into).map_err(Into::into)
}

macro_rules! routes {
    ($($world:ident),*) => {$(
        const _: () = {
            use crate::bindings::$world::exports::pointwork::module::routes::{Controller, Guest, Route};

            impl<M: Module> Guest for M {
                fn declare_routes() -> Vec<Controller> {
                    begin();
                    let mut first = 0;
                    let declare = |&(name, prefix, handlers, routes): &DeclaredController| {
                        let routes = routes.iter().map(|route| Route {
                            handler: first + route.handler,
                            name: route.name.to_owned(),
                            method: route.method.map(str::to_owned),
                            paths: route.paths.iter().map(|&path| path.to_owned()).collect(),
                        });
                        let routes = routes.collect();
                        first += handlers;
                        Controller { name: name.to_owned(), prefix: prefix.to_owned(), routes }
                    };
                    M::CONTROLLERS.iter().map(declare).collect()
                }
            }
        };
    )*};
}

macro_rules! channels {
    ($($world:ident),*) => {$(
        const _: () = {
            use crate::bindings::$world::exports::pointwork::module::channels::{Channel, Guest, Listener};

            impl<M: Module> Guest for M {
                fn declare_channels() -> Vec<Channel> {
                    begin();
                    let mut first = 0;
                    let declare = |&(name, count, events): &DeclaredChannel| {
                        let listeners = events.iter().map(|listener| Listener {
                            id: first + listener.listener,
                            event: listener.event.to_owned(),
                        });
                        let listeners = listeners.collect();
                        first += count;
                        Channel { name: name.to_owned(), listeners }
                    };
                    M::CHANNELS.iter().map(declare).collect()
                }
            }
        };
    )*};
}

macro_rules! handlers {
    ($world:ident, $interface:ident, $module:ident, $context:ident $(, $async:tt $await:tt)?) => {
        const _: () = {
            use crate::bindings::$world::exports::pointwork::module::$interface::Guest;

            impl<M: $module> Guest for M {
                $($async)? fn handle(handler: u32, context: backend::Context) -> types::Outcome {
                    begin();
                    outcome(M::handle(handler, $context::new(context))$(.$await)?)
                }
            }
        };
    };
}

macro_rules! listeners {
    ($world:ident, $interface:ident, $module:ident, $delivery:ident $(, $async:tt $await:tt)?) => {
        const _: () = {
            use crate::bindings::$world::exports::pointwork::module::$interface::Guest;

            impl<M: $module> Guest for M {
                $($async)? fn deliver(
                    listener: u32,
                    delivery: backend::Delivery,
                    payload: types::Payload,
                ) -> Result<types::Payload, types::Failure> {
                    begin();
                    let delivery = $delivery::new(delivery);
                    result(M::deliver(listener, delivery, payload.into())$(.$await)?)
                }
            }
        };
    };
}

routes!(
    controller_module,
    controller_module_async,
    full_module,
    full_module_async
);
channels!(channel_module, channel_module_async, full_module, full_module_async);
handlers!(controller_module, handlers, BlockingModule, Context);
handlers!(full_module, handlers, BlockingModule, Context);
handlers!(controller_module_async, handlers_async, AsyncModule, AsyncContext, async await);
handlers!(full_module_async, handlers_async, AsyncModule, AsyncContext, async await);
listeners!(channel_module, listeners, BlockingModule, Delivery);
listeners!(full_module, listeners, BlockingModule, Delivery);
listeners!(channel_module_async, listeners_async, AsyncModule, AsyncDelivery, async await);
listeners!(full_module_async, listeners_async, AsyncModule, AsyncDelivery, async await);
