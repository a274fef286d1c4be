use pointwork_events::json::is_json;
use serde::de::DeserializeOwned;

use super::body::{FromBody, check_type};
use super::form::{Form, is_form};
use crate::failure::Failure;
use crate::json::{CONTENT_TYPE, Json, deref};
use crate::request::Request;

/// A body that is JSON or an HTML form by its `content-type`, deserialized into a type of yours: [`Json`] and [`Form`]
/// for one handler.
///
/// A `content-type` of neither is refused with 415; a body without one is read as JSON. `Option<JsonOrForm<T>>` is `None` if
/// the request has no body.
///
/// ```
/// use pointwork_guest::{JsonOrForm, controller};
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Deserialize, Serialize)]
/// struct Booking {
///     nights: u32,
/// }
///
/// struct Bookings;
///
/// #[controller("bookings")]
/// impl Bookings {
///     #[post]
///     fn create(booking: JsonOrForm<Booking>) -> String {
///         format!("{} nights", booking.nights)
///     }
/// }
/// # use pointwork_guest::testing::TestRequest;
/// let booking = Booking { nights: 2 };
/// assert_eq!(TestRequest::post("/bookings").json(&booking).run::<Bookings>().text(), "2 nights");
/// assert_eq!(TestRequest::post("/bookings").form(&booking).run::<Bookings>().text(), "2 nights");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JsonOrForm<T>(pub T);

deref! { JsonOrForm }

impl<T: DeserializeOwned> FromBody for JsonOrForm<T> {
    type Body = Vec<u8>;

    fn from_body(body: Vec<u8>, request: &Request, argument: &'static str) -> Result<Self, Failure> {
        if request.header(CONTENT_TYPE).is_some_and(|found| is_form(&found)) {
            return Form::from_body(body, request, argument).map(|Form(value)| Self(value));
        }
        check_type(
            request,
            is_json,
            "application/json` or `application/x-www-form-urlencoded",
        )?;
        Json::from_body(body, request, argument).map(|Json(value)| Self(value))
    }
}
