//! The expansion of `module!`, and the traits through which the exports of a world reach it.
//!
//! The exports call a handler or a listener by its number in the module: the numbers of a controller or channel
//! continue those of the ones before it.

use crate::channel::Listener;
use crate::context::{AsyncContext, Context};
use crate::controller::{Metadata, Route};
use crate::delivery::{AsyncDelivery, Delivery};
use crate::failure::Failure;
use crate::reply::Outcome;
use crate::variables::NeededVariable;
use pointwork_events::Payload;

/// The declaration of a controller.
#[derive(Debug)]
pub struct DeclaredController {
    pub name: &'static str,
    pub prefix: &'static str,
    pub handlers: u32,
    pub routes: &'static [Route],
    pub metadata: Metadata,
    pub events_used: &'static [Option<&'static str>],
    pub place: &'static str,
    pub blocking: Option<&'static str>,
}

/// The declaration of a channel.
#[derive(Debug)]
pub struct DeclaredChannel {
    pub name: &'static str,
    pub listeners: u32,
    pub events: &'static [Listener],
    pub metadata: Metadata,
    pub events_used: &'static [Option<&'static str>],
    pub place: &'static str,
    pub blocking: Option<&'static str>,
}

/// The declarations of a module.
pub trait Module {
    /// The name, version and description of the package.
    const PACKAGE: [Option<&'static str>; 3];
    const CONTROLLERS: &'static [DeclaredController];
    const CHANNELS: &'static [DeclaredChannel];
    /// The events behind `uses:`.
    const EVENTS_USED: &'static [&'static str];
    /// Those of the type behind `variables:`.
    const VARIABLES: &'static [NeededVariable];
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
            place: C::PLACE,
            blocking: C::BLOCKING,
        }
    }

    pub const fn channel<C: crate::Channel>() -> DeclaredChannel {
        DeclaredChannel {
            name: C::NAME,
            listeners: C::LISTENERS,
            events: C::EVENTS,
            metadata: C::METADATA,
            events_used: C::EVENTS_USED,
            place: C::PLACE,
            blocking: C::BLOCKING,
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

/// The parts of the message of [`first_blocking`].
pub const BLOCKING_PARTS: usize = 9;

/// The message about the first function of an asynchronous module that takes a context of the synchronous form, if there is
/// one: its functions wait by blocking, and the contract has them in synchronous modules alone.
pub const fn first_blocking(
    controllers: &[DeclaredController],
    channels: &[DeclaredChannel],
) -> Option<[&'static str; BLOCKING_PARTS]> {
    let mut at = 0;
    while at < controllers.len() + channels.len() {
        let (function, blocking, of, taken, expected) = if at < controllers.len() {
            let controller = &controllers[at];
            (
                "handler `",
                controller.blocking,
                controller.name,
                "`Context`",
                "`AsyncContext`",
            )
        } else {
            let channel = &channels[at - controllers.len()];
            let taken = "`Delivery` or `Context`";
            (
                "listener `",
                channel.blocking,
                channel.name,
                taken,
                "`AsyncDelivery` or `AsyncContext`",
            )
        };
        if let Some(name) = blocking {
            return Some([
                function,
                name,
                "` of `",
                of,
                "` takes ",
                taken,
                ", whose functions block all calls of an asynchronous module while they wait; take ",
                expected,
                ", and make the function `async fn` if it waits",
            ]);
        }
        at += 1;
    }
    None
}

/// The texts of the section that lists the controllers and channels of a module.
pub const fn places<const N: usize>(
    module: &'static str,
    controllers: &[DeclaredController],
    channels: &[DeclaredChannel],
) -> [&'static str; N] {
    let mut texts = ["\n"; N];
    (texts[0], texts[1], texts[2]) = ("in `", module, "`\n");
    let mut at = 0;
    while at < controllers.len() + channels.len() {
        texts[3 + 2 * at] = if at < controllers.len() {
            controllers[at].place
        } else {
            channels[at - controllers.len()].place
        };
        at += 1;
    }
    texts
}

/// One module: its form, and the list of `module!`.
#[doc(hidden)]
#[macro_export]
macro_rules! __module {
    ($form:ident channels: $($channel:ty),+ $(,)? $(; variables: $variables:ty)? $(; uses: $($used:tt)+)?) => {
        $crate::__module! { @ $form [] [$($channel),+] [$($variables)?] [$($($used)+)?] }
    };
    ($form:ident $($controller:ty),+ $(,)? $(; channels: $($channel:ty),+ $(,)?)? $(; variables: $variables:ty)?
        $(; uses: $($used:tt)+)?) => {
        $crate::__module! { @ $form [$($controller),+] [$($($channel),+)?] [$($variables)?] [$($($used)+)?] }
    };
    (@ $form:ident [$($controller:ty),*] [$($channel:ty),*] [$($variables:ty)?] [$($used:tt)*]) => {
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
                const VARIABLES: &'static [$crate::__private::NeededVariable] =
                    $crate::__variables!($($variables)?);
            }

            $crate::__check_form! { $form }
            $crate::__check_routes! {}
            $crate::__list! {}

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
             begins with `async;`, the type of the configuration follows `; variables:`, and then events of helper functions \
             `; uses:`"
        );
    };
}

