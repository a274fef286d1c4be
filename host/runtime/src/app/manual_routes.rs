//! Routes that the host application registers by hand.

use std::sync::Arc;

use pointwork_core::Handler;
use pointwork_core::routing::MethodFilter;

use super::App;
use crate::{Error, ErrorKind, OrError};

macro_rules! verbs {
    ($($verb:ident $method:literal),* $(,)?) => {
        /// One function for each attribute of the guest SDK (spec M1). Each registers a route by hand, as
        /// [`register_route`](App::register_route) does, with its errors.
        impl App {$(
            #[doc = concat!("Registers a route for ", $method, ".")]
            ///
            /// # Errors
            /// As [`register_route`](App::register_route).
            pub fn $verb(&self, path: &str, handler: impl Handler) -> Result<&Self, Error> {
                self.register_route($method, path, handler)
            }
        )*

            /// Registers a route for every method, extension methods included (spec A7).
            ///
            /// # Errors
            /// As [`register_route`](App::register_route).
            pub fn all(&self, path: &str, handler: impl Handler) -> Result<&Self, Error> {
                self.register(MethodFilter::All, path, Arc::new(handler))
            }
        }
    };
}

verbs! {
    get "GET", post "POST", put "PUT", patch "PATCH", delete "DELETE", head "HEAD", options "OPTIONS", trace "TRACE",
    connect "CONNECT", purge "PURGE", search "SEARCH", propfind "PROPFIND", proppatch "PROPPATCH", mkcol "MKCOL",
    copy "COPY", r#move "MOVE", lock "LOCK", unlock "UNLOCK", acl "ACL", report "REPORT",
}

impl App {
    /// Registers a route by hand, for any method (spec M2): an HTTP token, in the case in which clients send it.
    ///
    /// # Errors
    /// [`Refused`](ErrorKind::Refused) if the method is not a token, the path not a pattern, or the route in conflict
    /// with another (spec P7).
    pub fn register_route(&self, method: &str, path: &str, handler: impl Handler) -> Result<&Self, Error> {
        let filter = MethodFilter::parse(Some(method));
        let filter = filter.or_error(ErrorKind::Refused, format!("the route for `{path}` is refused"))?;
        self.register(filter, path, Arc::new(handler))
    }

    fn register(&self, filter: MethodFilter, path: &str, handler: Arc<dyn Handler>) -> Result<&Self, Error> {
        let message = format!("route {filter} `{path}` is refused");
        self.change(|binder| {
            binder
                .add_manual(filter, path, handler)
                .or_error(ErrorKind::Refused, message)
        })?;
        Ok(self)
    }
}
