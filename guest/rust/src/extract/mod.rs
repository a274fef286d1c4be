//! Extractors: arguments of handlers that are read from the request.

mod body;
mod context;
mod path;
mod query;

pub use body::{FromBody, RequestBody};
pub use context::FromContext;
pub use path::Path;
pub use query::Query;

use crate::failure::Failure;
use crate::request::Request;

/// A type that handlers can take as an argument, read from the request without its body: [`Path`], `Option<Path<T>>`
/// and [`Query`].
///
/// Implement it to share code between handlers:
///
/// ```
/// use pointwork_guest::{Context, Failure, FromRequest, HttpStatus, Request, controller};
///
/// struct User(String);
///
/// impl FromRequest for User {
///     fn from_request(request: &Request, _argument: &'static str) -> Result<Self, Failure> {
///         request
///             .extension("user")
///             .map(User)
///             .ok_or_else(|| Failure::new(HttpStatus::UNAUTHORIZED, "log in first"))
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
    /// Whether the value is read from the path parameter with the argument's name. Then a path without that parameter
    /// does not compile.
    #[doc(hidden)]
    const IS_PATH_PARAM: bool = false;

    /// Reads the value. `argument` is the name of the handler's argument.
    ///
    /// # Errors
    ///
    /// There is no such value. The error is the reply, by convention 400 with what was expected.
    fn from_request(request: &Request, argument: &'static str) -> Result<Self, Failure>;
}
