//! Checks headers where they are made, by the host's rules, so that the error has the place.

use std::panic::Location;

use crate::failure::Failure;

/// The longest name that the host takes.
const LONGEST_NAME: usize = 65_535;

/// Refuses a header that the host would refuse, with the place of the caller.
#[track_caller]
pub(crate) fn check(name: &str, value: &[u8]) -> Result<(), Failure> {
    let problem = if !is_name(name) {
        format!(
            "`{}` cannot be the name of a header, expected a token such as `x-name`",
            name.as_bytes().escape_ascii()
        )
    } else if let Some(at) = value.iter().position(|byte| !is_value(*byte)) {
        format!(
            "the value of header `{name}` has the byte {} at position {at}, which a header cannot have",
            value[at]
        )
    } else {
        return Ok(());
    };
    Err(invalid(&problem))
}

/// The failure of a reply that is not valid HTTP, with the place of the caller.
#[track_caller]
pub(crate) fn invalid(problem: &str) -> Failure {
    Failure::invalid_reply(format!("{problem}; it is made at {}", Location::caller()))
}

fn is_name(name: &str) -> bool {
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !name.is_empty() && name.len() <= LONGEST_NAME && name.bytes().all(is_token)
}

fn is_value(byte: u8) -> bool {
    byte == b'\t' || byte >= b' ' && byte != 0x7f
}

#[cfg(test)]
mod tests {
    use http::{HeaderName, HeaderValue};

    use super::{LONGEST_NAME, is_name, is_value};

    #[test]
    fn the_rules_are_those_of_the_host() {
        for byte in 0..=u8::MAX {
            assert_eq!(is_value(byte), HeaderValue::from_bytes(&[byte]).is_ok(), "{byte}");
            let name = char::from(byte).to_string();
            assert_eq!(is_name(&name), HeaderName::try_from(name.as_str()).is_ok(), "{byte}");
        }
        for length in [0, LONGEST_NAME, LONGEST_NAME + 1] {
            let name = "n".repeat(length);
            assert_eq!(is_name(&name), HeaderName::try_from(name.as_str()).is_ok(), "{length}");
        }
    }
}
