//! Cookies, as an argument and as a part of a reply.

use std::fmt;

use cookie::{Cookie, CookieJar, Key};

use crate::extract::{FromRequest, OptionalFromRequest};
use crate::failure::Failure;
use crate::header;
use crate::reply::{Reply, ReplyParts};
use crate::request::Request;
use crate::variables::GivenVariables;

/// The cookies of the request, and those that the reply sets: an argument of a handler, which returns it as a part of
/// its reply. Needs the feature `cookies`.
///
/// Values are percent-encoded in the headers. A cookie that is malformed is left out, since any page of the domain can set
/// one, and so is one whose name has a `%`. Of several with one name the first counts: browsers send that of the longest
/// path first. `Option<Cookies>` is `None` if the request has no header `cookie`.
///
/// ```
/// use pointwork_guest::cookie::{Cookie, SameSite};
/// use pointwork_guest::testing::TestRequest;
/// use pointwork_guest::{CookieKey, Cookies, Failure, Form, IntoReply, Redirect, controller};
/// use serde::Deserialize;
///
/// #[derive(Deserialize)]
/// struct Login {
///     user: String,
/// }
///
/// struct Session;
///
/// #[controller("session")]
/// impl Session {
///     #[post]
///     fn login(cookies: Cookies, login: Form<Login>) -> Result<(Cookies, Redirect), Failure> {
///         let session = Cookie::build(("session", login.0.user)).path("/").http_only(true).secure(true).same_site(SameSite::Lax);
///         Ok((cookies.set_signed(&key()?, session), Redirect::to("/session")))
///     }
///
///     #[get]
///     fn show(cookies: Cookies) -> Result<Option<String>, Failure> {
///         Ok(cookies.signed(&key()?, "session"))
///     }
///
///     #[delete]
///     fn logout(cookies: Cookies) -> (Cookies, &'static str) {
///         (cookies.remove(Cookie::build("session").path("/")), "goodbye")
///     }
/// }
///
/// /// In a module: `CookieKey::from_variable("SESSION_KEY")`.
/// fn key() -> Result<CookieKey, Failure> {
///     CookieKey::new(b"0123456789abcdef0123456789abcdef")
/// }
///
/// let login = TestRequest::post("/session").form(&[("user", "ada")]).run::<Session>();
/// let session = login.cookie("session").expect("a cookie is set");
/// let show = |value: &str| TestRequest::get("/session").cookie("session", value).run::<Session>();
/// assert_eq!(show(&session).text(), "ada");
/// assert_eq!(show(&session.replace("ada", "eve")).status(), 404);
/// ```
#[derive(Clone, Debug, Default)]
#[must_use = "cookies are set only if the handler returns them"]
pub struct Cookies {
    jar: CookieJar,
    /// The error of the first wrong cookie, which is the reply instead.
    invalid: Option<Box<Failure>>,
}

impl Cookies {
    /// The value of a cookie; `None` if the request has none of that name, or it was removed.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.jar.get(name).map(Cookie::value)
    }

    /// All cookies, in no order.
    pub fn iter(&self) -> impl Iterator<Item = &Cookie<'static>> {
        self.jar.iter()
    }

    /// Sets a cookie.
    ///
    /// The name has letters, digits and ``!$&'*+-._~``. Another name, or a path or a domain with a semicolon or a control
    /// character, such as those of a client's input, makes the reply 500 with the code `invalid-reply`. The log has the
    /// place of the call.
    #[track_caller]
    pub fn set(mut self, cookie: impl Into<Cookie<'static>>) -> Self {
        let cookie = cookie.into();
        self.check(&cookie);
        self.jar.add(cookie);
        self
    }

    /// Tells the client to forget a cookie. Its path and domain must be those with which it was set.
    #[track_caller]
    pub fn remove(mut self, cookie: impl Into<Cookie<'static>>) -> Self {
        let cookie = cookie.into();
        self.check(&cookie);
        self.jar.remove(cookie);
        self
    }

    /// The value of a signed cookie. `None` if the request has none of that name, or its signature is not by this key: a
    /// client wrote it, or it is older than the key.
    ///
    /// The signature is that of the value. A client can use the value of one signed cookie for another one.
    pub fn signed(&self, key: &CookieKey, name: &str) -> Option<String> {
        let cookie = self.jar.signed(&key.0).get(name)?;
        Some(cookie.value().to_owned())
    }

    /// Sets a cookie whose value clients can read, and cannot change.
    #[track_caller]
    pub fn set_signed(mut self, key: &CookieKey, cookie: impl Into<Cookie<'static>>) -> Self {
        let cookie = cookie.into();
        self.check(&cookie);
        self.jar.signed_mut(&key.0).add(cookie);
        self
    }

    /// Looks for a name that would be encoded, and is left out when it comes back, and for what would be an attribute or a
    /// header of its own. Values are encoded.
    #[track_caller]
    fn check(&mut self, cookie: &Cookie<'_>) {
        let is_in_name = |byte: u8| byte.is_ascii_alphanumeric() || b"!$&'*+-._~".contains(&byte);
        if cookie.name().is_empty() || !cookie.name().bytes().all(is_in_name) {
            let problem = format!(
                "`{}` cannot be the name of a cookie, expected letters, digits or `-`, such as `session`",
                cookie.name().escape_debug()
            );
            self.invalid.get_or_insert(Box::new(header::invalid(&problem)));
        }
        for (attribute, value) in [("path", cookie.path()), ("domain", cookie.domain())] {
            let mut bytes = value.unwrap_or_default().bytes();
            if let Some(byte) = bytes.find(|byte| *byte == b';' || byte.is_ascii_control()) {
                let problem = format!("the {attribute} of cookie `{}` has the byte {byte}", cookie.name());
                self.invalid.get_or_insert(Box::new(header::invalid(&problem)));
            }
        }
    }
}