/// Fails to compile if a function of an asynchronous module takes a context of the synchronous form.
#[doc(hidden)]
#[macro_export]
macro_rules! __check_form {
    (blocking) => {};
    (asynchronous) => {
        const _: () = {
            use $crate::__private::{BLOCKING_PARTS, Module as _, first_blocking, joined, length, text};

            const BLOCKING: ::core::option::Option<[&'static str; BLOCKING_PARTS]> =
                first_blocking(Module::CONTROLLERS, Module::CHANNELS);
            const MESSAGE: &[&str] = match &BLOCKING {
                ::core::option::Option::Some(parts) => parts,
                ::core::option::Option::None => &[],
            };
            const BYTES: [u8; length(MESSAGE)] = joined(MESSAGE);
            ::core::assert!(BYTES.is_empty(), "{}", text(&BYTES));
        };
    };
}

/// Fails to compile if two routes of the module answer the same requests.
#[doc(hidden)]
#[macro_export]
macro_rules! __check_routes {
    () => {
        const _: () = {
            use $crate::__private::{Module as _, PARTS, conflict, count, joined, length, text};

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
    () => {
        #[cfg(target_arch = "wasm32")]
        const _: () = {
            use $crate::__private::{Module as _, joined, length, places};

            const LINES: [&str; 3 + 2 * (Module::CONTROLLERS.len() + Module::CHANNELS.len())] =
                places(::core::module_path!(), Module::CONTROLLERS, Module::CHANNELS);
            #[allow(dead_code, reason = "the section is read, not the static")]
            #[unsafe(link_section = "pointwork:listed")]
            static LISTED: [u8; length(&LINES)] = joined(&LINES);
        };
    };
}

/// The variables of the type behind `variables:`.
#[doc(hidden)]
#[macro_export]
macro_rules! __variables {
    () => {
        &[]
    };
    ($variables:ty) => {
        <$variables as $crate::Variables>::NEEDED
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

/// The dispatch of a module: each function of a controller or a channel has a number of its own.
#[doc(hidden)]
#[macro_export]
macro_rules! __dispatch {
    (blocking [$($controller:ty),*] [$($channel:ty),*]) => {
        #[allow(unused_variables, unused_imports, reason = "a module need not have both controllers and channels")]
        impl $crate::__private::BlockingModule for Module {
            fn handle(number: u32, context: $crate::Context) -> $crate::Outcome {
                use $crate::__private::{NotListable as _, Served};
                $(let ::core::option::Option::Some(number) = number.checked_sub(Served::<$controller>::HANDLERS) else {
                    return Served::<$controller>::handle(number, context);
                };)*
                $crate::__private::unknown_handler()
            }

            fn deliver(
                number: u32,
                delivery: $crate::Delivery,
                payload: $crate::Payload,
            ) -> ::core::result::Result<$crate::Payload, $crate::Failure> {
                use $crate::__private::{NotListable as _, Served};
                $(let ::core::option::Option::Some(number) = number.checked_sub(Served::<$channel>::LISTENERS) else {
                    return Served::<$channel>::deliver(number, delivery, payload);
                };)*
                ::core::result::Result::Err($crate::__private::unknown_listener())
            }
        }
    };
    (asynchronous [$($controller:ty),*] [$($channel:ty),*]) => {
        #[allow(unused_variables, unused_imports, reason = "a module need not have both controllers and channels")]
        impl $crate::__private::AsyncModule for Module {
            async fn handle(number: u32, context: $crate::AsyncContext) -> $crate::Outcome {
                use $crate::__private::{NotListable as _, Served};
                $(let ::core::option::Option::Some(number) = number.checked_sub(Served::<$controller>::HANDLERS) else {
                    return Served::<$controller>::handle_async(number, context).await;
                };)*
                $crate::__private::unknown_handler()
            }

            async fn deliver(
                number: u32,
                delivery: $crate::AsyncDelivery,
                payload: $crate::Payload,
            ) -> ::core::result::Result<$crate::Payload, $crate::Failure> {
                use $crate::__private::{NotListable as _, Served};
                $(let ::core::option::Option::Some(number) = number.checked_sub(Served::<$channel>::LISTENERS) else {
                    return Served::<$channel>::deliver_async(number, delivery, payload).await;
                };)*
                ::core::result::Result::Err($crate::__private::unknown_listener())
            }
        }
    };
}
