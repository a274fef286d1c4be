use serde::de::DeserializeOwned;

use super::{FromRequest, OptionalFromRequest};
use crate::failure::Failure;
use crate::json::{deref, from_form};
use crate::request::Request;

/// The query, deserialized into a type of yours.
///
/// An optional field is an `Option` or has `#[serde(default)]`; a name that may occur several times is a `Vec`. A query
/// that does not fit, or has a field that is not UTF-8 or is named `__proto__`, is refused with 400 and a message that names the
/// field; more than 100,000 fields with 413. `Option<Query<T>>` is `None` if the request has no `?`.
///
/// ```
/// use pointwork_guest::{Query, controller};
/// use serde::Deserialize;
///
/// #[derive(Deserialize)]
/// struct Search {
///     text: String,
///     #[serde(default)]
///     page: u32,
/// }
///
/// struct Products;
///
/// #[controller("products")]
/// impl Products {
///     #[get("search")]
///     fn search(search: Query<Search>) -> String {
///         format!("page {} of {}", search.page, search.text)
///     }
/// }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Query<T>(pub T);

deref! { Query }

impl<T: DeserializeOwned> FromRequest for Query<T> {
    fn from_request(request: &Request, _argument: &'static str) -> Result<Self, Failure> {
        read(&request.query().unwrap_or_default())
    }
}

impl<T: DeserializeOwned> OptionalFromRequest for Query<T> {
    fn optional_from_request(request: &Request, _argument: &'static str) -> Result<Option<Self>, Failure> {
        request.query().map(|text| read(&text)).transpose()
    }
}

fn read<T: DeserializeOwned>(text: &str) -> Result<Query<T>, Failure> {
    from_form("query", text.as_bytes()).map(Query)
}
