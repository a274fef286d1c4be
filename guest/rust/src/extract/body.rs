use pointwork_events::json::{JSON, from_json, is_json};
use serde::de::DeserializeOwned;

use crate::context::Context;
use crate::failure::Failure;
use crate::form::Form;
use crate::json::Json;
use crate::request::Request;

/// A type that handlers can take as an argument, read from the request body: [`Json`], `String` and `Vec<u8>`. A
/// handler takes at most one.
///
/// The SDK waits for the body; an implementation converts it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be read from a request body",
    note = "take `Json<…>`, `String` or `Vec<u8>`, or implement `FromBody`"
)]
pub trait FromBody: Sized {
    /// How the SDK reads the body: `Vec<u8>`, or `String` if it must be UTF-8.
    type Body: RequestBody;

    /// Converts the body. `request` gives access to the headers; `argument` is the name of the handler's argument.
    ///
    /// # Errors
    ///
    /// The body does not fit. The error is the reply, by convention 400 with the position and what was expected.
    fn from_body(body: Self::Body, request: &Request, argument: &'static str) -> Result<Self, Failure>;
}

/// `Vec<u8>` or `String`.
pub trait RequestBody: Sized {
    #[doc(hidden)]
    fn read<F: Form>(context: &Context<F>) -> impl Future<Output = Result<Self, Failure>>;
}

impl RequestBody for Vec<u8> {
    fn read<F: Form>(context: &Context<F>) -> impl Future<Output = Result<Self, Failure>> {
        F::body(context)
    }
}

impl RequestBody for String {
    fn read<F: Form>(context: &Context<F>) -> impl Future<Output = Result<Self, Failure>> {
        F::text(context)
    }
}

impl FromBody for Vec<u8> {
    type Body = Self;

    fn from_body(body: Vec<u8>, _request: &Request, _argument: &'static str) -> Result<Self, Failure> {
        Ok(body)
    }
}

impl FromBody for String {
    type Body = Self;

    fn from_body(body: Self, _request: &Request, _argument: &'static str) -> Result<Self, Failure> {
        Ok(body)
    }
}

impl<T: DeserializeOwned> FromBody for Json<T> {
    type Body = Vec<u8>;

    fn from_body(body: Vec<u8>, request: &Request, _argument: &'static str) -> Result<Self, Failure> {
        if let Some(content_type) = request.header("content-type")
            && !is_json(&content_type)
        {
            let message = format!("body: expected `content-type: {JSON}`, got `{content_type}`");
            return Err(Failure::new(415_u16, message));
        }
        from_json(&body)
            .map(Self)
            .map_err(|error| Failure::new(400_u16, format!("body: {error}")))
    }
}
