use headers::{Header, HeaderValue};

use crate::extract::{FromRequest, OptionalFromRequest};
use crate::failure::Failure;
use crate::json::deref;
use crate::reply::{Reply, ReplyParts};
use crate::request::Request;

/// A header of the crate `headers`, as an argument and as a part of a reply. Needs the feature `headers`.
///
/// A request without the header, or with one that is not valid, is refused with 400 and a message that names the header.
/// `Option<TypedHeader<T>>` is `None` without the header.
///
/// ```
/// use pointwork_guest::headers::{CacheControl, UserAgent};
/// use pointwork_guest::{TypedHeader, controller};
///
/// struct Agents;
///
/// #[controller("agents")]
/// impl Agents {
///     #[get]
///     fn show(agent: Option<TypedHeader<UserAgent>>) -> (TypedHeader<CacheControl>, String) {
///         let name = agent.map_or_else(|| "unknown".into(), |agent| agent.to_string());
///         (TypedHeader(CacheControl::new().with_no_store()), name)
///     }
/// }
/// # use pointwork_guest::testing::TestRequest;
/// let answer = TestRequest::get("/agents").header("user-agent", "curl/8").run::<Agents>();
/// assert_eq!((answer.text().as_str(), answer.header("cache-control").as_deref()), ("curl/8", Some("no-store")));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TypedHeader<T>(pub T);

deref! { TypedHeader }

impl<T: Header> FromRequest for TypedHeader<T> {
    fn from_request(request: &Request, argument: &'static str) -> Result<Self, Failure> {
        let found = Self::optional_from_request(request, argument)?;
        found.ok_or_else(|| Failure::new(400_u16, format!("header `{}`: expected one, got none", T::name())))
    }
}

impl<T: Header> OptionalFromRequest for TypedHeader<T> {
    fn optional_from_request(request: &Request, _argument: &'static str) -> Result<Option<Self>, Failure> {
        let headers = request.headers().into_iter();
        let named = headers.filter(|(name, _)| name == T::name().as_str());
        // The host has read them as headers.
        let values: Vec<_> = named
            .filter_map(|(_, value)| HeaderValue::try_from(value).ok())
            .collect();
        if values.is_empty() {
            return Ok(None);
        }
        T::decode(&mut values.iter())
            .map(|header| Some(Self(header)))
            .map_err(|error| Failure::new(400_u16, format!("header `{}`: {error}", T::name())))
    }
}

impl<T: Header> ReplyParts for TypedHeader<T> {
    fn add_to(self, mut reply: Reply) -> Reply {
        let mut values = Vec::new();
        self.0.encode(&mut values);
        for value in values {
            reply = reply.header(T::name().as_str(), value.as_bytes());
        }
        reply
    }
}
