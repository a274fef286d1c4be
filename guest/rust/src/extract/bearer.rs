use std::fmt;

use http::StatusCode;

use super::{FromRequest, OptionalFromRequest};
use crate::failure::Failure;
use crate::request::Request;

/// The token of a header `authorization: Bearer …`.
///
/// A request without one is refused with 401 and the header `www-authenticate: Bearer`. `Option<Bearer>` is `None` if the
/// request has no such header, or one of another scheme. Several headers, and a token with a character that no token has
/// (RFC 6750), are refused as well. Nothing checks the token: a guard asks the application whose it is.
///
/// ```
/// use pointwork_guest::{Bearer, Context, Failure, controller, events, guard};
///
/// events! { pub UserOf = "users:of-token": String => Option<String>; }
///
/// struct SignedIn;
///
/// #[guard]
/// impl SignedIn {
///     fn check(ctx: &Context, token: Bearer) -> Result<String, Failure> {
///         let user = ctx.call::<UserOf>(token.0)?;
///         user.ok_or_else(|| Bearer::refused("no valid token"))
///     }
/// }
///
/// struct Orders;
///
/// #[controller("orders", guard = SignedIn)]
/// impl Orders {
///     #[get]
///     fn list() -> &'static str {
///         "all orders"
///     }
/// }
/// # use pointwork_guest::testing::TestRequest;
/// let request = || TestRequest::get("/orders").on::<UserOf>(|token| (token == "tea").then(|| "ada".into()));
/// assert_eq!(request().header("authorization", "Bearer tea").run::<Orders>().text(), "all orders");
/// let answer = request().run::<Orders>();
/// assert_eq!((answer.status(), answer.header("www-authenticate")), (401, Some("Bearer".into())));
/// assert_eq!(request().header("authorization", "Bearer milk").run::<Orders>().message(), Some("no valid token"));
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Bearer(pub String);

impl Bearer {
    /// The error for a token that is not valid: 401 with the header `www-authenticate: Bearer error="invalid_token"`.
    pub fn refused(message: impl Into<String>) -> Failure {
        unauthorized(message, r#"Bearer error="invalid_token""#)
    }
}

fn unauthorized(message: impl Into<String>, challenge: &str) -> Failure {
    Failure::new(StatusCode::UNAUTHORIZED, message).header("www-authenticate", challenge)
}

fn missing() -> Failure {
    unauthorized("header `authorization`: expected a bearer token", "Bearer")
}

/// Whether it is a `b64token` of RFC 6750, section 2.1.
fn is_token(text: &str) -> bool {
    let characters = text.trim_end_matches('=');
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~+/".contains(&byte);
    !characters.is_empty() && characters.bytes().all(is_allowed)
}

impl FromRequest for Bearer {
    fn from_request(request: &Request, argument: &'static str) -> Result<Self, Failure> {
        Self::optional_from_request(request, argument)?.ok_or_else(missing)
    }
}

impl OptionalFromRequest for Bearer {
    fn optional_from_request(request: &Request, _argument: &'static str) -> Result<Option<Self>, Failure> {
        let headers = request.headers().into_iter();
        let mut headers = headers.filter(|(name, _)| name == "authorization");
        let Some((_, header)) = headers.next() else {
            return Ok(None);
        };
        // A proxy in front may have checked another one.
        if headers.next().is_some() {
            return Err(missing());
        }
        let header = String::from_utf8_lossy(&header);
        let (scheme, token) = header.split_once(' ').unwrap_or((&header, ""));
        match token.trim_ascii() {
            _ if !scheme.eq_ignore_ascii_case("bearer") => Ok(None),
            token if is_token(token) => Ok(Some(Self(token.to_owned()))),
            _ => Err(missing()),
        }
    }
}

/// Without the token, which is a secret.
impl fmt::Debug for Bearer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Bearer")
    }
}
