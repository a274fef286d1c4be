//! The functions that wait, for code that serves both forms.

use std::future::{pending, ready};

use pointwork_events::IoEvent;

use crate::context::Context;
use crate::failure::Failure;
use crate::form::sealed::Sealed;
use crate::form::{Async, Blocking};
use crate::guard::Guard;
use crate::stream::{BodyReader, BodyWriter};

/// [`Blocking`] or [`Async`].
///
/// Its functions are those of a context or stream that wait, for code that serves both forms: the code awaits them, and in
/// the synchronous form they are done when they return.
///
/// ```
/// use pointwork_guest::form::ModuleForm;
/// use pointwork_guest::{Context, Failure, events};
///
/// events! { pub Stock = "db:stock": u64 => u32; }
///
/// async fn in_stock<F: ModuleForm>(ctx: &Context<F>, product: u64) -> Result<bool, Failure> {
///     Ok(F::call::<Stock>(ctx, product).await? > 0)
/// }
/// ```
pub trait ModuleForm: Sealed + Sized + 'static {
    /// `call` of the context.
    fn call<E: IoEvent>(
        context: &Context<Self>,
        payload: E::Payload,
    ) -> impl Future<Output = Result<E::Output, Failure>>;

    /// `body` of the context.
    fn body(context: &Context<Self>) -> impl Future<Output = Result<Vec<u8>, Failure>>;

    /// `text` of the context.
    fn text(context: &Context<Self>) -> impl Future<Output = Result<String, Failure>>;

    /// `read` of a [`BodyReader`].
    fn read(reader: &BodyReader<Self>, max: u32) -> impl Future<Output = Result<Option<Vec<u8>>, Failure>>;

    /// `write` of a [`BodyWriter`].
    fn write(writer: &BodyWriter<Self>, chunk: impl Into<Vec<u8>>) -> impl Future<Output = Result<(), Failure>>;

    /// `closed` of a [`BodyWriter`]; in the synchronous form it never completes.
    fn closed(writer: &BodyWriter<Self>) -> impl Future<Output = ()>;

    /// `finish` of a [`BodyWriter`].
    fn finish(writer: BodyWriter<Self>) -> impl Future<Output = Result<(), Failure>>;

    #[doc(hidden)]
    fn run<G: Guard>(context: &Context<Self>) -> impl Future<Output = Result<G::Value, Failure>>;
}

impl ModuleForm for Blocking {
    fn call<E: IoEvent>(context: &Context, payload: E::Payload) -> impl Future<Output = Result<E::Output, Failure>> {
        ready(context.call::<E>(payload))
    }

    fn body(context: &Context) -> impl Future<Output = Result<Vec<u8>, Failure>> {
        ready(context.body())
    }

    fn text(context: &Context) -> impl Future<Output = Result<String, Failure>> {
        ready(context.text())
    }

    fn read(reader: &BodyReader, max: u32) -> impl Future<Output = Result<Option<Vec<u8>>, Failure>> {
        ready(reader.read(max))
    }

    fn write(writer: &BodyWriter, chunk: impl Into<Vec<u8>>) -> impl Future<Output = Result<(), Failure>> {
        ready(writer.write(chunk.into()))
    }

    fn closed(_writer: &BodyWriter) -> impl Future<Output = ()> {
        pending()
    }

    fn finish(writer: BodyWriter) -> impl Future<Output = Result<(), Failure>> {
        ready(writer.finish())
    }

    fn run<G: Guard>(context: &Context) -> impl Future<Output = Result<G::Value, Failure>> {
        ready(G::run(context))
    }
}

impl ModuleForm for Async {
    fn call<E: IoEvent>(
        context: &Context<Self>,
        payload: E::Payload,
    ) -> impl Future<Output = Result<E::Output, Failure>> {
        context.call::<E>(payload)
    }

    fn body(context: &Context<Self>) -> impl Future<Output = Result<Vec<u8>, Failure>> {
        context.body()
    }

    fn text(context: &Context<Self>) -> impl Future<Output = Result<String, Failure>> {
        context.text()
    }

    fn read(reader: &BodyReader<Self>, max: u32) -> impl Future<Output = Result<Option<Vec<u8>>, Failure>> {
        reader.read(max)
    }

    fn write(writer: &BodyWriter<Self>, chunk: impl Into<Vec<u8>>) -> impl Future<Output = Result<(), Failure>> {
        writer.write(chunk)
    }

    fn closed(writer: &BodyWriter<Self>) -> impl Future<Output = ()> {
        writer.closed()
    }

    fn finish(writer: BodyWriter<Self>) -> impl Future<Output = Result<(), Failure>> {
        writer.finish()
    }

    fn run<G: Guard>(context: &Context<Self>) -> impl Future<Output = Result<G::Value, Failure>> {
        G::run_async(context)
    }
}

/// The form of a controller or channel that fits a synchronous module: [`Blocking`].
#[diagnostic::on_unimplemented(
    message = "a controller or channel of the asynchronous form is in a synchronous module",
    label = "has `async fn`, or takes `AsyncContext` or `AsyncDelivery`",
    note = "write `module! {{ async; … }}` to make the module asynchronous, or make its functions plain `fn` that take \
            `Context` and `Delivery`"
)]
pub trait Synchronous: ModuleForm {}

impl Synchronous for Blocking {}

/// The result of a future of the synchronous form: what it awaits is done at the first poll.
pub(crate) fn now<T>(future: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    match std::pin::pin!(future).poll(&mut context) {
        std::task::Poll::Ready(result) => result,
        std::task::Poll::Pending => {
            crate::log::error!(
                "code of the synchronous form waits for a future that is not of a function of `ModuleForm`"
            );
            Err(Failure::new(500_u16, "the server could not answer the request"))
        }
    }
}
