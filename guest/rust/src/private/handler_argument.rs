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
use crate::form::{Async, ModuleForm};
use crate::guard::DeclaredGuard;
use crate::waiting;

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
            value or reference; `Option<T>` of a type of yours needs `OptionalFromRequest` or `OptionalFromContext`",
    note = "in `Json<T>`, `Form<T>`, `Query<T>` and `Params<T>`, `T` has to implement `serde::Deserialize`, and in `Guarded<G>`, `G` \
            has to be a guard: `#[derive(Deserialize)]` on the type, `#[guard]` on an impl block"
)]
pub trait HandlerArgument<F: ModuleForm, Marker>: Sized {
    const KIND: ArgumentKind;
    /// The guard whose value it is.
    const GUARD: Option<&'static DeclaredGuard> = None;
    /// Whether it may be an argument of one form only.
    const HAS_FORM: bool = false;
    type Ready;

    /// The first step.
    fn ready(context: &Context<F>, argument: &'static str) -> impl Future<Output = Result<Self::Ready, Failure>>;

    /// The first step in a synchronous module. An argument that cannot wait needs no future there.
    fn ready_now(context: &Context, argument: &'static str) -> Result<Self::Ready, Failure> {
        waiting::now(Self::ready(context.of_form(), argument))
    }

    /// The first step in an asynchronous module, for a function without `async`.
    fn ready_async<A: AsyncArgument<Self, Self::Ready>>(
        _: A,
        context: &Context<Async>,
        argument: &'static str,
    ) -> impl Future<Output = Result<Self::Ready, Failure>> {
        A::ready(context, argument, move || Self::ready(context.of_form(), argument))
    }

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

impl<F: ModuleForm, T: FromRequest> HandlerArgument<F, ByRequest> for T {
    const KIND: ArgumentKind = if T::IS_PATH_PARAM {
        ArgumentKind::PathParam
    } else if T::IS_OPTIONAL_PARAM {
        ArgumentKind::OptionalParam
    } else {
        ArgumentKind::Request
    };
    is_complete!();

    fn ready(context: &Context<F>, argument: &'static str) -> impl Future<Output = Result<T, Failure>> {
        std::future::ready(T::from_request(context, argument))
    }

    fn ready_now(context: &Context, argument: &'static str) -> Result<T, Failure> {
        T::from_request(context, argument)
    }
}

impl<F: ModuleForm, T: FromBody> HandlerArgument<F, ByBody> for T {
    const KIND: ArgumentKind = ArgumentKind::Body;
    is_complete!();

    async fn ready(context: &Context<F>, argument: &'static str) -> Result<T, Failure> {
        let body = T::Body::read(context).await?;
        T::from_body(body, context, argument)
    }

    fn ready_now(context: &Context, argument: &'static str) -> Result<T, Failure> {
        T::from_body(T::Body::read_now(context)?, context, argument)
    }

    async fn ready_async<A>(_: A, context: &Context<Async>, argument: &'static str) -> Result<T, Failure> {
        let body = T::Body::read(context).await?;
        T::from_body(body, context, argument)
    }
}

impl<F: ModuleForm, T: FromContext<F>> HandlerArgument<F, ByCall> for T {
    const KIND: ArgumentKind = ArgumentKind::Request;
    const GUARD: Option<&'static DeclaredGuard> = T::GUARD;
    const HAS_FORM: bool = true;
    is_complete!();

    fn ready(context: &Context<F>, argument: &'static str) -> impl Future<Output = Result<T, Failure>> {
        T::from_context(context, argument)
    }
}

impl<F: ModuleForm> HandlerArgument<F, ByContext> for Context<F> {
    const KIND: ArgumentKind = ArgumentKind::Context;
    const HAS_FORM: bool = true;
    type Ready = ();

    fn ready(_context: &Self, _argument: &'static str) -> impl Future<Output = Result<(), Failure>> {
        std::future::ready(Ok(()))
    }

    fn ready_now(_context: &Context, _argument: &'static str) -> Result<(), Failure> {
        Ok(())
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

/// How an asynchronous module reads the argument `T` of a function without `async`.
pub trait AsyncArgument<T, R> {
    fn ready<O: Future<Output = Result<R, Failure>>>(
        context: &Context<Async>,
        argument: &'static str,
        otherwise: impl FnOnce() -> O,
    ) -> impl Future<Output = Result<R, Failure>>;
}

/// In the asynchronous form, which it has.
#[derive(Debug)]
pub struct InAsync;

impl<T: FromContext<Async>> AsyncArgument<T, T> for InAsync {
    fn ready<O: Future<Output = Result<T, Failure>>>(
        context: &Context<Async>,
        argument: &'static str,
        _otherwise: impl FnOnce() -> O,
    ) -> impl Future<Output = Result<T, Failure>> {
        T::from_context(context, argument)
    }
}

/// In the synchronous form. One that waits there is run by unit tests; an asynchronous module that has it does not compile.
#[derive(Debug)]
pub struct InBlocking;

impl<T, R> AsyncArgument<T, R> for InBlocking {
    fn ready<O: Future<Output = Result<R, Failure>>>(
        _context: &Context<Async>,
        _argument: &'static str,
        otherwise: impl FnOnce() -> O,
    ) -> impl Future<Output = Result<R, Failure>> {
        otherwise()
    }
}

/// The form of an argument of a function without `async`, in an asynchronous module.
///
/// The inherent constants exist for types that are made with an asynchronous context, and have priority over those of
/// [`NotAsync`].
#[derive(Debug)]
pub struct FormOf<T>(PhantomData<T>);

impl<T: FromContext<Async>> FormOf<T> {
    pub const FORM: InAsync = InAsync;
    pub const IS_BLOCKING: bool = false;
}

/// The constants of any other type.
pub trait NotAsync {
    const FORM: InBlocking = InBlocking;
    const IS_BLOCKING: bool = true;
}

impl<T> NotAsync for FormOf<T> {}
