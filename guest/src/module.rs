/// Lists the controllers of a module: what is not listed takes no part (spec D6), and the order is the order of the
/// routes (spec D9). A crate that is built as a module has exactly one list.
///
/// ```
/// use pointwork_guest::{controller, module};
///
/// struct Health;
///
/// #[controller("health")]
/// impl Health {
///     #[get]
///     fn show() -> &'static str {
///         "up"
///     }
/// }
///
/// module! { Health }
/// # fn main() {}
/// ```
///
/// With `async;` before the list the module takes the asynchronous form: an instance may have several requests in
/// flight, and handlers may be `async fn`. A controller without any `async fn` may stand in either list; in an
/// asynchronous module its handlers hold up the other requests of the instance while they wait.
///
/// ```
/// # use pointwork_guest::{controller, module};
/// # struct Health;
/// # #[controller("health")]
/// # impl Health {
/// #     #[get]
/// #     async fn show() -> &'static str { "up" }
/// # }
/// module! { async; Health }
/// # fn main() {}
/// ```
///
/// Choose it for handlers that call channels which take long. For short handlers the synchronous form is the faster one.
#[macro_export]
macro_rules! module {
    (async; $($controller:ty),+ $(,)?) => {
        const _: () = {
            #[allow(dead_code, reason = "a native build has no exports")]
            async fn dispatch(
                mut handler: u32,
                context: $crate::AsyncContext,
            ) -> $crate::Outcome {
                $(
                    if handler < <$controller as $crate::Controller>::HANDLERS {
                        return <$controller as $crate::Controller>::handle_async(handler, context).await;
                    }
                    handler -= <$controller as $crate::Controller>::HANDLERS;
                )+
                $crate::__private::unknown_handler()
            }

            #[cfg(target_arch = "wasm32")]
            const _: () = {
                use $crate::__private::asynchronous::{self, handlers_async, routes};

                struct Module;

                impl routes::Guest for Module {
                    fn declare_routes() -> ::std::vec::Vec<routes::Controller> {
                        $crate::__private::begin();
                        asynchronous::declare(&[
                            $($crate::__private::Declaration::of::<$controller>()),+
                        ])
                    }
                }

                impl handlers_async::Guest for Module {
                    async fn handle(
                        handler: u32,
                        context: handlers_async::Context,
                    ) -> handlers_async::Outcome {
                        asynchronous::handle(context, |context| dispatch(handler, context)).await
                    }
                }

                $crate::__private::asynchronous::export!(
                    Module with_types_in $crate::bindings::controller_module_async
                );
            };
        };
    };
    ($($controller:ty),+ $(,)?) => {
        const _: () = {
            #[allow(dead_code, reason = "a native build has no exports")]
            fn dispatch(mut handler: u32, context: $crate::Context) -> $crate::Outcome {
                $(
                    if handler < <$controller as $crate::Controller>::HANDLERS {
                        return <$controller as $crate::BlockingController>::handle(handler, context);
                    }
                    handler -= <$controller as $crate::Controller>::HANDLERS;
                )+
                $crate::__private::unknown_handler()
            }

            #[cfg(target_arch = "wasm32")]
            const _: () = {
                use $crate::__private::blocking::{self, handlers, routes};

                struct Module;

                impl routes::Guest for Module {
                    fn declare_routes() -> ::std::vec::Vec<routes::Controller> {
                        $crate::__private::begin();
                        blocking::declare(&[
                            $($crate::__private::Declaration::of::<$controller>()),+
                        ])
                    }
                }

                impl handlers::Guest for Module {
                    fn handle(handler: u32, context: handlers::Context) -> handlers::Outcome {
                        blocking::handle(context, |context| dispatch(handler, context))
                    }
                }

                $crate::__private::blocking::export!(
                    Module with_types_in $crate::bindings::controller_module
                );
            };
        };
    };
    ($($other:tt)*) => {
        ::core::compile_error!(
            "expected the controllers of the module, `module! { Products, Health }`, or `module! { async; Products, Health }`"
        );
    };
}
