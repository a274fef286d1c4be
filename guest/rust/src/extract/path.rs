use std::fmt::Display;
use std::str::FromStr;

use super::{FromRequest, OptionalFromRequest};
use crate::failure::Failure;
use crate::json::deref;
use crate::request::Request;

/// The path parameter with the argument's name, parsed.
///
/// A handler whose path has no such parameter does not compile. A value that does not parse is refused with 400 and a
/// message that names the parameter. In a handler with several paths, `Option<Path<T>>` is `None` where the path that
/// matched has no such parameter; one of the paths has it. A guard or hook with a `Path` refuses a request with 500 if the route
/// has no such parameter, and the log says so.
///
/// ```
/// use pointwork_guest::{Path, controller};
///
/// struct Products;
///
/// #[controller("products")]
/// impl Products {
///     #[get(":id")]
///     fn show(id: Path<u64>) -> String {
///         format!("product {}", *id)
///     }
/// }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Path<T>(pub T);

deref! { Path }

impl<T: FromStr<Err: Display>> FromRequest for Path<T> {
    const IS_PATH_PARAM: bool = true;

    fn from_request(request: &Request, argument: &'static str) -> Result<Self, Failure> {
        match request.param(argument) {
            Some(text) => parse(&text, argument).map(Self),
            // The compiler looks for the parameter of a handler. A guard or hook may be on any route.
            None => {
                crate::log::error!(
                    "argument `{argument}` is a path parameter, and the path of the route has no `:{argument}`"
                );
                Err(Failure::new(500_u16, "the server could not read the path"))
            }
        }
    }
}

impl<T: FromStr<Err: Display>> OptionalFromRequest for Path<T> {
    const IS_PATH_PARAM: bool = true;

    fn optional_from_request(request: &Request, argument: &'static str) -> Result<Option<Self>, Failure> {
        request
            .param(argument)
            .map(|text| parse(&text, argument).map(Self))
            .transpose()
    }
}

fn parse<T: FromStr<Err: Display>>(text: &str, name: &str) -> Result<T, Failure> {
    text.parse()
        .map_err(|error| Failure::new(400_u16, format!("path parameter `{name}`: {error}, got `{text}`")))
}