impl FromRequest for Cookies {
    fn from_request(request: &Request, argument: &'static str) -> Result<Self, Failure> {
        Self::optional_from_request(request, argument).map(Option::unwrap_or_default)
    }
}

impl OptionalFromRequest for Cookies {
    fn optional_from_request(request: &Request, _argument: &'static str) -> Result<Option<Self>, Failure> {
        let headers = request.headers().into_iter();
        let mut headers = headers.filter(|(name, _)| name == "cookie").peekable();
        if headers.peek().is_none() {
            return Ok(None);
        }
        let mut jar = CookieJar::new();
        for (_, value) in headers {
            for pair in value.split(|byte| *byte == b';') {
                // A name that is encoded could pass for one with the prefix `__Host-`, which browsers guard only as it is written.
                let is_name_encoded = pair
                    .split(|byte| *byte == b'=')
                    .next()
                    .is_some_and(|name| name.contains(&b'%'));
                let text = str::from_utf8(pair).ok().filter(|_| !is_name_encoded);
                if let Some(Ok(cookie)) = text.map(|text| Cookie::parse_encoded(text.to_owned()))
                    && jar.get(cookie.name()).is_none()
                {
                    jar.add_original(cookie);
                }
            }
        }
        Ok(Some(Self { jar, invalid: None }))
    }
}

/// One header `set-cookie` for each cookie that was added or removed.
impl ReplyParts for Cookies {
    fn add_to(self, reply: Reply) -> Reply {
        // First: a header could be wrong by the same byte, and has another place.
        let mut reply = reply.or_invalid(self.invalid);
        for cookie in self.jar.delta() {
            reply = reply.header("set-cookie", cookie.encoded().to_string());
        }
        reply
    }
}

/// The key by which cookies are signed. Needs the feature `cookies`.
#[derive(Clone, PartialEq)]
pub struct CookieKey(Key);

impl CookieKey {
    /// The fewest bytes of a secret.
    const FEWEST: usize = 32;

    /// A key from a secret of 32 random bytes or more, in any encoding.
    ///
    /// # Errors
    ///
    /// The secret is too short. The client gets 500 without the reason, which is logged.
    pub fn new(secret: &[u8]) -> Result<Self, Failure> {
        if secret.len() < Self::FEWEST {
            return Err(Self::failed(format!("the secret has {} bytes", secret.len())));
        }
        Ok(Self(Key::derive_from(secret)))
    }

    /// A key from a variable of the module: `std::env::var`.
    ///
    /// # Errors
    ///
    /// The variable does not exist or is too short. The client gets 500 without the reason, which is logged.
    pub fn from_variable(name: &str) -> Result<Self, Failure> {
        match GivenVariables::read().get::<Option<String>>(name)? {
            Some(secret) if secret.len() >= Self::FEWEST => Self::new(secret.as_bytes()),
            Some(secret) => Err(Self::failed(format!(
                "the variable `{name}` has {} bytes",
                secret.len()
            ))),
            None => Err(Self::failed(format!("the module has no variable `{name}`"))),
        }
    }

    fn failed(message: String) -> Failure {
        Failure::internal(
            "cookie-key",
            format!("{message}, expected {} random bytes or more", Self::FEWEST),
        )
    }
}

impl fmt::Debug for CookieKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CookieKey")
    }
}
