//! Arguments of handlers.

mod body;
mod path;
mod query;

pub use body::{FromBody, Json};
pub use path::Path;
pub use query::Query;

use crate::{Request, Throw};

/// A handler's argument that is read from the request, the body aside.
///
/// [`Path`], [`Query`] and `Option` of an extractor are there; add your own where several handlers read the same thing:
///
/// ```
/// use pointwork_guest::{Context, FromRequest, HttpStatus, Request, Throw, controller};
///
/// struct User(String);
///
/// impl FromRequest for User {
///     fn from_request(request: &Request, _argument: &'static str) -> Result<Self, Throw> {
///         request
///             .extension("user")
///             .map(User)
///             .ok_or_else(|| Throw::new(HttpStatus::UNAUTHORIZED, "log in first"))
///     }
/// }
///
/// struct Orders;
///
/// #[controller("orders")]
/// impl Orders {
///     #[get]
///     fn list(user: User) -> String {
///         format!("the orders of {}", user.0)
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be read from a request",
    note = "implement `FromRequest` for it, or `FromBody` if it is read from the body"
)]
pub trait FromRequest: Sized {
    /// True for what is read from the path parameter of the argument's name; then the macros can tell at compile time
    /// that a path has no such parameter.
    #[doc(hidden)]
    const IS_PATH_PARAM: bool = false;

    /// Reads the value. `argument` is the name of the handler's argument.
    ///
    /// # Errors
    ///
    /// The reply, if there is no such value: by convention 400 and a message that says what was expected.
    fn from_request(request: &Request, argument: &'static str) -> Result<Self, Throw>;
}
