//! The owner of a route.

use std::fmt;
use std::sync::Arc;

/// The owner of a route, as errors and the route table name it (spec M3, P7).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Owner {
    /// A module declared it.
    Module {
        /// The module's name.
        module: Arc<str>,
        /// The controller's name within the module.
        controller: Arc<str>,
        /// The handler's name within the controller.
        handler: Arc<str>,
    },
    /// The host application registered it by hand (spec M1, M2).
    Manual,
}

impl Owner {
    /// A handler of a module.
    pub fn module(module: impl Into<Arc<str>>, controller: impl Into<Arc<str>>, handler: impl Into<Arc<str>>) -> Self {
        Self::Module {
            module: module.into(),
            controller: controller.into(),
            handler: handler.into(),
        }
    }
}

/// `` module `shop` `` or `the host application`; with `{:#}` the handler as well:
/// `` handler `show` of controller `products` of module `shop` ``.
impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Module {
                module,
                controller,
                handler,
            } => {
                if f.alternate() {
                    write!(f, "handler `{handler}` of controller `{controller}` of ")?;
                }
                write!(f, "module `{module}`")
            }
            Self::Manual => f.write_str("the host application"),
        }
    }
}
