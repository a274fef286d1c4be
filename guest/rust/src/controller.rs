//! The traits that `#[controller]` implements.

use std::future::Future;

use crate::context::{AsyncContext, Context};
use crate::form::{ModuleForm, Synchronous};
use crate::guard::DeclaredGuard;
use crate::reply::Outcome;

/// Handlers with a common path prefix.
///
/// `#[controller]` implements it. It is public for generic code, such as the module `testing`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a controller",
    label = "expected a type with a `#[controller]` impl block"
)]
pub trait Controller {
    /// The controller's name in the source.
    const NAME: &'static str;
    /// The path prefix as written; `/` if the attribute gives none.
    const PREFIX: &'static str;
    /// The number of handlers. They are numbered from 0 in the order of declaration.
    const HANDLERS: u32;
    /// The routes in the order of declaration.
    const ROUTES: &'static [Route];
    /// The open properties of the controller, such as `summary`, from its docs.
    const METADATA: Metadata;
    /// The names of the events that its functions call, emit or hand over to, as far as the source shows them.
    const EVENTS_USED: &'static [Option<&'static str>];
    /// Its path in the source, with file and line. `module!` lists those of its controllers.
    #[doc(hidden)]
    const PLACE: &'static str;

    /// The first handler that takes an argument of the synchronous form only, such as `Context`, with its type: an
    /// asynchronous module does not have it.
    #[doc(hidden)]
    const BLOCKING: Option<(&'static str, &'static str)>;

    /// The first handler that takes the context by value, so that an after-hook cannot have it.
    #[doc(hidden)]
    const TAKES_CONTEXT: Option<&'static str>;

    /// The guards, the after-hooks, and the guards whose values handlers take.
    #[doc(hidden)]
    const GUARDS: &'static [Option<&'static DeclaredGuard>];

    /// [`Async`](crate::form::Async) if one of its handlers is an `async fn`, or takes a context of that form.
    type Form: ModuleForm;

    /// Runs one handler, in the synchronous form of a module. Returns the context too, unless the handler took it.
    #[doc(hidden)]
    fn handle(handler: u32, context: Context) -> (Outcome, Option<Context>);

    /// Runs one handler, in the asynchronous form of a module.
    #[doc(hidden)]
    fn handle_async(handler: u32, context: AsyncContext) -> impl Future<Output = (Outcome, Option<AsyncContext>)>;
}

/// A controller for a synchronous module.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a controller",
    label = "expected a type with a `#[controller]` impl block"
)]
pub trait BlockingController: Controller {}

impl<C: Controller> BlockingController for C where C::Form: Synchronous {}

/// One attribute of a handler.
#[derive(Clone, Copy, Debug)]
pub struct Route {
    /// The number of the handler within its controller. Several routes may share one.
    pub handler: u32,
    /// The handler's name in the source.
    pub name: &'static str,
    /// The method; `None` for every method.
    pub method: Option<&'static str>,
    /// The paths as written, each a route of its own. An empty list is the prefix itself.
    pub paths: &'static [&'static str],
    /// For each path, or for the prefix alone, the full pattern and its canonical text: two routes with the same canonical
    /// text and method conflict.
    #[doc(hidden)]
    pub patterns: &'static [(&'static str, &'static str)],
    /// How the handler takes the request body: `none`, `whole` or `stream`.
    pub body: &'static str,
    /// The open properties, such as `summary` and `deprecated`, from the handler's docs and attributes.
    pub metadata: Metadata,
}

/// Open properties: keys with their values. A key may repeat.
pub type Metadata = &'static [(&'static str, &'static str)];
