use std::ops::Deref;

use garde::{Report, Validate};
use serde::Serialize;

use crate::extract::{FromBody, FromRequest, OptionalFromRequest};
use crate::failure::Failure;
use crate::json::deref;
use crate::request::Request;

/// Another argument whose value is validated by the crate `garde`: `Valid<Json<T>>`, `Valid<Form<T>>`, `Valid<Query<T>>`,
/// `Valid<Params<T>>`, and `Valid<T>` for the payload of a listener. Needs the feature `garde`.
///
/// Without `Valid`, nothing would check the constraints: then a handler, guard or listener does not compile. To validate a value
/// later, take `Json<garde::Unvalidated<T>>`, which needs the feature `serde` of `garde`. A type whose constraints need a context
/// without a default is taken as it is: call `validate_with`.
///
/// A value that is not valid is refused with 422, a payload with the code `bad-payload` and the status 400, and the detail `fields` lists the fields, up to 50, with what is wrong, in the
/// order of `garde`: its derive macro sorts the fields of a struct by name. Each text has at most 200 bytes. The module
/// depends on `garde` itself, since its derive macro names the crate. Its features `email` and `pattern` link a crate for
/// regular expressions, which makes a component several times as large.
///
/// ```
/// use garde::Validate;
/// use pointwork_guest::{Json, Valid, controller};
/// use serde::Deserialize;
///
/// #[derive(Deserialize, Validate)]
/// struct Booking {
///     #[garde(length(min = 1, max = 40))]
///     name: String,
///     #[garde(range(min = 1, max = 14))]
///     nights: u32,
/// }
///
/// struct Bookings;
///
/// #[controller("bookings")]
/// impl Bookings {
///     #[post]
///     fn create(Valid(Json(booking)): Valid<Json<Booking>>) -> String {
///         format!("{} for {} nights", booking.name, booking.nights)
///     }
/// }
/// # use pointwork_guest::testing::TestRequest;
/// # use serde_json::{Value, json};
/// let answer = TestRequest::post("/bookings").json(&json!({ "name": "", "nights": 99 })).run::<Bookings>();
/// assert_eq!(answer.status(), 422);
/// assert_eq!(answer.json::<Value>(), json!({
///     "message": "2 fields are not valid",
///     "fields": [
///         { "field": "name", "message": "length is lower than 1" },
///         { "field": "nights", "message": "greater than 14" },
///     ],
/// }));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Valid<E>(pub E);

deref! { Valid }

impl<E> Valid<E>
where
    E: Deref<Target: Validate<Context: Default>>,
{
    fn new(value: E) -> Result<Self, Failure> {
        match value.validate() {
            Ok(()) => Ok(Self(value)),
            Err(report) => {
                let (message, fields) = refused(&report);
                Err(Failure::new(422_u16, message).detail("fields", fields))
            }
        }
    }
}

impl<T: Validate<Context: Default>> Valid<T> {
    /// The payload of a listener.
    pub(crate) fn of_payload(value: T) -> Result<Self, Failure> {
        match value.validate() {
            Ok(()) => Ok(Self(value)),
            Err(report) => {
                let (message, fields) = refused(&report);
                Err(Failure::bad_payload(format!("payload: {message}")).detail("fields", fields))
            }
        }
    }
}

impl<E> FromBody for Valid<E>
where
    E: FromBody + Deref<Target: Validate<Context: Default>>,
{
    type Body = E::Body;

    fn from_body(body: E::Body, request: &Request, argument: &'static str) -> Result<Self, Failure> {
        E::from_body(body, request, argument).and_then(Self::new)
    }
}

impl<E> FromRequest for Valid<E>
where
    E: FromRequest + Deref<Target: Validate<Context: Default>>,
{
    const IS_PATH_PARAM: bool = E::IS_PATH_PARAM;

    fn from_request(request: &Request, argument: &'static str) -> Result<Self, Failure> {
        E::from_request(request, argument).and_then(Self::new)
    }
}

impl<E> OptionalFromRequest for Valid<E>
where
    E: OptionalFromRequest + Deref<Target: Validate<Context: Default>>,
{
    fn optional_from_request(request: &Request, argument: &'static str) -> Result<Option<Self>, Failure> {
        let found = E::optional_from_request(request, argument)?;
        found.map(Self::new).transpose()
    }
}

#[derive(Serialize)]
struct InvalidField {
    field: String,
    message: String,
}

/// The most fields of a reply, and the longest text of one in bytes: the details of a failure are bounded.
const MOST_FIELDS: usize = 50;
const LONGEST_TEXT: usize = 200;

/// A sentence, and the fields.
fn refused(report: &Report) -> (String, Vec<InvalidField>) {
    // JSON writes a control character with six bytes, and the host refuses details of more than 64 KiB.
    let cut = |text: &str| text[..text.floor_char_boundary(LONGEST_TEXT)].replace(char::is_control, "\u{fffd}");
    let fields = report.iter().map(|(path, error)| InvalidField {
        field: cut(&path.to_string()),
        message: cut(error.message()),
    });
    let fields: Vec<_> = fields.take(MOST_FIELDS).collect();
    let message = match report.iter().count() {
        1 => "1 field is not valid".to_owned(),
        count => format!("{count} fields are not valid"),
    };
    (message, fields)
}
