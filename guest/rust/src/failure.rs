use std::borrow::Cow;
use std::error::Error;
use std::fmt;

use http::StatusCode;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::bindings::types;
use crate::header;

/// The field of an error's body that no detail may have.
const MESSAGE: &str = "message";

/// An error: of a handler, of a listener, and of every function of the host.
///
/// If a handler returns it, the client gets the status, the headers, and a JSON object of `message` and the details. If a
/// listener returns it, its caller gets all of it. [`Context::throw`](crate::Context::throw) makes one, and so does `new`.
///
/// A failed call keeps its status in a handler that returns it with `?`. With a status of 500 or above, the client gets a
/// general sentence instead of the message, and no details; the message is logged.
///
/// Implement `From` to return errors of your own, with `?` or as they are:
///
/// ```
/// use pointwork_guest::{Failure, HttpStatus};
///
/// struct OutOfStock {
///     product: String,
///     next: u32,
/// }
///
/// impl From<OutOfStock> for Failure {
///     fn from(error: OutOfStock) -> Self {
///         Failure::with_code("out-of-stock", HttpStatus::CONFLICT, format!("`{}` is out of stock", error.product))
///             .header("retry-after", "60")
///             .detail("next", error.next)
///     }
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "it ends the request only if the handler returns it"]
pub struct Failure {
    code: Cow<'static, str>,
    status: u16,
    headers: Vec<(String, Vec<u8>)>,
    message: String,
    /// The text of a JSON object.
    details: Option<String>,
    /// The event or the function of the host that failed; `None` in an error of this module's own.
    called: Option<&'static str>,
}

impl Failure {
    /// An error with the code `failed`, and a message for people, which the client gets. A `status` other than 400 to 599
    /// becomes 500.
    pub fn new(status: impl Into<u16>, message: impl Into<String>) -> Self {
        Self::with_code("failed", status, message)
    }

    /// An error with a code of its own, on which the caller of a listener can match.
    pub fn with_code(code: impl Into<Cow<'static, str>>, status: impl Into<u16>, message: impl Into<String>) -> Self {
        Self {
            code: code.into(),
            status: error_status(status.into()),
            headers: Vec::new(),
            message: message.into(),
            details: None,
            called: None,
        }
    }

    /// The payload does not fit the listener's type.
    pub(crate) fn bad_payload(message: String) -> Self {
        Self::with_code("bad-payload", 400_u16, message)
    }

    /// A payload or result that cannot be converted.
    pub(crate) fn bad_call(event: &'static str, message: String) -> Self {
        Self {
            called: Some(event),
            ..Self::with_code("bad-payload", 500_u16, message)
        }
    }

    /// A variable of the module that is missing or does not fit. The client does not learn it.
    pub(crate) fn invalid_variable(name: &str, problem: &str, expected: &str) -> Self {
        let message = format!("the variable `{name}` {problem}: expected {expected}");
        Self {
            called: Some("variables"),
            ..Self::with_code("invalid-variable", 500_u16, message)
        }
    }

    /// A fault of the module itself. The message is logged, and the client does not get it.
    #[cfg(feature = "cookies")]
    pub(crate) fn internal(of: &'static str, message: String) -> Self {
        Self {
            called: Some(of),
            ..Self::new(500_u16, message)
        }
    }

    /// A reply that is not valid HTTP, which is a fault of the module.
    pub(crate) fn invalid_reply(message: String) -> Self {
        Self {
            called: Some(REPLY),
            ..Self::with_code("invalid-reply", 500_u16, message)
        }
    }

    /// Whether a wrong header made it.
    pub(crate) fn is_wrong_reply(&self) -> bool {
        self.called == Some(REPLY)
    }

    /// The same error, of a function that was called with the reply.
    pub(crate) fn of_call(mut self, called: &'static str) -> Self {
        self.called = Some(called);
        self
    }

    /// Makes the error of a call.
    pub(crate) fn from_call(called: &'static str) -> impl FnOnce(types::Failure) -> Self {
        move |failure| Self {
            called: Some(called),
            ..Self::from(failure)
        }
    }

    /// Adds a header to the reply; earlier headers of the same name stay. The rules are those of
    /// [`Reply::header`](crate::Reply::header); a wrong header makes this error one with the code `invalid-reply`.
    #[track_caller]
    pub fn header(mut self, name: impl Into<String>, value: impl Into<Vec<u8>>) -> Self {
        let (name, value) = (name.into(), value.into());
        if let Err(invalid) = header::check(&name, &value) {
            return invalid;
        }
        self.headers.push((name, value));
        self
    }

    /// Sets a field of the reply's body, beside `message`. A field `message` is ignored. A value that cannot be written as
    /// JSON becomes `null`, which is logged.
    pub fn detail(mut self, name: impl Into<String>, value: impl Serialize) -> Self {
        let name = name.into();
        let value = serde_json::to_value(value).unwrap_or_else(|error| {
            crate::log::error!("the detail `{name}` of a failure cannot be written as JSON: {error}");
            Value::Null
        });
        if name != MESSAGE {
            let mut details = self.details().unwrap_or_default();
            details.insert(name, value);
            self.details = Some(Value::Object(details).to_string());
        }
        self
    }

    /// The kind of the error, from an open list: `unknown-event`, `ambiguous-event`, `bad-payload`, `already-replied`,
    /// `invalid-reply`, `invalid-variable`, `too-large`, `too-deep`, `deadline`, `overloaded`, `not-durable`, `not-remote`,
    /// `unreachable`, `gone`, `failed`, and those of the application's listeners. Treat an unknown code like `failed`.
    pub fn code(&self) -> &str {
        &self.code
    }

