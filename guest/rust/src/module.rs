/// Lists what a module consists of: its controllers, its channels, or both. What is not listed takes no part (spec D6),
/// and the order is the order of the routes (spec D9). A crate that is built as a module has exactly one list.
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
/// Channels stand behind `channels:`, alone or after the controllers:
///
/// ```
/// use pointwork_guest::{Context, Failure, channel, module};
///
/// struct Response;
///
/// #[channel("response")]
/// impl Response {
///     #[on("send")]
///     fn send(context: Context, text: String) -> Result<(), Failure> {
///         Ok(context.send(text)?)
///     }
/// }
/// # struct Health;
/// # #[pointwork_guest::controller("health")]
/// # impl Health { #[get] fn show() -> &'static str { "up" } }
///
/// module! { Health; channels: Response }
/// # fn main() {}
/// ```
///
/// With `async;` before the list the module takes the asynchronous form: an instance may have several requests and
/// events in flight, and handlers and listeners may be `async fn`. A controller or a channel without any `async fn` may
/// stand in either list; in an asynchronous module it holds up whatever else the instance does while it waits.
///
/// ```
/// # use pointwork_guest::{channel, controller, module};
/// # struct Health;
/// # #[controller("health")]
/// # impl Health {
/// #     #[get]
/// #     async fn show() -> &'static str { "up" }
/// # }
/// # struct Response;
/// # #[channel("response")]
/// # impl Response { #[on("ping")] async fn ping() {} }
/// module! { async; Health; channels: Response }
/// # fn main() {}
/// ```
///
/// Choose it for modules that call channels which take long. For short handlers the synchronous form is the faster one.
#[macro_export]
macro_rules! module {
    (channels: $($channel:ty),+ $(,)?) => {
        $crate::__module! { blocking, channel_module, export_channel_module, [], [$($channel),+] }
    };
    (async; channels: $($channel:ty),+ $(,)?) => {
        $crate::__module! { asynchronous, channel_module_async, export_channel_module_async, [], [$($channel),+] }
    };
    (async; $($controller:ty),+ $(,)?) => {
        $crate::__module! {
            asynchronous, controller_module_async, export_controller_module_async, [$($controller),+], []
        }
    };
    (async; $($controller:ty),+ $(,)?; channels: $($channel:ty),+ $(,)?) => {
        $crate::__module! {
            asynchronous, full_module_async, export_full_module_async, [$($controller),+], [$($channel),+]
        }
    };
    ($($controller:ty),+ $(,)?) => {
        $crate::__module! { blocking, controller_module, export_controller_module, [$($controller),+], [] }
    };
    ($($controller:ty),+ $(,)?; channels: $($channel:ty),+ $(,)?) => {
        $crate::__module! { blocking, full_module, export_full_module, [$($controller),+], [$($channel),+] }
    };
    ($($other:tt)*) => {
        ::core::compile_error!(
            "expected the controllers of the module, `module! { Products, Health }`, its channels, \
             `module! { channels: Db }`, or both, `module! { Products, Health; channels: Db }`; for the asynchronous form \
             with `async;` before them"
        );
    };
}
