//! The expansion of `module!`, and the traits through which the exports of a world reach it.
//!
//! The exports call a handler or a listener by its number in the module: the numbers of a controller or channel
//! continue those of the ones before it.

use crate::channel::Listener;
use crate::context::{AsyncContext, Context};
use crate::controller::Route;
use crate::delivery::{AsyncDelivery, Delivery};
use crate::failure::Failure;
use crate::payload::Payload;
use crate::reply::Outcome;
use crate::throw::Throw;

/// The name, prefix, number of handlers and routes of a controller.
pub type DeclaredController = (&'static str, &'static str, u32, &'static [Route]);

/// The name, number of listeners and events of a channel.
pub type DeclaredChannel = (&'static str, u32, &'static [Listener]);

/// The declarations of a module.
pub trait Module {
    const CONTROLLERS: &'static [DeclaredController];
    const CHANNELS: &'static [DeclaredChannel];
}

/// The functions of a synchronous module.
pub trait BlockingModule {
    fn handle(handler: u32, context: Context) -> Outcome;
    fn deliver(listener: u32, delivery: Delivery, payload: Payload) -> Result<Payload, Failure>;
}

/// The functions of an asynchronous module.
pub trait AsyncModule {
    fn handle(handler: u32, context: AsyncContext) -> impl Future<Output = Outcome>;
    fn deliver(
        listener: u32,
        delivery: AsyncDelivery,
        payload: Payload,
    ) -> impl Future<Output = Result<Payload, Failure>>;
}

/// The outcome for a number that the module did not declare.
pub fn unknown_handler() -> Outcome {
    Outcome::Throw(Throw::new(500_u16, "the module has no such handler"))
}

/// The failure for a number that the module did not declare.
pub fn unknown_listener() -> Failure {
    Failure::new(500_u16, "the module has no such listener")
}

/// The declarations of what fits an asynchronous module.
pub mod asynchronous {
    pub const fn controller<C: crate::Controller>() -> super::DeclaredController {
        (C::NAME, C::PREFIX, C::HANDLERS, C::ROUTES)
    }

    pub const fn channel<C: crate::Channel>() -> super::DeclaredChannel {
        (C::NAME, C::LISTENERS, C::EVENTS)
    }
}

/// The declarations of what fits a synchronous module.
pub mod blocking {
    pub const fn controller<C: crate::BlockingController>() -> super::DeclaredController {
        super::asynchronous::controller::<C>()
    }

    pub const fn channel<C: crate::BlockingChannel>() -> super::DeclaredChannel {
        super::asynchronous::channel::<C>()
    }
}

/// One module: its form, its world, the macro that exports the world, its controllers and its channels.
#[doc(hidden)]
#[macro_export]
macro_rules! __module {
    ($form:ident, $world:ident, $export:ident, [$($controller:ty),*], [$($channel:ty),*]) => {
        const _: () = {
            #[allow(dead_code, reason = "a native build has no exports")]
            struct Module;

            impl $crate::__private::Module for Module {
                const CONTROLLERS: &'static [$crate::__private::DeclaredController] =
                    &[$($crate::__private::$form::controller::<$controller>()),*];
                const CHANNELS: &'static [$crate::__private::DeclaredChannel] =
                    &[$($crate::__private::$form::channel::<$channel>()),*];
            }

            #[cfg(target_arch = "wasm32")]
            $crate::__dispatch! { $form, [$($controller),*], [$($channel),*] }
            #[cfg(target_arch = "wasm32")]
            $crate::bindings::$world::$export!(Module with_types_in $crate::bindings::$world);
        };
    };
}

/// The dispatch of a module: each controller and channel takes as many numbers as it has functions.
#[doc(hidden)]
#[macro_export]
macro_rules! __dispatch {
    (blocking, [$($controller:ty),*], [$($channel:ty),*]) => {
        impl $crate::__private::BlockingModule for Module {
            fn handle(number: u32, context: $crate::Context) -> $crate::Outcome {
                $(let ::core::option::Option::Some(number) = number.checked_sub(<$controller as $crate::Controller>::HANDLERS) else {
                    return <$controller as $crate::BlockingController>::handle(number, context);
                };)*
                $crate::__private::unknown_handler()
            }

            fn deliver(
                number: u32,
                delivery: $crate::Delivery,
                payload: $crate::Payload,
            ) -> ::core::result::Result<$crate::Payload, $crate::Failure> {
                $(let ::core::option::Option::Some(number) = number.checked_sub(<$channel as $crate::Channel>::LISTENERS) else {
                    return <$channel as $crate::BlockingChannel>::deliver(number, delivery, payload);
                };)*
                ::core::result::Result::Err($crate::__private::unknown_listener())
            }
        }
    };
    (asynchronous, [$($controller:ty),*], [$($channel:ty),*]) => {
        impl $crate::__private::AsyncModule for Module {
            async fn handle(number: u32, context: $crate::AsyncContext) -> $crate::Outcome {
                $(let ::core::option::Option::Some(number) = number.checked_sub(<$controller as $crate::Controller>::HANDLERS) else {
                    return <$controller as $crate::Controller>::handle_async(number, context).await;
                };)*
                $crate::__private::unknown_handler()
            }

            async fn deliver(
                number: u32,
                delivery: $crate::AsyncDelivery,
                payload: $crate::Payload,
            ) -> ::core::result::Result<$crate::Payload, $crate::Failure> {
                $(let ::core::option::Option::Some(number) = number.checked_sub(<$channel as $crate::Channel>::LISTENERS) else {
                    return <$channel as $crate::Channel>::deliver_async(number, delivery, payload).await;
                };)*
                ::core::result::Result::Err($crate::__private::unknown_listener())
            }
        }
    };
}
