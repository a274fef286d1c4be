//! The expansion of `module!`, and the traits through which the exports of a world reach it.
//!
//! The exports call a handler or a listener by its number in the module: the numbers of a controller or channel
//! continue those of the ones before it.

use super::guards::{Needed, first_unfit};
use super::text::same;
use crate::channel::Listener;
use crate::context::{AsyncContext, Context};
use crate::controller::{Metadata, Route};
use crate::delivery::{AsyncDelivery, Delivery};
use crate::failure::Failure;
use crate::guard::DeclaredGuard;
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
    pub blocking: Option<(&'static str, &'static str)>,
    pub takes_context: Option<&'static str>,
    pub guards: &'static [Needed],
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
    /// The path of `module!` in the source.
    const PATH: &'static str;
    const CONTROLLERS: &'static [DeclaredController];
    const CHANNELS: &'static [DeclaredChannel];
    /// The events behind `uses:`.
    const EVENTS_USED: &'static [&'static str];
    /// Those of the type behind `variables:`.
    const VARIABLES: &'static [NeededVariable];
    /// The guards behind `guard:`, and the after-hooks behind `after:`.
    const GUARDS: &'static [DeclaredGuard];
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
pub fn unknown_handler<F>() -> (Outcome, Option<Context<F>>) {
    (
        Outcome::Thrown(Failure::new(500_u16, "the module has no such handler")),
        None,
    )
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
            takes_context: C::TAKES_CONTEXT,
            guards: C::GUARDS,
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

/// The parts of a message about a module.
pub const MODULE_PARTS: usize = 9;

type Message = [&'static str; MODULE_PARTS];

/// The message about the first function of an asynchronous module that takes a context of the synchronous form, if there is
/// one: its functions wait by blocking, and the contract has them in synchronous modules alone.
pub const fn first_blocking(controllers: &[DeclaredController], channels: &[DeclaredChannel]) -> Option<Message> {
    let mut at = 0;
    while at < controllers.len() {
        if let Some((name, taken)) = controllers[at].blocking {
            return Some([
                "handler `",
                name,
                "` of `",
                controllers[at].name,
                "` takes `",
                taken,
                "`, whose functions block all calls of an asynchronous module while they wait; take ",
                if same(taken.as_bytes(), b"Context") {
                    "`AsyncContext`"
                } else {
                    "one that has the asynchronous form"
                },
                ", and make the function `async fn` if it waits",
            ]);
        }
        at += 1;
    }
    at = 0;
    while at < channels.len() {
        if let Some(name) = channels[at].blocking {
            return Some([
                "listener `",
                name,
                "` of `",
                channels[at].name,
                "` takes ",
                "`Delivery` or `Context`",
                ", whose functions block all calls of an asynchronous module while they wait; take ",
                "`AsyncDelivery` or `AsyncContext`",
                ", and make the function `async fn` if it waits",
            ]);
        }
        at += 1;
    }
    None
}

/// The message about the first guard or after-hook that has the other form only.
pub const fn first_unfit_guard(
    controllers: &[DeclaredController],
    own: &[DeclaredGuard],
    is_async: bool,
) -> Option<Message> {
    let mut at = 0;
    while at < controllers.len() {
        if let Some(unfit) = first_unfit(controllers[at].guards, is_async) {
            return Some(unfit_guard(unfit, controllers[at].name, is_async));
        }
        at += 1;
    }
    at = 0;
    while at < own.len() {
        if if is_async { own[at].blocks } else { own[at].waits } {
            return Some(unfit_guard(&own[at], "module!", is_async));
        }
        at += 1;
    }
    None
}

const fn unfit_guard(unfit: &DeclaredGuard, of: &'static str, is_async: bool) -> Message {
    let (module, has, expected) = if is_async {
        (
            "`, which is in an asynchronous module, ",
            "has the synchronous form only, or needs a guard that has; ",
            "take `&AsyncContext` in an `async fn`, or serve both forms: `async fn …<F: ModuleForm>(ctx: &Context<F>)`",
        )
    } else {
        (
            "`, which is in a synchronous module, ",
            "has the asynchronous form only, or needs a guard that has; ",
            "take `&Context` in a plain `fn`, or serve both forms: `async fn …<F: ModuleForm>(ctx: &Context<F>)`",
        )
    };
    [
        "`#[", unfit.key, "]` `", unfit.name, "` of `", of, module, has, expected,
    ]
}

/// The message about the first handler that takes the context by value, where an after-hook of the module needs the context.
pub const fn first_without_context(controllers: &[DeclaredController], hook: Option<&'static str>) -> Option<Message> {
    let Some(hook) = hook else { return None };
    let mut at = 0;
    while at < controllers.len() {
        if let Some(handler) = controllers[at].takes_context {
            return Some([
                "handler `",
                handler,
                "` of `",
                controllers[at].name,
                "` takes the context by value, and `",
                hook,
                "` behind `after:` needs it afterwards; ",
                "take the context by reference, or let the hook take nothing but the outcome",
                "",
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

/// One module: its form, and the list of `module!`, whose sections are collected one by one.
#[doc(hidden)]
#[macro_export]
macro_rules! __module {
    ($form:ident channels: $($rest:tt)+) => {
        $crate::__module! { @ $form [] [] [] [] [] [] [] channels: $($rest)+ }
    };
    ($form:ident $($controller:ty),+ $(,)? $(; $($rest:tt)*)?) => {
        $crate::__module! { @ $form [$($controller),+] [] [] [] [] [] [] $($($rest)*)? }
    };
    (@ $form:ident $controllers:tt [] $uses:tt $guards:tt $after:tt $errors:tt $vars:tt
        channels: $($channel:ty),+ $(,)? $(; $($rest:tt)*)?) => {
        $crate::__module! { @ $form $controllers [$($channel),+] $uses $guards $after $errors $vars $($($rest)*)? }
    };
    (@ $form:ident $controllers:tt $channels:tt $uses:tt [] $after:tt $errors:tt $vars:tt
        guard: $($guard:ty),+ $(,)? $(; $($rest:tt)*)?) => {
        $crate::__module! { @ $form $controllers $channels $uses [$($guard),+] $after $errors $vars $($($rest)*)? }
    };
    (@ $form:ident $controllers:tt $channels:tt $uses:tt $guards:tt [] $errors:tt $vars:tt
        after: $($hook:ty),+ $(,)? $(; $($rest:tt)*)?) => {
        $crate::__module! { @ $form $controllers $channels $uses $guards [$($hook),+] $errors $vars $($($rest)*)? }
    };
    (@ $form:ident $controllers:tt $channels:tt $uses:tt $guards:tt $after:tt [] $vars:tt
        errors: $shape:path $(; $($rest:tt)*)?) => {
        $crate::__module! { @ $form $controllers $channels $uses $guards $after [$shape] $vars $($($rest)*)? }
    };
    (@ $form:ident $controllers:tt $channels:tt $uses:tt $guards:tt $after:tt $errors:tt []
        variables: $variables:ty $(; $($rest:tt)*)?) => {
        $crate::__module! { @ $form $controllers $channels $uses $guards $after $errors [$variables] $($($rest)*)? }
    };
    (@ $form:ident $controllers:tt $channels:tt [] $guards:tt $after:tt $errors:tt $vars:tt uses: $($rest:tt)+) => {
        $crate::__module! { @ uses [] $form $controllers $channels $guards $after $errors $vars $($rest)+ }
    };
    (@ uses [$($used:tt)*] $form:ident $controllers:tt $channels:tt $guards:tt $after:tt $errors:tt $vars:tt
        $literal:literal $(, $($rest:tt)*)?) => {
        $crate::__module! { @ uses [$($used)* [$literal]] $form $controllers $channels $guards $after $errors $vars $($($rest)*)? }
    };
    (@ uses [$($used:tt)*] $form:ident $controllers:tt $channels:tt $guards:tt $after:tt $errors:tt $vars:tt
        $literal:literal; $($rest:tt)*) => {
        $crate::__module! { @ $form $controllers $channels [$($used)* [$literal]] $guards $after $errors $vars $($rest)* }
    };
    (@ uses [$($used:tt)*] $form:ident $controllers:tt $channels:tt $guards:tt $after:tt $errors:tt $vars:tt
        $event:ty $(, $($rest:tt)*)?) => {
        $crate::__module! { @ uses [$($used)* [$event]] $form $controllers $channels $guards $after $errors $vars $($($rest)*)? }
    };
    (@ uses [$($used:tt)*] $form:ident $controllers:tt $channels:tt $guards:tt $after:tt $errors:tt $vars:tt
        $event:ty; $($rest:tt)*) => {
        $crate::__module! { @ $form $controllers $channels [$($used)* [$event]] $guards $after $errors $vars $($rest)* }
    };
    (@ uses [$($used:tt)+] $form:ident $controllers:tt $channels:tt $guards:tt $after:tt $errors:tt $vars:tt $(; $($rest:tt)*)?) => {
        $crate::__module! { @ $form $controllers $channels [$($used)+] $guards $after $errors $vars $($($rest)*)? }
    };
    (@ $form:ident [$($controller:ty),*] [$($channel:ty),*] [$([$($used:tt)*])*] [$($guard:ty),*] [$($hook:ty),*]
        [$($shape:path)?] [$($variables:ty)?]) => {
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
                const PATH: &'static str = ::core::module_path!();
                const CONTROLLERS: &'static [$crate::__private::DeclaredController] =
                    &[$($crate::__private::$form::controller::<$controller>()),*];
                const CHANNELS: &'static [$crate::__private::DeclaredChannel] =
                    &[$($crate::__private::$form::channel::<$channel>()),*];
                const EVENTS_USED: &'static [&'static str] = &[$($crate::__uses!($($used)*)),*];
                const GUARDS: &'static [$crate::__private::DeclaredGuard] = &[
                    $(<$guard as $crate::Guard>::DECLARED,)*
                    $(<$hook as $crate::AfterHook>::DECLARED,)*
                ];
                const VARIABLES: &'static [$crate::__private::NeededVariable] =
                    $crate::__variables!($($variables)?);
            }

            $crate::__check_form! { $form [$($hook),*] }
            $crate::__check_routes! {}
            $crate::__list! {}
            $(const _: fn(&$crate::Failure) = |failure| {
                let _ = $crate::IntoOutcome::into_outcome($shape(failure));
            };)?

            #[cfg(target_arch = "wasm32")]
            $crate::__dispatch! { $form [$($controller),*] [$($channel),*] [$($guard),*] [$($hook),*] [$($shape)?] }
            #[cfg(target_arch = "wasm32")]
            $crate::__export! { $form }
        };
    };
    ($($other:tt)*) => {
        ::core::compile_error!(
            "expected the controllers of the module, `module! { Products, Health }`, its channels, \
             `module! { channels: Db }`, or both, `module! { Products, Health; channels: Db }`; the asynchronous form \
             begins with `async;`; `; guard: SignedIn`, `; after: NoStore` and `; errors: problem` are for all its handlers, \
             the type of the configuration follows `; variables:`, and events of helper functions follow `; uses:`"
        );
    };
}

/// Fails to compile with the first message that there is.
#[doc(hidden)]
#[macro_export]
macro_rules! __check_module {
    ($($message:expr;)*) => {
        const _: () = {
            use $crate::__private::{
                MODULE_PARTS, Module as _, first_blocking, first_unfit_guard, first_without_context, joined, length, text,
            };

            $({
                const FOUND: ::core::option::Option<[&'static str; MODULE_PARTS]> = $message;
                const MESSAGE: &[&str] = match &FOUND {
                    ::core::option::Option::Some(parts) => parts,
                    ::core::option::Option::None => &[],
                };
                const BYTES: [u8; length(MESSAGE)] = joined(MESSAGE);
                ::core::assert!(BYTES.is_empty(), "{}", text(&BYTES));
            })*
        };
    };
}

/// Fails to compile if a function, a guard or a hook does not fit the form of the module, or a hook one of its handlers.
#[doc(hidden)]
#[macro_export]
macro_rules! __check_form {
    ($form:ident [$($hook:ty),*]) => {
        #[allow(unused_imports, reason = "a synchronous module has fewer checks")]
        $crate::__check_module! {
            if $crate::__is_async!($form) { first_blocking(Module::CONTROLLERS, Module::CHANNELS) } else {
                ::core::option::Option::None
            };
            first_unfit_guard(Module::CONTROLLERS, Module::GUARDS, $crate::__is_async!($form));
            {
                const HOOK: ::core::option::Option<&'static str> = {
                    #[allow(unused_mut, reason = "a module need not have a hook")]
                    let mut hook = ::core::option::Option::None;
                    $(if <$hook as $crate::AfterHook>::TAKES_CONTEXT {
                        hook = ::core::option::Option::Some(<$hook as $crate::AfterHook>::DECLARED.name);
                    })*
                    hook
                };
                first_without_context(Module::CONTROLLERS, HOOK)
            };
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __is_async {
    (blocking) => {
        false
    };
    (asynchronous) => {
        true
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

/// A name behind `uses:`: that of a type of the event map, or a literal.
#[doc(hidden)]
#[macro_export]
macro_rules! __uses {
    ($literal:literal) => {{
        const _: () = ::core::assert!(
            $crate::__private::is_own_name($literal),
            ::core::concat!(
                "`",
                $literal,
                "` is not a valid event name: expected words joined by `:`, without whitespace, \
                 such as `db:product:all`"
            ),
        );
        $literal
    }};
    ($event:ty) => {
        <$event as $crate::Event>::NAME
    };
}

/// The dispatch of a module: each function of a controller or a channel has a number of its own.
#[doc(hidden)]
#[macro_export]
macro_rules! __dispatch {
    (blocking [$($controller:ty),*] [$($channel:ty),*] [$($guard:ty),*] [$($hook:ty),*] [$($shape:path)?]) => {
        impl Module {
            fn handled(
                number: u32,
                context: $crate::Context,
            ) -> ($crate::Outcome, ::core::option::Option<$crate::Context>) {
                #[allow(unused_imports, reason = "a module need not have controllers")]
                use $crate::__private::{NotListable as _, Served};
                $(if let ::core::result::Result::Err(error) = <$guard as $crate::Guard>::pass(&context) {
                    return ($crate::Outcome::Thrown(error), ::core::option::Option::Some(context));
                })*
                $(let ::core::option::Option::Some(number) = number.checked_sub(Served::<$controller>::HANDLERS) else {
                    return Served::<$controller>::handle(number, context);
                };)*
                $crate::__private::unknown_handler()
            }
        }

        #[allow(unused_variables, unused_imports, reason = "a module need not have both controllers and channels")]
        impl $crate::__private::BlockingModule for Module {
            fn handle(number: u32, context: $crate::Context) -> $crate::Outcome {
                let (outcome, context) = Self::handled(number, context);
                $(let outcome = <$hook as $crate::AfterHook>::run(context.as_ref(), outcome);)*
                $(let outcome = $crate::__private::shaped(outcome, $shape);)?
                outcome
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
    (asynchronous [$($controller:ty),*] [$($channel:ty),*] [$($guard:ty),*] [$($hook:ty),*] [$($shape:path)?]) => {
        impl Module {
            async fn handled(
                number: u32,
                context: $crate::AsyncContext,
            ) -> ($crate::Outcome, ::core::option::Option<$crate::AsyncContext>) {
                #[allow(unused_imports, reason = "a module need not have controllers")]
                use $crate::__private::{NotListable as _, Served};
                $(if let ::core::result::Result::Err(error) =
                    <$guard as $crate::Guard>::pass_async(&context).await
                {
                    return ($crate::Outcome::Thrown(error), ::core::option::Option::Some(context));
                })*
                $(let ::core::option::Option::Some(number) = number.checked_sub(Served::<$controller>::HANDLERS) else {
                    return Served::<$controller>::handle_async(number, context).await;
                };)*
                $crate::__private::unknown_handler()
            }
        }

        #[allow(unused_variables, unused_imports, reason = "a module need not have both controllers and channels")]
        impl $crate::__private::AsyncModule for Module {
            async fn handle(number: u32, context: $crate::AsyncContext) -> $crate::Outcome {
                let (outcome, context) = Self::handled(number, context).await;
                $(let outcome = <$hook as $crate::AfterHook>::run_async(context.as_ref(), outcome).await;)*
                $(let outcome = $crate::__private::shaped(outcome, $shape);)?
                outcome
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
