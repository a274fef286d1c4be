use std::fmt;

macro_rules! methods {
    ($($variant:ident = $token:literal,)*) => {
        /// The methods with an attribute of their own, for use in `#[request_mapping]`.
        ///
        /// ```
        /// use pointwork_guest::{RequestMethod, controller};
        ///
        /// struct Files;
        ///
        /// #[controller("files")]
        /// impl Files {
        ///     #[request_mapping(path = ":name", method = RequestMethod::Propfind)]
        ///     #[request_mapping(path = ":name", method = "MKWORKSPACE")]
        ///     fn props() -> &'static str {
        ///         "props"
        ///     }
        /// }
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum RequestMethod {
            /// Every method.
            All,
            $(#[doc = concat!("`", $token, "`.")] $variant,)*
        }

        impl RequestMethod {
            /// The HTTP token; `None` for [`All`](Self::All).
            pub const fn token(self) -> Option<&'static str> {
                match self {
                    Self::All => None,
                    $(Self::$variant => Some($token),)*
                }
            }
        }
    };
}

methods! {
    Get = "GET",
    Post = "POST",
    Put = "PUT",
    Patch = "PATCH",
    Delete = "DELETE",
    Head = "HEAD",
    Options = "OPTIONS",
    Trace = "TRACE",
    Connect = "CONNECT",
    Purge = "PURGE",
    Search = "SEARCH",
    Propfind = "PROPFIND",
    Proppatch = "PROPPATCH",
    Mkcol = "MKCOL",
    Copy = "COPY",
    Move = "MOVE",
    Lock = "LOCK",
    Unlock = "UNLOCK",
    Acl = "ACL",
    Report = "REPORT",
}

impl fmt::Display for RequestMethod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.token().unwrap_or("any method"))
    }
}
