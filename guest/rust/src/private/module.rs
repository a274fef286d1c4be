//! What `module!` expands to, once it has told apart what its list holds.

/// One module: its form, its world, the macro that exports the world, and what is in it.
#[doc(hidden)]
#[macro_export]
macro_rules! __module {
    ($form:ident, $world:ident, $export:ident, [$($controller:ty),*], [$($channel:ty),*]) => {
        const _: () = {
            #[allow(dead_code, reason = "a native build has no exports")]
            struct Module;

            $crate::__module_controllers! { $form, $($controller),* }
            $crate::__module_channels! { $form, $($channel),* }

            #[cfg(target_arch = "wasm32")]
            $crate::bindings::$world::$export!(Module with_types_in $crate::bindings::$world);
        };
    };
}

/// The controllers of a module, if it has any; handlers are numbered through.
#[doc(hidden)]
#[macro_export]
macro_rules! __module_controllers {
    ($form:ident,) => {};
    ($form:ident, $($controller:ty),+) => {
        impl $crate::__private::Controllers for Module {
            #[cfg(target_arch = "wasm32")]
            const CONTROLLERS: &'static [$crate::__private::ControllerDeclaration] =
                &[$($crate::__private::ControllerDeclaration::of::<$controller>()),+];
        }

        $crate::__module_handle! { $form, $($controller),+ }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __module_handle {
    (blocking, $($controller:ty),+) => {
        impl $crate::__private::BlockingControllers for Module {
            fn handle(mut handler: u32, context: $crate::Context) -> $crate::Outcome {
                $(
                    if handler < <$controller as $crate::Controller>::HANDLERS {
                        return <$controller as $crate::BlockingController>::handle(handler, context);
                    }
                    handler -= <$controller as $crate::Controller>::HANDLERS;
                )+
                $crate::__private::unknown_handler()
            }
        }
    };
    (asynchronous, $($controller:ty),+) => {
        impl $crate::__private::AsyncControllers for Module {
            async fn handle(mut handler: u32, context: $crate::AsyncContext) -> $crate::Outcome {
                $(
                    if handler < <$controller as $crate::Controller>::HANDLERS {
                        return <$controller as $crate::Controller>::handle_async(handler, context).await;
                    }
                    handler -= <$controller as $crate::Controller>::HANDLERS;
                )+
                $crate::__private::unknown_handler()
            }
        }
    };
}

/// The channels of a module, if it has any; listeners are numbered through.
#[doc(hidden)]
#[macro_export]
macro_rules! __module_channels {
    ($form:ident,) => {};
    ($form:ident, $($channel:ty),+) => {
        impl $crate::__private::Channels for Module {
            #[cfg(target_arch = "wasm32")]
            const CHANNELS: &'static [$crate::__private::ChannelDeclaration] =
                &[$($crate::__private::ChannelDeclaration::of::<$channel>()),+];
        }

        $crate::__module_deliver! { $form, $($channel),+ }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __module_deliver {
    (blocking, $($channel:ty),+) => {
        impl $crate::__private::BlockingChannels for Module {
            fn deliver(
                mut listener: u32,
                delivery: $crate::Delivery,
                payload: $crate::Payload,
            ) -> ::core::result::Result<$crate::Payload, $crate::Failure> {
                $(
                    if listener < <$channel as $crate::Channel>::LISTENERS {
                        return <$channel as $crate::BlockingChannel>::deliver(listener, delivery, payload);
                    }
                    listener -= <$channel as $crate::Channel>::LISTENERS;
                )+
                ::core::result::Result::Err($crate::__private::unknown_listener())
            }
        }
    };
    (asynchronous, $($channel:ty),+) => {
        impl $crate::__private::AsyncChannels for Module {
            async fn deliver(
                mut listener: u32,
                delivery: $crate::AsyncDelivery,
                payload: $crate::Payload,
            ) -> ::core::result::Result<$crate::Payload, $crate::Failure> {
                $(
                    if listener < <$channel as $crate::Channel>::LISTENERS {
                        return <$channel as $crate::Channel>::deliver_async(listener, delivery, payload).await;
                    }
                    listener -= <$channel as $crate::Channel>::LISTENERS;
                )+
                ::core::result::Result::Err($crate::__private::unknown_listener())
            }
        }
    };
}
