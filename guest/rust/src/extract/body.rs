use std::ops::Deref;

use serde::de::DeserializeOwned;

use crate::{Request, Throw, payload};

/// A handler's argument that is read from the request body. A handler takes at most one.
///
/// [`Json`], `String` and `Vec<u8>` are there. The SDK reads the body, in the way of the module's form; an
/// implementation reads the bytes.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be read from a request body",
    note = "take `Json<…>`, `String` or `Vec<u8>`, or implement `FromBody`"
)]
pub trait FromBody: Sized {
    /// Reads the value. `request` is there for its headers; `argument` is the name of the handler's argument.
    ///
    /// # Errors
    ///
    /// The reply, if the body does not fit: by convention 400 and a message that says where and what was expected.
    fn from_body(body: Vec<u8>, request: &Request, argument: &'static str) -> Result<Self, Throw>;
}

impl FromBody for Vec<u8> {
    fn from_body(body: Vec<u8>, _request: &Request, _argument: &'static str) -> Result<Self, Throw> {
        Ok(body)
    }
}

impl FromBody for String {
    fn from_body(body: Vec<u8>, _request: &Request, _argument: &'static str) -> Result<Self, Throw> {
        Self::from_utf8(body).map_err(|error| {
            let at = error.utf8_error().valid_up_to();
            Throw::bad_request(format!("body: expected UTF-8, got something else at byte {at}"))
        })
    }
}

/// JSON: as an argument the request body, as a return value the reply.
///
/// A body that does not fit is 400 with a message that says which field, what was expected, and at which line and column.
/// A `content-type` that is there and is not JSON is 415; one that is missing is taken for JSON.
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

impl<T> Deref for Json<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: DeserializeOwned> FromBody for Json<T> {
    fn from_body(body: Vec<u8>, request: &Request, _argument: &'static str) -> Result<Self, Throw> {
        if let Some(content_type) = request.header("content-type")
            && !payload::is_json(&content_type)
        {
            let message = format!("body: expected `content-type: {}`, got `{content_type}`", payload::JSON);
            return Err(Throw::new(415_u16, message));
        }
        payload::from_json(&body)
            .map(Self)
            .map_err(|error| Throw::bad_request(format!("body: {error}")))
    }
}
