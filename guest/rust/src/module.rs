/// Lists the controllers and channels of a module. Others are not part of it (spec D6). The order of the list is the
/// order of the routes (spec D9). A crate that is built as a module has exactly one list.
///
/// ```
/// # use pointwork_guest::{controller, module};
/// # struct Health;
/// # #[controller("health")]
/// # impl Health { #[get] fn show() -> &'static str { "up" } }
/// module! { Health }
/// # fn main() {}
/// ```
///
/// Channels follow `channels:`, with or without controllers before it:
///
/// ```
/// # use pointwork_guest::{channel, controller, module};
/// # struct Health;
/// # #[controller("health")]
/// # impl Health { #[get] fn show() -> &'static str { "up" } }
/// # struct Response;
/// # #[channel("response")]
/// # impl Response { #[on("ping")] fn ping() {} }
/// module! { Health; channels: Response }
/// # fn main() {}
/// ```
///
/// With `async;` before the list, `module! { async; Health; channels: Response }`, the module has the asynchronous form:
/// an instance may have several requests and events in flight, and handlers and listeners may be `async fn`. A
/// controller or channel without `async fn` works in both forms; in an asynchronous module it blocks the whole instance
/// while it waits.
///
/// Use it for modules that wait long for channels. For short handlers the synchronous form is faster.
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
             `module! { channels: Db }`, or both, `module! { Products, Health; channels: Db }`; the asynchronous form \
             begins with `async;`"
        );
    };
}
