//! Routes whose handlers are functions of the host's language.

use http::Response;
use pointwork::{Body, BodyMode, Context, Failure, Handler, HandlerFuture, IntoReply as _, Outcome};
use pointwork_core::RequestLimits;
use tokio::runtime::Handle;

use crate::body::Chunks;
use crate::channel::Fault;
use crate::function::Function;
use crate::nesting::depth_in;

/// A request for a function of the host's language. Its [`context`](Self::context) is the whole of it; whoever keeps a
/// clone may reply later by [`Context::send`], whatever the function answered.
#[derive(Debug)]
pub struct RouteCall {
    /// The request.
    pub context: Context,
    threads: Handle,
}

impl RouteCall {
    /// The request's body. It can be taken once.
    ///
    /// # Errors
    /// It was taken before, or the route takes none.
    pub fn body(&self) -> Result<Chunks, Failure> {
        Ok(Chunks::of_request(self.context.open_body()?, &self.threads))
    }
}

/// A handler: its answer is the reply. `None` leaves the reply to the holder of the context.
pub type RouteFunction = Function<RouteCall, Result<Option<Response<Body>>, Fault>>;

/// The options of a route of the host.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct RouteOptions {
    /// When the function is called: at once (`None`, `Stream`), or when the body is there (`Whole`, the default).
    pub body: BodyMode,
}

impl Default for RouteOptions {
    fn default() -> Self {
        Self { body: BodyMode::Whole }
    }
}

impl RouteOptions {
    /// The same with that way of taking bodies.
    #[must_use]
    pub fn body(self, body: BodyMode) -> Self {
        Self { body }
    }
}

pub(crate) struct FunctionHandler {
    function: RouteFunction,
    options: RouteOptions,
    threads: Handle,
}

impl FunctionHandler {
    pub(crate) fn new(function: RouteFunction, options: RouteOptions, threads: &Handle) -> Self {
        let threads = threads.clone();
        Self {
            function,
            options,
            threads,
        }
    }
}

impl Handler for FunctionHandler {
    fn call(&self, context: Context) -> HandlerFuture {
        let threads = self.threads.clone();
        let depth = depth_in(context.caller().chain());
        let call = RouteCall { context, threads };
        let calling = self.function.call(call, depth, &self.threads);
        Box::pin(async move {
            match calling.await {
                Some(Ok(Some(reply))) => Outcome::Reply(reply),
                Some(Ok(None)) => Outcome::Deferred,
                Some(Err(Fault::Failed(failure))) => failure.into_reply(),
                Some(Err(Fault::Threw(text))) => Outcome::Crashed(Box::new(Fault::crash(Some(text)))),
                None => Outcome::Crashed(Box::new(Fault::crash(None))),
            }
        })
    }

    fn limits(&self) -> RequestLimits {
        let mut limits = RequestLimits::default();
        limits.body_mode = self.options.body;
        limits
    }
}
