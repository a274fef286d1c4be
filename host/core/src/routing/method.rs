//! The methods that a route answers.

use std::fmt;

use derive_more::{Display, From};
use http::Method;

/// The methods that have an attribute of their own in the guest SDK and an operation of their own on the app
/// (spec D2, M1), in upper case and in the order of the specification. `all` is not a method and not in the list.
///
/// A route with any other HTTP token works the same.
pub const ATTRIBUTE_METHODS: [&str; 20] = [
    "GET",
    "POST",
    "PUT",
    "PATCH",
    "DELETE",
    "HEAD",
    "OPTIONS",
    "TRACE",
    "CONNECT",
    "PURGE",
    "SEARCH",
    "PROPFIND",
    "PROPPATCH",
    "MKCOL",
    "COPY",
    "MOVE",
    "LOCK",
    "UNLOCK",
    "ACL",
    "REPORT",
];

/// The methods that one route answers: every method, or exactly one.
///
/// Answers that the table derives from a route, such as HEAD from a GET route, are not part of the filter; see the
/// [module docs](super).
#[derive(Clone, Debug, Display, From, PartialEq, Eq, Hash)]
pub enum MethodFilter {
    /// Every method, extension methods included (spec A7). A route for exactly the request's method wins over it.
    #[display("ALL")]
    All,
    /// Only this method. Methods are case-sensitive: `get` is not `GET`.
    Only(Method),
}

impl MethodFilter {
    /// Reads the method of a declaration; `None` is every method (spec D10).
    ///
    /// # Errors
    ///
    /// The text is not an HTTP token: it is empty, or contains a character other than ASCII letters, digits and
    /// ``!#$%&'*+-.^_`|~``.
    ///
    /// ```
    /// use pointwork_core::routing::MethodFilter;
    ///
    /// assert_eq!(MethodFilter::parse(None).unwrap(), MethodFilter::All);
    /// assert_eq!(MethodFilter::parse(Some("PURGE")).unwrap().to_string(), "PURGE");
    /// assert_eq!(
    ///     MethodFilter::parse(Some("GET IT")).unwrap_err().to_string(),
    ///     "method `GET IT` is not an HTTP token: ` ` at byte 3, expected a letter, a digit or one of !#$%&'*+-.^_`|~",
    /// );
    /// ```
    pub fn parse(text: Option<&str>) -> Result<Self, MethodError> {
        let Some(text) = text else {
            return Ok(Self::All);
        };
        let found = text
            .char_indices()
            .find(|(_, character)| !is_token_character(*character));
        match Method::from_bytes(text.as_bytes()) {
            Ok(method) if found.is_none() => Ok(Self::Only(method)),
            _ => Err(MethodError {
                text: text.to_owned(),
                found,
            }),
        }
    }
}

/// The text of a method is not an HTTP token.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct MethodError {
    text: String,
    found: Option<(usize, char)>,
}

impl MethodError {
    /// The whole text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The byte offset of the first character that is not allowed in a token; `None` if the text is empty.
    pub fn position(&self) -> Option<usize> {
        self.found.map(|(at, _)| at)
    }
}

impl fmt::Display for MethodError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.found {
            Some((at, character)) => write!(
                f,
                "method `{}` is not an HTTP token: `{}` at byte {at}, expected a letter, a digit or one of \
                 !#$%&'*+-.^_`|~",
                pointwork_patterns::text::excerpt(&self.text),
                character.escape_debug(),
            ),
            None => f.write_str("method is empty, expected an HTTP token such as `GET`"),
        }
    }
}

fn is_token_character(character: char) -> bool {
    character.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(character)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_token_is_a_method() {
        for text in ATTRIBUTE_METHODS.iter().chain(&[
            "M-SEARCH",
            "NOTIFY",
            "!#$%&'*+-.^_`|~",
            "1",
            "VERSION-CONTROL-LONG-NAME",
        ]) {
            let filter = MethodFilter::parse(Some(text)).unwrap();
            assert_eq!(filter.to_string(), *text);
            assert_eq!(filter, MethodFilter::Only(Method::from_bytes(text.as_bytes()).unwrap()));
        }
    }

    #[test]
    fn text_that_is_no_token_is_refused_where_it_stops_being_one() {
        for (text, at) in [
            ("GET ", 3),
            ("GE\tT", 2),
            ("é", 0),
            ("GET/", 3),
            ("\u{0}", 0),
            ("A(B)", 1),
            ("GET\r\nX", 3),
        ] {
            let error = MethodFilter::parse(Some(text)).unwrap_err();
            assert_eq!(error.position(), Some(at), "{text:?}");
            assert_eq!(error.text(), text);
        }
        let error = MethodFilter::parse(Some("")).unwrap_err();
        assert_eq!(
            error.to_string(),
            "method is empty, expected an HTTP token such as `GET`"
        );
    }
    #[test]
    fn an_error_escapes_control_characters() {
        let error = MethodFilter::parse(Some("A\r\nB")).unwrap_err().to_string();
        assert!(
            error.starts_with(r"method `A\r\nB` is not an HTTP token: `\r` at byte 1"),
            "{error}"
        );
    }
}
