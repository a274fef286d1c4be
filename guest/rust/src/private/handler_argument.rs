//! The arguments of handlers.
//!
//! An argument is the context, is read from the request, or is read from its body. The macro sees only tokens and
//! cannot tell which, so each kind is an impl with a marker type, and the compiler selects the one that fits. An
//! argument is made in two steps: `read` borrows the context, then `finish` may move it into the handler.

use super::ArgumentKind;
use crate::context::Context;
use crate::extract::{FromBody, FromRequest};
use crate::form::{Async, Blocking};
use crate::request::Request;
use crate::throw::Throw;

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
    note = "a handler takes `Context` (`AsyncContext` in a controller with `async fn`), `Path<…>`, `Query<…>`, \
            `Json<…>`, `String`, `Vec<u8>`, and types that implement `FromRequest` or `FromBody`, each by value or \
            reference"
)]
pub trait HandlerArgument<F, Marker>: Sized {
    const KIND: ArgumentKind;
    type Ready;

    /// Reads the body, if the argument is made of it. It is a separate function so that modules without body arguments
    /// do not link it.
    fn body(_context: &Context) -> Result<Vec<u8>, Throw> {
        Ok(Vec::new())
    }

    /// Reads the body in the asynchronous form.
    fn body_async(_context: &Context<Async>) -> impl Future<Output = Result<Vec<u8>, Throw>> {
        std::future::ready(Ok(Vec::new()))
    }

    /// The first step. `body` is empty except for `ArgumentKind::Body`.
    fn read(request: &Request, body: Vec<u8>, argument: &'static str) -> Result<Self::Ready, Throw>;

    /// The second step. `context` is `Some` until an argument takes it.
    fn finish(ready: Self::Ready, context: &mut Option<Context<F>>) -> Self;
}

impl<F, T: FromRequest> HandlerArgument<F, ByRequest> for T {
    const KIND: ArgumentKind = if T::IS_PATH_PARAM {
        ArgumentKind::PathParam
    } else {
        ArgumentKind::Request
    };
    is_ready!(Context<F>);

    fn read(request: &Request, _body: Vec<u8>, argument: &'static str) -> Result<T, Throw> {
        T::from_request(request, argument)
    }
}

impl<F, T: FromBody> HandlerArgument<F, ByBody> for T {
    const KIND: ArgumentKind = ArgumentKind::Body;
    is_ready!(Context<F>);

    fn body(context: &Context) -> Result<Vec<u8>, Throw> {
        Ok(context.body()?)
    }

    async fn body_async(context: &Context<Async>) -> Result<Vec<u8>, Throw> {
        Ok(context.body().await?)
    }

    fn read(request: &Request, body: Vec<u8>, argument: &'static str) -> Result<T, Throw> {
        T::from_body(body, request, argument)
    }
}

impl<F> HandlerArgument<F, ByContext> for Context<F> {
    const KIND: ArgumentKind = ArgumentKind::Context;
    type Ready = ();

    fn read(_request: &Request, _body: Vec<u8>, _argument: &'static str) -> Result<(), Throw> {
        Ok(())
    }

    fn finish((): (), context: &mut Option<Self>) -> Self {
        match context.take() {
            Some(context) => context,
            None => unreachable!("the macro checks that a handler takes the context once"),
        }
    }
}

/// Reads one argument in the synchronous form.
pub fn ready_blocking<T, M>(context: &Context, argument: &'static str) -> Result<T::Ready, Throw>
where
    T: HandlerArgument<Blocking, M>,
{
    T::read(context, T::body(context)?, argument)
}

/// Reads one argument in the asynchronous form.
pub async fn ready<T, M>(context: &Context<Async>, argument: &'static str) -> Result<T::Ready, Throw>
where
    T: HandlerArgument<Async, M>,
{
    T::read(context, T::body_async(context).await?, argument)
}
