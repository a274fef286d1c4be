//! JSON: the type for request and reply bodies, and how forms are read.

use percent_encoding::percent_decode;
use pointwork_events::json::at_field;
use serde::de::DeserializeOwned;

use crate::failure::Failure;

pub(crate) const CONTENT_TYPE: &str = "content-type";

pub(crate) const FORM: &str = "application/x-www-form-urlencoded";

/// JSON: the request body as an argument, the reply as a return value.
///
/// A body that does not fit the type is refused with 400 and a message with the field, the expected type, line and
/// column. A `content-type` other than JSON in UTF-8 is refused with 415; a body without one is read as JSON.
///
/// The key `__proto__`, the key `prototype` in an object behind the key `constructor`, and half of a surrogate pair are refused
/// with 400 at any depth, also in fields that the type does not have. Code in JavaScript that gets the value later would change
/// other objects by such a key.
///
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

/// The most names and values of a query or a form. In memory each takes up to twenty times its length.
const MOST_PAIRS: usize = 100_000;

/// Reads names and values, as in a query and a form, which `of` says. The error contains the field and the expected type.
pub(crate) fn from_form<T: DeserializeOwned>(of: &str, text: &[u8]) -> Result<T, Failure> {
    let refused = |problem| Failure::new(400_u16, format!("{of}: {problem}"));
    let mut pairs = text.split(|byte| *byte == b'&');
    if pairs.clone().count() > MOST_PAIRS {
        let message = format!("{of}: there are too many fields, expected {MOST_PAIRS} at most");
        return Err(Failure::new(413_u16, message));
    }
    pairs.try_for_each(check_pair).map_err(refused)?;
    let read = serde_path_to_error::deserialize(serde_html_form::Deserializer::from_bytes(text));
    read.map_err(at_field).map_err(refused)
}

/// Refuses what is not UTF-8, which the parser of forms would replace, and the name of a prototype.
fn check_pair(pair: &[u8]) -> Result<(), String> {
    let name = percent_decode(pair.split(|byte| *byte == b'=').next().unwrap_or_default());
    if percent_decode(pair).decode_utf8().is_err() {
        return Err(format!("`{}`: expected UTF-8", name.decode_utf8_lossy()));
    }
    check_name(name)
}

/// Refuses the name of a prototype, which code in JavaScript may make a key of an object.
pub(crate) fn check_name(name: impl IntoIterator<Item = u8>) -> Result<(), String> {
    if name.into_iter().eq(*b"__proto__") {
        return Err("the name `__proto__` is not allowed".to_owned());
    }
    Ok(())
}
