//! The two forms of a module, as type parameters.

/// The synchronous form: an instance handles one request or event at a time, and a call suspends it.
#[derive(Debug)]
pub enum Blocking {}

/// The asynchronous form: calls are awaited, and meanwhile the instance handles other requests and events.
#[derive(Debug)]
pub enum Async {}

/// [`Blocking`] or [`Async`].
pub trait ModuleForm: sealed::Sealed + 'static {}

impl ModuleForm for Blocking {}
impl ModuleForm for Async {}

/// The form of a controller or channel that fits a synchronous module: [`Blocking`].
#[diagnostic::on_unimplemented(
    message = "a controller or channel of the asynchronous form is in a synchronous module",
    label = "has `async fn`, or takes `AsyncContext` or `AsyncDelivery`",
    note = "write `module! {{ async; … }}` to make the module asynchronous, or make its functions plain `fn` that take \
            `Context` and `Delivery`"
)]
pub trait Synchronous: ModuleForm {}

impl Synchronous for Blocking {}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Blocking {}
    impl Sealed for super::Async {}
}
