//! The arguments of handlers.
//!
//! An argument is the context, is read from the request, or is read from its body. The macro sees only tokens and
//! cannot tell which, so each kind is an impl with a marker type, and the compiler selects the one that fits. An
//! argument is made in two steps: `read` borrows the context, then `finish` may move it into the handler.

use super::ArgumentKind;
use crate::context::Context;
use crate::extract::{FromBody, FromRequest, RequestBody};
use crate::failure::Failure;
use crate::form::Async;
use crate::request::Request;

#[derive(Debug)]
pub enum ByRequest {}
#[derive(Debug)]
pub enum ByBody {}
#[derive(Debug)]
pub enum ByContext {}

/// An argument of a handler of form `F`.
#[diagnostic::on_unimplemented(
    message = "a handler cannot take `{Self}`",
    label = "expected the context or a type that is read from the request",
    note = "a handler takes `Context` (`AsyncContext` in an asynchronous module), `Path<…>`, `Query<…>`, \
            `Json<…>`, `String`, `Vec<u8>`, and types that implement `FromRequest` or `FromBody`, each by value or \
            reference"
)]
pub trait HandlerArgument<F, Marker>: Sized {
    const KIND: ArgumentKind;
    /// Whether the handler reads the body itself, in its form.
    const READS_BODY: bool = false;
    /// The body, if the argument is made of it, or `()`.
    type Body;
    type Ready;

    /// Reads the body. It is a separate function so that modules without body arguments do not link it.
    fn body(context: &Context) -> Result<Self::Body, Failure>;

    /// Reads the body in the asynchronous form.
    fn body_async(context: &Context<Async>) -> impl Future<Output = Result<Self::Body, Failure>>;

    /// The first step.
    fn read(request: &Request, body: Self::Body, argument: &'static str) -> Result<Self::Ready, Failure>;

    /// Body and first step in the synchronous form.
    fn ready_blocking(context: &Context, argument: &'static str) -> Result<Self::Ready, Failure> {
        Self::read(context, Self::body(context)?, argument)
    }

    /// Body and first step in the asynchronous form.
    fn ready(context: &Context<Async>, argument: &'static str) -> impl Future<Output = Result<Self::Ready, Failure>> {
        async move { Self::read(context, Self::body_async(context).await?, argument) }
    }

    /// The second step. `context` is `Some` until an argument takes it.
    fn finish(ready: Self::Ready, context: &mut Option<Context<F>>) -> Self;
}

/// The body of an argument that is not made of it.
macro_rules! no_body {
    () => {
        type Body = ();

        fn body(_context: &Context) -> Result<(), Failure> {
            Ok(())
        }

        fn body_async(_context: &Context<Async>) -> impl Future<Output = Result<(), Failure>> {
            std::future::ready(Ok(()))
        }
    };
}

#[cfg(feature = "multipart")]
pub(in crate::private) use no_body;

impl<F, T: FromRequest> HandlerArgument<F, ByRequest> for T {
    const KIND: ArgumentKind = if T::IS_PATH_PARAM {
        ArgumentKind::PathParam
    } else {
        ArgumentKind::Request
    };
    no_body!();
    is_ready!(Context<F>);

    fn read(request: &Request, (): (), argument: &'static str) -> Result<T, Failure> {
        T::from_request(request, argument)
    }
}

impl<F, T: FromBody> HandlerArgument<F, ByBody> for T {
    const KIND: ArgumentKind = ArgumentKind::Body;
    type Body = T::Body;
    is_ready!(Context<F>);

    fn body(context: &Context) -> Result<T::Body, Failure> {
        T::Body::read(context)
    }

    fn body_async(context: &Context<Async>) -> impl Future<Output = Result<T::Body, Failure>> {
        T::Body::read_async(context)
    }

    fn read(request: &Request, body: T::Body, argument: &'static str) -> Result<T, Failure> {
        T::from_body(body, request, argument)
    }
}

impl<F> HandlerArgument<F, ByContext> for Context<F> {
    const KIND: ArgumentKind = ArgumentKind::Context;
    no_body!();
    type Ready = ();

    fn read(_request: &Request, (): (), _argument: &'static str) -> Result<(), Failure> {
        Ok(())
    }

    fn finish((): (), context: &mut Option<Self>) -> Self {
        match context.take() {
            Some(context) => context,
            None => unreachable!("the macro checks that a handler takes the context once"),
        }
    }
}
