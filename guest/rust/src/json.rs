//! JSON: the type for request and reply bodies, and how JSON is read.

use std::fmt::Display;

use serde::de::DeserializeOwned;
use serde_path_to_error::Segment;

pub(crate) const CONTENT_TYPE: &str = "content-type";

pub(crate) const JSON: &str = "application/json";

pub(crate) const FORM: &str = "application/x-www-form-urlencoded";

/// JSON: the request body as an argument, the reply as a return value.
///
/// A body that does not fit the type is refused with 400 and a message with the field, the expected type, line and
/// column. A `content-type` other than JSON is refused with 415; a body without one is read as JSON.
/// `Option<Json<T>>` is `None` if the request has no body.
///
/// ```
/// use pointwork_guest::{HttpStatus, Json, controller};
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Serialize, Deserialize)]
/// struct Product {
///     name: String,
///     price: u32,
/// }
///
/// struct Products;
///
/// #[controller("products")]
/// impl Products {
///     #[post]
///     fn create(product: Json<Product>) -> (HttpStatus, Json<Product>) {
///         (HttpStatus::CREATED, product)
///     }
/// }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Json<T>(pub T);

/// Dereferences a wrapper to its value.
macro_rules! deref {
    ($ty:ident) => {
        impl<T> std::ops::Deref for $ty<T> {
            type Target = T;

            fn deref(&self) -> &T {
                &self.0
            }
        }
    };
}

pub(crate) use deref;

deref! { Json }

/// Reads a JSON text. The error contains the field, the expected type, line and column.
pub(crate) fn from_json<T: DeserializeOwned>(text: &[u8]) -> Result<T, String> {
    let mut json = serde_json::Deserializer::from_slice(text);
    let value = serde_path_to_error::deserialize(&mut json).map_err(at_field)?;
    json.end().map_err(|error| error.to_string())?;
    Ok(value)
}

/// Reads names and values, as in a query and a form. The error contains the field and the expected type.
pub(crate) fn from_form<T: DeserializeOwned>(text: &[u8]) -> Result<T, String> {
    serde_path_to_error::deserialize(serde_html_form::Deserializer::from_bytes(text)).map_err(at_field)
}

/// The error with the path of the field before it. An error of the whole value has no path.
fn at_field<E: Display>(error: serde_path_to_error::Error<E>) -> String {
    let whole = error.path().iter().all(|segment| matches!(segment, Segment::Unknown));
    if whole {
        error.inner().to_string()
    } else {
        format!("`{}`: {}", error.path(), error.inner())
    }
}

/// Whether a content type is JSON: `application/json` or `<anything>+json`, with or without parameters.
pub(crate) fn is_json(content_type: &str) -> bool {
    let essence = essence(content_type);
    essence.eq_ignore_ascii_case(JSON)
        || essence.len() > 5 && essence.as_bytes()[essence.len() - 5..].eq_ignore_ascii_case(b"+json")
}

/// A content type without its parameters.
pub(crate) fn essence(content_type: &str) -> &str {
    content_type.split(';').next().unwrap_or_default().trim()
}
