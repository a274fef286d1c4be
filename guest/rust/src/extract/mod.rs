//! Extractors: arguments of handlers that are read from the request.

mod bearer;
mod body;
mod context;
mod form;
mod headers;
mod json_or_form;
mod params;
mod params_de;
mod path;
mod query;

pub use bearer::Bearer;
pub use body::{FromBody, RequestBody};
pub use context::{FromContext, OptionalFromContext};
pub use form::Form;
pub use json_or_form::JsonOrForm;
pub use params::Params;
pub use path::Path;
pub use query::Query;

use crate::failure::Failure;
use crate::request::Request;

/// A type that handlers can take as an argument, read from the request without its body: [`Path`], [`Params`],
/// [`Query`], [`Bearer`], [`HeaderMap`](http::HeaderMap), and `Option` and `Result<…, Failure>` of them.
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

    /// The same for a value that one of several paths may lack.
    #[doc(hidden)]
    const IS_OPTIONAL_PARAM: bool = false;

    /// Reads the value. `argument` is the name of the handler's argument.
    ///
    /// # Errors
    ///
    /// There is no such value. The error is the reply, by convention 400 with what was expected.
    fn from_request(request: &Request, argument: &'static str) -> Result<Self, Failure>;
}

/// A type that handlers can also take as an `Option`: `None` if the request does not have the value. A value that the
/// request has and that is malformed is an error.
///
/// ```
/// use pointwork_guest::{Failure, OptionalFromRequest, Request, controller};
///
/// struct Tenant(u32);
///
/// impl OptionalFromRequest for Tenant {
///     fn optional_from_request(request: &Request, _argument: &'static str) -> Result<Option<Self>, Failure> {
///         let number = request.header("x-tenant").map(|text| text.parse());
///         number.transpose().map(|tenant| tenant.map(Tenant)).map_err(|_| Failure::new(400_u16, "header `x-tenant`"))
///     }
/// }
///
/// struct Orders;
///
/// #[controller("orders")]
/// impl Orders {
///     #[get]
///     fn list(tenant: Option<Tenant>) -> String {
///         tenant.map_or_else(|| "all orders".into(), |tenant| format!("the orders of {}", tenant.0))
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`Option<{Self}>` cannot be read from a request",
    note = "implement `OptionalFromRequest` for `{Self}`"
)]
pub trait OptionalFromRequest: Sized {
    /// Whether the value is read from the path parameter with the argument's name. Then paths that all lack that parameter do
    /// not compile.
    #[doc(hidden)]
    const IS_PATH_PARAM: bool = false;

    /// Reads the value. `argument` is the name of the handler's argument.
    ///
    /// # Errors
    ///
    /// The value is malformed. The error is the reply, by convention 400 with what was expected.
    fn optional_from_request(request: &Request, argument: &'static str) -> Result<Option<Self>, Failure>;
}

/// `None` if the request does not have the value.
impl<T: OptionalFromRequest> FromRequest for Option<T> {
    const IS_OPTIONAL_PARAM: bool = T::IS_PATH_PARAM;

    fn from_request(request: &Request, argument: &'static str) -> Result<Self, Failure> {
        T::optional_from_request(request, argument)
    }
}

/// The handler runs and gets the failure.
impl<T: FromRequest> FromRequest for Result<T, Failure> {
    const IS_PATH_PARAM: bool = T::IS_PATH_PARAM;
    const IS_OPTIONAL_PARAM: bool = T::IS_OPTIONAL_PARAM;

    fn from_request(request: &Request, argument: &'static str) -> Result<Self, Failure> {
        Ok(T::from_request(request, argument))
    }
}
