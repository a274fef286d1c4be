/// Lists the controllers and channels of a module. Others are not part of it. The order of the list is the
/// order of the routes. A crate that is built as a module has exactly one list.
///
/// `pointwork build` warns of a controller or channel of the same crate that is in no list, unless its block has
/// `allow(dead_code)`. A crate without `module!` is a library, whose controllers another crate may list.
///
/// Two routes of a module that answer the same requests do not compile: those with the same method, and with
/// paths that differ at most in the names of parameters, slashes at the ends, or percent-encoding.
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
/// an instance may have several requests and events in flight, and handlers and listeners may be `async fn`. They take
/// [`AsyncContext`](crate::AsyncContext) and [`AsyncDelivery`](crate::AsyncDelivery), whose functions are awaited, plain `fn`
/// too: a plain `fn` cannot wait. A handler that takes [`Context`](crate::Context), whose functions block, does not compile
/// in an asynchronous module. A controller or channel whose functions take neither is for both forms.
///
/// Use it for modules that wait long for channels. For short handlers the synchronous form is faster.
///
/// # Guards, after-hooks and errors of all handlers
///
/// `guard:` names [guards](macro@crate::guard) of every handler, `after:` [after-hooks](macro@crate::after), and `errors:` a
/// function that makes the body of every error of its handlers, arguments, guards and hooks. The reply has the status and the
/// headers of the error, and the body and the content type of what the function returns; if that is an error or has a wrong header,
/// the error keeps its form, and the log has the fault. Errors that the host makes, such as 404 where no route matches, and
/// those that a handler or listener sends through the context keep their form too.
///
/// ```
/// # use pointwork_guest::{Failure, Outcome, Reply, after, controller, guard, module};
/// # use serde_json::json;
/// # struct Health;
/// # #[controller("health")]
/// # impl Health { #[get] fn show() -> &'static str { "up" } }
/// # struct SignedIn;
/// # #[guard]
/// # impl SignedIn { fn check() -> Result<(), Failure> { Ok(()) } }
/// # struct NoStore;
/// # #[after]
/// # impl NoStore { fn after(outcome: Outcome) -> Outcome { outcome } }
/// /// The body of RFC 9457.
/// fn problem(failure: &Failure) -> Result<Reply, Failure> {
///     let body = json!({ "title": failure.message(), "status": failure.status() });
///     Ok(Reply::new(failure.status()).json(&body)?.header("content-type", "application/problem+json"))
/// }
///
/// module! { Health; guard: SignedIn; after: NoStore; errors: problem }
/// # fn main() {}
/// ```
///
/// # Events used
///
/// The manifest of the module lists the events that it uses, and the host warns of each that nobody listens to. The SDK
/// finds those in the impl blocks of controllers, channels, guards and after-hooks, from `call::<…>`, `emit::<…>` and `hand_over::<…>`. Name
/// those of functions elsewhere, and of types that a function declares itself, behind `uses:`, by type or by name:
///
/// ```
/// # use pointwork_guest::{Context, controller, events, module};
/// # events! { pub Viewed = "audit:viewed": u64; }
/// # struct Health;
/// # #[controller("health")]
/// # impl Health { #[get] fn show(ctx: &Context) { viewed(ctx) } }
/// fn viewed(ctx: &Context) {
///     ctx.emit::<Viewed>(7);
/// }
///
/// module! { Health; uses: Viewed, "audit:seen" }
/// # fn main() {}
/// ```
///
/// # Variables
///
/// The type behind `variables:` has the configuration of the module; see [`Variables`](trait@crate::Variables). It stands before
/// `uses:`:
///
/// ```
/// # use pointwork_guest::{Variables, controller, module};
/// # struct Health;
/// # #[controller("health")]
/// # impl Health { #[get] fn show(settings: Settings) -> String { settings.banner } }
/// #[derive(Variables)]
/// struct Settings {
///     banner: String,
/// }
///
/// module! { Health; variables: Settings }
/// # fn main() {}
/// ```
///
/// Name, version and description of the module are those of its package.
#[macro_export]
macro_rules! module {
    (async; $($list:tt)+) => {
        $crate::__module! { asynchronous $($list)+ }
    };
    ($($list:tt)*) => {
        $crate::__module! { blocking $($list)* }
    };
}
