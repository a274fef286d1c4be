//! Between the controllers of a module and the generated exports of its form.

use crate::Outcome;
use crate::bindings::types;
use crate::controller::{Controller, Route};

/// A controller's declarations, without its type.
#[derive(Clone, Copy, Debug)]
pub struct Declaration {
    name: &'static str,
    prefix: &'static str,
    handlers: u32,
    routes: &'static [Route],
}

impl Declaration {
    pub const fn of<C: Controller>() -> Self {
        Self {
            name: C::NAME,
            prefix: C::PREFIX,
            handlers: C::HANDLERS,
            routes: C::ROUTES,
        }
    }
}

/// Sets up what every handler may rely on.
pub fn begin() {
    wit_bindgen::rt::maybe_link_cabi_realloc();
    super::panic::tell_host();
}

fn lower(outcome: Outcome) -> types::Outcome {
    match outcome {
        Outcome::Reply(reply) => types::Outcome::Reply(reply.into()),
        Outcome::Throw(throw) => {
            let (status, message) = throw.into_parts();
            types::Outcome::Throw(types::Thrown { status, message })
        }
        Outcome::Deferred => types::Outcome::Deferred,
    }
}

/// The records of `routes`, which the bindings of each world define anew.
macro_rules! declare {
    () => {
        /// The controllers of a module; handlers are numbered through, without gaps.
        pub fn declare(controllers: &[Declaration]) -> Vec<routes::Controller> {
            let mut first = 0;
            controllers
                .iter()
                .map(|controller| {
                    let routes = controller.routes.iter().map(|route| routes::Route {
                        handler: first + route.handler,
                        name: route.name.to_owned(),
                        method: route.method.map(str::to_owned),
                        paths: route.paths.iter().map(|&path| path.to_owned()).collect(),
                    });
                    let declared = routes::Controller {
                        name: controller.name.to_owned(),
                        prefix: controller.prefix.to_owned(),
                        routes: routes.collect(),
                    };
                    first += controller.handlers;
                    declared
                })
                .collect()
        }
    };
}

/// The synchronous form.
pub mod blocking {
    use super::{Declaration, Outcome, lower};
    use crate::{Context, backend};

    pub use crate::bindings::controller_module::export_controller_module as export;
    pub use crate::bindings::controller_module::exports::pointwork::module::{handlers, routes};

    declare!();

    pub fn handle(context: backend::Context, run: impl FnOnce(Context) -> Outcome) -> super::types::Outcome {
        super::begin();
        lower(run(Context::new(context)))
    }
}

/// The asynchronous form.
pub mod asynchronous {
    use super::{Declaration, Outcome, lower};
    use crate::{AsyncContext, backend};

    pub use crate::bindings::controller_module_async::export_controller_module_async as export;
    pub use crate::bindings::controller_module_async::exports::pointwork::module::{handlers_async, routes};

    declare!();

    pub async fn handle<R: Future<Output = Outcome>>(
        context: backend::Context,
        run: impl FnOnce(AsyncContext) -> R,
    ) -> super::types::Outcome {
        super::begin();
        lower(run(AsyncContext::new(context)).await)
    }
}
