//! How a handler's arguments come about.
//!
//! An argument is the context, or read from the request, or read from its body. The macro sees only tokens and cannot
//! tell which, so each kind is an impl with a marker type, and the compiler finds the only one that fits. Arguments are
//! made in two steps, since the context moves into the handler and the others are read from it before.

use crate::bindings::types::Failure;
use crate::form::{Async, Blocking};
use crate::{CallError, Context, FromBody, FromRequest, Request, Throw};

/// What an argument is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The request, the body aside.
    Request,
    /// The path parameter that has the argument's name.
    PathParam,
    /// The request body.
    Body,
    /// The context itself.
    Context,
}

#[derive(Debug)]
pub enum ByRequest {}
#[derive(Debug)]
pub enum ByBody {}
#[derive(Debug)]
pub enum ByContext {}

/// An argument of a handler of form `F`.
#[diagnostic::on_unimplemented(
    message = "a handler cannot take `{Self}`",
    label = "expected the context or something that is read from the request",
    note = "a handler takes `Context` (in a controller with `async fn` handlers: `AsyncContext`) by value or reference, \
            `Path<…>`, `Query<…>`, `Json<…>`, `String`, `Vec<u8>`, and what implements `FromRequest` or `FromBody`"
)]
pub trait Argument<F, Marker>: Sized {
    const KIND: Kind;
    type Ready;

    /// Reads the body, if the argument is made of it. Being a function of its own, it keeps the reading of bodies out of
    /// modules that have no use for it.
    fn body(_context: &Context) -> Result<Vec<u8>, Throw> {
        Ok(Vec::new())
    }

    /// The same in the asynchronous form.
    fn body_async(_context: &Context<Async>) -> impl Future<Output = Result<Vec<u8>, Throw>> {
        std::future::ready(Ok(Vec::new()))
    }

    /// First step. `body` is empty except for `Kind::Body`.
    fn read(request: &Request, body: Vec<u8>, argument: &'static str) -> Result<Self::Ready, Throw>;

    /// Second step. `context` is there for the first that takes it.
    fn finish(ready: Self::Ready, context: &mut Option<Context<F>>) -> Self;
}

impl<F, T: FromRequest> Argument<F, ByRequest> for T {
    const KIND: Kind = if T::IS_PATH_PARAM {
        Kind::PathParam
    } else {
        Kind::Request
    };
    type Ready = T;

    fn read(request: &Request, _body: Vec<u8>, argument: &'static str) -> Result<T, Throw> {
        T::from_request(request, argument)
    }

    fn finish(ready: T, _context: &mut Option<Context<F>>) -> T {
        ready
    }
}

impl<F, T: FromBody> Argument<F, ByBody> for T {
    const KIND: Kind = Kind::Body;
    type Ready = T;

    fn body(context: &Context) -> Result<Vec<u8>, Throw> {
        context.read_body().map_err(unread)
    }

    async fn body_async(context: &Context<Async>) -> Result<Vec<u8>, Throw> {
        context.read_body().await.map_err(unread)
    }

    fn read(request: &Request, body: Vec<u8>, argument: &'static str) -> Result<T, Throw> {
        T::from_body(body, request, argument)
    }

    fn finish(ready: T, _context: &mut Option<Context<F>>) -> T {
        ready
    }
}

impl<F> Argument<F, ByContext> for Context<F> {
    const KIND: Kind = Kind::Context;
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
    T: Argument<Blocking, M>,
{
    T::read(context, T::body(context)?, argument)
}

/// Reads one argument in the asynchronous form.
pub async fn ready<T, M>(context: &Context<Async>, argument: &'static str) -> Result<T::Ready, Throw>
where
    T: Argument<Async, M>,
{
    T::read(context, T::body_async(context).await?, argument)
}

fn unread(failure: Failure) -> Throw {
    CallError::new("body", failure).into()
}

/// Whether the pattern `prefix`/`path` has a parameter of that name.
pub const fn has_param(prefix: &str, path: &str, name: &str) -> bool {
    pattern_has(prefix, name) || pattern_has(path, name)
}

const fn pattern_has(pattern: &str, name: &str) -> bool {
    let (pattern, name) = (pattern.as_bytes(), name.as_bytes());
    let mut start = 0;
    while start < pattern.len() {
        let mut end = start;
        while end < pattern.len() && pattern[end] != b'/' {
            end += 1;
        }
        if (pattern[start] == b':' || pattern[start] == b'*') && end - start - 1 == name.len() {
            let mut at = 0;
            while at < name.len() && pattern[start + 1 + at] == name[at] {
                at += 1;
            }
            if at == name.len() {
                return true;
            }
        }
        start = end + 1;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::has_param;

    #[test]
    fn a_parameter_is_found_in_prefix_and_path() {
        assert!(has_param("shops/:shop", "", "shop"));
        assert!(has_param("shops", "/:id/x", "id"));
        assert!(has_param("/", "*rest", "rest"));
    }

    #[test]
    fn a_literal_or_another_name_is_no_parameter() {
        assert!(!has_param("id", "id", "id"));
        assert!(!has_param("/", ":ident/:i", "id"));
        assert!(!has_param("/", "", "id"));
    }
}
