use pointwork_events::json::{JSON, from_json, is_json};
use serde::de::DeserializeOwned;

use crate::context::Context;
use crate::failure::Failure;
use crate::form::ModuleForm;
use crate::json::{CONTENT_TYPE, Json};
use crate::request::{Request, check_charset};

/// A type that handlers can take as an argument, read from the request body: [`Json`], [`Form`](super::Form),
/// [`JsonOrForm`](super::JsonOrForm), `String`, `Vec<u8>`, and `Option` and `Result<…, Failure>` of them. A handler takes at most one.
///
/// `Option` is `None` if the request has no body: it is empty and has no `content-type`.
///
/// The SDK waits for the body; an implementation converts it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be read from a request body",
    note = "take `Json<…>`, `Form<…>`, `String` or `Vec<u8>`, or implement `FromBody`"
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
    fn is_empty(&self) -> bool;

    #[doc(hidden)]
    fn read<F: ModuleForm>(context: &Context<F>) -> impl Future<Output = Result<Self, Failure>>;

    #[doc(hidden)]
    fn read_now(context: &Context) -> Result<Self, Failure>;
}

impl RequestBody for Vec<u8> {
    fn is_empty(&self) -> bool {
        self.is_empty()
    }

    fn read<F: ModuleForm>(context: &Context<F>) -> impl Future<Output = Result<Self, Failure>> {
        F::body(context)
    }

    fn read_now(context: &Context) -> Result<Self, Failure> {
        context.body()
    }
}

impl RequestBody for String {
    fn is_empty(&self) -> bool {
        self.is_empty()
    }

    fn read<F: ModuleForm>(context: &Context<F>) -> impl Future<Output = Result<Self, Failure>> {
        F::text(context)
    }

    fn read_now(context: &Context) -> Result<Self, Failure> {
        context.text()
    }
}

/// A body that may fail to be read, for a handler that gets the failure.
impl<B: RequestBody> RequestBody for Result<B, Failure> {
    fn is_empty(&self) -> bool {
        self.as_ref().is_ok_and(B::is_empty)
    }

    async fn read<F: ModuleForm>(context: &Context<F>) -> Result<Self, Failure> {
        Ok(B::read(context).await)
    }

    fn read_now(context: &Context) -> Result<Self, Failure> {
        Ok(B::read_now(context))
    }
}

/// `None` if the request has no body.
impl<T: FromBody> FromBody for Option<T> {
    type Body = T::Body;

    fn from_body(body: T::Body, request: &Request, argument: &'static str) -> Result<Self, Failure> {
        if body.is_empty() && request.header(CONTENT_TYPE).is_none() {
            return Ok(None);
        }
        T::from_body(body, request, argument).map(Some)
    }
}

/// The handler runs and gets the failure.
impl<T: FromBody> FromBody for Result<T, Failure> {
    type Body = Result<T::Body, Failure>;

    fn from_body(body: Self::Body, request: &Request, argument: &'static str) -> Result<Self, Failure> {
        Ok(body.and_then(|body| T::from_body(body, request, argument)))
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
        check_type(request, is_json, JSON)?;
        from_json(&body)
            .map(Self)
            .map_err(|error| Failure::new(400_u16, format!("body: {error}")))
    }
}

/// Refuses a body of another content type or charset. A body without a content type is read.
pub(super) fn check_type(
    request: &Request,
    is_right: impl FnOnce(&str) -> bool,
    expected: &str,
) -> Result<(), Failure> {
    let Some(found) = request.header(CONTENT_TYPE) else {
        return Ok(());
    };
    if !is_right(&found) {
        let message = format!("body: expected `content-type: {expected}`, got `{found}`");
        return Err(Failure::new(415_u16, message));
    }
    check_charset(&found, "")
}
