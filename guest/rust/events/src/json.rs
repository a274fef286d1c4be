//! How JSON is read, for payloads here and for bodies and queries in the guest's SDK.

use std::fmt::Display;

use serde::de::DeserializeOwned;
use serde_path_to_error::Segment;

use crate::json_text;

/// The content type of JSON.
pub const JSON: &str = "application/json";

/// Reads a JSON text. The error contains the field, the expected type, line and column. A byte order mark is skipped.
///
/// # Errors
///
/// The text is not JSON, or does not fit the type. It has the key `__proto__` or `constructor.prototype`, or text that is not
/// Unicode, also in a value that the type does not have.
pub fn from_json<T: DeserializeOwned>(text: &[u8]) -> Result<T, String> {
    let text = str::from_utf8(without_mark(text)).map_err(|error| format!("the text is not UTF-8: {error}"))?;
    json_text::check(text)?;
    let mut json = serde_json::Deserializer::from_str(text);
    let value = serde_path_to_error::deserialize(&mut json).map_err(at_field)?;
    json.end().map_err(|error| error.to_string())?;
    Ok(value)
}

/// The error with the path of the field before it. An error of the whole value has no path.
pub fn at_field<E: Display>(error: serde_path_to_error::Error<E>) -> String {
    let whole = error.path().iter().all(|segment| matches!(segment, Segment::Unknown));
    if whole {
        error.inner().to_string()
    } else {
        format!("`{}`: {}", error.path(), error.inner())
    }
}

/// The text without the byte order mark at its beginning.
pub fn without_mark(text: &[u8]) -> &[u8] {
    text.strip_prefix("\u{feff}".as_bytes()).unwrap_or(text)
}

/// The names of UTF-8 and of its subset.
const UTF8: [&str; 3] = ["utf-8", "utf8", "us-ascii"];

/// The charset that a content type declares, unless it is UTF-8 or a subset of it.
pub fn foreign_charset(content_type: &str) -> Option<&str> {
    let is_foreign = |charset: &&str| !UTF8.iter().any(|name| charset.eq_ignore_ascii_case(name));
    let mut is_quoted = false;
    let parameters = content_type.split(move |character| {
        is_quoted ^= character == '"';
        character == ';' && !is_quoted
    });
    let mut charsets = parameters.skip(1).filter_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        let is_charset = name.trim_ascii().eq_ignore_ascii_case("charset");
        is_charset.then(|| value.trim_ascii().trim_matches('"'))
    });
    charsets.find(is_foreign)
}

/// Whether a content type is JSON: `application/json` or `<anything>+json`, with or without parameters.
pub fn is_json(content_type: &str) -> bool {
    let essence = essence(content_type);
    essence.eq_ignore_ascii_case(JSON)
        || essence.len() > 5 && essence.as_bytes()[essence.len() - 5..].eq_ignore_ascii_case(b"+json")
}

/// A content type without its parameters.
pub fn essence(content_type: &str) -> &str {
    let essence = content_type
        .split_once(';')
        .map_or(content_type, |(essence, _)| essence);
    essence.trim_ascii()
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::{foreign_charset, from_json};

    #[test]
    fn a_value_that_is_skipped_is_unicode_too() {
        #[derive(Debug, PartialEq, serde::Deserialize)]
        struct Id {
            id: u32,
        }

        assert_eq!(from_json(b"{\"id\":7,\"a\":\"\\ud83d\\ude00\"}"), Ok(Id { id: 7 }));
        let half = from_json::<Id>(b"{\"id\":7,\"a\":\"\\ud800\"}");
        assert_eq!(
            half.unwrap_err(),
            "`\\ud800` at line 1, column 14 is half of a surrogate pair, expected both halves"
        );
        // The same half as bytes.
        let bytes = from_json::<Id>(b"{\"id\":7,\"a\":\"\xed\xa0\x80\"}").unwrap_err();
        assert!(bytes.starts_with("the text is not UTF-8: "), "{bytes}");
    }

    #[test]
    fn one_byte_order_mark_is_skipped() {
        assert_eq!(from_json("\u{feff}7".as_bytes()), Ok(7));
        assert!(from_json::<Value>("\u{feff}\u{feff}7".as_bytes()).is_err());
        assert!(from_json::<Value>("7\u{feff}".as_bytes()).is_err());
    }

    #[test]
    fn a_charset_is_utf8_or_foreign() {
        for (content_type, foreign) in [
            ("application/json", None),
            ("application/json; charset=utf-8", None),
            ("text/plain;charset=\"UTF-8\"", None),
            ("text/plain; Charset = us-ascii ; a=b", None),
            ("text/plain; a=\"; charset=utf-16\"", None),
            ("text/plain; xcharset=utf-16", None),
            ("text/plain; charset=utf-16", Some("utf-16")),
            ("text/plain; charset=utf-8; charset=latin1", Some("latin1")),
            ("text/plain; CHARSET=\"utf-16le\"", Some("utf-16le")),
            ("text/plain; charset=", Some("")),
        ] {
            assert_eq!(foreign_charset(content_type), foreign, "{content_type}");
        }
    }
}
