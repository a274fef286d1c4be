use serde::de::DeserializeOwned;

use crate::json::{JSON, Json, from_json, is_json};
use crate::request::Request;
use crate::throw::Throw;

/// A type that handlers can take as an argument, read from the request body: [`Json`], `String` and `Vec<u8>`. A
/// handler takes at most one.
///
/// The SDK waits for the body; an implementation converts the bytes.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be read from a request body",
    note = "take `Json<…>`, `String` or `Vec<u8>`, or implement `FromBody`"
)]
pub trait FromBody: Sized {
    /// Converts the body. `request` gives access to the headers; `argument` is the name of the handler's argument.
    ///
    /// # Errors
    ///
    /// The body does not fit. The error is the reply, by convention 400 with the position and what was expected.
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
            Throw::new(
                400_u16,
                format!("body: expected UTF-8, got something else at byte {at}"),
            )
        })
    }
}

impl<T: DeserializeOwned> FromBody for Json<T> {
    fn from_body(body: Vec<u8>, request: &Request, _argument: &'static str) -> Result<Self, Throw> {
        if let Some(content_type) = request.header("content-type")
            && !is_json(&content_type)
        {
            let message = format!("body: expected `content-type: {JSON}`, got `{content_type}`");
            return Err(Throw::new(415_u16, message));
        }
        from_json(&body)
            .map(Self)
            .map_err(|error| Throw::new(400_u16, format!("body: {error}")))
    }
}
