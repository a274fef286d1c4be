//! The expansion of `module!`, and the traits through which the exports of a world reach it.
//!
//! The exports call a handler or a listener by its number in the module: the numbers of a controller or channel
//! continue those of the ones before it.

use crate::channel::Listener;
use crate::context::{AsyncContext, Context};
use crate::controller::{Metadata, Route};
use crate::delivery::{AsyncDelivery, Delivery};
use crate::failure::Failure;
use crate::payload::Payload;
use crate::reply::Outcome;

/// The declaration of a controller.
#[derive(Debug)]
pub struct DeclaredController {
    pub name: &'static str,
    pub prefix: &'static str,
    pub handlers: u32,
    pub routes: &'static [Route],
    pub metadata: Metadata,
    pub events_used: &'static [Option<&'static str>],
}

/// The declaration of a channel.
#[derive(Debug)]
pub struct DeclaredChannel {
    pub name: &'static str,
    pub listeners: u32,
    pub events: &'static [Listener],
    pub metadata: Metadata,
    pub events_used: &'static [Option<&'static str>],
}

/// The declarations of a module.
pub trait Module {
    /// The name, version and description of the package.
    const PACKAGE: [Option<&'static str>; 3];
    const CONTROLLERS: &'static [DeclaredController];
    const CHANNELS: &'static [DeclaredChannel];
    /// The events behind `uses:`.
    const EVENTS_USED: &'static [&'static str];
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
    Outcome::Thrown(Failure::new(500_u16, "the module has no such handler"))
}

/// The failure for a number that the module did not declare.
pub fn unknown_listener() -> Failure {
    Failure::with_code("unknown-event", 500_u16, "the module has no such listener")
}

/// The declarations of controllers and channels that fit an asynchronous module.
pub mod asynchronous {
    use super::{DeclaredChannel, DeclaredController};

    pub const fn controller<C: crate::Controller>() -> DeclaredController {
        DeclaredController {
            name: C::NAME,
            prefix: C::PREFIX,
            handlers: C::HANDLERS,
            routes: C::ROUTES,
            metadata: C::METADATA,
            events_used: C::EVENTS_USED,
        }
    }

    pub const fn channel<C: crate::Channel>() -> DeclaredChannel {
        DeclaredChannel {
            name: C::NAME,
            listeners: C::LISTENERS,
            events: C::EVENTS,
            metadata: C::METADATA,
            events_used: C::EVENTS_USED,
        }
    }
}

/// The declarations of controllers and channels that fit a synchronous module.
pub mod blocking {
    pub const fn controller<C: crate::BlockingController>() -> super::DeclaredController {
        super::asynchronous::controller::<C>()
    }

    pub const fn channel<C: crate::BlockingChannel>() -> super::DeclaredChannel {
        super::asynchronous::channel::<C>()
    }
}

/// One module: its form, and the list of `module!`.
#[doc(hidden)]
#[macro_export]
macro_rules! __module {
    ($form:ident channels: $($channel:ty),+ $(,)? $(; uses: $($used:tt)+)?) => {
        $crate::__module! { @ $form [] [$($channel),+] [$($($used)+)?] }
    };
    ($form:ident $($controller:ty),+ $(,)? $(; channels: $($channel:ty),+ $(,)?)? $(; uses: $($used:tt)+)?) => {
        $crate::__module! { @ $form [$($controller),+] [$($($channel),+)?] [$($($used)+)?] }
    };
    (@ $form:ident [$($controller:ty),*] [$($channel:ty),*] [$($used:tt)*]) => {
        // A second `module!` beside it does not compile.
        #[allow(dead_code, reason = "it is a name only")]
        const ONE_MODULE_PER_CRATE: () = ();

        const _: () = {
            #[allow(dead_code, reason = "a native build has no exports")]
            struct Module;

            impl $crate::__private::Module for Module {
                const PACKAGE: [::core::option::Option<&'static str>; 3] = [
                    ::core::option_env!("CARGO_PKG_NAME"),
                    ::core::option_env!("CARGO_PKG_VERSION"),
                    ::core::option_env!("CARGO_PKG_DESCRIPTION"),
                ];
                const CONTROLLERS: &'static [$crate::__private::DeclaredController] =
                    &[$($crate::__private::$form::controller::<$controller>()),*];
                const CHANNELS: &'static [$crate::__private::DeclaredChannel] =
                    &[$($crate::__private::$form::channel::<$channel>()),*];
                const EVENTS_USED: &'static [&'static str] = $crate::__uses!([] $($used)*);
            }

            $crate::__check_routes! {}
            $crate::__list! { [$($controller),*] [$($channel),*] }

            #[cfg(target_arch = "wasm32")]
            $crate::__dispatch! { $form [$($controller),*] [$($channel),*] }
            #[cfg(target_arch = "wasm32")]
            $crate::__export! { $form }
        };
    };
    ($($other:tt)*) => {
        ::core::compile_error!(
            "expected the controllers of the module, `module! { Products, Health }`, its channels, \
             `module! { channels: Db }`, or both, `module! { Products, Health; channels: Db }`; the asynchronous form \
             begins with `async;`, and events of helper functions follow `; uses:`"
        );
    };
}

