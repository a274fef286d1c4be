use http::{HeaderMap, HeaderName, HeaderValue};

use super::FromRequest;
use crate::failure::Failure;
use crate::request::Request;

/// All headers of the request.
impl FromRequest for HeaderMap {
    fn from_request(request: &Request, _argument: &'static str) -> Result<Self, Failure> {
        let headers = request.headers();
        // `with_capacity` panics if a map has no room for so many names.
        let mut map = Self::with_capacity(headers.len().min(64));
        for (name, value) in headers {
            // The host has read them as headers; a map has room for fewer than any number of them.
            let (name, value) = (HeaderName::try_from(name), HeaderValue::try_from(value));
            if let (Ok(name), Ok(value)) = (name, value)
                && map.try_append(name, value).is_err()
            {
                return Err(Failure::new(431_u16, "the request has too many headers"));
            }
        }
        Ok(map)
    }
}
