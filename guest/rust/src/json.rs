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
    check_pairs(text)?;
    serde_path_to_error::deserialize(serde_html_form::Deserializer::from_bytes(text)).map_err(at_field)
}

/// Refuses what is not UTF-8, which the parser of forms would replace, and the name of a prototype.
fn check_pairs(text: &[u8]) -> Result<(), String> {
    for pair in text.split(|byte| *byte == b'&') {
        let name = percent_decode(pair.split(|byte| *byte == b'=').next().unwrap_or_default());
        if percent_decode(pair).decode_utf8().is_err() {
            return Err(format!("`{}`: expected UTF-8", name.decode_utf8_lossy()));
        }
        check_name(name)?;
    }
    Ok(())
}

/// Refuses the name of a prototype, which code in JavaScript may make a key of an object.
pub(crate) fn check_name(name: impl IntoIterator<Item = u8>) -> Result<(), String> {
    if name.into_iter().eq(*PROTOTYPE) {
        return Err("the name `__proto__` is not allowed".to_owned());
    }
    Ok(())
}

const PROTOTYPE: &[u8; 9] = b"__proto__";
