//! The arguments of handlers and guards.
//!
//! An argument is the context, is read from the request or its body, or is made with the context. The macro sees only
//! tokens and cannot tell which, so each kind is an impl with a marker type, and the compiler selects the one that fits.
//! An argument is made in two steps: `ready` borrows the context, then `finish` may move it into the handler, and `lend`
//! borrows it.

use std::marker::PhantomData;

use super::ArgumentKind;
use crate::context::Context;
use crate::extract::{FromBody, FromContext, FromRequest, RequestBody};
use crate::failure::Failure;
use crate::form::{Async, Blocking, Form};
use crate::guard::DeclaredGuard;
use crate::waiting::now;

#[derive(Debug)]
pub enum ByRequest {}
#[derive(Debug)]
pub enum ByBody {}
#[derive(Debug)]
pub enum ByCall {}
#[derive(Debug)]
pub enum ByContext {}

/// An argument of a handler of form `F`.
#[diagnostic::on_unimplemented(
    message = "a handler cannot take `{Self}`",
    label = "expected the context or a type that is read from the request",
    note = "a handler takes `Context` (`AsyncContext` in an asynchronous module), `Path<…>`, `Query<…>`, \
            `Json<…>`, `String`, `Vec<u8>`, and types that implement `FromRequest`, `FromBody` or `FromContext`, each by \
            value or reference"
)]
pub trait HandlerArgument<F: Form, Marker>: Sized {
    const KIND: ArgumentKind;
    /// The guard whose value it is.
    const GUARD: Option<&'static DeclaredGuard> = None;
    type Ready;

    /// The first step.
    fn ready(context: &Context<F>, argument: &'static str) -> impl Future<Output = Result<Self::Ready, Failure>>;

    /// The second step of an argument by value. `context` is `Some` until an argument takes it.
    fn finish(ready: Self::Ready, context: &mut Option<Context<F>>) -> Self;

    /// The second step of an argument by reference.
    fn lend<'a>(ready: &'a Self::Ready, context: Option<&'a Context<F>>) -> &'a Self;
}

/// The second step of an argument that is complete after the first.
macro_rules! is_complete {
    () => {
        is_ready!(Context<F>);

        fn lend<'a>(ready: &'a Self, _context: Option<&'a Context<F>>) -> &'a Self {
            ready
        }
    };
}

#[cfg(feature = "multipart")]
pub(super) use is_complete;

impl<F: Form, T: FromRequest> HandlerArgument<F, ByRequest> for T {
    const KIND: ArgumentKind = if T::IS_PATH_PARAM {
        ArgumentKind::PathParam
    } else {
        ArgumentKind::Request
    };
    is_complete!();

    fn ready(context: &Context<F>, argument: &'static str) -> impl Future<Output = Result<T, Failure>> {
        std::future::ready(T::from_request(context, argument))
    }
}

impl<F: Form, T: FromBody> HandlerArgument<F, ByBody> for T {
    const KIND: ArgumentKind = ArgumentKind::Body;
    is_complete!();

    async fn ready(context: &Context<F>, argument: &'static str) -> Result<T, Failure> {
        let body = T::Body::read(context).await?;
        T::from_body(body, context, argument)
    }
}

impl<F: Form, T: FromContext<F>> HandlerArgument<F, ByCall> for T {
    const KIND: ArgumentKind = ArgumentKind::Request;
    const GUARD: Option<&'static DeclaredGuard> = T::GUARD;
    is_complete!();

    fn ready(context: &Context<F>, argument: &'static str) -> impl Future<Output = Result<T, Failure>> {
        T::from_context(context, argument)
    }
}

impl<F: Form> HandlerArgument<F, ByContext> for Context<F> {
    const KIND: ArgumentKind = ArgumentKind::Context;
    type Ready = ();

    fn ready(_context: &Self, _argument: &'static str) -> impl Future<Output = Result<(), Failure>> {
        std::future::ready(Ok(()))
    }

    fn finish((): (), context: &mut Option<Self>) -> Self {
        match context.take() {
            Some(context) => context,
            None => taken(),
        }
    }

    fn lend<'a>((): &'a (), context: Option<&'a Self>) -> &'a Self {
        match context {
            Some(context) => context,
            None => taken(),
        }
    }
}

fn taken() -> ! {
    unreachable!("the macro checks that a handler takes the context once")
}

/// Reads an argument in the synchronous form.
pub fn ready_now<T: HandlerArgument<Blocking, M>, M>(
    context: &Context,
    argument: &'static str,
) -> Result<T::Ready, Failure> {
    now(T::ready(context, argument))
}

/// An argument of a function without `async`, as an asynchronous module reads it.
///
/// The inherent items exist for arguments of the asynchronous form, and have priority over those of [`BlockingArgument`].
#[derive(Debug)]
pub struct EitherArgument<T, M>(PhantomData<(T, M)>);

impl<T: HandlerArgument<Async, M>, M> EitherArgument<T, M> {
    pub const BLOCKS: bool = false;

    pub fn ready(context: &Context<Async>, argument: &'static str) -> impl Future<Output = Result<T::Ready, Failure>> {
        T::ready(context, argument)
    }
}

/// An argument that only the synchronous form has. Unit tests run it; an asynchronous module that has it does not compile.
pub trait BlockingArgument<T: HandlerArgument<Blocking, M>, M> {
    const BLOCKS: bool = true;

    fn ready(context: &Context<Async>, argument: &'static str) -> impl Future<Output = Result<T::Ready, Failure>> {
        std::future::ready(ready_now::<T, M>(context.of_form(), argument))
    }
}

impl<T: HandlerArgument<Blocking, M>, M> BlockingArgument<T, M> for EitherArgument<T, M> {}
