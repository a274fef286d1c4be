use serde::de::DeserializeOwned;

use super::params_de::{Misfit, ParamsDeserializer};
use super::{FromRequest, OptionalFromRequest};
use crate::failure::Failure;
use crate::json::deref;
use crate::request::Request;

/// All path parameters, deserialized into a tuple or a struct of yours.
///
/// A tuple takes the parameters in the order of the path, a struct takes them by their names, and any other type is the only
/// parameter. A value that does not parse is refused with 400 and a message that names the parameter. If the path does not
/// have the parameters of the type, the request is refused with 500, and the log says what was expected: that is a mistake
/// in the module. In a handler with several paths, `Option<Params<T>>` is `None` where the path that matched has no
/// parameter. [`Path`](super::Path) is one parameter, which the compiler looks for in the path.
///
/// ```
/// use pointwork_guest::{Params, controller};
/// use serde::Deserialize;
///
/// #[derive(Deserialize)]
/// struct Seat {
///     row: char,
///     number: u32,
/// }
///
/// struct Seats;
///
/// #[controller("seats")]
/// impl Seats {
///     #[get(":row/:number")]
///     fn show(seat: Params<Seat>) -> String {
///         format!("seat {} in row {}", seat.number, seat.row)
///     }
///
///     #[get("from/:first/to/:last")]
///     fn range(Params((first, last)): Params<(u32, u32)>) -> String {
///         format!("{} seats", last.saturating_sub(first))
///     }
/// }
/// # use pointwork_guest::testing::TestRequest;
/// assert_eq!(TestRequest::get("/seats/c/7").run::<Seats>().text(), "seat 7 in row c");
/// assert_eq!(TestRequest::get("/seats/from/3/to/9").run::<Seats>().text(), "6 seats");
/// let answer = TestRequest::get("/seats/from/3/to/x").run::<Seats>();
/// assert_eq!(answer.message(), Some("path parameter `last`: invalid digit found in string, got `x`"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params<T>(pub T);

deref! { Params }

impl<T: DeserializeOwned> FromRequest for Params<T> {
    fn from_request(request: &Request, argument: &'static str) -> Result<Self, Failure> {
        read(request.params(), request, argument)
    }
}

impl<T: DeserializeOwned> OptionalFromRequest for Params<T> {
    fn optional_from_request(request: &Request, argument: &'static str) -> Result<Option<Self>, Failure> {
        let params = request.params();
        if params.is_empty() {
            return Ok(None);
        }
        read(params, request, argument).map(Some)
    }
}

fn read<T: DeserializeOwned>(
    params: Vec<(String, String)>,
    request: &Request,
    argument: &'static str,
) -> Result<Params<T>, Failure> {
    T::deserialize(ParamsDeserializer(params))
        .map(Params)
        .map_err(|misfit| match misfit {
            Misfit::Value(message) => Failure::new(400_u16, message),
            Misfit::Shape(message) => {
                let route = request.route();
                crate::log::error!(
                    "argument `{argument}` does not fit the parameters of the path `{route}`: {message}"
                );
                Failure::new(500_u16, "the server could not read the path")
            }
        })
}