    /// The status of a reply with this error, 400 to 599.
    pub fn status(&self) -> u16 {
        self.status
    }

    /// One sentence for people.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The headers of a reply with this error.
    pub fn headers(&self) -> &[(String, Vec<u8>)] {
        &self.headers
    }

    /// Without the details of a failed call that are not for the client, which are logged.
    pub(crate) fn for_client(mut self) -> Self {
        if self.called.is_some() && self.status >= 500 {
            // The host logs an overload, with one line for many calls. A client that leaves before the end of its reply causes no
            // line.
            let is_left = self.code == GONE && matches!(self.called, Some("open_reply" | "write" | "finish"));
            if self.code != OVERLOADED && !is_left {
                crate::log::error!("{self}");
            }
            self.message = "the server could not answer the request".into();
            (self.details, self.called) = (None, None);
        }
        self
    }

    /// The fields of the body beside `message`; `None` if there are none.
    pub fn details(&self) -> Option<Map<String, Value>> {
        serde_json::from_str(self.details.as_deref()?).ok()
    }
}

/// The code of a call that the host refused because a queue or a pool is full.
const OVERLOADED: &str = "overloaded";

const GONE: &str = "gone";

/// The name that the error of a reply with invalid HTTP has in place of a function of the host.
const REPLY: &str = "reply";

/// The status, or 500 if it is not the status of an error.
fn error_status(status: u16) -> u16 {
    if (400..=599).contains(&status) { status } else { 500 }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.called {
            Some(called) => write!(f, "`{called}` failed with `{}`: {}", self.code, self.message),
            None => f.write_str(&self.message),
        }
    }
}

impl Error for Failure {}

/// A type that converts into [`Failure`]. It gives the compiler the words for one that does not.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not convert into `Failure`",
    label = "expected `Failure` or an error that converts into it",
    note = "implement `From<{Self}> for Failure`, or convert the error: `.map_err(|error| Failure::new(500_u16, error.to_string()))`"
)]
pub trait IntoFailure {
    #[doc(hidden)]
    fn into_failure(self) -> Failure;
}

#[diagnostic::do_not_recommend]
impl<E: Into<Failure>> IntoFailure for E {
    fn into_failure(self) -> Failure {
        self.into()
    }
}

/// The error with that status, and the status's name as its message.
impl From<StatusCode> for Failure {
    fn from(status: StatusCode) -> Self {
        Self::new(status, status.canonical_reason().unwrap_or("error"))
    }
}

impl From<types::Failure> for Failure {
    fn from(failure: types::Failure) -> Self {
        let headers = failure.headers.into_iter().map(|header| (header.name, header.value));
        Self {
            headers: headers.collect(),
            details: failure.details,
            ..Self::with_code(failure.code, failure.status, failure.message)
        }
    }
}

fn headers(headers: Vec<(String, Vec<u8>)>) -> Vec<types::Header> {
    let headers = headers.into_iter().map(|(name, value)| types::Header { name, value });
    headers.collect()
}

impl From<Failure> for types::Failure {
    fn from(failure: Failure) -> Self {
        Self {
            code: failure.code.into_owned(),
            status: failure.status,
            headers: headers(failure.headers),
            message: failure.message,
            details: failure.details,
        }
    }
}

/// The error as the client gets it.
impl From<Failure> for types::Thrown {
    fn from(failure: Failure) -> Self {
        let failure = failure.for_client();
        Self {
            status: failure.status,
            headers: headers(failure.headers),
            message: failure.message,
            details: failure.details,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Failure, types};

    fn failed(status: u16) -> types::Failure {
        Failure::with_code("conflict", status, "table `product` is gone")
            .header("retry-after", "1")
            .detail("table", "product")
            .into()
    }

    #[test]
    fn a_failed_call_is_passed_on_whole() {
        let passed = types::Failure::from(Failure::from_call("db:all")(failed(503)));
        assert_eq!(Failure::from(passed), Failure::from(failed(503)));
    }

    #[test]
    fn a_client_gets_no_detail_of_a_failed_call_from_500_on() {
        let thrown = types::Thrown::from(Failure::from_call("db:all")(failed(503)));
        assert_eq!((thrown.status, thrown.details, thrown.headers.len()), (503, None, 1));
        assert_eq!(thrown.message, "the server could not answer the request");
        let thrown = types::Thrown::from(Failure::from_call("db:all")(failed(409)));
        assert_eq!(thrown.details.as_deref(), Some(r#"{"table":"product"}"#));
        let thrown = types::Thrown::from(Failure::from(failed(503)));
        assert_eq!(thrown.message, "table `product` is gone", "an error of its own");
    }

    #[test]
    fn a_status_that_is_no_error_becomes_500() {
        for status in [0_u16, 200, 399, 600] {
            assert_eq!(Failure::new(status, "odd").status(), 500);
        }
    }

    #[test]
    fn details_are_fields_and_never_the_message() {
        let failure = Failure::new(404_u16, "no").detail("message", "yes");
        assert_eq!(failure.details(), None);
        let failure = failure.detail("id", 6).detail("tags", ["a"]).detail("id", 7);
        let details = failure.details().map(serde_json::Value::Object);
        assert_eq!(details, Some(json!({ "id": 7, "tags": ["a"] })));
        let map = std::collections::HashMap::from([((1, 2), 3)]);
        let failure = Failure::new(404_u16, "no").detail("map", map);
        assert_eq!(
            failure.details().map(serde_json::Value::Object),
            Some(json!({ "map": null }))
        );
    }
}
