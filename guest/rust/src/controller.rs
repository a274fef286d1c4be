//! What `#[controller]` makes of an impl block.

use std::future::Future;

use crate::{AsyncContext, Context, Outcome};

/// A path prefix with its handlers.
///
/// `#[controller]` implements it; it is public so that generic code, such as the one of `testing`, can take a controller
/// by its type.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no controller",
    label = "expected a type with a `#[controller]` impl block"
)]
pub trait Controller {
    /// The controller's name in the source.
    const NAME: &'static str;
    /// The path prefix as written; `/` if the attribute gives none (spec D1).
    const PREFIX: &'static str;
    /// How many handlers there are; they are numbered from 0 in the order of declaration.
    const HANDLERS: u32;
    /// The routes in the order of declaration (spec D9).
    const ROUTES: &'static [Route];

    /// Runs one handler, in the asynchronous form of a module.
    #[doc(hidden)]
    fn handle_async(handler: u32, context: AsyncContext) -> impl Future<Output = Outcome>;
}

/// A controller without `async fn`, fit for a module of either form.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not fit a synchronous module",
    label = "has `async fn` handlers, or no `#[controller]` at all",
    note = "write `module! {{ async; … }}` to make the module asynchronous, or make the handlers plain `fn`"
)]
pub trait BlockingController: Controller {
    /// Runs one handler, in the synchronous form of a module.
    #[doc(hidden)]
    fn handle(handler: u32, context: Context) -> Outcome;
}

/// One attribute of one handler.
#[derive(Clone, Copy, Debug)]
pub struct Route {
    /// The number of the handler within its controller. Several routes may share one.
    pub handler: u32,
    /// The handler's name in the source.
    pub name: &'static str,
    /// The method; `None` for every method.
    pub method: Option<&'static str>,
    /// The paths as written, each a route of its own; none stands for the prefix itself (spec D3).
    pub paths: &'static [&'static str],
}