/// Fails to compile if two routes of the module answer the same requests.
#[doc(hidden)]
#[macro_export]
macro_rules! __check_routes {
    () => {
        const _: () = {
            use $crate::__private::{Module as Declared, PARTS, conflict, count, joined, length, text};

            const SLOTS: usize = 2 * count(Module::CONTROLLERS) + 1;
            const CONFLICT: ::core::option::Option<[&'static str; PARTS]> = conflict::<SLOTS>(Module::CONTROLLERS);
            const MESSAGE: &[&str] = match &CONFLICT {
                ::core::option::Option::Some(parts) => parts,
                ::core::option::Option::None => &[],
            };
            const BYTES: [u8; length(MESSAGE)] = joined(MESSAGE);
            ::core::assert!(BYTES.is_empty(), "{}", text(&BYTES));
        };
    };
}

/// Lists the controllers and channels in a section of the binary, for `pointwork build`, which knows those that exist.
#[doc(hidden)]
#[macro_export]
macro_rules! __list {
    ([$($controller:ty),*] [$($channel:ty),*]) => {
        #[cfg(target_arch = "wasm32")]
        const _: () = {
            const LINES: &[&str] = &[
                "in `", ::core::module_path!(), "`\n",
                $(<$controller as $crate::Controller>::PLACE, "\n",)*
                $(<$channel as $crate::Channel>::PLACE, "\n",)*
            ];
            #[allow(dead_code, reason = "the section is read, not the static")]
            #[unsafe(link_section = "pointwork:listed")]
            static LISTED: [u8; $crate::__private::length(LINES)] = $crate::__private::joined(LINES);
        };
    };
}

/// The names behind `uses:`: types of the event map and literals.
#[doc(hidden)]
#[macro_export]
macro_rules! __uses {
    ([$($name:expr,)*]) => {
        &[$($name),*]
    };
    ([$($name:expr,)*] $literal:literal $(, $($rest:tt)*)?) => {
        $crate::__uses!([$($name,)* {
            const _: () = ::core::assert!(
                $crate::__private::is_own_name($literal),
                ::core::concat!(
                    "`", $literal, "` is not a valid event name: expected words joined by `:`, without whitespace, \
                     such as `db:product:all`"
                ),
            );
            $literal
        },] $($($rest)*)?)
    };
    ([$($name:expr,)*] $event:ty $(, $($rest:tt)*)?) => {
        $crate::__uses!([$($name,)* <$event as $crate::Event>::NAME,] $($($rest)*)?)
    };
}

/// The dispatch of a module: each controller and channel takes as many numbers as it has functions.
#[doc(hidden)]
#[macro_export]
macro_rules! __dispatch {
    (blocking [$($controller:ty),*] [$($channel:ty),*]) => {
        #[allow(unused_variables, reason = "a module need not have both controllers and channels")]
        impl $crate::__private::BlockingModule for Module {
            fn handle(number: u32, context: $crate::Context) -> $crate::Outcome {
                $(let ::core::option::Option::Some(number) = number.checked_sub(<$controller as $crate::Controller>::HANDLERS) else {
                    return <$controller as $crate::Controller>::handle(number, context);
                };)*
                $crate::__private::unknown_handler()
            }

            fn deliver(
                number: u32,
                delivery: $crate::Delivery,
                payload: $crate::Payload,
            ) -> ::core::result::Result<$crate::Payload, $crate::Failure> {
                $(let ::core::option::Option::Some(number) = number.checked_sub(<$channel as $crate::Channel>::LISTENERS) else {
                    return <$channel as $crate::Channel>::deliver(number, delivery, payload);
                };)*
                ::core::result::Result::Err($crate::__private::unknown_listener())
            }
        }
    };
    (asynchronous [$($controller:ty),*] [$($channel:ty),*]) => {
        #[allow(unused_variables, reason = "a module need not have both controllers and channels")]
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
