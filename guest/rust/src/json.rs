//! JSON: the type for request and reply bodies, and how forms are read.

use percent_encoding::percent_decode;
use pointwork_events::json::at_field;
use serde::de::DeserializeOwned;

pub(crate) const CONTENT_TYPE: &str = "content-type";

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

/// Reads names and values, as in a query and a form. The error contains the field and the expected type.
pub(crate) fn from_form<T: DeserializeOwned>(text: &[u8]) -> Result<T, String> {
    check_utf8(text)?;
    serde_path_to_error::deserialize(serde_html_form::Deserializer::from_bytes(text)).map_err(at_field)
}

/// Refuses what is not UTF-8, which the parser of forms would replace.
fn check_utf8(text: &[u8]) -> Result<(), String> {
    let is_utf8 = |text| percent_decode(text).decode_utf8().is_ok();
    match text.split(|byte| *byte == b'&').find(|pair| !is_utf8(pair)) {
        None => Ok(()),
        Some(pair) => {
            let name = pair.split(|byte| *byte == b'=').next().unwrap_or_default();
            Err(format!(
                "`{}`: expected UTF-8",
                percent_decode(name).decode_utf8_lossy()
            ))
        }
    }
}
