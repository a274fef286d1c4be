use serde::de::DeserializeOwned;

use super::body::{FromBody, check_type};
use crate::failure::Failure;
use crate::json::{FORM, deref, from_form};
use crate::request::Request;
use pointwork_events::json::{essence, without_mark};

/// The body of an HTML form, `application/x-www-form-urlencoded`, deserialized into a type of yours.
///
/// As in a [`Query`](super::Query), an optional field is an `Option` or has `#[serde(default)]`, and a name that may occur
/// several times is a `Vec`. A form that does not fit, or has a field that is not UTF-8, is refused with 400 and a message
/// that names the field; so is the name `__proto__`. More than 100,000 fields are refused with 413. A `content-type` other than
/// that of a form in UTF-8 is refused with 415; a body without one is read as a form. `Option<Form<T>>` is `None` if the request has no body.
///
/// ```
/// use pointwork_guest::{Form, controller};
/// use serde::Deserialize;
///
/// #[derive(Deserialize)]
/// struct Booking {
///     room: String,
///     nights: u32,
///     #[serde(default)]
///     extra: Vec<String>,
/// }
///
/// struct Bookings;
///
/// #[controller("bookings")]
/// impl Bookings {
///     #[post]
///     fn create(booking: Form<Booking>) -> String {
///         format!("{} nights in {}, extras: {}", booking.nights, booking.room, booking.extra.join(", "))
///     }
/// }
/// # use pointwork_guest::testing::TestRequest;
/// let fields = [("room", "attic"), ("nights", "2"), ("extra", "tea")];
/// let answer = TestRequest::post("/bookings").form(&fields).run::<Bookings>();
/// assert_eq!(answer.text(), "2 nights in attic, extras: tea");
/// let answer = TestRequest::post("/bookings").form(&[("room", "attic"), ("nights", "two")]).run::<Bookings>();
/// assert_eq!(answer.message(), Some("body: `nights`: invalid digit found in string"));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Form<T>(pub T);

deref! { Form }

impl<T: DeserializeOwned> FromBody for Form<T> {
    type Body = Vec<u8>;

    fn from_body(body: Vec<u8>, request: &Request, _argument: &'static str) -> Result<Self, Failure> {
        check_type(request, is_form, FORM)?;
        from_form("body", without_mark(&body)).map(Self)
    }
}

pub(super) fn is_form(content_type: &str) -> bool {
    essence(content_type).eq_ignore_ascii_case(FORM)
}
